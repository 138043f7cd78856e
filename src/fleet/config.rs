//! What a fleet is made of. Values are already valid and complete: the scenario checks them and fills in the defaults.

use super::cold_start::StartPlan;
use crate::batching;
use crate::distribution::Distribution;
use crate::time::{Duration, Time};
use crate::workload::ArrivalProcess;

/// One provider's fleet.
#[derive(Clone, Debug)]
pub struct FleetConfig {
    /// From Monday 00:00 to the run's origin.
    pub phase: Duration,
    /// When the measured window opens; everything before is warm-up.
    pub window: Time,
    /// What lies between the benchmark's client and the fleet.
    pub network: Network,
    /// Stocks of GPUs; a deployment that names none never waits for one.
    pub pools: Vec<PoolConfig>,
    /// Links that concurrent weight loads share.
    pub links: Vec<LinkConfig>,
    /// The models on offer.
    pub deployments: Vec<DeploymentConfig>,
}

/// The path between client and fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Round trip \[s\].
    pub rtt: Distribution,
    /// Gateway: authentication, routing, tokenising \[s\].
    pub gateway: Distribution,
    /// Whether each request opens a connection: TCP and TLS 1.3 cost two more round trips (RFC 8446).
    pub new_connection: bool,
}

/// A stock of GPUs of one tier.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolConfig {
    /// The tier.
    pub name: String,
    /// How many there are.
    pub gpus: u32,
    /// Memory of each \[bytes\]; 1 where nobody asks for less than all of it.
    pub gpu_bytes: u64,
    /// The nodes that they are in.
    pub node: NodeConfig,
    /// Whether a start that finds none free stops the least recently used idle replica above its floor.
    pub evict_idle: bool,
    /// How they vanish, if they do.
    pub spot: Option<Spot>,
}

/// What a node of a tier is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// GPUs in each; the last node has what is left. `u32::MAX` puts all into one.
    pub gpus: u32,
    /// Weights that it keeps in host RAM, and on its local disk \[bytes\].
    pub ram_cache: u64,
    /// See `ram_cache`.
    pub disk_cache: u64,
}

impl NodeConfig {
    /// Whether weights stay on a node when their replica has gone.
    pub fn keeps_weights(&self) -> bool {
        self.ram_cache > 0 || self.disk_cache > 0
    }
}

/// Capacity that its owner may take back, node by node.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    /// Hazard of each node [1/s].
    pub hazard: f64,
    /// Offsets from the window's start at which the first node that is there is taken.
    pub reclaims_at: Vec<Duration>,
    /// From the announcement until the node is gone.
    pub notice: Duration,
    /// For how long it is gone \[s\].
    pub away: Distribution,
}

/// A link that loads share fairly.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// What it is.
    pub name: String,
    /// Capacity [bytes/s].
    pub bytes_per_s: f64,
}

/// One model as the provider serves it.
#[derive(Clone, Debug)]
pub struct DeploymentConfig {
    /// The model.
    pub name: String,
    /// Everybody else's demand.
    pub traffic: Vec<TrafficConfig>,
    /// Stated time from start of service to the first token of the benchmark's requests \[s\]; unused where the engine is
    /// modelled.
    pub prefill: Distribution,
    /// Stated time from the first token to the end \[s\].
    pub decode: Distribution,
    /// The same of a request that met a cold start, where it differs.
    pub cold_service: Option<Box<StatedTimes>>,
    /// What becomes of a request longer than the model's context.
    pub over_context: OverContext,
    /// Share of the benchmark's fixed prompt found in the prefix cache, 0 to 1.
    pub cached_share: f64,
    /// Where replicas may run, in order of preference; at least one.
    pub placements: Vec<Placement>,
    /// Whose starts get GPUs first, and whose idle replicas keep theirs longest: the higher.
    pub gpu_priority: u8,
    /// The ladder of warmth between the GPU and remote storage, warmest first.
    pub rungs: Vec<Rung>,
    /// How many replicas, when.
    pub scaling: Scaling,
    /// Who waits, and how long.
    pub admission: Admission,
    /// Which replica takes a request.
    pub router: Router,
    /// Which of several idle replicas takes it.
    pub idle_order: IdleOrder,
    /// How replicas are lost.
    pub losses: Losses,
    /// Whether several models share its replicas.
    pub sharing: Option<Sharing>,
}

impl DeploymentConfig {
    /// Longest prompt and answer together that it takes anywhere \[tokens\], where there is a limit.
    pub fn max_context_tokens(&self) -> Option<u32> {
        let batching = self.placements.iter().map(|place| &place.batching);
        batching
            .filter_map(batching::Config::max_context_tokens)
            .max()
    }
}

