//! `selftest`: how wrong is the client itself.

use clap::Args;

use super::failure::No;
use super::options::{FormatName, whole};
use super::terminal::Terminal;
use crate::http::selftest;
use crate::report;

/// Measure the client's own error against a server of known times
///
/// Starts a server on loopback whose first tokens come at known times, and prints by how much the client is wrong about them,
/// and whether it understands every kind of answer that servers send. Exit code 1 when the bias at the median is 1 ms or more
/// at any delay, or when an answer is misunderstood.
#[derive(Clone, Debug, Args)]
pub(super) struct SelfTest {
    /// Requests at each delay
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = whole::<u32>(1..=100_000))]
    requests: u32,
    /// How the result is written
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: FormatName,
}

impl SelfTest {
    pub(super) fn run(&self, terminal: &Terminal) -> anyhow::Result<()> {
        let result = selftest::run(self.requests)?;
        let (format, width) = (self.format.into(), terminal.width());
        terminal.results(|out| report::selftest::write(&result, format, width, out))?;
        if result.passes() {
            return Ok(());
        }
        Err(No.into())
    }
}
