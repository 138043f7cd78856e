//! The header of an observation file: the plan as a file tells it, without anything secret.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::sessions::Session;
use crate::http::ConnectionPolicy;
use crate::journal::{self, ClientError, Gaps, Header};
use crate::measure::protocol::GapPlan;
use crate::scenario::units;
use crate::targets::{Plan, Target};
use crate::time::Duration;

/// The header of a run of `plan` that starts at `started_at`.
pub(super) fn header(
    plan: &Plan,
    seed: u64,
    sessions: &[Session],
    started_at: Timestamp,
    client_error: Option<ClientError>,
    redact: &dyn Fn(&str) -> String,
) -> Header {
    let targets = plan.targets.iter().map(|one| target(one, redact)).collect();
    let prompt = plan
        .targets
        .first()
        .map_or("", |one| one.endpoint.prompt.as_str());
    let protocol = protocol(plan, seed, sessions);
    Header::new(started_at, protocol, prompt, targets, client_error)
}

fn protocol(plan: &Plan, seed: u64, sessions: &[Session]) -> journal::Protocol {
    let protocol = &plan.protocol;
    // What all targets are asked alike.
    let alike = plan.targets.first().map(|one| &one.endpoint);
    let limits = alike.map(|endpoint| endpoint.limits).unwrap_or_default();
    journal::Protocol {
        requests: protocol.requests,
        discard: protocol.discard,
        concurrency: Some(protocol.concurrency).filter(|&most| most < u32::MAX),
        gaps: gaps(&protocol.gaps),
        jitter_s: protocol.jitter.as_secs(),
        seed,
        max_tokens: protocol.output_tokens,
        temperature: alike.and_then(|endpoint| endpoint.temperature),
        nonce: alike.is_some_and(|endpoint| endpoint.nonce),
        usage: alike.is_some_and(|endpoint| endpoint.usage),
        timeout_s: protocol.timeout.map(Duration::as_secs),
        connect_timeout_s: limits.connect.as_secs(),
        stall_timeout_s: limits.stall.as_secs(),
        answer_timeout_s: limits.answer.as_secs(),
        at: plan
            .at
            .iter()
            .map(|&time| units::print_time_of_day(time))
            .collect(),
        days: plan.days,
        sessions: sessions
            .iter()
            .map(|session| journal::Session {
                name: session.name.clone(),
                starts_at: session
                    .starts_at
                    .strftime("%Y-%m-%dT%H:%M:%S%.f%:z")
                    .to_string(),
            })
            .collect(),
    }
}

fn gaps(plan: &GapPlan) -> Gaps {
    let seconds = |spans: &[Duration]| spans.iter().map(|span| span.as_secs()).collect();
    match plan {
        GapPlan::Fixed(gap) => Gaps::Fixed {
            gap_s: gap.as_secs(),
        },
        GapPlan::Even { over } => Gaps::Even {
            over_s: over.as_secs(),
        },
        GapPlan::Bursts { size, gap, every } => Gaps::Bursts {
            size: *size,
            gap_s: gap.as_secs(),
            every_s: every.as_secs(),
        },
        GapPlan::Ladder(gaps) => Gaps::Ladder {
            gaps_s: seconds(gaps),
        },
        GapPlan::At(times) => Gaps::At {
            times_s: seconds(times),
        },
    }
}

fn target(target: &Target, redact: &dyn Fn(&str) -> String) -> journal::Target {
    let endpoint = &target.endpoint;
    let stated = endpoint.headers.iter().map(|(name, _)| name);
    let held = target.header_env.iter().map(|(name, _)| name);
    let headers: BTreeSet<&String> = stated.chain(held).collect();
    // A body field can hold a key too.
    let body = serde_json::to_string(&endpoint.body).unwrap_or_default();
    journal::Target {
        name: endpoint.name.clone(),
        base_url: endpoint.base_url.clone(),
        model: endpoint.model.clone(),
        api: endpoint.api.name().to_owned(),
        connection: endpoint.connection.name().to_owned(),
        idle_limit_s: match endpoint.connection {
            ConnectionPolicy::Reuse { idle } => Some(idle.as_secs()),
            ConnectionPolicy::Fresh => None,
        },
        http_version: if endpoint.http2 { "2" } else { "1.1" }.to_owned(),
        key_env: target.key_env.clone(),
        headers: headers.into_iter().cloned().collect(),
        body: serde_json::from_str(&redact(&body)).unwrap_or_default(),
        proxied: endpoint.proxy.is_some(),
    }
}