/// Models that share a deployment's replicas.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharing {
    /// Most models in a replica at once.
    pub at_once: u32,
    /// Whether the deployment's own model is always there, beside them.
    pub keeps_own: bool,
    /// How long it takes to bring one in \[s\].
    pub switch: Distribution,
    /// Whether a waiting request may overtake one whose model finds no place.
    pub first_fit: bool,
}

/// Stated times of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedTimes {
    /// From start of service to the first token \[s\].
    pub prefill: Distribution,
    /// From the first token to the end \[s\].
    pub decode: Distribution,
}

/// One stream of requests of other users.
#[derive(Clone, Debug)]
pub struct TrafficConfig {
    /// Its name.
    pub name: String,
    /// When requests come.
    pub arrivals: ArrivalProcess,
    /// Prompt length \[tokens\].
    pub prompt_tokens: Distribution,
    /// Answer length \[tokens\].
    pub output_tokens: Distribution,
    /// Stated time from start of service to the first token \[s\]: the deployment's, unless the stream has its own.
    pub prefill: Distribution,
    /// Stated time from the first token to the end \[s\], likewise.
    pub decode: Distribution,
    /// Share of each prompt found in the prefix cache, 0 to 1.
    pub cached_share: f64,
    /// Which of the models that share the replicas it asks for; 0 is the deployment's own, which the benchmark asks for.
    pub model: u32,
    /// Higher is served first.
    pub priority: u8,
    /// Whether it may start replicas; probes and health checks may not.
    pub wakes: bool,
    /// How long a client waits for the first token; `None` for ever.
    pub timeout: Option<Duration>,
    /// Whether other providers of the model have the same users: then their draws are named by the model alone.
    pub is_shared: bool,
}

/// Hardware that a replica may run on.
#[derive(Clone, Debug)]
pub struct Placement {
    /// What it is called in results.
    pub name: String,
    /// The pool it takes GPUs from; `None` never runs out.
    pub pool: Option<usize>,
    /// GPUs a replica holds, all in one node.
    pub gpus: u32,
    /// How much of each it holds.
    pub share: Share,
    /// Price [USD per GPU-hour].
    pub usd_per_gpu_hour: f64,
    /// How a replica runs requests here.
    pub batching: batching::Config,
    /// How a replica starts, from each rung (warmest first) and last from remote storage.
    pub starts: Vec<StartPlan>,
    /// Its weights, where a node may keep them \[bytes\].
    pub weight_bytes: u64,
    /// How it starts instead of from remote storage where the node has the weights: in host RAM, on its local disk. Empty where
    /// nodes keep none.
    pub cached: Vec<StartPlan>,
}

/// How much of a GPU's memory a replica holds; it pays for that part of the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Memory held \[bytes\].
    pub bytes: u64,
    /// Memory of the GPU \[bytes\].
    pub of: u64,
}

impl Share {
    /// All of a GPU whose memory is not stated.
    pub const WHOLE: Self = Self { bytes: 1, of: 1 };

    /// The part, 0 to 1.
    pub fn part(self) -> f64 {
        self.bytes as f64 / self.of as f64
    }

    /// This part of so much GPU time [GPU x ns].
    pub fn of_time(self, gpu_time: u128) -> u128 {
        gpu_time * u128::from(self.bytes) / u128::from(self.of)
    }
}

/// A level of warmth below "on the GPU".
#[derive(Clone, Debug, PartialEq)]
pub struct Rung {
    /// Which level.
    pub warmth: Warmth,
    /// How many replicas' weights it holds.
    pub capacity: u32,
    /// How many it holds at the origin.
    pub initial: u32,
    /// How long a stopped replica stays here before it sinks a level.
    pub keep: KeepAlive,
    /// Price of holding one [USD/h].
    pub usd_per_hour: f64,
    /// Whether one taken is replaced by a new one brought up from remote storage.
    pub refill: bool,
}

/// Where the weights of a replica that is off the GPU are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warmth {
    /// Sleeping: engine alive, weights in host RAM.
    HostRam,
    /// Weights on a local disk.
    LocalDisk,
    /// Weights in remote storage.
    Remote,
    /// Weights in host RAM of the very node, as long as no others push them out; nothing is alive.
    RamCache,
    /// The same on its local disk.
    DiskCache,
}

impl Warmth {
    /// Whether it is a store of a node, in which weights come and go by their use.
    pub fn is_cache(self) -> bool {
        matches!(self, Self::RamCache | Self::DiskCache)
    }

    /// Its name in scenarios and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::HostRam => "host_ram",
            Self::LocalDisk => "local_disk",
            Self::Remote => "remote",
            Self::RamCache => "ram_cache",
            Self::DiskCache => "disk_cache",
        }
    }
}

