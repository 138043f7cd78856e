//! A deployment: how one model is served.

use super::super::{Kind, Reader, Variant};
use super::cold_start::Recipe;
use super::hardware::{self, Engine, MemoryAsked, Modelled};
use super::provider::Context;
use super::scaling;
use super::service::{self, Service};
use super::traffic::{self, share};
use super::values::{count, count_or_unlimited, distribution, keep_alive, optional_span, seconds};
use crate::catalog::Gpu;
use crate::experiment::Prediction;
use crate::fleet::StartPlan;
use crate::fleet::config::{
    Admission, DeploymentConfig, IdleOrder, Losses, Placement, PoolConfig, Router, Rule, Rung,
    Share, Sharing, Warmth,
};

/// One model at one provider, and what the catalogue predicts of it.
pub(super) fn read(
    name: String,
    mut reader: Reader<'_>,
    context: &Context<'_>,
) -> (DeploymentConfig, Vec<Prediction>) {
    let engine = reader.optional_table("engine").map(|mut inner| {
        let engine = Engine::read(&mut inner, &name);
        inner.finish();
        engine
    });
    let service = service::read(&mut reader, engine.is_some());
    let recipe = Recipe::read(
        reader.table("cold_start"),
        context,
        Warmth::Remote,
        engine.is_some(),
    );
    let (rungs, rung_recipes) = warmth(reader.table("warmth"), context, engine.is_some());
    let cached = cached(&mut reader, context, engine.is_some());
    let mut builder = Builder {
        context,
        engine,
        service: &service,
        rung_recipes,
        cached,
        weights: None,
        predictions: Vec::new(),
    };
    let mut placements = vec![builder.placement(&mut reader, &recipe)];
    for mut fallback in reader.list("fallback") {
        let own = fallback.optional_table("cold_start");
        let has_engine = builder.engine.is_some();
        let own = own.map(|own| Recipe::read(own, context, Warmth::Remote, has_engine));
        placements.push(builder.placement(&mut fallback, own.as_ref().unwrap_or(&recipe)));
        fallback.finish();
    }
    let predictions = builder.predictions;
    let mut models = vec![name.clone()];
    let traffic = reader.entries("traffic");
    let traffic = traffic
        .into_iter()
        .map(|(stream, entry)| traffic::read(stream, entry, &service, &mut models))
        .collect();
    let config = DeploymentConfig {
        traffic,
        sharing: sharing(&mut reader, &models),
        cached_share: reader.or_default("cached_share", &share(), "0%"),
        scaling: scaling::read(reader.table("scaling"), service.target, context.catalog),
        admission: admission(reader.table("queue")),
        router: reader.or_default("router", &Kind::one_of(&ROUTERS), "shared-queue"),
        idle_order: reader.or_default(
            "idle_order",
            &Kind::one_of(&IDLE_ORDERS),
            "most-recently-idle",
        ),
        losses: losses(reader.table("losses")),
        prefill: service.prefill.clone(),
        decode: service.decode.clone(),
        cold_service: service.cold.clone().map(Box::new),
        over_context: service.over_context,
        placements,
        gpu_priority: reader.or_default("gpu_priority", &Kind::whole().at_most("255"), "0") as u8,
        rungs,
        name,
    };
    if matches!(config.scaling.rule, Rule::PerRequest) {
        nothing_held(&mut reader, &config);
    }
    reader.finish();
    (config, predictions)
}

/// The rule `per-request` leaves no queue to give rules to.
fn nothing_held(reader: &mut Reader<'_>, config: &DeploymentConfig) {
    let admission = &config.admission;
    for (key, found, is_wrong) in [
        (
            "router",
            "fills the replicas' queues",
            config.router != Router::SharedQueue,
        ),
        (
            "queue",
            "limits the queue",
            admission.queue_limit != u32::MAX,
        ),
        (
            "queue",
            "refuses requests while none is ready",
            !admission.hold_while_cold,
        ),
    ] {
        if is_wrong {
            let message =
                "the rule `per-request` holds no requests: each starts a replica or is refused";
            reader.problem_at(key, message, found, "leave it out, or use rule.arrival");
        }
    }
}

const ROUTERS: [(&str, Router); 5] = [
    ("shared-queue", Router::SharedQueue),
    ("round-robin", Router::RoundRobin),
    ("random", Router::Random),
    ("least-outstanding", Router::LeastOutstanding),
    ("two-choices", Router::TwoChoices),
];

