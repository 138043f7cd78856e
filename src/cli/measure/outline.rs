//! What a run would do, in words.

use std::fmt::Write as _;

use jiff::ZonedDateTime;

use super::{Start, forecast};
use crate::measure::drive::Lane;
use crate::report::{number, words};
use crate::targets::{Plan, Target};
use crate::time::Duration;

/// The plan of a run, without a key.
pub(super) fn text(plan: &Plan, start: &Start, lanes: &[Lane], now: &ZonedDateTime) -> String {
    let mut text = String::new();
    let line = &mut text;
    let _ = writeln!(line, "{} to each target", words::protocol(&plan.protocol));
    let _ = writeln!(line, "\ntargets");
    for target in &plan.targets {
        let _ = writeln!(line, "  {}", described(target));
    }
    let _ = writeln!(line, "\nsessions");
    for session in &start.sessions {
        let at = session.starts_at.strftime("%a %Y-%m-%d %H:%M:%S %:z");
        let _ = writeln!(line, "  {}: {at}", session.name);
    }
    let done: usize = start.rows.len();
    let total: usize = lanes
        .iter()
        .map(|lane| lane.protocol.total() as usize)
        .sum();
    let end = forecast::end(lanes, start.origin, Duration::ZERO);
    let left = end.saturating_since(start.origin);
    let _ = writeln!(
        line,
        "\n{} to send{}",
        number::count((total - done) as u64),
        match done {
            0 => String::new(),
            done => format!(", {done} done"),
        }
    );
    let until = now.checked_add(std::time::Duration::from_nanos(left.as_nanos()));
    let until = until.map_or_else(
        |_| String::new(),
        |until| format!(", until {}", until.strftime("%a %Y-%m-%d %H:%M:%S")),
    );
    let _ = writeln!(
        line,
        "{} at least{until}, and the time that answers take",
        number::span(left.as_secs())
    );
    let _ = writeln!(line, "seed {}", start.header.protocol.seed);
    let _ = writeln!(line, "observations go to {}", start.path.display());
    text
}

/// `acme: my-model at https://api.example.com/v1 (chat, fresh connections, HTTP/1.1), key from EXAMPLE_KEY`.
fn described(target: &Target) -> String {
    let endpoint = &target.endpoint;
    let version = if endpoint.http2 { "2" } else { "1.1" };
    let key = match &target.key_env {
        Some(variable) if std::env::var_os(variable).is_none() => {
            format!("key from {variable}, which is not set")
        }
        Some(variable) => format!("key from {variable}"),
        None => "no key".to_owned(),
    };
    format!(
        "{}: {} at {} ({}, {} connection, HTTP/{version}), {key}",
        endpoint.name,
        endpoint.model,
        endpoint.base_url,
        endpoint.api.name(),
        endpoint.connection.name(),
    )
}
