//! The `traffic` tables of a deployment: other users' demand.

use super::super::{Kind, Reader, Variant};
use super::replay;
use super::service::Service;
use super::values::{
    DISTRIBUTIONS, MOST_RATE, count, cv, distribution, distribution_form, optional_distribution,
    optional_span, rate, seconds, tokens,
};
use crate::distribution::Distribution;
use crate::fleet::config::TrafficConfig;
use crate::workload::curve::{AZURE_2024_CODE, AZURE_2024_CONVERSATION, Curve};
use crate::workload::{ArrivalProcess, Pattern};

/// One named stream. Where the deployment states its times, a stream may state its own.
///
/// `models` are those that share the deployment's replicas, its own first; one that is not there yet is added.
pub(super) fn read(
    name: String,
    mut reader: Reader<'_>,
    service: &Service,
    models: &mut Vec<String>,
) -> TrafficConfig {
    let mut pattern = pattern(&mut reader);
    let curve = curve(&mut reader);
    if curve != Curve::FLAT {
        refuse_curve(&mut reader, &pattern);
    }
    let mut own = |key: &str, otherwise: &Distribution| {
        let stated = if service.states_times {
            optional_distribution(&mut reader, key, &seconds())
        } else {
            None
        };
        stated.unwrap_or_else(|| otherwise.clone())
    };
    let prefill = own("prefill", &service.prefill);
    let decode = own("decode", &service.decode);
    let [prompt_tokens, output_tokens] = lengths(&mut reader, &mut pattern);
    let traffic = TrafficConfig {
        name,
        arrivals: ArrivalProcess { pattern, curve },
        prompt_tokens,
        output_tokens,
        prefill,
        decode,
        model: model(&mut reader, models),
        cached_share: reader.or_default("cached_share", &share(), "0%"),
        priority: reader.or_default("priority", &Kind::whole().at_most("255"), "0") as u8,
        wakes: reader.or_default("wakes", &Kind::boolean(), "true"),
        timeout: optional_span(&mut reader, "timeout", "none"),
        is_shared: false,
    };
    reader.finish();
    traffic
}

/// Which of the models that share the replicas a stream asks for.
fn model(reader: &mut Reader<'_>, models: &mut Vec<String>) -> u32 {
    let name = reader.or_default("model", &Kind::text(), &models[0].clone());
    let known = models.iter().position(|other| *other == name);
    known.unwrap_or_else(|| {
        models.push(name);
        models.len() - 1
    }) as u32
}

/// Refuses a curve over what has no rate, or a course of its own.
pub(super) fn refuse_curve(reader: &mut Reader<'_>, pattern: &Pattern) {
    let (message, found) = match pattern {
        Pattern::Closed { .. } => (
            "a closed loop cannot vary over the day or the week",
            "has no rate: its clients send when they are answered",
        ),
        Pattern::Trace(_) => (
            "a trace varies over the day and the week by itself",
            "is replayed as it was",
        ),
        _ => return,
    };
    reader.problem_at("arrivals", message, found, "leave out daily and weekly");
}

/// Lengths of prompts and of answers: those of the trace's rows, unless the scenario has its own.
pub(super) fn lengths(reader: &mut Reader<'_>, pattern: &mut Pattern) -> [Distribution; 2] {
    const DEFAULTS: [(&str, &str); 2] = [
        (
            "prompt_tokens",
            "{ lognormal = { median = 500, p95 = 3000 } }",
        ),
        (
            "output_tokens",
            "{ lognormal = { median = 150, p95 = 600 } }",
        ),
    ];
    let Pattern::Trace(replay) = pattern else {
        return DEFAULTS.map(|(key, default)| distribution(reader, key, &tokens(), default));
    };
    let mut forms = vec![Variant::unit("trace")];
    forms.extend(DISTRIBUTIONS);
    let mut index = 0;
    DEFAULTS.map(|(key, default)| {
        let is_told = &mut replay.lengths[index];
        index += 1;
        let default = if *is_told { "trace" } else { default };
        let (form, inner) = reader.variant(key, &forms, default);
        if form != "trace" {
            *is_told = false;
            return distribution_form(form, inner, &tokens());
        }
        inner.finish();
        if !*is_told {
            reader.problem_at(
                key,
                "the trace does not tell the lengths",
                "names no column of them",
                "name it in arrivals.trace, or give a distribution",
            );
        }
        Distribution::Constant(1.0)
    })
}