const IDLE_ORDERS: [(&str, IdleOrder); 3] = [
    ("most-recently-idle", IdleOrder::MostRecentlyIdle),
    ("least-recently-idle", IdleOrder::LeastRecentlyIdle),
    ("newest", IdleOrder::Newest),
];

/// Makes the places where replicas may run.
struct Builder<'a> {
    context: &'a Context<'a>,
    engine: Option<Engine>,
    service: &'a Service,
    rung_recipes: Vec<(Warmth, Recipe)>,
    /// Starts of a node that has the weights.
    cached: Vec<(Warmth, Recipe)>,
    /// Size of the weights as stated last \[bytes\].
    weights: Option<u64>,
    predictions: Vec<Prediction>,
}

impl Builder<'_> {
    /// Reads `gpu`, `gpus` and `price` of the deployment itself or of one of its fallbacks.
    fn placement(&mut self, reader: &mut Reader<'_>, remote: &Recipe) -> Placement {
        let gpu = match &self.engine {
            Some(_) => Some(reader.required("gpu", &Kind::text().example("h100-sxm"))),
            None => reader.optional("gpu", &Kind::text()),
        };
        let gpus = count(reader, "gpus", "1", "1");
        let pool = gpu
            .as_ref()
            .and_then(|gpu| self.context.pools.iter().position(|pool| pool.name == *gpu));
        let pool_config = pool.map(|pool| &self.context.pools[pool]);
        if let Some(pool) = pool_config.filter(|pool| gpus > pool.node.gpus) {
            too_wide(reader, gpus, pool);
        }
        let ask = memory(reader, self.engine.is_some());
        let modelled = self.modelled(reader, gpu.as_deref(), gpus, ask);
        let share = match &modelled {
            Some(modelled) => modelled.share,
            None => stated_share(reader, ask, self.gpu_bytes(gpu.as_deref(), pool_config)),
        };
        let price = Kind::price().non_negative().at_most("1000000usd/h");
        let usual = modelled
            .as_ref()
            .map_or(0.0, |modelled| modelled.usd_per_gpu_hour);
        let usd_per_gpu_hour = reader.or_default("price", &price, &format!("{usual}usd/h"));
        let name = gpu.unwrap_or_else(|| "stated".to_owned());
        let mut starts = self.starts(&name, modelled.as_ref(), remote);
        let cached = starts.split_off(self.rung_recipes.len() + 1);
        let weight_bytes = self.weights(reader, modelled.as_ref(), pool_config);
        let batching = self.service.batching(modelled.as_ref());
        Placement {
            name,
            pool,
            gpus,
            share,
            usd_per_gpu_hour,
            batching,
            starts,
            weight_bytes,
            cached,
        }
    }

    /// Size of the weights, which nodes with stores must know: predicted, stated, or stated for the first choice.
    fn weights(
        &mut self,
        reader: &mut Reader<'_>,
        modelled: Option<&Modelled>,
        pool: Option<&PoolConfig>,
    ) -> u64 {
        if let Some(modelled) = modelled {
            return modelled.weight_bytes();
        }
        if self.engine.is_none() {
            let kind = Kind::bytes().positive().at_most("1000TB");
            self.weights = reader.optional("weights", &kind).or(self.weights);
        }
        let keeps = pool.is_some_and(|pool| pool.node.keeps_weights());
        if keeps && self.engine.is_none() && self.weights.is_none() {
            reader.missing("weights", "\"16GB\"");
        }
        self.weights.unwrap_or(0)
    }

    /// Memory of a GPU of a tier; 1 where it is not known.
    fn gpu_bytes(&self, gpu: Option<&str>, pool: Option<&PoolConfig>) -> u64 {
        let own = gpu.and_then(|gpu| self.context.catalog.gpus.get(gpu));
        let stated = pool.map_or(1, |pool| pool.gpu_bytes);
        own.map_or(stated, Gpu::mem_bytes)
    }

    /// The catalogue's prediction on these GPUs.
    fn modelled(
        &mut self,
        reader: &mut Reader<'_>,
        gpu: Option<&str>,
        gpus: u32,
        memory: MemoryAsked,
    ) -> Option<Modelled> {
        let engine = self.engine.as_ref()?;
        let engine = engine.with_format(reader.optional("format", &Kind::text()));
        if ["gpu", "gpus", "memory"]
            .iter()
            .any(|key| !reader.is_sound(key))
        {
            return None;
        }
        match engine.on(self.context.catalog, gpu?, gpus, memory) {
            Ok(modelled) => Some(modelled),
            Err(problem) => {
                hardware::report(reader, &engine, &problem);
                None
            }
        }
    }

    /// How a replica starts from each rung, from remote storage, and from its node's stores.
    fn starts(
        &mut self,
        placement: &str,
        modelled: Option<&Modelled>,
        remote: &Recipe,
    ) -> Vec<StartPlan> {
        let recipes = self
            .rung_recipes
            .iter()
            .map(|(warmth, recipe)| (*warmth, recipe));
        let recipes = recipes.chain([(Warmth::Remote, remote)]);
        let cached = self.cached.iter().map(|(warmth, recipe)| (*warmth, recipe));
        let recipes: Vec<(Warmth, &Recipe)> = recipes.chain(cached).collect();
        let Some(modelled) = modelled else {
            let plan = |(warmth, recipe): (Warmth, &Recipe)| {
                // Where nothing is predicted, what a store's start leaves out is as from remote storage.
                recipe.over(if warmth.is_cache() {
                    remote.over(StartPlan::default())
                } else {
                    StartPlan::default()
                })
            };
            return recipes.into_iter().map(plan).collect();
        };
        let mut plans = Vec::new();
        let mut predicted = Vec::new();
        for (warmth, recipe) in recipes {
            let (plan, start) = modelled.start(self.context.catalog, recipe, warmth);
            plans.push(recipe.over(plan));
            predicted.push((warmth, recipe.over_prediction(start)));
        }
        self.predictions
            .push(modelled.prediction(placement, predicted));
        plans
    }
}

