//! Results of `LLMPerf`: a list of requests in seconds, or a summary whose keys spell out every statistic.
//!
//! Failed requests keep a TTFT of zero or a valid one; their `error_code` tells.

use super::rows::{self, Raw};
use super::{Missing, Options, Problem, Problems, Read, Series, Stated, Tool, Unit};
use crate::foreign::node::{Node, Object};
use crate::foreign::problem::all;
use crate::observation::Outcome;
use crate::time::Duration;

/// Whether an object of a list is such a request.
pub(super) fn is_request(object: &Object<'_>) -> bool {
    object.has("ttft_s") && object.has("error_code")
}

/// Whether an object is such a summary.
pub(super) fn is_summary(object: &Object<'_>) -> bool {
    object.has("results_ttft_s_mean")
}

/// Reads the requests.
pub(super) fn read_requests(nodes: &[Node<'_>], options: &Options) -> Result<Read, Problems> {
    let rows = all(nodes.iter().map(|node| request(&node.object()?)))?;
    let mut read = Read::new(Tool::Llmperf);
    read.missing.extend([
        Missing::WallClock,
        Missing::Starts,
        Missing::TimeOuts,
        Missing::Phases,
    ]);
    read.series = rows::series(vec![(Series::default(), rows)], &options.zone);
    Ok(read)
}

fn request(object: &Object<'_>) -> Result<Raw, Problem> {
    let code = object.get("error_code").map(|node| node.plain());
    let outcome = match code.as_deref() {
        None | Some("") => Outcome::Succeeded,
        Some(code) => match code.parse::<u16>() {
            Ok(status) if status >= 400 => Outcome::Rejected { status },
            _ => Outcome::Failed,
        },
    };
    let mut row = Raw::new(outcome);
    let ttft = object.span("ttft_s", Unit::Seconds)?;
    row.ttft = ttft.filter(|ttft| *ttft > Duration::ZERO);
    row.latency = object.span("end_to_end_latency_s", Unit::Seconds)?;
    let tokens = object.number("number_output_tokens")?;
    row.output_tokens = tokens.unwrap_or(0.0) as u32;
    Ok(row.checked())
}

/// Reads a summary, whose deviations divide by `n - 1`.
pub(super) fn read_summary(object: &Object<'_>) -> Result<Read, Problems> {
    let stated = summary(object).map_err(|problem| vec![problem])?;
    let mut read = Read::new(Tool::Llmperf);
    read.missing.extend([Missing::Requests, Missing::WallClock]);
    read.stated.push(stated);
    Ok(read)
}

fn summary(object: &Object<'_>) -> Result<Stated, Problem> {
    let seconds = |what: &str| object.number(&format!("results_ttft_s_{what}"));
    Ok(Stated {
        model: object.text("model")?.unwrap_or_default(),
        succeeded: object.count("results_num_completed_requests")?,
        failed: object.count("results_number_errors")?,
        median_s: seconds("quantiles_p50")?,
        p95_s: seconds("quantiles_p95")?,
        mean_s: seconds("mean")?,
        std_s: seconds("stddev")?,
        is_sample_std: true,
        min_s: seconds("min")?,
        max_s: seconds("max")?,
        ..Stated::default()
    })
}
