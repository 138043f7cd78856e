//! A deployment: how one model is served.

use super::super::{Kind, Reader, Variant};
use super::traffic::{self, share};
use super::values::{count, count_or_unlimited, distribution, keep_alive, optional_span, seconds};
use crate::batching;
use crate::distribution::Distribution;
use crate::fleet::config::{
    Admission, DeploymentConfig, IdleOrder, Losses, Metric, Placement, Router, Rule, Rung, Scaling,
    WarmHours, Warmth, Windowed,
};
use crate::fleet::{PhasePlan, PhaseTime, StartPhase, StartPlan};
use crate::time::Duration;

/// One model at one provider.
pub(super) fn read(name: String, mut reader: Reader<'_>) -> DeploymentConfig {
    let service = service(&mut reader);
    let remote = start_plan(reader.table("cold_start"));
    let (rungs, mut starts) = warmth(reader.table("warmth"));
    starts.push(remote);
    let scaling = scaling(reader.table("scaling"), service.target);
    let admission = admission(reader.table("queue"));
    let router = reader.or_default("router", &Kind::one_of(&ROUTERS), "shared-queue");
    let idle_order = reader.or_default(
        "idle_order",
        &Kind::one_of(&IDLE_ORDERS),
        "most-recently-idle",
    );
    let losses = losses(reader.table("losses"));
    let price = reader.or_default(
        "price",
        &Kind::price().non_negative().at_most("1000000usd/h"),
        "0usd/h",
    );
    let cached_share = reader.or_default("cached_share", &share(), "0%");
    let traffic = reader.entries("traffic");
    let traffic = traffic
        .into_iter()
        .map(|(stream, entry)| traffic::read(stream, entry))
        .collect();
    reader.finish();
    let placement = Placement {
        name: "stated".to_owned(),
        pool: None,
        gpus: 1,
        usd_per_gpu_hour: price,
        batching: service.batching,
        starts,
    };
    DeploymentConfig {
        name,
        traffic,
        prefill: service.prefill,
        decode: service.decode,
        cached_share,
        placements: vec![placement],
        rungs,
        scaling,
        admission,
        router,
        idle_order,
        losses,
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

/// How a replica runs requests.
struct Service {
    batching: batching::Config,
    prefill: Distribution,
    decode: Distribution,
    /// Requests that a replica is meant for, unless the scenario says otherwise.
    target: f64,
}

fn service(reader: &mut Reader<'_>) -> Service {
    let forms = [Variant::table("slots")];
    let (_, mut inner) = reader.variant("service", &forms, "{ slots = {} }");
    let slots = count_or_unlimited(&mut inner, "slots", "1", "1");
    let service = Service {
        batching: batching::Config::Slots { slots },
        prefill: distribution(&mut inner, "prefill", &seconds(), "300ms"),
        decode: distribution(&mut inner, "decode", &seconds(), "2s"),
        target: f64::from(slots),
    };
    inner.finish();
    service
}

/// The phases of a start, each a distribution; what is not named takes no time.
fn start_plan(mut reader: Reader<'_>) -> StartPlan {
    let mut plan = StartPlan::default();
    for phase in StartPhase::ALL.into_iter().skip(1) {
        let time = distribution(&mut reader, phase.name(), &seconds(), "0s");
        if time != Distribution::Constant(0.0) {
            plan.phases.push(PhasePlan {
                phase,
                time: PhaseTime::Stated(time),
            });
        }
    }
    reader.finish();
    plan
}

/// The ladder of warmth between the GPU and remote storage, and how a replica starts from each rung.
fn warmth(mut reader: Reader<'_>) -> (Vec<Rung>, Vec<StartPlan>) {
    let mut rungs = Vec::new();
    let mut starts = Vec::new();
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
        starts.push(start_plan(rung.table("start")));
        rung.finish();
    }
    reader.finish();
    (rungs, starts)
}

fn scaling(mut reader: Reader<'_>, target: f64) -> Scaling {
    let min = count(&mut reader, "min", "0", "0");
    let max = count_or_unlimited(&mut reader, "max", "1", "unlimited");
    if max < min {
        let found = format!("is below the warm pool of {min}");
        reader.problem_at(
            "max",
            "`max` must not be below `min`",
            found,
            "raise max or lower min",
        );
    }
    let initial = count(&mut reader, "initial", "0", &min.to_string());
    if max < initial {
        let found = format!("is more than max = {max}");
        reader.problem_at(
            "initial",
            "`initial` must not be above `max`",
            found,
            "raise max or lower initial",
        );
    }
    let rule = rule(&mut reader, target);
    let keep = if matches!(rule, Rule::Windowed(_)) {
        "infinite"
    } else {
        "5m"
    };
    let scaling = Scaling {
        min,
        max,
        initial,
        warm_hours: warm_hours(&mut reader),
        buffer: count(&mut reader, "buffer", "0", "0"),
        keep_alive: keep_alive(&mut reader, "keep_alive", keep),
        cancel_surplus_starts: reader.or_default(
            "cancel_surplus_starts",
            &Kind::boolean(),
            "false",
        ),
        rule,
    };
    if scaling.cancel_surplus_starts && !matches!(scaling.rule, Rule::Arrival { .. }) {
        reader.problem_at(
            "cancel_surplus_starts",
            "`cancel_surplus_starts` needs the rule `arrival`",
            "the rule is another one",
            "use rule.arrival, or leave the key out",
        );
    }
    if scaling.buffer > 0 && !matches!(scaling.rule, Rule::Arrival { .. } | Rule::Poll { .. }) {
        reader.problem_at(
            "buffer",
            "`buffer` needs the rule `arrival` or `poll`",
            "the rule is another one",
            "use one",
        );
    }
    if scaling.min == 0
        && matches!(scaling.rule, Rule::Fixed)
        && scaling.warm_hours.is_empty()
        && initial == 0
    {
        reader.problem_at(
            "rule",
            "no replica could ever start",
            "only the warm pool is kept, and it is 0",
            "set min",
        );
    }
    reader.finish();
    scaling
}

fn rule(reader: &mut Reader<'_>, target: f64) -> Rule {
    let forms = [
        Variant::table("arrival"),
        Variant::table("poll"),
        Variant::table("concurrency"),
        Variant::table("rate"),
        Variant::unit("fixed"),
    ];
    let (form, mut inner) = reader.variant("rule", &forms, "{ arrival = {} }");
    let own_target = |inner: &mut Reader<'_>| {
        let kind = Kind::number().positive().at_most("4294967295");
        inner.or_default("target", &kind, &target.to_string())
    };
    let tick = || Kind::duration().at_least("10ms").at_most("1d");
    let rule = match form {
        "poll" => Rule::Poll {
            interval: inner.or_default("interval", &tick(), "30s"),
            target: own_target(&mut inner),
        },
        "concurrency" => {
            let target = own_target(&mut inner);
            Rule::Windowed(windowed(&mut inner, Metric::Concurrency, target))
        }
        "rate" => {
            let target = inner.required("target", &Kind::rate().positive().at_most("1000000/s"));
            Rule::Windowed(windowed(&mut inner, Metric::Rate, target))
        }
        "fixed" => Rule::Fixed,
        _ => Rule::Arrival {
            target: own_target(&mut inner),
        },
    };
    inner.finish();
    rule
}

