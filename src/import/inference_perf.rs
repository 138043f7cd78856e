//! Results of `inference-perf`: a list of requests with the bytes of their answers, or a summary without any deviation.
//!
//! A request that got an error or nothing inside a 200 is a success to it; here it is a failure, since it has no token.

use super::rows::{self, Raw};
use super::{Missing, Options, Problem, Problems, Read, Series, Stated, Tool, Unit};
use crate::foreign::node::{Node, Object};
use crate::foreign::problem::all;
use crate::foreign::stamp::Stamp;
use crate::observation::Outcome;
use crate::time::Duration;

/// Whether an object of a list is such a request.
pub(super) fn is_request(object: &Object<'_>) -> bool {
    object.has("start_time") && object.has("end_time") && object.has("info")
}

/// Whether an object is such a summary.
pub(super) fn is_summary(object: &Object<'_>) -> bool {
    object.has("load_summary") && object.has("successes")
}

/// Reads the requests.
pub(super) fn read_requests(nodes: &[Node<'_>], options: &Options) -> Result<Read, Problems> {
    let rows = all(nodes.iter().map(|node| request(&node.object()?)))?;
    let mut read = Read::new(Tool::InferencePerf);
    read.missing.extend([Missing::WallClock, Missing::Phases]);
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

fn request(object: &Object<'_>) -> Result<(String, Raw), Problem> {
    let start = object.need("start_time")?.nanos(Unit::Seconds)?;
    let since = |node: &Node<'_>| {
        let after = node.nanos(Unit::Seconds)? - start;
        let after = u64::try_from(after).map_err(|_| node.problem("before `start_time`"))?;
        Ok::<_, Problem>(Duration::from_nanos(after))
    };
    let info = object.need("info")?.object()?;
    // Older versions keep the times in `info` itself.
    let times = match info.object("response_metrics")? {
        Some(metrics) => metrics.items("output_token_times")?,
        None => info.items("output_token_times")?,
    };
    let times: Vec<Duration> = times.iter().map(since).collect::<Result<_, _>>()?;
    let has_error = object.get("error").is_some() || has_error_inside(object)?;
    let outcome = if has_error {
        Outcome::Failed
    } else {
        Outcome::Succeeded
    };
    let mut row = Raw::new(outcome);
    row.sent = Some(Stamp::of_nanos(start));
    row.ttft = times.first().copied();
    row.latency = Some(since(&object.need("end_time")?)?);
    row.output_tokens = u32::try_from(times.len()).unwrap_or(u32::MAX);
    let gaps: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    row.signs.note_gaps(&gaps);
    Ok((model(object)?, row.checked()))
}

/// The model that the request's body names.
fn model(object: &Object<'_>) -> Result<String, Problem> {
    let body = object.text("request")?.unwrap_or_default();
    let body: Option<serde_json::Value> = serde_json::from_str(&body).ok();
    let model = body.as_ref().and_then(|body| body.get("model")?.as_str());
    Ok(model.unwrap_or_default().to_owned())
}

/// Whether a piece of a streamed answer is an error.
fn has_error_inside(object: &Object<'_>) -> Result<bool, Problem> {
    let response = object.text("response")?.unwrap_or_default();
    let pieces = response.lines().filter_map(|line| {
        let data = line.strip_prefix("data:").unwrap_or(line);
        serde_json::from_str::<serde_json::Value>(data.trim()).ok()
    });
    let mut errors = pieces.filter_map(|piece| piece.get("error").cloned());
    Ok(errors.any(|error| !error.is_null()))
}

/// Reads a summary.
pub(super) fn read_summary(object: &Object<'_>) -> Result<Read, Problems> {
    let stated = summary(object).map_err(|problem| vec![problem])?;
    let mut read = Read::new(Tool::InferencePerf);
    read.missing
        .extend([Missing::Requests, Missing::Std, Missing::WallClock]);
    read.stated.push(stated);
    Ok(read)
}

fn summary(object: &Object<'_>) -> Result<Stated, Problem> {
    let successes = object.need("successes")?.object()?;
    let failures = object.object("failures")?;
    let latency = successes.need("latency")?.object()?;
    let metric = latency.need("time_to_first_token")?.object()?;
    Ok(Stated {
        succeeded: successes.count("count")?,
        failed: failures.map_or(Ok(None), |failures| failures.count("count"))?,
        median_s: metric.number("median")?,
        p95_s: metric.number("p95")?,
        mean_s: metric.number("mean")?,
        min_s: metric.number("min")?,
        max_s: metric.number("max")?,
        ..Stated::default()
    })
}
