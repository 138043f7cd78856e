//! A cold start as phases, each a lognormal time, from what must be brought and started.
//!
//! In order: provision, image, container, start engine, load weights, compile, capture graphs, warm up. A snapshot or a
//! replica asleep in host memory replaces everything from the engine's start on. Loading is given as bytes over links, so that
//! a fleet can share a link between replicas that load at once; its median here is that of a replica loading alone.
//!
//! Sources: the `cold_phase`, `engine` and `storage` tables.

use super::performance::{GB, Term};
use super::{Catalog, ColdPhase, Engine, Gpu, Scope, Storage};
use crate::start_phase::StartPhase;

/// Time of a phase: lognormal, with a share of stragglers that take a multiple of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseTime {
    /// Median \[s\].
    pub median_s: f64,
    /// Standard deviation of the logarithm.
    pub log_sd: f64,
    /// Share of stragglers.
    pub tail_probability: f64,
    /// How many times longer they take.
    pub tail_factor: f64,
}

/// Bytes that must come over links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Bytes to bring.
    pub bytes: f64,
    /// What the node's link delivers to all replicas that load through it [bytes/s]; `None` where nothing is shared.
    pub shared_rate: Option<f64>,
    /// What this replica can take, however free the link is [bytes/s].
    pub rate_cap: f64,
    /// Until the first byte \[s\].
    pub first_byte_s: f64,
    /// Spread of the rate: standard deviation of its logarithm.
    pub log_sd: f64,
}

impl Load {
    /// Time of a replica that loads alone \[s\].
    pub fn alone_s(&self) -> f64 {
        self.first_byte_s
            + self.bytes
                / self
                    .shared_rate
                    .map_or(self.rate_cap, |shared| shared.min(self.rate_cap))
    }
}

/// One phase of a cold start.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Which step it is.
    pub stage: StartPhase,
    /// How it is done, for reports: an entry of the catalogue.
    pub what: String,
    /// Its time; for a load, of a replica that loads alone.
    pub time: PhaseTime,
    /// What must come over links, for weights from storage.
    pub load: Option<Load>,
    /// How the median was reckoned.
    pub formula: String,
    /// Where its figures come from.
    pub source: String,
}

/// The phases of a cold start, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct ColdStart {
    /// In the order of [`StartPhase`].
    pub phases: Vec<Phase>,
}

impl ColdStart {
    /// Sum of the medians \[s\]: what a typical start takes if no link is shared.
    pub fn median_s(&self) -> f64 {
        self.phases.iter().map(|phase| phase.time.median_s).sum()
    }

    /// The phases as terms.
    pub fn terms(&self) -> Vec<Term> {
        let term = |phase: &Phase| Term {
            name: phase.stage.name(),
            seconds: phase.time.median_s,
            formula: format!("{}: {}", phase.what, phase.formula),
            source: phase.source.clone(),
        };
        self.phases.iter().map(term).collect()
    }
}

/// Where a starting replica's state comes from.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// The engine starts anew and loads weights.
    Storage {
        /// Where they are.
        storage: &'a Storage,
        /// Compiled code is in a cache.
        compile_cached: bool,
    },
    /// A snapshot of process and GPU memory is restored.
    Snapshot(&'a ColdPhase),
    /// The replica sleeps in host memory and wakes: nothing but the GPU must be had.
    HostRam(&'a ColdPhase),
}

/// What a cold start has to do.
#[derive(Clone, Copy, Debug)]
pub struct StartPlan<'a> {
    /// How a GPU is had; `None` if it is held already.
    pub provision: Option<&'a ColdPhase>,
    /// How the image comes; `None` if it is unpacked on the node.
    pub image: Option<&'a ColdPhase>,
    /// How the container starts; `None` if it runs.
    pub container: Option<&'a ColdPhase>,
    /// Where the state comes from.
    pub from: Origin<'a>,
    /// The engine.
    pub engine: &'a Engine,
    /// The GPU tier.
    pub gpu: &'a Gpu,
    /// GPUs of the replica.
    pub gpus: u32,
    /// Weights \[bytes\].
    pub weight_bytes: f64,
}

impl StartPlan<'_> {
    /// A median that is known on one GPU and on eight: linear in between, that of eight beyond.
    fn by_gpus(&self, one: f64, eight: f64) -> f64 {
        one + (eight - one) * (f64::from(self.gpus.clamp(1, 8)) - 1.0) / 7.0
    }
}

/// Weights from a storage tier: bytes over the narrowest of tier, host-to-device copies and loader.
pub fn load(storage: &Storage, engine: &Engine, gpu: &Gpu, gpus: u32, bytes: f64) -> Load {
    let gpus = f64::from(gpus);
    let loader = engine.loader_gbps.unwrap_or(f64::INFINITY);
    let own = (gpu.h2d_effective_gbps * gpus).min(loader);
    let (shared_rate, cap) = match storage.scope {
        Scope::Node => (Some(storage.throughput_gbps * GB), own),
        Scope::Gpu => (None, own.min(storage.throughput_gbps * gpus)),
    };
    Load {
        bytes,
        shared_rate,
        rate_cap: cap * GB,
        first_byte_s: storage.first_byte_s,
        log_sd: storage.log_sd,
    }
}

