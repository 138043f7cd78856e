//! What only a real benchmark can say: how its requests ended, what other definitions of TTFT would have read, and how punctual
//! the client was.
//!
//! The headline is *request written to first token on any channel*. Whoever compares it with another tool's figure needs the
//! others beside it, because no two tools agree; whoever trusts it needs to know that the client itself was not late.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::grid::{Column, fitted};
use super::number::{self, NONE};
use crate::stats::{PercentileMethod, Sample};
use crate::time::Duration;
use crate::timeline::Timeline;

const BOLD: Style = Style::new().bold();
const ALARM: Style = AnsiColor::Yellow.on_default();

/// Send lag matters from this share of the median TTFT on, or from [`LATE`] on.
const LATE_SHARE: f64 = 0.05;
/// Send lag matters from here on, whatever the TTFT is.
const LATE: Duration = Duration::from_nanos(50_000_000);

/// The requests of one target in one session.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// `acme · model`, with the session where there are several.
    pub label: String,
    /// Those that count.
    pub requests: Vec<Request<'a>>,
    /// How many were thrown away.
    pub discarded: usize,
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// `ok`, or how it failed.
    pub outcome: &'a str,
    /// Why it failed.
    pub reason: Option<&'a str>,
    /// Its instants.
    pub timeline: Timeline,
}

/// The client's own error on an endpoint of known times \[s\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnError {
    /// Median of measured less true TTFT.
    pub bias_s: f64,
    /// Standard deviation of it.
    pub std_s: f64,
}

/// A definition of TTFT.
struct Definition {
    head: &'static str,
    of: fn(&Timeline) -> Option<Duration>,
    rank: u8,
}

const DEFINITIONS: [Definition; 5] = [
    Definition {
        head: "TTFT",
        of: Timeline::ttft,
        rank: 0,
    },
    Definition {
        head: "to content",
        of: Timeline::ttft_content,
        rank: 1,
    },
    Definition {
        head: "to visible",
        of: Timeline::ttft_visible,
        rank: 2,
    },
    Definition {
        head: "with connect",
        of: Timeline::ttft_with_connect,
        rank: 1,
    },
    Definition {
        head: "from due",
        of: Timeline::ttft_from_due,
        rank: 2,
    },
];

