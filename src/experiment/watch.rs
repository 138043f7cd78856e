//! The probe of an experiment: keeps the benchmark's own requests whole and everybody's in a histogram.

use super::Keep;
use crate::fleet::{Origin, Probe, ReplicaMoved, RequestTrace};
use crate::request::RequestId;
use crate::stats::Histogram;
use crate::time::Time;
use std::collections::BTreeMap;
use std::hint::cold_path;

/// What an experiment keeps of a fleet's events.
#[derive(Debug)]
pub struct Watch {
    opened: Time,
    keep: Keep,
    benchmark: BTreeMap<RequestId, RequestTrace>,
    /// Times to first token in the window, by deployment, at the provider's door.
    pub(super) ttft: Vec<Histogram>,
    pub(super) everybody: Vec<RequestTrace>,
    pub(super) replicas: Vec<ReplicaMoved>,
}

impl Watch {
    pub(super) fn new(deployments: usize, opened: Time, keep: Keep) -> Self {
        Self {
            opened,
            keep,
            benchmark: BTreeMap::new(),
            ttft: (0..deployments).map(|_| Histogram::new()).collect(),
            everybody: Vec::new(),
            replicas: Vec::new(),
        }
    }

    /// The story of one of the benchmark's requests.
    pub(super) fn take(&mut self, id: RequestId) -> Option<RequestTrace> {
        self.benchmark.remove(&id)
    }
}

impl Probe for Watch {
    fn request_ended(&mut self, trace: &RequestTrace) {
        if let Origin::Benchmark(id) = trace.origin {
            cold_path();
            self.benchmark.insert(id, trace.clone());
        }
        if trace.end < self.opened {
            return;
        }
        if let Some(first_token) = trace.first_token {
            // The other parts together: the parts add up to the time to first token.
            let door_to_token = first_token
                .since(trace.sent)
                .saturating_sub(trace.parts.network);
            self.ttft[trace.deployment as usize].record(door_to_token);
        }
        if self.keep.everybody {
            cold_path();
            self.everybody.push(trace.clone());
        }
    }

    fn replica_moved(&mut self, moved: &ReplicaMoved) {
        if self.keep.replicas {
            self.replicas.push(*moved);
        }
    }
}