/// How long something idle is kept.
#[derive(Clone, Debug, PartialEq)]
pub enum KeepAlive {
    /// For a time drawn at each idle period \[s\]; constant zero keeps nothing.
    For(Distribution),
    /// For ever.
    Infinite,
}

/// How the number of replicas is decided.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// The warm pool: replicas kept ready at all times.
    pub min: u32,
    /// Hard limit; `u32::MAX` is none.
    pub max: u32,
    /// Replicas ready at the origin.
    pub initial: u32,
    /// Larger warm pools at some hours.
    pub warm_hours: Vec<WarmHours>,
    /// Idle replicas kept beyond the busy ones while requests are in the system.
    pub buffer: u32,
    /// How long an idle replica above the warm pool lives.
    pub keep_alive: KeepAlive,
    /// What starts replicas.
    pub rule: Rule,
    /// Whether a start that no waiting request needs any more is given up although it has its GPUs; one that still waits for
    /// them always is, as schedulers drop what is pending first.
    pub cancel_surplus_starts: bool,
}

/// A warm pool for some hours of the week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarmHours {
    /// Monday first.
    pub days: [bool; 7],
    /// Start, from midnight.
    pub from: Duration,
    /// End, from midnight; earlier than the start runs over midnight.
    pub to: Duration,
    /// The pool in these hours.
    pub min: u32,
}

/// What starts replicas.
#[derive(Clone, Debug)]
pub enum Rule {
    /// Each arrival that finds more requests than the replicas (ready or starting) are meant for starts one.
    Arrival {
        /// Requests in the system per replica.
        target: f64,
    },
    /// As `Arrival`, but looked at only every `interval`: what comes and goes in between is missed.
    Poll {
        /// Between looks.
        interval: Duration,
        /// Requests in the system per replica.
        target: f64,
    },
    /// Averages over a stable and a panic window (Knative's pod autoscaler).
    Windowed(Box<Windowed>),
    /// Each request that finds no replica with room starts one and waits for that one alone; where none may start, it is
    /// refused (429).
    PerRequest,
    /// Nothing: only the warm pool.
    Fixed,
}

/// The rules of Knative's pod autoscaler (knative/serving, config-autoscaler).
#[derive(Clone, Debug, PartialEq)]
pub struct Windowed {
    /// What is averaged.
    pub metric: Metric,
    /// Wanted value of the metric per replica: target times utilisation.
    pub target: f64,
    /// Length of the stable window.
    pub stable_window: Duration,
    /// Length of the panic window.
    pub panic_window: Duration,
    /// Panic when the panic window wants at least this many times the ready replicas.
    pub panic_threshold: f64,
    /// Between decisions.
    pub tick: Duration,
    /// At most this factor up in one decision.
    pub max_scale_up_rate: f64,
    /// At most this factor down in one decision.
    pub max_scale_down_rate: f64,
    /// How long a lower wish must last before it is followed.
    pub scale_down_delay: Duration,
    /// How long the last replica is kept once nothing is wanted.
    pub scale_to_zero_grace: Duration,
}

/// What a windowed rule averages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Requests in the system.
    Concurrency,
    /// Arrivals [1/s].
    Rate,
}

/// Who waits, and how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Most requests held waiting; `u32::MAX` is no limit. Beyond it: 429, or the newest held request of a lower priority
    /// gives way.
    pub queue_limit: u32,
    /// Longest wait in the queue before `timeout_status`.
    pub queue_timeout: Option<Duration>,
    /// HTTP status of a queue time-out.
    pub timeout_status: u16,
    /// Whether requests wait while no replica is ready; otherwise they get 503 (and still start one).
    pub hold_while_cold: bool,
}

/// What becomes of a request longer than the model's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverContext {
    /// Refused (413).
    Reject,
    /// Its prompt is cut to what fits beside the answer.
    Truncate,
}

/// Which replica takes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Router {
    /// One queue; whichever replica is free first takes the head (late binding).
    SharedQueue,
    /// Replicas have queues of their own, filled in turn.
    RoundRobin,
    /// At random.
    Random,
    /// The one with the fewest requests.
    LeastOutstanding,
    /// The less loaded of two picked at random (Mitzenmacher 2001).
    TwoChoices,
}

/// Which of several idle replicas takes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleOrder {
    /// The one that became idle last: the others get old and expire.
    MostRecentlyIdle,
    /// The one idle for longest: all stay warm.
    LeastRecentlyIdle,
    /// The one started last.
    Newest,
}

/// How replicas are lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Losses {
    /// Hazard at which an idle replica loses its GPU to other tenants [1/s].
    pub eviction_hazard: f64,
    /// Hazard at which a ready replica dies [1/s].
    pub failure_hazard: f64,
    /// Offsets from the window's start at which the oldest ready replica dies.
    pub failures_at: Vec<Duration>,
}
