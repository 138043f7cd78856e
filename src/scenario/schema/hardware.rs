//! Service and cold starts out of hardware: what the catalogue predicts for a deployment.

use super::super::{Kind, Reader, Span, did_you_mean};
use super::cold_start::Recipe;
use crate::batching::Cost;
use crate::catalog::performance::{self, DeploymentProblem, KvFormat, Performance};
use crate::catalog::start::{Origin, StartPlan as CatalogStart};
use crate::catalog::{Catalog, ColdPhase};
use crate::distribution::Distribution;
use crate::experiment::{Prediction, Software};
use crate::fleet::config::{Share, Warmth};
use crate::fleet::{PhasePlan, PhaseTime, StartPlan, Transfer};
use std::sync::Arc;

/// The `engine` table: what runs on the GPUs.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    model: String,
    name: String,
    format: Option<String>,
    kv_format: KvFormat,
    speculation: Option<(String, u32)>,
    memory_utilisation: Option<f64>,
    kv_reserve_bytes: Option<f64>,
    /// Where the names stand that the table gives, by the kind of what they name.
    names: Vec<(&'static str, Span)>,
}

/// A deployment on certain GPUs, as the catalogue predicts it.
#[derive(Clone, Debug)]
pub(super) struct Modelled {
    pub(super) performance: Arc<Performance>,
    pub(super) kv_tokens: u64,
    pub(super) context_tokens: u32,
    pub(super) usd_per_gpu_hour: f64,
    /// What it holds of each GPU.
    pub(super) share: Share,
    software: Software,
    hardware: Hardware,
}

/// What a replica asks of the memory of each of its GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryAsked {
    /// All of it.
    Whole,
    /// So many bytes.
    Each(u64),
    /// What the weights and the least cache need.
    Fitted,
}

impl MemoryAsked {
    /// The part of each GPU. Of what a replica holds it uses the same share as it would of the whole GPU.
    fn share(self, hardware: &performance::Hardware<'_>) -> Share {
        const MEGABYTE: f64 = 1e6;
        let of = hardware.gpu.mem_bytes();
        let bytes = match self {
            Self::Whole => of,
            Self::Each(bytes) => bytes,
            Self::Fitted => {
                let needed = hardware.memory().needed_bytes() / f64::from(hardware.gpus);
                let reserve = hardware.scalars.gpu_reserve_gb * performance::GB;
                let each = (needed + reserve) / hardware.memory_utilization;
                ((each / MEGABYTE).ceil() * MEGABYTE) as u64
            }
        };
        Share {
            bytes: bytes.min(of),
            of,
        }
    }
}

/// Names that the start needs.
#[derive(Clone, Debug)]
struct Hardware {
    engine: String,
    gpu: String,
    gpus: u32,
    weight_bytes: f64,
}

impl Engine {
    /// Reads the table; the model defaults to the deployment's own name.
    pub(super) fn read(reader: &mut Reader<'_>, deployment: &str) -> Self {
        let kv_formats = Kind::one_of(&[("bf16", KvFormat::Bf16), ("fp8", KvFormat::Fp8)]);
        let drafts = Kind::whole().at_least("1").at_most("16");
        let engine = Self {
            names: Vec::new(),
            model: reader.or_default("model", &Kind::text(), deployment),
            name: reader.or_default("name", &Kind::text(), "vllm"),
            format: reader.optional("format", &Kind::text()),
            kv_format: reader.or_default("kv_format", &kv_formats, "bf16"),
            speculation: reader.optional("speculation", &Kind::text()).map(|name| {
                let count = reader.or_default("draft_tokens", &drafts, "3");
                (name, count as u32)
            }),
            memory_utilisation: reader.optional(
                "memory_utilisation",
                &Kind::percent().positive().at_most("100%"),
            ),
            kv_reserve_bytes: reader
                .optional("kv_reserve", &Kind::bytes())
                .map(|bytes| bytes as f64),
        };
        let keys = [
            ("model", "model"),
            ("engine", "name"),
            ("format", "format"),
            ("speculation", "speculation"),
        ];
        let given = keys.into_iter().filter(|(_, key)| reader.is_given(key));
        Self {
            names: given.map(|(kind, key)| (kind, reader.span(key))).collect(),
            ..engine
        }
    }

