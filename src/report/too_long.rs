//! A warning about requests that can never be served, one sentence for models of equal room.

use super::number;
use crate::experiment::Plan;
use crate::experiment::too_long::{TooLong, too_long};

/// What must be said before the plan is run.
pub fn warnings(plan: &Plan) -> Vec<String> {
    too_long(plan)
        .iter()
        .map(|one| sentence(plan, one))
        .collect()
}

fn sentence(plan: &Plan, found: &TooLong) -> String {
    let provider = &plan.providers[found.provider];
    let name = |index: &u32| provider.fleet.deployments[*index as usize].name.as_str();
    let models = match found.deployments.as_slice() {
        [only] => format!("{} of {}", name(only), provider.name),
        [first, .., last] => format!(
            "{} models of {} ({} to {})",
            found.deployments.len(),
            provider.name,
            name(first),
            name(last)
        ),
        [] => provider.name.clone(),
    };
    let who = match (found.share > 0.0, found.hits_benchmark) {
        (true, false) => format!(
            "{} of its users' requests are",
            number::percent(100.0 * found.share)
        ),
        (true, true) => format!(
            "{} of its users' requests and the benchmark's own are",
            number::percent(100.0 * found.share)
        ),
        _ => "the benchmark's own requests are".to_owned(),
    };
    let help = if found.is_part {
        "give a replica more memory (memory = \"whole\"), or send shorter requests"
    } else {
        "use more or larger GPUs, or send shorter requests"
    };
    format!(
        "warning: a request of more than {} tokens, prompt and answer together, fits no replica of {models}: {who} longer, and get a \
         413\nhelp: {help}",
        number::count(found.room)
    )
}
