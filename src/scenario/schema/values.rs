//! Values that take several forms: distributions, keep-alive, optional spans.

use super::super::{Kind, Reader, Variant};
use crate::distribution::Distribution;
use crate::fleet::config::KeepAlive;
use crate::time::Duration;
use std::rc::Rc;

/// Forms of a distribution. A bare value is a constant.
pub(super) const DISTRIBUTIONS: [Variant; 8] = [
    Variant::shorthand("constant", "value"),
    Variant::table("uniform"),
    Variant::table("exponential"),
    Variant::table("lognormal"),
    Variant::table("gamma"),
    Variant::table("weibull"),
    Variant::table("mixture"),
    Variant::table("empirical"),
];

/// How the values of a distribution are written, and what they are as numbers.
#[derive(Clone)]
pub(super) struct Unit<T> {
    kind: Kind<T>,
    number: Rc<dyn Fn(T) -> f64>,
}

/// Spans of time, in seconds, up to a year.
pub(super) fn seconds() -> Unit<Duration> {
    Unit {
        kind: Kind::duration().at_most("364d"),
        number: Rc::new(Duration::as_secs),
    }
}

/// Numbers of tokens, from one to ten million.
pub(super) fn tokens() -> Unit<f64> {
    Unit {
        kind: Kind::number().at_least("1").at_most("10000000"),
        number: Rc::new(|tokens| tokens),
    }
}

/// A distribution, with a default in scenario notation.
pub(super) fn distribution<T: PartialOrd + Default + Clone + 'static>(
    reader: &mut Reader<'_>,
    key: &str,
    unit: &Unit<T>,
    default: &str,
) -> Distribution {
    let (form, inner) = reader.variant(key, &DISTRIBUTIONS, default);
    distribution_form(form, inner, unit)
}

/// A distribution that may be missing.
pub(super) fn optional_distribution<T: PartialOrd + Default + Clone + 'static>(
    reader: &mut Reader<'_>,
    key: &str,
    unit: &Unit<T>,
) -> Option<Distribution> {
    let (form, inner) = reader.optional_variant(key, &DISTRIBUTIONS)?;
    Some(distribution_form(form, inner, unit))
}

pub(super) fn distribution_form<T: PartialOrd + Default + Clone + 'static>(
    form: &str,
    mut inner: Reader<'_>,
    unit: &Unit<T>,
) -> Distribution {
    let positive = unit.kind.clone().positive();
    let mut value = |key: &str| (unit.number)(inner.required(key, &positive));
    let read = match form {
        "uniform" => uniform(&mut inner, unit),
        "exponential" => Distribution::Exponential {
            mean: value("mean"),
        },
        "lognormal" => lognormal(&mut inner, unit),
        "gamma" => Distribution::Gamma {
            mean: value("mean"),
            cv: inner.required("cv", &cv()),
        },
        "weibull" => Distribution::weibull_by_cv(value("mean"), inner.required("cv", &cv())),
        "mixture" => mixture(&mut inner, unit),
        "empirical" => {
            let values = inner.required(
                "values",
                &unit
                    .kind
                    .clone()
                    .list()
                    .must("not be empty", |list| !list.is_empty()),
            );
            Distribution::Empirical(
                values
                    .into_iter()
                    .map(|value| (unit.number)(value))
                    .collect(),
            )
        }
        _ => Distribution::Constant((unit.number)(inner.required("value", &unit.kind))),
    };
    inner.finish();
    read
}

/// A coefficient of variation within what the samplers can do.
pub(super) fn cv() -> Kind<f64> {
    Kind::number().at_least("0.02").at_most("20")
}

fn uniform<T: PartialOrd + Default + Clone + 'static>(
    inner: &mut Reader<'_>,
    unit: &Unit<T>,
) -> Distribution {
    let low = (unit.number)(inner.required("low", &unit.kind));
    let high = (unit.number)(inner.required("high", &unit.kind));
    if high < low {
        inner.problem_at(
            "high",
            "`high` must not be below `low`",
            "is below it",
            "swap the two",
        );
    }
    Distribution::Uniform { low, high }
}

