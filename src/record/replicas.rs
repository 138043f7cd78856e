//! Every change of a replica's stage, the warm-up included.

use std::io::{self, Write};

use super::since;
use crate::report::Report;

/// Writes a row per change, in the order in which they happened in each run.
pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "time_s,provider,model,session,replica,stage")?;
    let mut csv = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(out);
    let plan = report.plan;
    let places = plan.providers.iter().flat_map(|provider| {
        let sessions = plan.sessions.iter();
        sessions.map(move |session| (provider, session))
    });
    for ((provider, session), run) in places.zip(&report.outcome.runs) {
        for moved in &run.replicas {
            let model = &provider.fleet.deployments[moved.deployment as usize].name;
            csv.write_record([
                since(moved.at, run.opened).as_str(),
                &provider.name,
                model,
                &session.name,
                &moved.replica.to_string(),
                moved.stage.name(),
            ])?;
        }
    }
    csv.flush()
}
