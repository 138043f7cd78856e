//! `scenarios`: what comes with the program.

use anstyle::Style;
use anyhow::anyhow;
use clap::Args;

use super::builtin::{self, Builtin};
use super::terminal::Terminal;
use crate::report::wrapped;
use crate::scenario::{self, Overrides};

const BOLD: Style = Style::new().bold();

/// List the built-in scenarios, or print one
#[derive(Clone, Debug, Args)]
pub(super) struct Scenarios {
    /// Print this one's file, to start your own from
    name: Option<String>,
}

impl Scenarios {
    pub(super) fn run(&self, terminal: &Terminal) -> anyhow::Result<()> {
        if let Some(name) = &self.name {
            let found = builtin::named(name);
            let found = found.ok_or_else(|| {
                anyhow!(
                    "there is no built-in scenario `{name}`\n{}",
                    builtin::suggestion(name)
                )
            })?;
            terminal.results(|out| out.write_all(found.text.as_bytes()))?;
            return Ok(());
        }
        let widest = builtin::ALL.iter().map(|one| one.name.len()).max();
        let margin = widest.unwrap_or(0);
        let room = terminal.width().saturating_sub(margin + 2);
        terminal.results(|out| {
            for builtin in builtin::ALL {
                let title = wrapped(&title(builtin), room);
                let about = wrapped(first_comment(builtin.text), room);
                let mut name = builtin.name;
                for line in title.iter().chain(&about) {
                    writeln!(out, "{BOLD}{name:margin$}{BOLD:#}  {line}")?;
                    name = "";
                }
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// What the scenario calls itself.
fn title(builtin: &Builtin) -> String {
    scenario::load(builtin.name, builtin.text, &Overrides::default())
        .map_or_else(|_| String::new(), |(plan, _)| plan.title)
}

/// The first line of the comment that opens a scenario.
fn first_comment(text: &str) -> &str {
    let comment = text.lines().next().and_then(|line| line.strip_prefix('#'));
    comment.unwrap_or("").trim()
}