/// By its median and either p95 or sigma, or by its mean and CV.
fn lognormal<T: PartialOrd + Default + Clone + 'static>(
    inner: &mut Reader<'_>,
    unit: &Unit<T>,
) -> Distribution {
    let positive = unit.kind.clone().positive();
    if let Some(mean) = inner.optional("mean", &positive) {
        return Distribution::lognormal_by_cv((unit.number)(mean), inner.required("cv", &cv()));
    }
    let median = (unit.number)(inner.required("median", &positive));
    let sigma = inner.optional("sigma", &Kind::number().non_negative().at_most("5"));
    if let Some(sigma) = sigma {
        return Distribution::Lognormal { median, sigma };
    }
    let p95 = (unit.number)(inner.required("p95", &positive));
    if p95 < median && inner.is_sound("median") {
        inner.problem_at(
            "p95",
            "`p95` must not be below `median`",
            "is below it",
            "swap the two",
        );
    }
    Distribution::lognormal_by_p95(median, p95.max(median))
}

fn mixture<T: PartialOrd + Default + Clone + 'static>(
    inner: &mut Reader<'_>,
    unit: &Unit<T>,
) -> Distribution {
    let mut parts = Vec::new();
    for mut part in inner.list("parts") {
        let weight = part.required("weight", &Kind::number().positive().at_most("1000000"));
        let of = optional_distribution(&mut part, "of", unit);
        if of.is_none() && part.is_sound("of") {
            part.missing("of", "\"1s\"");
        }
        parts.push((weight, of.unwrap_or(Distribution::Constant(0.0))));
        part.finish();
    }
    if parts.is_empty() && inner.is_sound("parts") {
        inner.missing(
            "parts",
            "[{ weight = 0.9, of = \"1s\" }, { weight = 0.1, of = \"9s\" }]",
        );
        parts.push((1.0, Distribution::Constant(0.0)));
    }
    Distribution::Mixture(parts)
}

/// How long something idle is kept: `"none"`, `"infinite"`, a span, or a distribution.
pub(super) fn keep_alive(reader: &mut Reader<'_>, key: &str, default: &str) -> KeepAlive {
    let mut forms = vec![Variant::unit("none"), Variant::unit("infinite")];
    forms.extend(DISTRIBUTIONS);
    match reader.variant(key, &forms, default) {
        ("none", inner) => {
            inner.finish();
            KeepAlive::For(Distribution::Constant(0.0))
        }
        ("infinite", inner) => {
            inner.finish();
            KeepAlive::Infinite
        }
        (form, inner) => KeepAlive::For(distribution_form(form, inner, &seconds())),
    }
}

/// A span, or `"none"`.
pub fn optional_span(reader: &mut Reader<'_>, key: &str, default: &str) -> Option<Duration> {
    let forms = [Variant::unit("none"), Variant::shorthand("after", "span")];
    let (form, mut inner) = reader.variant(key, &forms, default);
    let span = (form == "after")
        .then(|| inner.required("span", &Kind::duration().positive().at_most("364d")));
    inner.finish();
    span
}

/// A count up to a million, or `"unlimited"`.
pub(super) fn count_or_unlimited(
    reader: &mut Reader<'_>,
    key: &str,
    least: &str,
    default: &str,
) -> u32 {
    let forms = [
        Variant::unit("unlimited"),
        Variant::shorthand("most", "count"),
    ];
    let (form, mut inner) = reader.variant(key, &forms, default);
    let kind = Kind::whole().at_least(least).at_most("1000000");
    let count = (form == "most").then(|| inner.required("count", &kind) as u32);
    inner.finish();
    count.unwrap_or(u32::MAX)
}

/// A count up to a million.
pub(super) fn count(reader: &mut Reader<'_>, key: &str, least: &str, default: &str) -> u32 {
    reader.or_default(
        key,
        &Kind::whole().at_least(least).at_most("1000000"),
        default,
    ) as u32
}

/// The highest rate [1/s].
pub(super) const MOST_RATE: f64 = 1e6;

/// A rate, at most [`MOST_RATE`].
pub(super) fn rate() -> Kind<f64> {
    Kind::rate().non_negative().at_most("1000000/s")
}
