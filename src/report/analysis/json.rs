//! Findings as strict JSON: units in the keys, `null` for what is undefined.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::{Findings, Found};
use crate::import::{First, Imported, SetUp, Start, Stated};
use crate::measure::analysis::Hour;
use crate::measure::censored::{Censored, CensoredQuantile};
use crate::measure::detect::Detection;
use crate::measure::split::{Kinds, Split};
use crate::measure::summary::CONFIDENCE;
use crate::report::VERSION;
use crate::report::json::{Figures, class_probability};
use crate::stats::needed_to_see;

/// The number of this layout.
const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
struct Results {
    schema: u32,
    kind: &'static str,
    version: &'static str,
    seed: u64,
    percentile_method: &'static str,
    cv_definition: &'static str,
    confidence: f64,
    time_zone: String,
    files: Vec<FileRow>,
    series: Vec<SeriesRow>,
    stated: Vec<StatedRow>,
    comparisons: Vec<PairRow>,
    needed_to_see_cold: Vec<NeededRow>,
}

#[derive(Debug, Serialize)]
struct FileRow {
    file: String,
    tool: &'static str,
    tool_version: Option<String>,
    ttft_definition: String,
    ttft_start: &'static str,
    ttft_first: &'static str,
    ttft_set_up: &'static str,
    missing: Vec<String>,
    discarded: usize,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct SeriesRow {
    /// `null` for all series together.
    file: Option<String>,
    #[serde(flatten)]
    figures: Figures,
    class_probability: BTreeMap<&'static str, f64>,
    censored: Option<CensoredRow>,
    split: Option<SplitRow>,
    hours: Vec<HourRow>,
    detections: Vec<DetectionRow>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct CensoredRow {
    timed_out: usize,
    limit_s: f64,
    ttft_median_s: Option<f64>,
    ttft_median_low_s: Option<f64>,
    ttft_median_high_s: Option<f64>,
    ttft_p95_s: Option<f64>,
    ttft_p95_low_s: Option<f64>,
    ttft_p95_high_s: Option<f64>,
    ttft_mean_at_least_s: f64,
    cv_at_least_percent: Option<f64>,
}

#[derive(Debug, Serialize)]
struct SplitRow {
    /// `one`, `two`, `cannot-tell` or `too-few`.
    kinds: &'static str,
    second_kind_probability: Option<f64>,
    cold_requests: Option<usize>,
    cold_share_percent: Option<f64>,
    cold_share_low_percent: Option<f64>,
    cold_share_high_percent: Option<f64>,
    warm_ttft_median_s: Option<f64>,
    warm_ttft_p95_s: Option<f64>,
    cold_ttft_min_s: Option<f64>,
    cold_ttft_median_s: Option<f64>,
    cold_ttft_max_s: Option<f64>,
}

#[derive(Debug, Serialize)]
struct HourRow {
    hour: u8,
    requests: usize,
    succeeded: usize,
    ttft_median_s: Option<f64>,
    ttft_max_s: Option<f64>,
}

#[derive(Debug, Serialize)]
struct DetectionRow {
    name: &'static str,
    text: String,
}

#[derive(Debug, Serialize)]
struct StatedRow {
    target: String,
    model: String,
    session: String,
    succeeded: Option<u64>,
    failed: Option<u64>,
    ttft_median_s: Option<f64>,
    ttft_p95_s: Option<f64>,
    ttft_mean_s: Option<f64>,
    ttft_std_s: Option<f64>,
    ttft_std_divisor: Option<&'static str>,
    ttft_min_s: Option<f64>,
    ttft_max_s: Option<f64>,
    cv_percent: Option<f64>,
    std_over_median_percent: Option<f64>,
}

#[derive(Debug, Serialize)]
struct PairRow {
    first: String,
    second: String,
    first_median_shorter_probability: f64,
    first_p95_shorter_probability: f64,
    first_request_quicker_probability: f64,
}

#[derive(Debug, Serialize)]
struct NeededRow {
    cold_share_percent: f64,
    requests: usize,
}

/// Writes everything.
pub(super) fn write(findings: &Findings<'_>, out: &mut dyn Write) -> io::Result<()> {
    let method = findings.settings.method;
    let results = Results {
        schema: SCHEMA,
        kind: "analysis",
        version: VERSION,
        seed: findings.settings.seed,
        percentile_method: method.percentile.name(),
        cv_definition: method.definition.name(),
        confidence: CONFIDENCE,
        time_zone: findings.settings.zone.clone(),
        files: findings.files.iter().map(FileRow::of).collect(),
        series: findings
            .found
            .iter()
            .map(|found| SeriesRow::of(findings, found))
            .collect(),
        stated: stated(findings),
        comparisons: pairs(findings),
        needed_to_see_cold: needed(findings),
    };
    serde_json::to_writer_pretty(&mut *out, &results).map_err(io::Error::from)?;
    writeln!(out)
}

fn needed(findings: &Findings<'_>) -> Vec<NeededRow> {
    let shares = findings.shares().into_iter();
    shares
        .map(|share| NeededRow {
            cold_share_percent: 100.0 * share,
            requests: needed_to_see(share, CONFIDENCE),
        })
        .collect()
}

fn pairs(findings: &Findings<'_>) -> Vec<PairRow> {
    let row = |pair: &super::Pair| PairRow {
        first: findings.found[pair.first].name.label(),
        second: findings.found[pair.second].name.label(),
        first_median_shorter_probability: pair.comparison.median,
        first_p95_shorter_probability: pair.comparison.p95,
        first_request_quicker_probability: pair.comparison.request,
    };
    findings.pairs.iter().map(row).collect()
}

fn stated(findings: &Findings<'_>) -> Vec<StatedRow> {
    let row = |(name, stated): &(super::Name, &Stated)| StatedRow {
        target: name.target.clone(),
        model: name.model.clone(),
        session: name.session.clone(),
        succeeded: stated.succeeded,
        failed: stated.failed,
        ttft_median_s: stated.median_s,
        ttft_p95_s: stated.p95_s,
        ttft_mean_s: stated.mean_s,
        ttft_std_s: stated.std_s,
        ttft_std_divisor: stated.std_s.map(|_| stated.divisor()),
        ttft_min_s: stated.min_s,
        ttft_max_s: stated.max_s,
        cv_percent: stated.cv_percent(),
        std_over_median_percent: stated.std_over_median_percent(),
    };
    findings.stated.iter().map(row).collect()
}

impl FileRow {
    fn of(file: &Imported) -> Self {
        let definition = file.tool.definition();
        Self {
            file: file.file.clone(),
            tool: file.tool.name(),
            tool_version: file.version.clone(),
            ttft_definition: definition.to_string(),
            ttft_start: match definition.start {
                Start::Call => "call",
                Start::Due => "due",
                Start::Written => "request-written",
                Start::Unknown => "unknown",
            },
            ttft_first: match definition.first {
                First::AnyToken => "any-token",
                First::ContentOrReasoning => "content-or-reasoning",
                First::Content => "content",
                First::AnyChunk => "any-chunk",
                First::Unknown => "unknown",
            },
            ttft_set_up: match definition.set_up {
                SetUp::Excluded => "excluded",
                SetUp::WhenNew => "when-new",
                SetUp::Always => "always",
                SetUp::Unknown => "unknown",
            },
            missing: file.missing.iter().map(ToString::to_string).collect(),
            discarded: file.discarded,
            notes: file.notes.clone(),
        }
    }
}

impl SeriesRow {
    fn of(findings: &Findings<'_>, found: &Found) -> Self {
        let analysis = &found.analysis;
        Self {
            file: found.file.map(|file| findings.files[file].file.clone()),
            figures: Figures::of(&found.line()),
            class_probability: class_probability(analysis.classes.as_ref()),
            censored: analysis.censored.as_ref().map(CensoredRow::of),
            split: analysis.split.as_ref().map(SplitRow::of),
            hours: analysis.hours.iter().map(HourRow::of).collect(),
            detections: analysis.detections.iter().map(DetectionRow::of).collect(),
            warnings: analysis
                .summary
                .warnings
                .iter()
                .map(ToString::to_string)
                .collect(),
        }
    }
}

impl CensoredRow {
    fn of(censored: &Censored) -> Self {
        let seconds = |quantile: CensoredQuantile| match quantile {
            CensoredQuantile::Seconds(seconds) => Some(seconds),
            CensoredQuantile::Beyond => None,
        };
        Self {
            timed_out: censored.timed_out,
            limit_s: censored.limit_s,
            ttft_median_s: seconds(censored.median),
            ttft_median_low_s: censored.median_interval_s.0,
            ttft_median_high_s: censored.median_interval_s.1,
            ttft_p95_s: seconds(censored.p95),
            ttft_p95_low_s: censored.p95_interval_s.0,
            ttft_p95_high_s: censored.p95_interval_s.1,
            ttft_mean_at_least_s: censored.mean_at_least_s,
            cv_at_least_percent: censored.cv_at_least_percent,
        }
    }
}

impl SplitRow {
    fn of(split: &Split) -> Self {
        let (kinds, second) = match split {
            Split::One { second } => ("one", Some(*second)),
            Split::CannotTell { second, .. } => ("cannot-tell", Some(*second)),
            Split::Two { second, .. } => ("two", Some(*second)),
            Split::TooFew => ("too-few", None),
        };
        let of = |pick: fn(&Kinds) -> f64| split.kinds().map(pick);
        let share = split.kinds().and_then(|kinds| kinds.share.interval);
        Self {
            kinds,
            second_kind_probability: second,
            cold_requests: split.kinds().map(|kinds| kinds.cold),
            cold_share_percent: of(|kinds| 100.0 * kinds.share.point),
            cold_share_low_percent: share.map(|share| 100.0 * share.low),
            cold_share_high_percent: share.map(|share| 100.0 * share.high),
            warm_ttft_median_s: of(|kinds| kinds.warm_median_s),
            warm_ttft_p95_s: of(|kinds| kinds.warm_p95_s),
            cold_ttft_min_s: of(|kinds| kinds.cold_min_s),
            cold_ttft_median_s: of(|kinds| kinds.cold_median_s),
            cold_ttft_max_s: of(|kinds| kinds.cold_max_s),
        }
    }
}

impl HourRow {
    fn of(hour: &Hour) -> Self {
        Self {
            hour: hour.hour,
            requests: hour.requests,
            succeeded: hour.succeeded,
            ttft_median_s: hour.median_s,
            ttft_max_s: hour.max_s,
        }
    }
}

impl DetectionRow {
    fn of(detection: &Detection) -> Self {
        Self {
            name: detection.name(),
            text: detection.to_string(),
        }
    }
}