impl Catalog {
    /// The phases of a cold start.
    pub fn cold_start(&self, plan: &StartPlan<'_>) -> ColdStart {
        let mut phases = Vec::new();
        phases.extend(
            plan.provision
                .map(|entry| simple(StartPhase::Provision, entry, 0.0)),
        );
        phases.extend(
            plan.image
                .map(|entry| simple(StartPhase::Image, entry, plan.engine.image_gb)),
        );
        phases.extend(
            plan.container
                .map(|entry| simple(StartPhase::Container, entry, 0.0)),
        );
        match plan.from {
            Origin::Storage {
                storage,
                compile_cached,
            } => phases.extend(self.fresh(plan, storage, compile_cached)),
            Origin::Snapshot(entry) | Origin::HostRam(entry) => {
                // Each GPU takes its own share from the host in parallel.
                let share = plan.weight_bytes / GB / f64::from(plan.gpus);
                phases.push(simple(StartPhase::LoadWeights, entry, share));
            }
        }
        ColdStart { phases }
    }

    /// An engine that starts anew. Phases that take no time are left out.
    fn fresh(&self, plan: &StartPlan<'_>, storage: &Storage, compile_cached: bool) -> Vec<Phase> {
        let engine = plan.engine;
        let nccl = plan.by_gpus(0.0, engine.nccl_init_tp8_s);
        let compile = if compile_cached {
            ("compile-cached", engine.compile_cached_s)
        } else {
            (
                "compile-cold",
                plan.by_gpus(engine.compile_cold_s, engine.compile_cold_tp8_s),
            )
        };
        let graphs = plan.by_gpus(engine.graph_capture_s, engine.graph_capture_tp8_s);
        let start = engine.import_s + engine.cuda_init_s + nccl;
        let mut begin = self.of_engine(StartPhase::StartEngine, "engine-import", engine, start);
        begin.formula = format!(
            "import {:.1} s + CUDA {:.1} s + collectives {nccl:.1} s on {} GPUs",
            engine.import_s, engine.cuda_init_s, plan.gpus
        );
        let phases = vec![
            begin,
            weights(
                storage,
                load(storage, engine, plan.gpu, plan.gpus, plan.weight_bytes),
            ),
            self.of_engine(StartPhase::Compile, compile.0, engine, compile.1),
            self.of_engine(StartPhase::CaptureGraphs, "graph-capture", engine, graphs),
            self.of_engine(
                StartPhase::WarmUp,
                "profile-warmup",
                engine,
                engine.profile_warmup_s,
            ),
        ];
        phases
            .into_iter()
            .filter(|phase| phase.time.median_s > 0.0)
            .collect()
    }

    /// A phase with the engine's median and the spread of a phase entry.
    fn of_engine(&self, stage: StartPhase, spread: &str, engine: &Engine, median_s: f64) -> Phase {
        let (log_sd, tail_probability, tail_factor) = self
            .cold_phases
            .get(spread)
            .map_or((0.3, 0.0, 1.0), |entry| {
                (entry.log_sd, entry.tail_prob, entry.tail_factor)
            });
        Phase {
            stage,
            what: engine.id.clone(),
            time: PhaseTime {
                median_s,
                log_sd,
                tail_probability,
                tail_factor,
            },
            load: None,
            formula: format!("{median_s:.1} s"),
            source: format!(
                "engine {} ({}): {}",
                engine.id, engine.confidence, engine.source
            ),
        }
    }
}

/// A phase that the catalogue gives whole.
fn simple(stage: StartPhase, entry: &ColdPhase, gb: f64) -> Phase {
    Phase {
        stage,
        what: entry.id.clone(),
        time: PhaseTime {
            median_s: entry.median_s + entry.per_gb_s * gb,
            log_sd: entry.log_sd,
            tail_probability: entry.tail_prob,
            tail_factor: entry.tail_factor,
        },
        load: None,
        formula: if entry.per_gb_s > 0.0 {
            format!(
                "{} s + {} s/GB x {gb:.1} GB",
                entry.median_s, entry.per_gb_s
            )
        } else {
            format!("{} s", entry.median_s)
        },
        source: format!(
            "cold_phase {} ({}): {}",
            entry.id, entry.confidence, entry.source
        ),
    }
}

fn weights(storage: &Storage, load: Load) -> Phase {
    let shared = load.shared_rate.map_or(String::new(), |rate| {
        format!("link {:.2} GB/s, ", rate / GB)
    });
    Phase {
        stage: StartPhase::LoadWeights,
        what: storage.id.clone(),
        time: PhaseTime {
            median_s: load.alone_s(),
            log_sd: load.log_sd,
            tail_probability: 0.0,
            tail_factor: 1.0,
        },
        load: Some(load),
        formula: format!(
            "{:.3} s + {:.3} GB / min({shared}replica {:.2} GB/s)",
            load.first_byte_s,
            load.bytes / GB,
            load.rate_cap / GB
        ),
        source: format!(
            "storage {} ({}): {}",
            storage.id, storage.confidence, storage.source
        ),
    }
}
