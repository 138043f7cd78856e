//! Rows as readers collect them, and what they become: observations in order, on the run's own clock.

use jiff::tz::TimeZone;

use super::Series;
use crate::foreign::stamp::{Stamp, hour, time_of_week};
use crate::measure::analysis::Row;
use crate::measure::detect::Signs;
use crate::observation::{Observation, Outcome};
use crate::request::{EndpointId, RequestId};
use crate::time::{Duration, Time};

/// A request as a file tells it.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    /// When it was sent, if the file tells.
    pub(super) sent: Option<Stamp>,
    /// To the first token.
    pub(super) ttft: Option<Duration>,
    /// To the end.
    pub(super) latency: Option<Duration>,
    pub(super) output_tokens: u32,
    pub(super) outcome: Outcome,
    pub(super) cold: Option<bool>,
    pub(super) signs: Signs,
}

impl Raw {
    /// A request with nothing but how it ended.
    pub(super) fn new(outcome: Outcome) -> Self {
        Self {
            sent: None,
            ttft: None,
            latency: None,
            output_tokens: 0,
            outcome,
            cold: None,
            signs: Signs::default(),
        }
    }

    /// The outcome of what its file calls a success: without a first token, or with one after no time at all, it is none.
    pub(super) fn checked(self) -> Self {
        let has_token = self.ttft.is_some_and(|ttft| ttft > Duration::ZERO);
        if self.outcome == Outcome::Succeeded && !has_token {
            return Self {
                outcome: Outcome::Failed,
                ttft: None,
                ..self
            };
        }
        self
    }
}

/// Splits requests by a name, in order of first appearance.
pub(super) fn grouped<K: PartialEq>(rows: Vec<(K, Raw)>) -> Vec<(K, Vec<Raw>)> {
    let mut groups: Vec<(K, Vec<Raw>)> = Vec::new();
    for (key, row) in rows {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    groups
}

/// The requests of a file as observations, by the series they belong to.
///
/// All series share the file's origin, its first stamp. Rows stand in order of time if each has a stamp of one kind.
pub(super) fn series(groups: Vec<(Series, Vec<Raw>)>, zone: &TimeZone) -> Vec<Series> {
    let stamps = groups.iter().flat_map(|(_, rows)| rows).map(|row| row.sent);
    let origin = stamps.flatten().map(Stamp::nanos).min().unwrap_or(0);
    let faults = client_faults(&groups);
    let mut next = 0;
    let built = groups.into_iter().map(|(series, mut rows)| {
        if rows.iter().all(|row| row.sent.is_some()) {
            rows.sort_by_key(|row| row.sent.map(Stamp::nanos));
        }
        let first = rows.first().and_then(|row| row.sent?.wall());
        let rows = rows.into_iter().map(|mut row| {
            row.signs.near_client_fault = row.sent.is_some_and(|at| is_near(at.nanos(), &faults));
            next += 1;
            built(&row, RequestId(next), origin, zone)
        });
        Series {
            began: first.and_then(|at| time_of_week(at, zone)),
            rows: rows.collect(),
            ..series
        }
    });
    built.collect()
}

/// Near in time to a fault \[ns\].
const NEAR: i128 = 60_000_000_000;

/// When the client's own network failed, in any of the series.
fn client_faults(groups: &[(Series, Vec<Raw>)]) -> Vec<i128> {
    let rows = groups.iter().flat_map(|(_, rows)| rows);
    let faults = rows.filter(|row| row.outcome == Outcome::ClientFault);
    let mut faults: Vec<i128> = faults
        .filter_map(|row| row.sent.map(Stamp::nanos))
        .collect();
    faults.sort_unstable();
    faults
}

fn is_near(at: i128, faults: &[i128]) -> bool {
    let next = faults.partition_point(|&fault| fault < at - NEAR);
    faults.get(next).is_some_and(|&fault| fault <= at + NEAR)
}

fn built(row: &Raw, id: RequestId, origin: i128, zone: &TimeZone) -> Row {
    let since = row.sent.map_or(0, |at| at.nanos() - origin);
    let sent = Time::from_nanos(u64::try_from(since).unwrap_or(u64::MAX));
    let first = row.ttft.map(|ttft| sent + ttft);
    let end = row.latency.map_or(sent, |latency| sent + latency);
    // Some programs stamp the end before the last token's arrival is noted.
    let end = end.max(first.unwrap_or(sent));
    let endpoint = EndpointId(0);
    let (tokens, outcome) = (row.output_tokens, row.outcome);
    Row {
        seen: Observation::new(id, endpoint, sent, sent, first, end, tokens, outcome),
        cold: row.cold,
        hour: row.sent.and_then(Stamp::wall).and_then(|at| hour(at, zone)),
        is_timed: row.sent.is_some(),
        signs: row.signs,
    }
}
