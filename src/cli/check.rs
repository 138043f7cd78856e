//! `check`: is a scenario valid, and what does it mean.

use clap::Args;

use super::builtin;
use super::options::Chosen;
use super::terminal::Terminal;
use crate::scenario;
use crate::stats::PercentileMethod;

/// Validate a scenario and print it as understood
///
/// Prints the whole scenario, with everything that it leaves to a default marked as such. All problems are shown at once, with
/// file, line and column; then the exit code is 2.
#[derive(Clone, Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    scenario: Chosen,
    /// Do not mark what was a default
    #[arg(long, help_heading = "Output")]
    plain: bool,
    /// Show every kind of deployment that catalogues are made of, not only who got what
    #[arg(long, help_heading = "Output", conflicts_with = "plain")]
    all: bool,
}

impl Check {
    pub(super) fn run(&self, terminal: &Terminal) -> anyhow::Result<()> {
        let text = builtin::find(&self.scenario.scenario)?;
        let overrides = self.scenario.overrides(PercentileMethod::default());
        let (plan, understood) = scenario::load(&text.name, &text.text, &overrides)?;
        let shown = match (self.plain, self.all) {
            (true, _) => understood.to_plain_toml(),
            (false, true) => understood.to_toml(),
            (false, false) => understood.to_short_toml(),
        };
        terminal.warn(&plan);
        terminal.results(|out| out.write_all(shown.as_bytes()))?;
        Ok(())
    }
}
