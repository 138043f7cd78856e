//! Results of Hugging Face's `inference-benchmarker`: aggregates in milliseconds by stage, the warm-up among them.

use super::{Missing, Problem, Problems, Read, Stated, Tool, Unit};
use crate::foreign::node::{Node, Object};
use crate::foreign::problem::all;
use crate::time::Duration;

/// Whether an object is such a result.
pub(super) fn is_one(object: &Object<'_>) -> bool {
    object.has("results") && object.has("system") && object.has("config")
}

/// Reads the stages.
pub(super) fn read(object: &Object<'_>) -> Result<Read, Problems> {
    let one = |problem| vec![problem];
    let config = object.need("config").and_then(|node| node.object());
    let model = config
        .and_then(|config| config.text("model_name"))
        .map_err(one)?;
    let model = model.unwrap_or_default();
    let nodes = object.items("results").map_err(one)?;
    let stages = all(nodes.iter().map(|node| stage(node, &model)))?;
    let mut read = Read::new(Tool::InferenceBenchmarker);
    read.missing
        .extend([Missing::Requests, Missing::Std, Missing::WallClock]);
    for (requests, stated) in stages {
        match stated {
            Some(stated) => read.stated.push(stated),
            None => read.discarded += usize::try_from(requests).unwrap_or(usize::MAX),
        }
    }
    Ok(read)
}

/// How many requests a stage made and its figures, none for the warm-up.
fn stage(node: &Node<'_>, model: &str) -> Result<(u64, Option<Stated>), Problem> {
    let stage = node.object()?;
    let id = stage.need("id")?.string()?;
    let requests = stage.count("total_requests")?.unwrap_or(0);
    if id == "warmup" {
        return Ok((requests, None));
    }
    let metric = stage.need("time_to_first_token_ms")?.object()?;
    let seconds = |key: &str| {
        let span = metric.span(key, Unit::Milliseconds)?;
        Ok::<Option<f64>, Problem>(span.map(Duration::as_secs))
    };
    let stated = Stated {
        model: model.to_owned(),
        session: id,
        succeeded: stage.count("successful_requests")?,
        failed: stage.count("failed_requests")?,
        median_s: seconds("p50")?,
        p95_s: seconds("p95")?,
        mean_s: seconds("avg")?,
        ..Stated::default()
    };
    Ok((requests, Some(stated)))
}