/// How a replica starts where its node has the weights in host RAM, and on its local disk.
fn cached(
    reader: &mut Reader<'_>,
    context: &Context<'_>,
    has_engine: bool,
) -> Vec<(Warmth, Recipe)> {
    if !context.pools.iter().any(|pool| pool.node.keeps_weights()) {
        if let Some(mut inner) = reader.optional_table("cached") {
            inner.take_toml();
            inner.finish();
            reader.problem_at(
                "cached",
                "no node of this provider keeps weights",
                "would never be used",
                "give nodes a ram_cache or a disk_cache, for example nodes.h100-sxm.ram_cache = \"1TB\"",
            );
        }
        return Vec::new();
    }
    let mut inner = reader.table("cached");
    let read = [Warmth::RamCache, Warmth::DiskCache].map(|warmth| {
        let own = inner.table(warmth.name());
        (warmth, Recipe::read(own, context, warmth, has_engine))
    });
    inner.finish();
    read.into()
}

/// Whether several models share the replicas, and how.
fn sharing(reader: &mut Reader<'_>, models: &[String]) -> Option<Sharing> {
    let forms = [
        Variant::unit("none"),
        Variant::table("models"),
        Variant::table("adapters"),
    ];
    let (form, mut inner) = reader.variant("sharing", &forms, "none");
    if form == "none" {
        inner.finish();
        if let [_, other, ..] = models {
            reader.problem_at(
                "sharing",
                format!("`{other}` shares the replicas of `{}`", models[0]),
                "nothing says how",
                "add sharing.models = { switch = \"5s\" }, or sharing.adapters",
            );
        }
        return None;
    }
    let keeps_own = form == "adapters";
    let (at_once, order) = if keeps_own {
        ("8", "first-fit")
    } else {
        ("1", "fcfs")
    };
    let orders = Kind::one_of(&[("fcfs", false), ("first-fit", true)]);
    let sharing = Sharing {
        at_once: count(&mut inner, "at_once", "1", at_once),
        keeps_own,
        switch: distribution(&mut inner, "switch", &seconds(), "1s"),
        first_fit: inner.or_default("order", &orders, order),
    };
    inner.finish();
    Some(sharing)
}

