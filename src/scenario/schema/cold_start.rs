//! The `cold_start` table: phases stated one by one, or chosen from the catalogue.

use super::super::{Kind, Reader, Variant};
use super::hardware::{phase_entry, unknown};
use super::provider::Context;
use super::values::{DISTRIBUTIONS, distribution_form, seconds};
use crate::catalog::start::{self, ColdStart, Phase};
use crate::distribution::Distribution;
use crate::fleet::config::Warmth;
use crate::fleet::{PhasePlan, PhaseTime, StartPhase, StartPlan, Transfer};

/// What a `cold_start` table says.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    /// Phases that the scenario states itself; they win over the catalogue's.
    stated: Vec<PhasePlan>,
    /// Entries of the catalogue's `cold_phase`.
    pub(super) allocate: Option<String>,
    pub(super) pull: Option<String>,
    pub(super) container: Option<String>,
    /// Entry of the catalogue's `storage`.
    pub(super) storage: String,
    pub(super) compile_cached: bool,
    pub(super) snapshot: bool,
    /// The provider's link over which weights come.
    pub(super) link: Option<usize>,
}

impl Recipe {
    /// Reads the table for a level of warmth. Only an engine has use for the catalogue's entries.
    pub(super) fn read(
        mut reader: Reader<'_>,
        context: &Context<'_>,
        warmth: Warmth,
        has_engine: bool,
    ) -> Self {
        let stated = stated(&mut reader, context);
        let mut recipe = Self {
            stated,
            allocate: None,
            pull: None,
            container: None,
            storage: String::new(),
            compile_cached: true,
            snapshot: false,
            link: None,
        };
        if has_engine {
            recipe.read_choices(&mut reader, context, warmth);
        }
        reader.finish();
        recipe
    }

    fn read_choices(&mut self, reader: &mut Reader<'_>, context: &Context<'_>, warmth: Warmth) {
        let catalog = context.catalog;
        let (allocate, pull, container, storage) = match warmth {
            Warmth::HostRam => ("none", "none", "none", ""),
            Warmth::LocalDisk | Warmth::DiskCache => (
                "allocate-warm-pool",
                "none",
                "container-start",
                "nvme-default-loader",
            ),
            Warmth::RamCache => (
                "allocate-warm-pool",
                "none",
                "container-start",
                "hostram-default-loader",
            ),
            Warmth::Remote => (
                "allocate-warm-pool",
                "image-lazy-or-cached",
                "container-start",
                "object-store-streamer",
            ),
        };
        let mut entry = |key: &str, default: &str| {
            phase_entry(reader, catalog, key, default).map(|entry| entry.id.clone())
        };
        self.allocate = entry("allocate", allocate);
        self.pull = entry("pull", pull);
        self.container = entry("start_container", container);
        if warmth == Warmth::HostRam {
            return;
        }
        self.storage = reader.or_default("storage", &Kind::text(), storage);
        if catalog.storages.get(&self.storage).is_none() {
            unknown(reader, catalog, "storage", "storage", &self.storage);
        }
        let caches = Kind::one_of(&[("warm", true), ("cold", false)]);
        self.compile_cached = reader.or_default("compile_cache", &caches, "warm");
        self.snapshot = reader.or_default("snapshot", &Kind::boolean(), "false");
        self.link = link(reader, context);
    }

    /// The start as stated, over what the catalogue proposes.
    pub(super) fn over(&self, proposed: StartPlan) -> StartPlan {
        let mut phases = proposed.phases;
        for stated in &self.stated {
            phases.retain(|phase| phase.phase != stated.phase);
            phases.push(stated.clone());
        }
        phases.retain(|phase| phase.time != PhaseTime::Stated(Distribution::Constant(0.0)));
        phases.sort_by_key(|phase| phase.phase);
        StartPlan { phases }
    }

    /// The same over what the catalogue predicts, for listing.
    pub(super) fn over_prediction(&self, predicted: ColdStart) -> ColdStart {
        let mut phases = predicted.phases;
        for stated in &self.stated {
            phases.retain(|phase| phase.stage != stated.phase);
            phases.push(listed(stated));
        }
        phases.sort_by_key(|phase| phase.stage);
        ColdStart { phases }
    }
}

/// A stated phase as the catalogue lists its own.
fn listed(stated: &PhasePlan) -> Phase {
    let (seconds, formula) = match &stated.time {
        PhaseTime::Stated(time) => (time.mean(), "mean"),
        PhaseTime::Transfer(transfer) => {
            let moving = transfer.bytes / transfer.cap_bytes_per_s;
            (transfer.first_byte_s + moving, "alone on its link")
        }
    };
    Phase {
        stage: stated.phase,
        what: "stated".to_owned(),
        time: start::PhaseTime {
            median_s: seconds,
            log_sd: 0.0,
            tail_probability: 0.0,
            tail_factor: 1.0,
        },
        load: None,
        formula: formula.to_owned(),
        source: "scenario".to_owned(),
    }
}

/// Phases that the table names.
fn stated(reader: &mut Reader<'_>, context: &Context<'_>) -> Vec<PhasePlan> {
    let mut phases = Vec::new();
    for phase in StartPhase::ALL.into_iter().skip(1) {
        let mut forms = DISTRIBUTIONS.to_vec();
        if phase == StartPhase::LoadWeights {
            forms.push(Variant::table("transfer"));
        }
        let Some((form, inner)) = reader.optional_variant(phase.name(), &forms) else {
            continue;
        };
        let time = if form == "transfer" {
            PhaseTime::Transfer(transfer(inner, context))
        } else {
            PhaseTime::Stated(distribution_form(form, inner, &seconds()))
        };
        phases.push(PhasePlan { phase, time });
    }
    phases
}

/// Bytes over a link.
fn transfer(mut inner: Reader<'_>, context: &Context<'_>) -> Transfer {
    let bytes = inner.required("bytes", &Kind::bytes().positive().at_most("1000TB")) as f64;
    let cap = inner.optional("bandwidth", &Kind::bandwidth().positive());
    let first_byte = inner.or_default("first_byte", &Kind::duration().at_most("1h"), "0s");
    let sigma = inner.or_default("sigma", &Kind::number().non_negative().at_most("5"), "0");
    let link = link(&mut inner, context);
    if cap.is_none() && link.is_none() {
        inner.missing("bandwidth", "\"5GB/s\"");
    }
    inner.finish();
    let spread = if sigma == 0.0 {
        Distribution::Constant(1.0)
    } else {
        Distribution::Lognormal { median: 1.0, sigma }
    };
    let cap_bytes_per_s = cap.unwrap_or(f64::INFINITY);
    Transfer {
        bytes,
        cap_bytes_per_s,
        first_byte_s: first_byte.as_secs(),
        spread,
        link,
    }
}

/// The provider's link that a key names.
fn link(reader: &mut Reader<'_>, context: &Context<'_>) -> Option<usize> {
    let name = reader.optional("link", &Kind::text())?;
    let found = context.links.iter().position(|link| link.name == name);
    if found.is_none() {
        let known: Vec<&str> = context
            .links
            .iter()
            .map(|link| link.name.as_str())
            .collect();
        let help = format!(
            "the provider's links: {}",
            if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            }
        );
        reader.problem_at(
            "link",
            format!("there is no link `{name}`"),
            "is not one of the provider's",
            help,
        );
    }
    found
}
