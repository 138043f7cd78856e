//! The `scaling` table: how many replicas, when, and the rule that decides.

use super::super::{Kind, Reader, Variant};
use super::hardware::unknown;
use super::values::{count, count_or_unlimited, keep_alive};
use crate::catalog::{Catalog, Policy};
use crate::fleet::config::{KeepAlive, Metric, Rule, Scaling, WarmHours, Windowed};
use crate::time::Duration;

/// Defaults, in scenario notation: the product's own, or those of a known platform.
struct Preset {
    min: String,
    max: String,
    buffer: String,
    keep_alive: String,
    rule: String,
}

/// The defaults of the platform that `preset` names, as far as its entry in the catalogue states them.
fn preset(reader: &mut Reader<'_>, catalog: &Catalog) -> Preset {
    let own = Preset {
        min: "0".to_owned(),
        max: "unlimited".to_owned(),
        buffer: "0".to_owned(),
        keep_alive: "5m".to_owned(),
        rule: "{ arrival = {} }".to_owned(),
    };
    let Some(id) = reader.optional("preset", &Kind::text()) else {
        return own;
    };
    let Some(policy) = catalog.policies.get(&id) else {
        unknown(reader, catalog, "preset", "policy", &id);
        return own;
    };
    let number =
        |count: Option<u32>, otherwise: String| count.map_or(otherwise, |count| count.to_string());
    Preset {
        min: number(policy.min_replicas, own.min),
        max: number(policy.max_replicas, own.max),
        buffer: number(policy.buffer_replicas, own.buffer),
        keep_alive: policy
            .keep_alive_s
            .map_or(own.keep_alive, |seconds| format!("{seconds}s")),
        rule: preset_rule(policy),
    }
}

/// A platform that averages over a window scales by concurrency, one that only looks now and then polls, and all others
/// start a replica when a request comes.
fn preset_rule(policy: &Policy) -> String {
    let spans = |pairs: &[(&str, Option<f64>)]| {
        let spans = pairs
            .iter()
            .filter_map(|(key, value)| Some(format!("{key} = \"{}s\"", (*value)?)));
        spans.collect::<Vec<_>>()
    };
    let numbers = |pairs: &[(&str, Option<f64>)]| {
        let numbers = pairs
            .iter()
            .filter_map(|(key, value)| Some(format!("{key} = {}", (*value)?)));
        numbers.collect::<Vec<_>>()
    };
    let target = numbers(&[("target", policy.target_requests_per_replica)]);
    let (name, keys) = if policy.window_s.is_some() {
        let mut keys = spans(&[
            // A window shorter than a tick cannot be seen.
            (
                "stable_window",
                policy
                    .window_s
                    .map(|window| window.max(policy.check_s.unwrap_or(0.0))),
            ),
            ("tick", policy.check_s),
            ("scale_down_delay", policy.scale_down_delay_s),
            ("scale_to_zero_grace", policy.keep_alive_s),
        ]);
        keys.extend(target);
        keys.extend(numbers(&[
            ("utilisation", policy.target_utilization),
            ("panic_threshold", policy.panic_threshold),
            ("max_scale_up_rate", policy.max_scale_up_factor),
            ("max_scale_down_rate", policy.max_scale_down_factor),
        ]));
        ("concurrency", keys)
    } else if policy.check_s.is_some() {
        let mut keys = spans(&[("interval", policy.check_s)]);
        keys.extend(target);
        ("poll", keys)
    } else {
        ("arrival", target)
    };
    format!("{{ {name} = {{ {} }} }}", keys.join(", "))
}

/// Reads the table. `target` is how many requests a replica is meant for, unless the scenario says otherwise.
pub(super) fn read(mut reader: Reader<'_>, target: f64, catalog: &Catalog) -> Scaling {
    let preset = preset(&mut reader, catalog);
    let min = count(&mut reader, "min", "0", &preset.min);
    let max = count_or_unlimited(&mut reader, "max", "1", &preset.max);
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
    // By default it is `min`, and then there is nothing more to say.
    if max < initial && reader.is_given("initial") {
        let found = format!("is more than max = {max}");
        reader.problem_at(
            "initial",
            "`initial` must not be above `max`",
            found,
            "raise max or lower initial",
        );
    }
    let rule = rule(&mut reader, target, &preset);
    let keep = if matches!(rule, Rule::Windowed(_)) {
        "infinite"
    } else {
        preset.keep_alive.as_str()
    };
    let scaling = Scaling {
        min,
        max,
        initial,
        warm_hours: warm_hours(&mut reader, max),
        buffer: count(&mut reader, "buffer", "0", &preset.buffer),
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
    // Without a warm pool nothing replaces a replica, so one that can leave would leave requests waiting for ever.
    let stays = initial > 0 && scaling.keep_alive == KeepAlive::Infinite;
    if scaling.min == 0
        && matches!(scaling.rule, Rule::Fixed)
        && scaling.warm_hours.is_empty()
        && !stays
    {
        reader.problem_at(
            "rule",
            "the rule `fixed` keeps only the warm pool, and that is 0",
            "no replica would start, or none be replaced",
            "set min, or initial with keep_alive = \"infinite\"",
        );
    }
    reader.finish();
    scaling
}

fn rule(reader: &mut Reader<'_>, target: f64, preset: &Preset) -> Rule {
    let forms = [
        Variant::table("arrival"),
        Variant::table("poll"),
        Variant::table("concurrency"),
        Variant::table("rate"),
        Variant::unit("per-request"),
        Variant::unit("fixed"),
    ];
    let (form, mut inner) = reader.variant("rule", &forms, &preset.rule);
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
            Rule::Windowed(Box::new(windowed(&mut inner, Metric::Concurrency, target)))
        }
        "rate" => {
            let target = inner.required("target", &Kind::rate().positive().at_most("1000000/s"));
            Rule::Windowed(Box::new(windowed(&mut inner, Metric::Rate, target)))
        }
        "per-request" => Rule::PerRequest,
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

fn warm_hours(reader: &mut Reader<'_>, max: u32) -> Vec<WarmHours> {
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
        if max < min {
            let found = format!("is more than max = {max}");
            hours.problem_at(
                "min",
                "`warm_hours` must not keep more than `max`",
                found,
                "raise max or lower min",
            );
        }
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
