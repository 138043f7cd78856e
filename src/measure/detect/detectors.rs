//! One function a sign. Each is silent where its notes are missing.

use super::{Detection, SetUpPart};
use crate::measure::analysis::Row;
use crate::stats::Sample;
use crate::time::Duration;

/// Pieces of an answer that follow each other closer than this came out of a buffer.
const BUFFERED_GAP: Duration = Duration::from_nanos(5_000_000);
/// A buffered answer's first token comes after this share of its time.
const BUFFERED_SHARE: f64 = 0.8;
/// A first gap is the wait for the first token when it is so many times the later ones.
const ROLE_GAP: f64 = 3.0;
/// A set-up is an outlier from this many scaled deviations above the median on (the limit of `hyperfine`).
const OUTLIER: f64 = 14.8;
/// and from this long on: shorter ones do no harm.
const LEAST_OUTLIER_S: f64 = 0.1;
/// Servers commonly close idle connections after five seconds; shorter gaps prove nothing.
const IDLE: Duration = Duration::from_nanos(5_000_000_000);
/// A detector that speaks of most requests means so large a share.
const MOST: f64 = 0.5;

fn answered(rows: &[Row]) -> impl Iterator<Item = &Row> {
    rows.iter().filter(|row| row.seen.succeeded())
}

fn is_most(part: usize, whole: usize) -> bool {
    part > 0 && part as f64 >= MOST * whole as f64
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    Sample::new(values.collect()).map(|sample| sample.median())
}

fn ttft_s(row: &Row) -> f64 {
    row.seen.ttft().map_or(0.0, Duration::as_secs)
}

pub(super) fn buffered(rows: &[Row]) -> Option<Detection> {
    let known = || answered(rows).filter(|row| row.signs.gap_median.is_some());
    let is_one = |row: &&Row| {
        let close = row.signs.gap_median.is_some_and(|gap| gap < BUFFERED_GAP);
        let total = row.seen.end().since(row.seen.sent()).as_secs();
        close && ttft_s(row) >= BUFFERED_SHARE * total
    };
    let (requests, of) = (known().filter(is_one).count(), known().count());
    is_most(requests, of).then_some(Detection::Buffered { requests, of })
}

pub(super) fn role_chunk_counted(rows: &[Row]) -> Option<Detection> {
    let gaps = |row: &Row| {
        let signs = &row.signs;
        signs
            .first_gap
            .zip(signs.gap_median)
            .filter(|(_, later)| *later > Duration::ZERO)
    };
    let known = || answered(rows).filter_map(|row| Some((row, gaps(row)?)));
    let shows =
        || known().filter(|(_, (first, later))| first.as_secs() >= ROLE_GAP * later.as_secs());
    let (requests, of) = (shows().count(), known().count());
    let ttft_median_s = median(shows().map(|(row, (first, _))| ttft_s(row) + first.as_secs()))?;
    is_most(requests, of).then_some(Detection::RoleChunkCounted {
        requests,
        of,
        ttft_median_s,
    })
}

pub(super) fn role_chunk_gap(rows: &[Row]) -> Option<Detection> {
    let early = || {
        answered(rows).filter_map(|row| {
            let role = row.signs.role_chunk?.as_secs();
            (role < 0.5 * ttft_s(row)).then_some(role)
        })
    };
    let (requests, of) = (early().count(), answered(rows).count());
    let role_median_s = median(early())?;
    is_most(requests, of).then_some(Detection::RoleChunkGap {
        role_median_s,
        requests,
    })
}

pub(super) fn bundled_first_chunk(rows: &[Row]) -> Option<Detection> {
    let tokens = answered(rows).filter_map(|row| row.signs.first_chunk_tokens.map(f64::from));
    let tokens = median(tokens)?;
    (tokens >= 2.0).then_some(Detection::BundledFirstChunk { tokens })
}

pub(super) fn cached_prefix(rows: &[Row]) -> Option<Detection> {
    let known =
        || answered(rows).filter_map(|row| row.signs.cached_tokens.zip(row.signs.prompt_tokens));
    let requests = known()
        .filter(|(cached, prompt)| *cached > 0 && 2 * cached >= *prompt)
        .count();
    let of = known().count();
    is_most(requests, of).then_some(Detection::CachedPrefix { requests, of })
}

pub(super) fn dns_outliers(rows: &[Row]) -> Option<Detection> {
    set_up_outliers(rows, SetUpPart::Dns)
}

pub(super) fn connect_outliers(rows: &[Row]) -> Option<Detection> {
    set_up_outliers(rows, SetUpPart::Connect)
}

fn set_up_outliers(rows: &[Row], part: SetUpPart) -> Option<Detection> {
    let span = |row: &Row| match part {
        SetUpPart::Dns => row.signs.dns,
        SetUpPart::Connect => row.signs.connect,
    };
    // Reused connections have none, which is no value of it.
    let spans = rows
        .iter()
        .filter_map(span)
        .filter(|span| *span > Duration::ZERO);
    let sample = Sample::new(spans.map(Duration::as_secs).collect())?;
    let median_s = sample.median();
    let off = median(sample.values().iter().map(|value| (value - median_s).abs()))?;
    // 1.4826 makes the middle deviation that of a normal law.
    let limit = median_s + (OUTLIER * 1.4826 * off).max(LEAST_OUTLIER_S);
    let requests = sample
        .values()
        .iter()
        .filter(|value| **value > limit)
        .count();
    (requests > 0).then(|| Detection::SetUpOutliers {
        part,
        requests,
        median_s,
        max_s: sample.max(),
    })
}

pub(super) fn keep_alive_cliff(rows: &[Row]) -> Option<Detection> {
    let timed: Vec<&Row> = rows.iter().filter(|row| row.is_timed).collect();
    let gaps = || {
        timed.windows(2).map(|pair| {
            let idle = pair[1].seen.sent().saturating_since(pair[0].seen.end());
            (idle, pair[1])
        })
    };
    let reused = gaps().filter(|(_, row)| row.signs.reused == Some(true));
    let outlived = reused.map(|(idle, _)| idle).max();
    let opened = gaps().filter(|(idle, row)| {
        let beyond = outlived.is_none_or(|outlived| *idle > outlived);
        beyond && *idle >= IDLE && row.signs.reused == Some(false)
    });
    let lost = gaps().filter(|(idle, row)| *idle >= IDLE && row.signs.connection_lost);
    let closed = opened.chain(lost.clone()).map(|(idle, _)| idle).min()?;
    // A client that never reuses connections shows nothing about the server.
    let lost = lost.count();
    (outlived.is_some() || lost > 0).then(|| Detection::KeepAliveCliff {
        outlived_s: outlived.map(Duration::as_secs),
        closed_s: closed.as_secs(),
        lost,
    })
}

pub(super) fn near_client_fault(rows: &[Row]) -> Option<Detection> {
    let near = || answered(rows).filter(|row| row.signs.near_client_fault);
    let max_s = near().map(ttft_s).fold(0.0, f64::max);
    let others = answered(rows).filter(|row| !row.signs.near_client_fault);
    let others = Sample::new(others.map(ttft_s).collect());
    let requests = near().count();
    (requests > 0).then(|| Detection::NearClientFault {
        requests,
        max_s,
        cv_without_percent: others.and_then(|sample| sample.cv()).map(|cv| 100.0 * cv),
    })
}