/// Reads `memory`: what a replica takes of each of its GPUs.
fn memory(reader: &mut Reader<'_>, has_engine: bool) -> MemoryAsked {
    let forms = [
        Variant::unit("whole"),
        Variant::unit("fitted"),
        Variant::shorthand("each", "bytes"),
    ];
    let (form, mut inner) = reader.variant("memory", &forms, "whole");
    let bytes = Kind::bytes().positive().at_most("1000TB");
    let asked = match form {
        "fitted" => MemoryAsked::Fitted,
        "each" => MemoryAsked::Each(inner.required("bytes", &bytes)),
        _ => MemoryAsked::Whole,
    };
    inner.finish();
    if matches!(asked, MemoryAsked::Fitted) && !has_engine {
        reader.problem_at(
            "memory",
            "`memory` can be fitted only to an engine's model",
            "nothing says how much it needs",
            "state it, for example memory = \"20GB\"",
        );
    }
    asked
}

/// The part of a GPU of a tier that nothing is predicted of.
fn stated_share(reader: &mut Reader<'_>, asked: MemoryAsked, of: u64) -> Share {
    let MemoryAsked::Each(bytes) = asked else {
        return Share { bytes: of, of };
    };
    if of == 1 {
        reader.problem_at(
            "memory",
            "the GPU's own memory is not known",
            "is a part of it",
            "put the tier into the provider's `gpus`, and its memory into `nodes`: nodes.my-gpu.memory = \"80GB\"",
        );
    } else if bytes > of {
        let found = format!("is more than the {of} bytes that a GPU has");
        reader.problem_at(
            "memory",
            "a replica must fit its GPUs",
            found,
            "use more or larger GPUs",
        );
    }
    Share {
        bytes: bytes.min(of),
        of,
    }
}

fn too_wide(reader: &mut Reader<'_>, gpus: u32, pool: &PoolConfig) {
    let message = format!(
        "a replica of {gpus} GPUs does not fit a node of {} {}",
        pool.node.gpus, pool.name
    );
    let help = format!(
        "use fewer GPUs, or larger nodes: nodes.{}.gpus = {gpus} in the provider",
        pool.name
    );
    reader.problem_at("gpus", message, "must lie in one node", help);
}

/// The ladder of warmth between the GPU and remote storage, and how a replica starts from each rung.
fn warmth(
    mut reader: Reader<'_>,
    context: &Context<'_>,
    has_engine: bool,
) -> (Vec<Rung>, Vec<(Warmth, Recipe)>) {
    let mut rungs = Vec::new();
    let mut recipes = Vec::new();
    for warmth in [Warmth::HostRam, Warmth::LocalDisk] {
        let Some(mut rung) = reader.optional_table(warmth.name()) else {
            continue;
        };
        let capacity = count_or_unlimited(&mut rung, "capacity", "0", "unlimited");
        let initial = count(&mut rung, "initial", "0", "0");
        if initial > capacity {
            let found = format!("is more than the capacity of {capacity}");
            rung.problem_at(
                "initial",
                "`initial` must fit the rung",
                found,
                "raise capacity or lower initial",
            );
        }
        rungs.push(Rung {
            warmth,
            capacity,
            initial,
            keep: keep_alive(&mut rung, "keep", "infinite"),
            usd_per_hour: rung.or_default(
                "price",
                &Kind::price().non_negative().at_most("1000000usd/h"),
                "0usd/h",
            ),
            refill: rung.or_default("refill", &Kind::boolean(), "false"),
        });
        recipes.push((
            warmth,
            Recipe::read(rung.table("start"), context, warmth, has_engine),
        ));
        rung.finish();
    }
    reader.finish();
    (rungs, recipes)
}

fn admission(mut reader: Reader<'_>) -> Admission {
    let status = Kind::one_of(&[("429", 429_u16), ("503", 503)]);
    let admission = Admission {
        queue_limit: count_or_unlimited(&mut reader, "limit", "0", "unlimited"),
        queue_timeout: optional_span(&mut reader, "timeout", "none"),
        timeout_status: reader.or_default("timeout_status", &status, "503"),
        hold_while_cold: reader.or_default("hold_while_cold", &Kind::boolean(), "true"),
    };
    reader.finish();
    admission
}

fn losses(mut reader: Reader<'_>) -> Losses {
    let hazard = || Kind::rate().non_negative().at_most("1000/s");
    let times = Kind::duration()
        .at_most("364d")
        .list()
        .must("be in order", |times| times.is_sorted());
    let losses = Losses {
        eviction_hazard: reader.or_default("eviction", &hazard(), "0/s"),
        failure_hazard: reader.or_default("failure", &hazard(), "0/s"),
        failures_at: reader.or_default("failures_at", &times, "[]"),
    };
    reader.finish();
    losses
}
