//! Results of `llmprobe`, which the public data set `llm-bench-data` holds: a line a probe, in milliseconds, stamped at its end.
//!
//! A TTFT of zero means that none was seen, also where the status is `healthy`: only `content` is watched.

use super::rows::{self, Raw};
use super::{Options, Problem, Problems, Read, Series, Tool, Unit};
use crate::foreign::node::{Node, Object};
use crate::foreign::problem::all;
use crate::foreign::stamp::Stamp;
use crate::observation::Outcome;
use crate::time::Duration;

/// Whether an object is such a probe.
pub(super) fn is_one(object: &Object<'_>) -> bool {
    ["status", "ttft_ms", "latency_ms", "timestamp"]
        .iter()
        .all(|key| object.has(key))
}

/// Reads the probes.
pub(super) fn read(nodes: &[Node<'_>], options: &Options) -> Result<Read, Problems> {
    let rows = all(nodes.iter().map(|node| probe(&node.object()?)))?;
    let mut read = Read::new(Tool::Llmprobe);
    let groups = rows::grouped(rows).into_iter().map(|(model, rows)| {
        let series = Series {
            model,
            ..Series::default()
        };
        (series, rows)
    });
    read.series = rows::series(groups.collect(), &options.zone);
    Ok(read)
}

fn probe(object: &Object<'_>) -> Result<(String, Raw), Problem> {
    let mut row = Raw::new(outcome(object)?);
    let ttft = object.need("ttft_ms")?.span(Unit::Milliseconds)?;
    row.ttft = (ttft > Duration::ZERO).then_some(ttft);
    let latency = object.need("latency_ms")?.span(Unit::Milliseconds)?;
    row.latency = Some(latency);
    row.output_tokens = object.count("token_count")?.unwrap_or(0) as u32;
    row.sent = Some(sent(object, latency)?);
    let model = object.text("model")?.unwrap_or_default();
    Ok((model, row.checked()))
}

fn outcome(object: &Object<'_>) -> Result<Outcome, Problem> {
    let node = object.need("status")?;
    let status = node.string()?;
    match status.to_lowercase().as_str() {
        "healthy" | "degraded" => Ok(Outcome::Succeeded),
        "error" => Ok(fault(&object.text("error")?.unwrap_or_default())),
        _ => Err(node.problem(format!(
            "found `{status}`, `healthy`, `degraded` or `error` is needed"
        ))),
    }
}

/// The probe's start: its stamp is the end.
fn sent(object: &Object<'_>, latency: Duration) -> Result<Stamp, Problem> {
    let node = object.need("timestamp")?;
    let text = node.string()?;
    let end = Stamp::of_date(&text)
        .ok_or_else(|| node.problem(format!("found `{text}`, a date is needed")))?;
    Ok(Stamp::Wall(end.nanos() - i128::from(latency.as_nanos())))
}

/// Whose fault an error was, by the words of Go's network library. A host that refuses or resets was reached.
fn fault(error: &str) -> Outcome {
    let is_server = ["connection refused", "connection reset"]
        .iter()
        .any(|words| error.contains(words));
    let is_client = [
        "dial tcp",
        "lookup ",
        "no such host",
        "network is unreachable",
    ]
    .iter()
    .any(|words| error.contains(words));
    let status = error
        .split_once("HTTP ")
        .and_then(|(_, rest)| rest.get(..3)?.parse::<u16>().ok())
        .filter(|status| *status >= 400);
    match status {
        _ if is_client && !is_server => Outcome::ClientFault,
        Some(status) => Outcome::Rejected { status },
        None if error.contains("Client.Timeout") || error.contains("deadline exceeded") => {
            Outcome::TimedOut
        }
        None => Outcome::Failed,
    }
}
