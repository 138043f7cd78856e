//! The slow oracle: a provider's fleet as plainly as it can be written, to be compared with the fast one request by request.
//!
//! It shares nothing with the fleet but the scenario language and the random streams that requests bring with them. It has no
//! closed forms, no lazy timers, no arenas and no counters: batches take one turn for every iteration, what is known of a
//! fleet is counted anew whenever it is needed, the agenda is a list, and all times are whole nanoseconds. Coefficients are
//! whole nanoseconds too, so the instants of both must be equal, not close.

mod batch;
pub(crate) mod fleet;
mod replica;
mod servers;
pub(crate) mod workload;

use crate::support::{fleet as text_of_fleet, plan, run_plan};
use std::fmt::Debug;
use thermocline::fleet::Origin;
use thermocline::observation::Outcome;
use thermocline::time::Time;
use workload::{Nanos, Workload};

/// How a request ended; the order is for comparison only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ended {
    pub(crate) model: usize,
    pub(crate) stream: usize,
    pub(crate) arrived: Nanos,
    pub(crate) first_token: Option<Nanos>,
    pub(crate) end: Nanos,
    pub(crate) outcome: String,
    pub(crate) cold: bool,
}

/// The name of an outcome, with its status if it has one.
pub(crate) fn named(outcome: Outcome) -> String {
    format!("{outcome:?}")
}

/// What the fast fleet makes of a workload.
pub(crate) fn fast(workload: &Workload) -> Vec<Ended> {
    let result = run_plan(&plan(&text(workload)));
    let mut all: Vec<Ended> = result
        .everybody
        .iter()
        .map(|trace| {
            let Origin::Traffic(stream) = trace.origin else {
                unreachable!("nobody else sends requests")
            };
            Ended {
                model: trace.deployment as usize,
                stream: stream as usize,
                arrived: trace.arrived.as_nanos(),
                first_token: trace.first_token.map(Time::as_nanos),
                end: trace.end.as_nanos(),
                outcome: named(trace.outcome),
                cold: trace.cold,
            }
        })
        .collect();
    all.sort();
    all
}

/// The workload as a scenario.
pub(crate) fn text(workload: &Workload) -> String {
    text_of_fleet(&workload::span(workload::HORIZON), &workload.to_toml())
}

/// The first request, in order of arrival, about which two simulations disagree.
pub(crate) fn first_difference<T: PartialEq + Debug>(ours: &[T], theirs: &[T]) -> Option<String> {
    let length = ours.len().max(theirs.len());
    let index = (0..length).find(|&index| ours.get(index) != theirs.get(index))?;
    Some(format!(
        "fleet:  {:?}\noracle: {:?}",
        ours.get(index),
        theirs.get(index)
    ))
}
