//! Cold starts: the named phases between "nothing" and "ready".
//!
//! A start runs its phases one after another. Most take a time from a distribution; fetching weights takes bytes over a link
//! that concurrent starts share ([`super::storage`]). The wait for a GPU comes first and belongs to the pool.

use super::replica::Stage;
use crate::distribution::Distribution;

/// A phase of a start, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StartPhase {
    /// Waiting until the pool has GPUs.
    GpuWait,
    /// Allocating the node or sandbox.
    Provision,
    /// Pulling the container image.
    Image,
    /// Starting the container.
    Container,
    /// Importing and initialising the engine.
    StartEngine,
    /// Fetching the weights, or restoring a snapshot, or waking from host RAM.
    LoadWeights,
    /// Compiling kernels.
    Compile,
    /// Capturing CUDA graphs.
    CaptureGraphs,
    /// Profiling memory and a first inference.
    WarmUp,
}

impl StartPhase {
    /// All phases, in order.
    pub const ALL: [Self; 9] = [
        Self::GpuWait,
        Self::Provision,
        Self::Image,
        Self::Container,
        Self::StartEngine,
        Self::LoadWeights,
        Self::Compile,
        Self::CaptureGraphs,
        Self::WarmUp,
    ];

    /// Its name in scenarios, CSV headers and plots.
    pub fn name(self) -> &'static str {
        match self {
            Self::GpuWait => "gpu_wait",
            Self::Provision => "provision",
            Self::Image => "image",
            Self::Container => "container",
            Self::StartEngine => "start_engine",
            Self::LoadWeights => "load_weights",
            Self::Compile => "compile",
            Self::CaptureGraphs => "capture_graphs",
            Self::WarmUp => "warm_up",
        }
    }

    /// The stage of a replica's life that the phase belongs to.
    pub fn stage(self) -> Stage {
        match self {
            Self::GpuWait | Self::Provision | Self::Image | Self::Container | Self::StartEngine => {
                Stage::Provisioning
            }
            Self::LoadWeights => Stage::Loading,
            Self::Compile | Self::CaptureGraphs | Self::WarmUp => Stage::Warming,
        }
    }
}

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