/// The windowed rules; the defaults are those of Knative's `config-autoscaler`.
fn windowed(inner: &mut Reader<'_>, metric: Metric, target: f64) -> Windowed {
    let span = || Kind::duration().at_least("10ms").at_most("1d");
    let delay = || Kind::duration().at_most("1d");
    let factor = || Kind::number().at_least("1").at_most("1000000");
    let utilisation = inner.or_default(
        "utilisation",
        &Kind::percent().positive().at_most("100%"),
        "70%",
    );
    let stable_window = inner.or_default("stable_window", &span(), "60s");
    let panic_share = inner.or_default(
        "panic_window",
        &Kind::percent().positive().at_most("100%"),
        "10%",
    );
    let windowed = Windowed {
        metric,
        target: target * utilisation,
        stable_window,
        panic_window: Duration::from_secs(stable_window.as_secs() * panic_share),
        panic_threshold: inner.or_default(
            "panic_threshold",
            &Kind::percent().at_least("100%").at_most("10000%"),
            "200%",
        ),
        tick: inner.or_default("tick", &span(), "2s"),
        max_scale_up_rate: inner.or_default("max_scale_up_rate", &factor(), "1000"),
        max_scale_down_rate: inner.or_default("max_scale_down_rate", &factor(), "2"),
        scale_down_delay: inner.or_default("scale_down_delay", &delay(), "0s"),
        scale_to_zero_grace: inner.or_default("scale_to_zero_grace", &delay(), "30s"),
    };
    if windowed.stable_window < windowed.tick {
        inner.problem_at(
            "stable_window",
            "`stable_window` must be at least one tick",
            "is shorter",
            "make it longer",
        );
    }
    windowed
}

fn warm_hours(reader: &mut Reader<'_>) -> Vec<WarmHours> {
    let mut all = Vec::new();
    for mut hours in reader.list("warm_hours") {
        let days = hours.or_default("days", &Kind::one_of(&DAYS), "daily");
        let from = hours.required("from", &Kind::time_of_day());
        let to = hours.required("to", &Kind::time_of_day());
        if from == to {
            hours.problem_at(
                "to",
                "`to` must differ from `from`",
                "is the same",
                "for a whole day raise min instead",
            );
        }
        let min = count(&mut hours, "min", "1", "1");
        all.push(WarmHours {
            days,
            from,
            to,
            min,
        });
        hours.finish();
    }
    all
}

const DAYS: [(&str, [bool; 7]); 10] = [
    ("daily", [true; 7]),
    ("weekdays", [true, true, true, true, true, false, false]),
    ("weekend", [false, false, false, false, false, true, true]),
    ("Mon", [true, false, false, false, false, false, false]),
    ("Tue", [false, true, false, false, false, false, false]),
    ("Wed", [false, false, true, false, false, false, false]),
    ("Thu", [false, false, false, true, false, false, false]),
    ("Fri", [false, false, false, false, true, false, false]),
    ("Sat", [false, false, false, false, false, true, false]),
    ("Sun", [false, false, false, false, false, false, true]),
];

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
