//! The phases of a cold start, by their one name.

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
}
