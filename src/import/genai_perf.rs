//! `GenAI-Perf`'s raw export: nanosecond stamps and the bytes of every response, so that each request is measured again under our
//! own definition of TTFT.

use serde_json::Value;

use super::rows::{self, Raw};
use super::{Options, Problem, Problems, Read, Series, Tool, Unit};
use crate::foreign::node::{Node, Object};
use crate::foreign::problem::all;
use crate::foreign::stamp::Stamp;
use crate::observation::Outcome;
use crate::time::Duration;

/// Whether an object is such an export.
pub(super) fn is_one(object: &Object<'_>) -> bool {
    object.has("experiments")
}

/// Reads the experiments.
pub(super) fn read(object: &Object<'_>, options: &Options) -> Result<Read, Problems> {
    let one = |problem| vec![problem];
    let experiments = object.items("experiments").map_err(one)?;
    let mut groups = Vec::new();
    for (index, experiment) in experiments.iter().enumerate() {
        let experiment = experiment.object().map_err(one)?;
        let requests = experiment.items("requests").map_err(one)?;
        let rows = all(requests.iter().map(request))?;
        let session = if experiments.len() > 1 {
            format!("experiment {}", index + 1)
        } else {
            String::new()
        };
        let series = Series {
            session,
            ..Series::default()
        };
        groups.push((series, rows));
    }
    let mut read = Read::new(Tool::GenaiPerf);
    read.notes.push(
        "measured again from the recorded responses: to the first token on any channel, role and empty pieces skipped"
            .to_owned(),
    );
    read.series = rows::series(groups, &options.zone);
    Ok(read)
}

fn request(node: &Node<'_>) -> Result<Raw, Problem> {
    let request = node.object()?;
    let stamp = |node: &Node<'_>| node.nanos(Unit::Nanoseconds);
    let sent = stamp(&request.need("timestamp")?)?;
    let stamps = request.items("response_timestamps")?;
    let outputs = request.items("response_outputs")?;
    if stamps.len() != outputs.len() {
        let why = format!("{} stamps beside {} outputs", stamps.len(), outputs.len());
        return Err(request.need("response_timestamps")?.problem(why));
    }
    let mut arrivals = Vec::new();
    let mut has_error = false;
    for (at, output) in stamps.iter().zip(&outputs) {
        let text = match output.object()?.get("response") {
            Some(node) => node.string()?,
            None => String::new(),
        };
        let piece = piece(&text);
        has_error |= piece.has_error;
        let after = stamp(at)? - sent;
        let after = u64::try_from(after).map_err(|_| at.problem("before the request was sent"))?;
        arrivals.push((Duration::from_nanos(after), piece));
    }
    let tokens: Vec<Duration> = arrivals
        .iter()
        .filter(|(_, piece)| piece.has_token)
        .map(|(after, _)| *after)
        .collect();
    let outcome = if has_error {
        Outcome::Failed
    } else {
        Outcome::Succeeded
    };
    let mut row = Raw::new(outcome);
    row.sent = Some(Stamp::of_nanos(sent));
    row.ttft = tokens.first().copied();
    row.latency = arrivals.last().map(|(after, _)| *after);
    row.output_tokens = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
    let gaps: Vec<Duration> = tokens.windows(2).map(|pair| pair[1] - pair[0]).collect();
    row.signs.note_gaps(&gaps);
    row.signs.role_chunk = arrivals
        .iter()
        .find(|(_, piece)| piece.has_role)
        .map(|(after, _)| *after)
        .filter(|role| row.ttft.is_some_and(|ttft| *role < ttft));
    Ok(row.checked())
}

/// What a recorded response holds.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    has_token: bool,
    has_role: bool,
    has_error: bool,
}

/// Looks into the `data:` lines of a recorded response, or into a bare JSON object.
fn piece(text: &str) -> Piece {
    let mut found = Piece::default();
    for line in text.lines() {
        let data = line.strip_prefix("data:").unwrap_or(line).trim();
        let Ok(value) = serde_json::from_str::<Value>(data) else {
            continue;
        };
        found.has_error |= value.get("error").is_some_and(|error| !error.is_null());
        let choices = value.get("choices").and_then(Value::as_array);
        for choice in choices.into_iter().flatten() {
            let delta = choice.get("delta").unwrap_or(choice);
            let is_filled = |key: &str| {
                let text = delta.get(key).and_then(Value::as_str);
                text.is_some_and(|text| !text.is_empty())
            };
            let keys = ["content", "reasoning", "reasoning_content", "text"];
            let has_calls = delta
                .get("tool_calls")
                .and_then(Value::as_array)
                .is_some_and(|calls| !calls.is_empty());
            let has_token = has_calls || keys.into_iter().any(is_filled);
            found.has_token |= has_token;
            found.has_role |= delta.get("role").is_some() && !has_token;
        }
    }
    found
}
