//! A deployment: how one model is served.

use super::super::{Kind, Reader};
use super::cold_start::Recipe;
use super::hardware::{self, Engine, Modelled};
use super::provider::Context;
use super::scaling;
use super::service::{self, Service};
use super::traffic::{self, share};
use super::values::{count, count_or_unlimited, keep_alive, optional_span};
use crate::experiment::Prediction;
use crate::fleet::config::{
    Admission, DeploymentConfig, IdleOrder, Losses, Placement, Router, Rule, Rung, Warmth,
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
    let mut builder = Builder {
        context,
        engine,
        service: &service,
        rung_recipes,
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
    let traffic = reader.entries("traffic");
    let config = DeploymentConfig {
        traffic: traffic
            .into_iter()
            .map(|(stream, entry)| traffic::read(stream, entry, &service))
            .collect(),
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
        cold_service: service.cold.clone(),
        over_context: service.over_context,
        placements,
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
        let modelled = self.modelled(reader, gpu.as_deref(), gpus);
        let price = Kind::price().non_negative().at_most("1000000usd/h");
        let usual = modelled
            .as_ref()
            .map_or(0.0, |modelled| modelled.usd_per_gpu_hour);
        let usd_per_gpu_hour = reader.or_default("price", &price, &format!("{usual}usd/h"));
        let pool = gpu
            .as_ref()
            .and_then(|gpu| self.context.pools.iter().position(|pool| pool.name == *gpu));
        let name = gpu.unwrap_or_else(|| "stated".to_owned());
        let starts = self.starts(&name, modelled.as_ref(), remote);
        let batching = self.service.batching(modelled.as_ref());
        Placement {
            name,
            pool,
            gpus,
            usd_per_gpu_hour,
            batching,
            starts,
        }
    }

    /// The catalogue's prediction on these GPUs.
    fn modelled(
        &mut self,
        reader: &mut Reader<'_>,
        gpu: Option<&str>,
        gpus: u32,
    ) -> Option<Modelled> {
        let engine = self.engine.as_ref()?;
        let engine = engine.with_format(reader.optional("format", &Kind::text()));
        if !reader.is_sound("gpu") || !reader.is_sound("gpus") {
            return None;
        }
        match engine.on(self.context.catalog, gpu?, gpus) {
            Ok(modelled) => Some(modelled),
            Err(problem) => {
                hardware::report(reader, &problem);
                None
            }
        }
    }

    /// How a replica starts from each rung and from remote storage.
    fn starts(
        &mut self,
        placement: &str,
        modelled: Option<&Modelled>,
        remote: &Recipe,
    ) -> Vec<crate::fleet::StartPlan> {
        let recipes = self
            .rung_recipes
            .iter()
            .map(|(warmth, recipe)| (*warmth, recipe));
        let recipes: Vec<(Warmth, &Recipe)> = recipes.chain([(Warmth::Remote, remote)]).collect();
        let Some(modelled) = modelled else {
            return recipes
                .into_iter()
                .map(|(_, recipe)| recipe.over(crate::fleet::StartPlan::default()))
                .collect();
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
