//! What can happen in a fleet.

/// An event on the fleet's calendar. `generation` voids events whose cause has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A replica's executor has something to do.
    Work { replica: u32, generation: u32 },
    /// A replica's executor may begin, once all requests of this instant have come or gone.
    Begin { replica: u32, generation: u32 },
    /// A benchmark's client learns how its request ended.
    Observed { request: u32 },
    /// A phase of a start is over.
    PhaseOver { replica: u32, generation: u32 },
    /// A load on a link is through.
    LoadOver { link: u32, generation: u32 },
    /// The next request of a traffic stream.
    Arrival { deployment: u32, stream: u32 },
    /// A benchmark's request reaches the fleet.
    Probe { request: u32, generation: u32 },
    /// A client has waited long enough for its first token.
    ClientTimeout { request: u32, generation: u32 },
    /// A held request has waited long enough.
    QueueTimeout { request: u32, generation: u32 },
    /// An idle replica expires or is evicted.
    Idle { replica: u32 },
    /// A replica dies by hazard.
    Failure { replica: u32, generation: u32 },
    /// The oldest ready replica of a deployment dies on schedule.
    FailureAt { deployment: u32 },
    /// A model that shares a replica is in it.
    Switched { replica: u32, generation: u32 },
    /// The owner of spot capacity takes a node back by hazard.
    Reclaim { pool: u32, node: u32 },
    /// The same on schedule: the first node that is there.
    ReclaimAt { pool: u32 },
    /// The notice of a node that was taken back is over.
    NodeGone { pool: u32, node: u32 },
    /// A node that was taken back is there again.
    NodeBack { pool: u32, node: u32 },
    /// Weights sink from a rung of the ladder.
    Sink {
        deployment: u32,
        rung: u32,
        ticket: u32,
    },
    /// Weights have been brought up to a rung.
    Refill { deployment: u32, rung: u32 },
    /// The warm pool's size changes by the clock.
    WarmHours { deployment: u32 },
    /// The autoscaler looks.
    Tick { deployment: u32 },
}

impl Event {
    /// Order among events of one instant. Changing it changes results. Work ends and replicas get ready before new requests
    /// come, so that a request never waits beside a free replica; a batch begins once all requests of the instant have come or
    /// gone, so that it makes no difference whether a boundary falls to a segment's end; an arrival at the very instant of an
    /// expiry finds the replica warm; autoscalers look last, at a settled instant.
    #[inline]
    pub(super) fn class(self) -> u8 {
        match self {
            Self::Work { .. } | Self::Observed { .. } => 0,
            Self::PhaseOver { .. }
            | Self::LoadOver { .. }
            | Self::Refill { .. }
            | Self::Switched { .. }
            | Self::NodeBack { .. } => 1,
            Self::Arrival { .. } | Self::Probe { .. } => 2,
            Self::ClientTimeout { .. } | Self::QueueTimeout { .. } => 3,
            Self::Begin { .. } => 4,
            Self::Idle { .. }
            | Self::Failure { .. }
            | Self::FailureAt { .. }
            | Self::Reclaim { .. }
            | Self::ReclaimAt { .. }
            | Self::NodeGone { .. }
            | Self::Sink { .. } => 5,
            Self::WarmHours { .. } | Self::Tick { .. } => 6,
        }
    }
}
