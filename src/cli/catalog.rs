//! `catalog`: what is known of hardware, engines, models and platforms, and what follows for a scenario.

use anyhow::anyhow;
use clap::Args;

use super::builtin;
use super::terminal::Terminal;
use crate::catalog::Catalog;
use crate::report::catalogue;
use crate::scenario::{self, Overrides, did_you_mean};

/// List and show GPUs, formats, engines, models, storage, platforms, with sources
///
/// `catalog` lists the kinds, `catalog KIND` the entries of one, `catalog KIND ID` an entry with its source and how far to trust
/// it. `catalog deployment [SCENARIO]` prints every term of the prefill, the decode step and the cold starts that the catalogue
/// predicts for a scenario's deployments.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct CatalogCommand {
    /// A kind of entry, or `deployment`
    kind: Option<String>,
    /// An entry; for `deployment`, a scenario
    id: Option<String>,
    /// For `deployment`: override a value of the scenario; may be given again
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  thermocline catalog gpu
  thermocline catalog model kimi-k2.6
  thermocline catalog deployment kimi-k2.6";

/// The scenario whose deployments are explained when none is named.
const DEFAULT: &str = "deepseek-v4-pro";

impl CatalogCommand {
    pub(super) fn run(&self, terminal: &Terminal) -> anyhow::Result<()> {
        let catalog = Catalog::shipped();
        let width = terminal.width();
        let Some(kind) = &self.kind else {
            return Ok(terminal.results(|out| catalogue::kinds(&catalog, width, out))?);
        };
        if kind == "deployment" {
            return self.deployments(terminal);
        }
        if !Catalog::kinds().contains(&kind.as_str()) {
            let names = Catalog::kinds().iter().copied().chain(["deployment"]);
            return Err(unknown("kind", kind, names));
        }
        let Some(id) = &self.id else {
            return Ok(terminal.results(|out| catalogue::entries(&catalog, kind, width, out))?);
        };
        let ids = catalog.ids(kind);
        if !ids.contains(&id.as_str()) {
            return Err(unknown(kind, id, ids.into_iter()));
        }
        Ok(terminal.results(|out| catalogue::entry(&catalog, kind, id, width, out))?)
    }

    fn deployments(&self, terminal: &Terminal) -> anyhow::Result<()> {
        let text = builtin::find(self.id.as_deref().unwrap_or(DEFAULT))?;
        let overrides = Overrides {
            set: self.set.clone(),
            ..Overrides::default()
        };
        let (plan, _) = scenario::load(&text.name, &text.text, &overrides)?;
        Ok(terminal.results(|out| catalogue::deployments(&plan, terminal.width(), out))?)
    }
}

/// Says that there is no such name, and which is near or what there is.
fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> anyhow::Error {
    let known: Vec<&str> = known.collect();
    let help = did_you_mean(name, known.iter().copied()).map_or_else(
        || format!("known: {}", known.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    anyhow!("the catalogue has no {what} `{name}`\nhelp: {help}")
}
