//! The `[protocol]` of a targets file: what is sent to every target, and when.

use std::path::PathBuf;

use crate::http::{ConnectionPolicy, Endpoint, Limits};
use crate::measure::protocol::Protocol;
use crate::scenario::{Kind, Reader, Schedule, Variant, optional_span};
use crate::time::Duration;

/// The fixed prompt: short, with an answer that is long enough to stream.
const PROMPT: &str = "Count from one to twenty in words.";

/// What a `[protocol]` says.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) protocol: Protocol,
    pub(super) seed: Option<u64>,
    pub(super) at: Vec<Duration>,
    pub(super) days: u32,
    pub(super) prompt: String,
    nonce: bool,
    temperature: Option<f64>,
    usage: bool,
    connection: ConnectionPolicy,
    http2: bool,
    roots: Option<PathBuf>,
    proxy: Option<String>,
    limits: Limits,
}

impl Asked {
    pub(super) fn read(mut reader: Reader<'_>) -> Self {
        let schedule = Schedule::read(&mut reader);
        if schedule.requests == 0 {
            // A scenario may have a fleet without a benchmark; nobody measures nothing.
            reader.problem_at(
                "requests",
                "`requests` must be from 1 to 1000000",
                "is 0",
                "give at least one request that counts",
            );
        }
        let prompt = reader.or_default("prompt", &super::filled(), PROMPT);
        let tokens = Kind::whole().at_least("1").at_most("1000000");
        let protocol = Protocol {
            requests: schedule.requests,
            discard: schedule.discard,
            concurrency: schedule.concurrency,
            gaps: schedule.gaps,
            jitter: schedule.jitter,
            // What servers count is in each answer; about four characters make a token.
            prompt_tokens: (prompt.len() as u32).div_ceil(4),
            output_tokens: reader.or_default("max_tokens", &tokens, "64") as u32,
            timeout: optional_span(&mut reader, "timeout", "5m"),
        };
        let asked = Self {
            protocol,
            prompt,
            seed: reader.optional("seed", &Kind::whole()),
            at: times(&mut reader),
            days: reader.or_default("days", &Kind::whole().at_least("1").at_most("366"), "1")
                as u32,
            nonce: reader.or_default("nonce", &Kind::boolean(), "false"),
            temperature: temperature(&mut reader),
            usage: reader.or_default("usage", &Kind::boolean(), "true"),
            connection: connection(&mut reader),
            http2: reader.or_default("http2", &Kind::boolean(), "false"),
            roots: reader
                .optional("ca_file", &super::filled())
                .map(PathBuf::from),
            proxy: reader.optional("proxy", &super::filled()),
            limits: limits(&mut reader),
        };
        reader.finish();
        asked
    }

    /// What every target is asked alike.
    pub(super) fn apply(&self, endpoint: &mut Endpoint) {
        endpoint.nonce = self.nonce;
        endpoint.temperature = self.temperature;
        endpoint.usage = self.usage;
        endpoint.connection = self.connection;
        endpoint.http2 = self.http2;
        endpoint.roots.clone_from(&self.roots);
        endpoint.proxy.clone_from(&self.proxy);
        endpoint.limits = self.limits;
    }
}

/// Local times of day at which sessions start.
fn times(reader: &mut Reader<'_>) -> Vec<Duration> {
    let is_set = |times: &Vec<Duration>| {
        let mut sorted = times.clone();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair[0] < pair[1])
    };
    let times = Kind::time_of_day().list();
    reader.or_default("at", &times.must("name each time once", is_set), "[]")
}

/// A temperature, or `"none"` to leave it to the server.
fn temperature(reader: &mut Reader<'_>) -> Option<f64> {
    let forms = [Variant::unit("none"), Variant::shorthand("fixed", "value")];
    let (form, mut inner) = reader.variant("temperature", &forms, "0");
    let kind = Kind::number().at_least("0").at_most("2");
    let value = (form == "fixed").then(|| inner.required("value", &kind));
    inner.finish();
    value
}

/// A connection for every request, or one for as long as it may have been idle.
fn connection(reader: &mut Reader<'_>) -> ConnectionPolicy {
    let is_reused = Kind::one_of(&[("fresh", false), ("reuse", true)]);
    let is_reused = reader.or_default("connection", &is_reused, "fresh");
    let idle = Kind::duration().positive().at_most("1d");
    let idle = reader.or_default("idle_limit", &idle, "4s");
    if is_reused {
        ConnectionPolicy::Reuse { idle }
    } else {
        ConnectionPolicy::Fresh
    }
}

/// How long each part of an exchange may take, beside the first token's own limit.
fn limits(reader: &mut Reader<'_>) -> Limits {
    let span = Kind::duration().positive().at_most("1d");
    let mut span = |key: &str, default: &str| reader.or_default(key, &span, default);
    Limits {
        connect: span("connect_timeout", "10s"),
        stall: span("stall_timeout", "60s"),
        answer: span("answer_timeout", "10m"),
        ..Limits::default()
    }
}
