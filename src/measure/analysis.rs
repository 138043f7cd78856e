//! Everything that is said of one series of requests, whoever made them.

use super::censored::Censored;
use super::detect::{Detection, Signs, detect};
use super::split::Split;
use super::summary::{Summary, ttfts};
use super::verdict::{Classes, Verdict};
use crate::observation::{Observation, Outcome};
use crate::stats::{CvDefinition, PercentileMethod, Sample};
use crate::streams::Stream;
use crate::time::Duration;

/// A request as an analysis takes it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What the client saw.
    pub seen: Observation,
    /// Whether it met a cold start, where that is known.
    pub cold: Option<bool>,
    /// The hour of the day at which it was sent, where that is known.
    pub hour: Option<u8>,
    /// Whether its instants are those of the run; otherwise every request starts at zero.
    pub is_timed: bool,
    /// What else the client noted.
    pub signs: Signs,
}

/// How figures are computed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Method {
    /// How percentiles are read off.
    pub percentile: PercentileMethod,
    /// Which relative spread gives the verdict.
    pub definition: CvDefinition,
}

/// What is said of a series.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The figures.
    pub summary: Summary,
    /// Their verdict.
    pub verdict: Verdict,
    /// How sure that is; `None` where it is no data.
    pub classes: Option<Classes>,
    /// What is known of the requests that timed out; `None` without any.
    pub censored: Option<Censored>,
    /// Which requests look cold; `None` where it is known which are, or nothing was answered.
    pub split: Option<Split>,
    /// By hour of the day, in order, where the hours are known and more than one.
    pub hours: Vec<Hour>,
    /// Signs that a TTFT is not what it seems.
    pub detections: Vec<Detection>,
}

/// Requests of one hour of the day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hour {
    /// From 0 to 23.
    pub hour: u8,
    /// Requests sent in it, without those that failed in the client's own network.
    pub requests: usize,
    /// Those that were answered.
    pub succeeded: usize,
    /// Median TTFT \[s\].
    pub median_s: Option<f64>,
    /// Longest TTFT \[s\].
    pub max_s: Option<f64>,
}

impl Analysis {
    /// Analyses requests in order of time; `rng` decides only how sure things are.
    pub fn of(rows: &[Row], method: Method, rng: &mut Stream) -> Self {
        let seen: Vec<(Observation, Option<bool>)> =
            rows.iter().map(|row| (row.seen, row.cold)).collect();
        let summary = Summary::of(&seen, method.percentile);
        let sample = ttfts(&seen);
        let sample = sample.as_ref();
        let classes = sample
            .and_then(|sample| Classes::of(sample, method.definition, method.percentile, rng));
        let split = sample
            .filter(|_| summary.cold.is_none())
            .map(|sample| Split::of(sample, method.percentile));
        Self {
            verdict: Verdict::of(&summary, method.definition),
            summary,
            classes,
            censored: Censored::of(rows.iter().map(|row| &row.seen)),
            split,
            hours: hours(rows, method.percentile),
            detections: detect(rows),
        }
    }

    /// Requests that met a cold start, or look as if they had.
    pub fn cold_requests(&self) -> Option<usize> {
        let looks = || Some(self.split.as_ref()?.kinds()?.cold);
        self.summary.cold_requests().or_else(looks)
    }

    /// Whether a request met a cold start, or looks as if it had.
    pub fn is_cold(&self, row: &Row) -> bool {
        let from = self.split.as_ref().and_then(Split::cold_from_s);
        let looks = || {
            let ttft = row.seen.ttft().map(Duration::as_secs);
            from.zip(ttft).is_some_and(|(from, ttft)| ttft >= from)
        };
        row.cold.unwrap_or_else(looks)
    }
}

/// Requests by hour of the day; none where they all fall into one.
fn hours(rows: &[Row], method: PercentileMethod) -> Vec<Hour> {
    let of_hour = |hour: u8| {
        let reached = |row: &&Row| row.seen.outcome() != Outcome::ClientFault;
        let rows = rows
            .iter()
            .filter(|row| row.hour == Some(hour))
            .filter(reached);
        let rows: Vec<&Row> = rows.collect();
        let answered = rows.iter().filter(|row| row.seen.succeeded());
        let ttfts = answered.filter_map(|row| row.seen.ttft());
        let sample = Sample::new(ttfts.map(Duration::as_secs).collect());
        let sample = sample.as_ref();
        (!rows.is_empty()).then(|| Hour {
            hour,
            requests: rows.len(),
            succeeded: sample.map_or(0, Sample::len),
            median_s: sample.map(|sample| sample.quantile(0.5, method)),
            max_s: sample.map(Sample::max),
        })
    };
    let hours: Vec<Hour> = (0..24).filter_map(of_hour).collect();
    if hours.len() > 1 { hours } else { Vec::new() }
}
