//! The wire: everything for JSON, and a flat row a file for CSV. An undefined number is `null`, or empty.

use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Inspected, Inspection};
use crate::measure::summary::CONFIDENCE;
use crate::report::{SCHEMA, VERSION};
use crate::trace::{Dispersion, Fit, Fits, Lengths, Survey};

/// Quantiles of lengths that are written.
const QUANTILES: [(f64, &str); 7] = [
    (0.05, "p05"),
    (0.25, "p25"),
    (0.5, "p50"),
    (0.75, "p75"),
    (0.9, "p90"),
    (0.95, "p95"),
    (0.99, "p99"),
];

/// Everything.
#[derive(Debug, Serialize)]
pub(super) struct Results {
    schema: u32,
    version: &'static str,
    /// Nominal probability that a parameter's interval holds its true value.
    confidence: f64,
    traces: Vec<TraceJson>,
}

#[derive(Debug, Serialize)]
struct TraceJson {
    file: String,
    format: &'static str,
    requests: u64,
    failures: u64,
    first: Option<String>,
    span_s: f64,
    rate_per_s: Option<f64>,
    gaps: Option<GapsJson>,
    silence: Option<SilenceJson>,
    dispersion: Vec<DispersionJson>,
    course: CourseJson,
    daily_per_s: Option<[f64; 24]>,
    weekly_per_s: Option<[f64; 7]>,
    prompt_tokens: Option<LengthsJson>,
    output_tokens: Option<LengthsJson>,
    models: Vec<ModelJson>,
    requests_in_sessions: u64,
    step: Option<StepJson>,
    fits: Option<FitsJson>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct GapsJson {
    median_s: f64,
    p99_s: f64,
    cv_percent: Option<f64>,
    zero_percent: f64,
}

#[derive(Debug, Serialize)]
struct SilenceJson {
    length_s: f64,
    from_s: f64,
    line: usize,
}

#[derive(Debug, Serialize)]
struct DispersionJson {
    window_s: u64,
    windows: u64,
    variance_over_mean: Option<f64>,
}

#[derive(Debug, Serialize)]
struct CourseJson {
    bin_s: f64,
    requests: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct LengthsJson {
    requests: u64,
    mean: f64,
    min: u32,
    p05: f64,
    p25: f64,
    p50: f64,
    p75: f64,
    p90: f64,
    p95: f64,
    p99: f64,
    max: u32,
}

#[derive(Debug, Serialize)]
struct ModelJson {
    model: String,
    requests: u64,
}

#[derive(Debug, Serialize)]
struct StepJson {
    length_s: f64,
    rows_sharing: u64,
    most_rows: u64,
}

#[derive(Debug, Serialize)]
struct FitsJson {
    best: &'static str,
    gaps: usize,
    stretches: usize,
    daily: Option<[f64; 24]>,
    weekly: Option<[f64; 7]>,
    laws: Vec<LawJson>,
}

#[derive(Debug, Serialize)]
struct LawJson {
    law: &'static str,
    parameters: Map<String, Value>,
    log_likelihood: f64,
    aic: f64,
    ks_distance: f64,
    gap_cv_percent: Option<f64>,
    dispersion: Vec<DispersionJson>,
}

impl LawJson {
    fn of(fit: &Fit) -> Self {
        let mut parameters = Map::new();
        let named = fit
            .law
            .parameters()
            .into_iter()
            .zip(fit.intervals(CONFIDENCE));
        for ((name, value), interval) in named {
            parameters.insert(name.to_owned(), json!(value));
            let ends = interval.map(|interval| [interval.low, interval.high]);
            parameters.insert(format!("{name}_interval"), json!(ends));
        }
        Self {
            law: fit.law.name(),
            parameters,
            log_likelihood: fit.log_likelihood,
            aic: fit.aic,
            ks_distance: fit.ks,
            gap_cv_percent: fit.gap_cv.map(|cv| 100.0 * cv),
            dispersion: fit.dispersion.iter().map(DispersionJson::of).collect(),
        }
    }
}

impl FitsJson {
    fn of(fits: &Fits) -> Option<Self> {
        Some(Self {
            best: fits.laws.first()?.law.name(),
            gaps: fits.gaps,
            stretches: fits.stretches,
            daily: fits.daily,
            weekly: fits.weekly,
            laws: fits.laws.iter().map(LawJson::of).collect(),
        })
    }
}

impl DispersionJson {
    fn of(one: &Dispersion) -> Self {
        Self {
            window_s: one.window_s,
            windows: one.windows,
            variance_over_mean: one.index,
        }
    }
}

impl LengthsJson {
    fn of(lengths: &Lengths) -> Self {
        let [p05, p25, p50, p75, p90, p95, p99] = QUANTILES.map(|(p, _)| lengths.quantile(p));
        Self {
            requests: lengths.count,
            mean: lengths.mean,
            min: lengths.min,
            p05,
            p25,
            p50,
            p75,
            p90,
            p95,
            p99,
            max: lengths.max,
        }
    }
}

impl TraceJson {
    fn of(one: &Inspected) -> Self {
        let survey = &one.survey;
        let models = survey.models.iter().map(|(model, requests)| ModelJson {
            model: model.clone(),
            requests: *requests,
        });
        let dispersion = survey.dispersion.iter().map(DispersionJson::of);
        Self {
            file: one.file.clone(),
            format: one.format.name(),
            requests: survey.rows,
            failures: survey.failures,
            first: first(survey),
            span_s: survey.span.as_secs(),
            rate_per_s: survey.rate(),
            gaps: survey.gaps.as_ref().map(|gaps| GapsJson {
                median_s: gaps.median_s,
                p99_s: gaps.p99_s,
                cv_percent: gaps.cv.map(|cv| 100.0 * cv),
                zero_percent: 100.0 * gaps.zero_share,
            }),
            silence: survey.silence.map(|silence| SilenceJson {
                length_s: silence.length.as_secs(),
                from_s: silence.from.as_secs(),
                line: silence.line,
            }),
            dispersion: dispersion.collect(),
            course: CourseJson {
                bin_s: survey.course.bin.as_secs(),
                requests: survey.course.counts.clone(),
            },
            daily_per_s: survey.hours.daily(),
            weekly_per_s: survey.first_ns.and_then(|_| survey.hours.weekly()),
            prompt_tokens: survey.prompt_tokens.as_ref().map(LengthsJson::of),
            output_tokens: survey.output_tokens.as_ref().map(LengthsJson::of),
            models: models.collect(),
            requests_in_sessions: survey.in_session,
            step: survey.step.map(|step| StepJson {
                length_s: step.length.as_secs(),
                rows_sharing: step.shared,
                most_rows: step.most,
            }),
            fits: one.fits.as_ref().and_then(FitsJson::of),
            notes: survey.notes.clone(),
        }
    }
}

/// When the first request came, as a date.
pub(super) fn first(survey: &Survey) -> Option<String> {
    let first = Timestamp::from_nanosecond(survey.first_ns?).ok()?;
    Some(first.to_string())
}

/// Everything, for JSON.
pub(super) fn results(inspection: &Inspection<'_>) -> Results {
    Results {
        schema: SCHEMA,
        version: VERSION,
        confidence: CONFIDENCE,
        traces: inspection.files.iter().map(TraceJson::of).collect(),
    }
}

/// A row a file.
pub(super) fn write_csv(inspection: &Inspection<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    for (index, one) in inspection.files.iter().enumerate() {
        let (names, cells): (Vec<String>, Vec<String>) = flat(one).into_iter().unzip();
        if index == 0 {
            writer.write_record(names)?;
        }
        writer.write_record(cells)?;
    }
    writer.flush()
}

/// Names and values of a file's row, the same names for every file.
fn flat(one: &Inspected) -> Vec<(String, String)> {
    let survey = &one.survey;
    let mut flat = Vec::new();
    let mut put = |name: &str, value: Option<String>| {
        flat.push((name.to_owned(), value.unwrap_or_default()));
    };
    let number = |value: Option<f64>| value.map(|value| value.to_string());
    let gaps = survey.gaps.as_ref();
    put("file", Some(one.file.clone()));
    put("format", Some(one.format.name().to_owned()));
    put("requests", Some(survey.rows.to_string()));
    put("failures", Some(survey.failures.to_string()));
    put("first", first(survey));
    put("span_s", number(Some(survey.span.as_secs())));
    put("rate_per_s", number(survey.rate()));
    put("gap_median_s", number(gaps.map(|gaps| gaps.median_s)));
    put("gap_p99_s", number(gaps.map(|gaps| gaps.p99_s)));
    put(
        "gap_max_s",
        number(survey.silence.map(|silence| silence.length.as_secs())),
    );
    put(
        "gap_cv_percent",
        number(gaps.and_then(|gaps| gaps.cv).map(|cv| 100.0 * cv)),
    );
    put(
        "gap_zero_percent",
        number(gaps.map(|gaps| 100.0 * gaps.zero_share)),
    );
    for window in &survey.dispersion {
        let name = format!("variance_over_mean_{}s", window.window_s);
        put(&name, number(window.index));
    }
    for (name, lengths) in [
        ("prompt_tokens", &survey.prompt_tokens),
        ("output_tokens", &survey.output_tokens),
    ] {
        let lengths = lengths.as_ref();
        put(&format!("{name}_mean"), number(lengths.map(|one| one.mean)));
        for (p, quantile) in QUANTILES {
            let value = lengths.map(|one| one.quantile(p));
            put(&format!("{name}_{quantile}"), number(value));
        }
        put(
            &format!("{name}_max"),
            lengths.map(|one| one.max.to_string()),
        );
    }
    put("models", Some(survey.models.len().to_string()));
    put(
        "step_s",
        number(survey.step.map(|step| step.length.as_secs())),
    );
    flat
}