/// Writes how requests ended, the definitions side by side, and how punctual the client was.
pub fn write(
    series: &[Series<'_>],
    error: Option<OwnError>,
    method: PercentileMethod,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{BOLD}How requests ended{BOLD:#}")?;
    for one in series {
        ends(one, out)?;
    }
    writeln!(out, "\n{BOLD}Medians by definition of TTFT{BOLD:#} (s)")?;
    writeln!(out, "{}", definitions(series, method, width))?;
    for one in series {
        if let Some(warning) = lateness(one, method) {
            writeln!(out, "{ALARM}{warning}{ALARM:#}")?;
        }
    }
    if let Some(error) = error {
        let (bias, std) = (error.bias_s * 1e3, error.std_s * 1e3);
        writeln!(
            out,
            "the client's own error, by its selftest: {bias:+.3} ms, std {std:.3} ms"
        )?;
    }
    Ok(())
}

/// `acme · m: 75 requests after 1 thrown away: 73 ok, 2 timed-out`, and a line for each reason.
fn ends(series: &Series<'_>, out: &mut dyn Write) -> io::Result<()> {
    let requests = number::counted(series.requests.len() as u64, "request");
    let discarded = super::words::discarded(series.discarded as u32);
    let outcomes = counted(series.requests.iter().map(|one| one.outcome));
    let outcomes: Vec<String> = outcomes
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let ended = match outcomes.as_slice() {
        [] => String::new(),
        some => format!(": {}", some.join(", ")),
    };
    writeln!(out, "{}: {requests}{discarded}{ended}", series.label)?;
    let reasons = series
        .requests
        .iter()
        .filter_map(|one| Some((one.outcome, one.reason?)));
    for ((outcome, reason), count) in counted(reasons) {
        let remark = match outcome {
            "client-fault" => " (on the client's side; in no figure of the server)",
            _ => "",
        };
        writeln!(out, "  {count} × {reason}{remark}")?;
    }
    Ok(())
}

/// How often each value occurs, in the order of first occurrence.
fn counted<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<(T, usize)> {
    let mut counts: Vec<(T, usize)> = Vec::new();
    for value in values {
        match counts.iter_mut().find(|(known, _)| *known == value) {
            Some((_, count)) => *count += 1,
            None => counts.push((value, 1)),
        }
    }
    counts
}

fn definitions(series: &[Series<'_>], method: PercentileMethod, width: usize) -> String {
    let cells = |of: fn(&Timeline) -> Option<Duration>, p: f64| {
        let cell = |one: &Series<'_>| match answered(one, of) {
            Some(sample) => number::bare_seconds(sample.quantile(p, method)),
            None => NONE.to_owned(),
        };
        series.iter().map(cell).collect::<Vec<String>>()
    };
    let labels = series.iter().map(|one| one.label.clone()).collect();
    let mut columns = vec![Column::text("", labels)];
    let medians = DEFINITIONS.iter().map(|definition| {
        Column::numbers(definition.head, cells(definition.of, 0.5)).rank(definition.rank)
    });
    columns.extend(medians);
    let lags = cells(Timeline::start_lag, 0.95);
    columns.push(Column::numbers("p95 of lag", lags).rank(1));
    fitted(columns.clone(), columns, width, 1)
}

/// A span of every answered request.
fn answered(series: &Series<'_>, of: fn(&Timeline) -> Option<Duration>) -> Option<Sample> {
    let ok = series.requests.iter().filter(|one| one.outcome == "ok");
    Sample::new(
        ok.filter_map(|one| of(&one.timeline))
            .map(Duration::as_secs)
            .collect(),
    )
}

/// What there is to say of requests that were sent late, if it matters.
fn lateness(series: &Series<'_>, method: PercentileMethod) -> Option<String> {
    let lag = answered(series, Timeline::start_lag)?;
    let median = answered(series, Timeline::ttft)?.quantile(0.5, method);
    let (p95, worst) = (lag.quantile(0.95, method), lag.max());
    let matters = p95 > LATE_SHARE * median || worst > LATE.as_secs();
    matters.then(|| {
        format!(
            "{}: requests were sent late, 95 % of them within {} and the latest by {}: the client or its gate was the \
             bottleneck, and only the time from due shows the wait",
            series.label,
            number::seconds(p95),
            number::seconds(worst)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    fn request(outcome: &'static str, reason: Option<&'static str>, lag: f64) -> Request<'static> {
        let at = |seconds: f64| Some(Time::from_secs(10.0 + seconds));
        let is_answered = outcome == "ok";
        Request {
            outcome,
            reason,
            timeline: Timeline {
                due: at(0.0),
                started: at(lag),
                written: at(lag + 0.1),
                first_token: at(lag + 0.6).filter(|_| is_answered),
                first_content: at(lag + 0.8).filter(|_| is_answered),
                end: at(lag + 1.0),
                ..Timeline::default()
            },
        }
    }

    fn shown(requests: Vec<Request<'static>>, error: Option<OwnError>) -> String {
        let series = Series {
            label: "acme · m".to_owned(),
            requests,
            discarded: 1,
        };
        let mut out = Vec::new();
        write(&[series], error, PercentileMethod::default(), 100, &mut out).expect("memory");
        let text = String::from_utf8(out).expect("text");
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn every_end_and_every_definition_is_there() {
        let requests = vec![
            request("ok", None, 0.001),
            request("timed-out", Some("timed out in phase first-token"), 0.001),
            request(
                "client-fault",
                Some("connection failed in phase dns: no such host"),
                0.001,
            ),
            request("ok", None, 0.001),
        ];
        let error = OwnError {
            bias_s: 0.000_05,
            std_s: 0.000_02,
        };
        let text = shown(requests, Some(error));
        for part in [
            "acme · m: 4 requests after 1 thrown away: 2 ok, 1 timed-out, 1 client-fault",
            "1 × timed out in phase first-token\n",
            "no such host (on the client's side",
            "0.50",
            "0.70",
            "0.60",
            "+0.050 ms",
        ] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        assert!(!text.contains("sent late"), "{text}");
    }

    #[test]
    fn a_late_client_is_told() {
        for (lag, is_told) in [(0.02, false), (0.03, true), (0.06, true)] {
            let text = shown(vec![request("ok", None, lag); 3], None);
            assert_eq!(text.contains("sent late"), is_told, "{lag}:\n{text}");
        }
    }
}
