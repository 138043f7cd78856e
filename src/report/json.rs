//! Results as json.

use super::Report;
use std::io::{self, Write};

/// Writes the results as json.
pub(super) fn write(_report: &Report<'_>, _out: &mut dyn Write) -> io::Result<()> {
    Ok(())
}