    /// Where the table gives the name of such a thing.
    fn place_of(&self, kind: &str) -> Option<Span> {
        let found = self.names.iter().find(|(known, _)| *known == kind);
        found.map(|&(_, span)| span)
    }

    /// The same on another weight format.
    pub(super) fn with_format(&self, format: Option<String>) -> Self {
        Self {
            format: format.or_else(|| self.format.clone()),
            ..self.clone()
        }
    }

    /// What the catalogue predicts on these GPUs, or why it cannot be.
    pub(super) fn on(
        &self,
        catalog: &Catalog,
        gpu: &str,
        gpus: u32,
        memory: MemoryAsked,
    ) -> Result<Modelled, DeploymentProblem> {
        let deployment = performance::Deployment {
            gpu,
            gpus,
            model: &self.model,
            format: self.format.as_deref(),
            kv: self.kv_format,
            engine: &self.name,
            speculation: self
                .speculation
                .as_ref()
                .map(|(name, count)| (name.as_str(), *count)),
            memory_utilization: self.memory_utilisation,
            kv_reserve_bytes: self.kv_reserve_bytes,
        };
        let mut hardware = catalog.hardware(&deployment)?;
        let share = memory.share(&hardware);
        if share.bytes < share.of {
            hardware.memory_utilization *= share.part();
        }
        let performance = Performance::new(&hardware)?;
        Ok(Modelled {
            kv_tokens: performance.memory().kv_capacity_tokens(),
            context_tokens: hardware.model.context_tokens.unwrap_or(DEFAULT_CONTEXT),
            usd_per_gpu_hour: hardware.gpu.usd_per_gpu_hour,
            share,
            software: Software {
                engine: self.name.clone(),
                format: hardware.weights.id.clone(),
                speculation: self.speculation.as_ref().map(|(name, _)| name.clone()),
            },
            hardware: Hardware {
                engine: self.name.clone(),
                gpu: gpu.to_owned(),
                gpus,
                weight_bytes: hardware.weight_bytes,
            },
            performance: Arc::new(performance),
        })
    }
}

/// Longest context of a model whose entry states none \[tokens\].
const DEFAULT_CONTEXT: u32 = 131_072;

/// Says at the right place why a deployment with this engine cannot be.
pub(super) fn report(reader: &mut Reader<'_>, engine: &Engine, problem: &DeploymentProblem) {
    let (key, help) = match problem {
        DeploymentProblem::Unknown { kind, id, known } => {
            let near = did_you_mean(id, known.iter().map(String::as_str))
                .map(|near| format!("did you mean `{near}`? "));
            let list = format!("`catalog {kind}` lists them");
            (
                if *kind == "gpu" { "gpu" } else { "engine" },
                near.unwrap_or_default() + &list,
            )
        }
        DeploymentProblem::NoFormat { .. } => (
            "engine",
            "`catalog format` says which GPUs have which formats".to_owned(),
        ),
        DeploymentProblem::TooLarge(_) => (
            "gpu",
            "use more or larger GPUs, a smaller format, or a smaller kv_reserve".to_owned(),
        ),
        DeploymentProblem::DraftTokens { .. } => (
            "engine",
            "`catalog speculation` lists the lengths".to_owned(),
        ),
        DeploymentProblem::OutOfRange { allowed, .. } => ("engine", format!("allowed: {allowed}")),
    };
    let message = format!("this deployment cannot be: {problem}");
    if let DeploymentProblem::Unknown { kind, .. } = problem
        && let Some(place) = engine.place_of(kind)
    {
        reader.problem_in(place, message, "is not known", &help);
        return;
    }
    let label = if key == "gpu" { "on this GPU" } else { "here" };
    reader.problem_at(key, message, label, help);
}

/// An entry of the catalogue chosen by a key; `"none"` leaves the phase out.
pub(super) fn phase_entry<'a>(
    reader: &mut Reader<'_>,
    catalog: &'a Catalog,
    key: &str,
    default: &str,
) -> Option<&'a ColdPhase> {
    let id = reader.or_default(key, &Kind::text(), default);
    if id == "none" {
        return None;
    }
    let found = catalog.cold_phases.get(&id);
    if found.is_none() {
        unknown(reader, catalog, key, "cold_phase", &id);
    }
    found
}

