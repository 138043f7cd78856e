//! Cold starts: the named phases between "nothing" and "ready".
//!
//! A start runs its phases one after another. Most take a time from a distribution; fetching weights takes bytes over a link
//! that concurrent starts share (`storage.rs`). The wait for a GPU comes first and belongs to the pool.

use crate::distribution::Distribution;
use crate::start_phase::StartPhase;

/// How a replica starts from one level of warmth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartPlan {
    /// Its phases, in order; [`StartPhase::GpuWait`] is not among them.
    pub phases: Vec<PhasePlan>,
}

/// One phase of a start.
#[derive(Clone, Debug, PartialEq)]
pub struct PhasePlan {
    /// Which.
    pub phase: StartPhase,
    /// What decides its length.
    pub time: PhaseTime,
}

/// What decides the length of a phase.
#[derive(Clone, Debug, PartialEq)]
pub enum PhaseTime {
    /// A time drawn at each start \[s\].
    Stated(Distribution),
    /// Bytes over the narrowest link.
    Transfer(Transfer),
}

/// Weights on their way to the GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// Bytes to move \[bytes\].
    pub bytes: f64,
    /// Most that this replica can take [bytes/s].
    pub cap_bytes_per_s: f64,
    /// Before the first byte \[s\].
    pub first_byte_s: f64,
    /// Factor on the bytes drawn at each start: how uneven the store is.
    pub spread: Distribution,
    /// The link that loads share; `None` shares nothing.
    pub link: Option<usize>,
}