/// A share from 0 to 100 %.
pub(super) fn share() -> Kind<f64> {
    Kind::percent().non_negative().at_most("100%")
}

fn pattern(reader: &mut Reader<'_>) -> Pattern {
    let forms = [
        Variant::shorthand("poisson", "rate"),
        Variant::table("deterministic"),
        Variant::table("gamma"),
        Variant::table("weibull"),
        Variant::table("mmpp"),
        Variant::table("closed"),
        Variant::table("trace"),
        Variant::shorthand("at", "times"),
    ];
    let (form, mut inner) = reader.variant("arrivals", &forms, "0/s");
    let pattern = match form {
        "mmpp" => mmpp(&mut inner),
        "closed" => closed(&mut inner),
        "trace" => replay::read(&mut inner).unwrap_or(Pattern::At(Vec::new())),
        "at" => {
            let times = Kind::duration()
                .at_most("364d")
                .list()
                .must("be in order", |times| times.is_sorted());
            Pattern::At(inner.required("times", &times))
        }
        _ => {
            let rate = inner.required("rate", &rate());
            let gap = match form {
                "deterministic" => Distribution::Constant(1.0),
                "gamma" => Distribution::Gamma {
                    mean: 1.0,
                    cv: inner.required("cv", &cv()),
                },
                "weibull" => Distribution::weibull_by_cv(1.0, inner.required("cv", &cv())),
                _ => Distribution::Exponential { mean: 1.0 },
            };
            Pattern::Renewal { rate, gap }
        }
    };
    inner.finish();
    pattern
}

/// A closed loop. A client that does not think would be back at the instant in which it is refused, for ever.
fn closed(inner: &mut Reader<'_>) -> Pattern {
    let clients = count(inner, "clients", "1", "1");
    let think = distribution(inner, "think", &seconds(), "5s");
    if f64::from(clients) > MOST_RATE * think.mean() && inner.is_sound("think") {
        inner.problem_at(
            "think",
            "clients must think for so long that they send at most 1000000/s",
            "is too short",
            "let them think for longer, or have fewer",
        );
    }
    Pattern::Closed { clients, think }
}

fn mmpp(inner: &mut Reader<'_>) -> Pattern {
    // A year without an arrival must not be millions of changes of state long.
    let span = Kind::duration().at_least("1s").at_most("364d");
    Pattern::Mmpp {
        rates: ["calm_rate", "burst_rate"].map(|key| inner.required(key, &rate())),
        sojourns: ["calm_mean", "burst_mean"].map(|key| inner.required(key, &span).as_secs()),
    }
}

/// Variation over the day and the week.
pub(super) fn curve(reader: &mut Reader<'_>) -> Curve {
    let forms = [
        Variant::unit("flat"),
        Variant::unit("azure-2024-code"),
        Variant::unit("azure-2024-conversation"),
        Variant::shorthand("hours", "multipliers"),
    ];
    let (form, mut inner) = reader.variant("daily", &forms, "flat");
    let daily = match form {
        "azure-2024-code" => AZURE_2024_CODE,
        "azure-2024-conversation" => AZURE_2024_CONVERSATION,
        "hours" => profile(&mut inner, "multipliers"),
        _ => [1.0; 24],
    };
    inner.finish();
    let forms = [
        Variant::unit("flat"),
        Variant::shorthand("days", "multipliers"),
    ];
    let (form, mut inner) = reader.variant("weekly", &forms, "flat");
    let weekly = if form == "days" {
        profile(&mut inner, "multipliers")
    } else {
        [1.0; 7]
    };
    inner.finish();
    if daily.iter().any(|value| *value > 0.0) && weekly.iter().any(|value| *value > 0.0) {
        Curve::new(&daily, &weekly)
    } else {
        Curve::FLAT
    }
}

/// `N` multipliers, not all zero.
fn profile<const N: usize>(inner: &mut Reader<'_>, key: &str) -> [f64; N] {
    let kind = Kind::number().non_negative().at_most("1000000").list();
    let kind = kind
        .example(&format!("[{}]", vec!["1"; N].join(", ")))
        .must(format!("have {N} numbers, not all zero"), |list| {
            list.len() == N && list.iter().any(|x| *x > 0.0)
        });
    inner.required(key, &kind).try_into().unwrap_or([1.0; N])
}