/// Reports a name that the catalogue lacks.
pub(super) fn unknown(reader: &mut Reader<'_>, catalog: &Catalog, key: &str, kind: &str, id: &str) {
    let ids = catalog.ids(kind);
    let help = did_you_mean(id, ids.iter().copied()).map_or_else(
        || format!("known: {}", ids.join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    reader.problem_at(
        key,
        format!("the catalogue has no {kind} `{id}`"),
        "is not known",
        help,
    );
}

impl Modelled {
    /// Size of the weights \[bytes\].
    pub(super) fn weight_bytes(&self) -> u64 {
        self.hardware.weight_bytes as u64
    }

    /// The cost model for the batching engine.
    pub(super) fn cost(&self) -> Cost {
        Cost::Modelled(self.performance.clone())
    }

    /// How a replica starts from a level of warmth, and what the catalogue said of it.
    pub(super) fn start(
        &self,
        catalog: &Catalog,
        recipe: &Recipe,
        warmth: Warmth,
    ) -> (StartPlan, crate::catalog::start::ColdStart) {
        let hardware = &self.hardware;
        let entry = |id: &Option<String>| id.as_ref().and_then(|id| catalog.cold_phases.get(id));
        let (engine, gpu) = (
            catalog.engines.get(&hardware.engine),
            catalog.gpus.get(&hardware.gpu),
        );
        let (Some(engine), Some(gpu)) = (engine, gpu) else {
            unreachable!("both were found when the deployment was resolved")
        };
        let wake = catalog.cold_phases.get("sleep-wake");
        let restore = catalog
            .cold_phases
            .get("snapshot-restore")
            .filter(|_| recipe.snapshot);
        let storage = catalog.storages.get(&recipe.storage);
        let from = match (warmth, wake, restore, storage) {
            (Warmth::HostRam, Some(wake), _, _) => Origin::HostRam(wake),
            (_, _, Some(restore), _) => Origin::Snapshot(restore),
            (_, _, _, Some(storage)) => Origin::Storage {
                storage,
                compile_cached: recipe.compile_cached,
            },
            // An unknown storage has been reported; any entry will do to go on.
            _ => {
                return (
                    StartPlan::default(),
                    crate::catalog::start::ColdStart { phases: Vec::new() },
                );
            }
        };
        let start = catalog.cold_start(&CatalogStart {
            provision: entry(&recipe.allocate),
            image: entry(&recipe.pull),
            container: entry(&recipe.container),
            from,
            engine,
            gpu,
            gpus: hardware.gpus,
            weight_bytes: hardware.weight_bytes,
        });
        let phases = start.phases.iter().map(|phase| PhasePlan {
            phase: phase.stage,
            time: phase.load.map_or_else(
                || PhaseTime::Stated(spread(phase.time)),
                |load| {
                    PhaseTime::Transfer(Transfer {
                        bytes: load.bytes,
                        cap_bytes_per_s: load
                            .shared_rate
                            .map_or(load.rate_cap, |rate| rate.min(load.rate_cap)),
                        first_byte_s: load.first_byte_s,
                        spread: Distribution::Lognormal {
                            median: 1.0,
                            sigma: load.log_sd,
                        },
                        link: recipe.link,
                    })
                },
            ),
        });
        (
            StartPlan {
                phases: phases.collect(),
            },
            start,
        )
    }

    /// What is predicted, for listing.
    pub(super) fn prediction(
        &self,
        placement: &str,
        starts: Vec<(Warmth, crate::catalog::start::ColdStart)>,
    ) -> Prediction {
        Prediction {
            placement: placement.to_owned(),
            software: self.software.clone(),
            performance: self.performance.clone(),
            starts,
        }
    }
}

/// A catalogue time as a distribution: lognormal, with its stragglers.
fn spread(time: crate::catalog::start::PhaseTime) -> Distribution {
    let typical = |factor: f64| Distribution::Lognormal {
        median: time.median_s * factor,
        sigma: time.log_sd,
    };
    if time.tail_probability == 0.0 {
        return typical(1.0);
    }
    Distribution::Mixture(vec![
        (1.0 - time.tail_probability, typical(1.0)),
        (time.tail_probability, typical(time.tail_factor)),
    ])
}
