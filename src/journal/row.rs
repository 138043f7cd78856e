//! One request as a line of the file.

use serde::{Deserialize, Serialize};

use super::stamp;
use crate::observation::{Observation, Outcome};
use crate::request::{EndpointId, RequestId};
use crate::time::{Duration, Time};
use crate::timeline::{Exchange, Reason, Timeline};

/// How a request can have ended, by the words of the file.
pub(crate) const OUTCOMES: [&str; 9] = [
    "ok",
    "http-error",
    "stream-error",
    "empty",
    "truncated",
    "timed-out",
    "parse-error",
    "connection-fault",
    "client-fault",
];

/// Whose request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whose<'a> {
    /// The target's name.
    pub target: &'a str,
    /// The model.
    pub model: &'a str,
    /// The session.
    pub session: &'a str,
    /// Its number in the session, from one, those thrown away included.
    pub index: u32,
    /// Whether it is thrown away.
    pub discarded: bool,
}

/// A line of the file: see the [module](super) for its units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "instants and spans are those of `timeline`, by the same names"
)]
pub struct Row {
    /// The target's name.
    pub target: String,
    /// The model.
    pub model: String,
    /// The session.
    pub session: String,
    /// Its number in the session, from one, those thrown away included.
    pub index: u32,
    /// Whether it is thrown away.
    pub discarded: bool,
    /// `ok`, `http-error`, `stream-error`, `empty`, `truncated`, `timed-out`, `parse-error`, `connection-fault`, `client-fault`.
    pub outcome: String,
    /// The HTTP status, if an answer began.
    #[serde(default)]
    pub status: Option<u16>,
    /// Why it is no success, in words.
    #[serde(default)]
    pub reason: Option<String>,
    /// When the client began, by the wall clock: RFC 3339, UTC.
    pub sent_at: String,
    pub due_s: f64,
    #[serde(default)]
    pub started_s: Option<f64>,
    #[serde(default)]
    pub dns_s: Option<f64>,
    #[serde(default)]
    pub connect_s: Option<f64>,
    #[serde(default)]
    pub tls_s: Option<f64>,
    #[serde(default)]
    pub written_s: Option<f64>,
    #[serde(default)]
    pub headers_s: Option<f64>,
    #[serde(default)]
    pub first_byte_s: Option<f64>,
    #[serde(default)]
    pub first_comment_s: Option<f64>,
    #[serde(default)]
    pub role_chunk_s: Option<f64>,
    #[serde(default)]
    pub first_token_s: Option<f64>,
    #[serde(default)]
    pub first_reasoning_s: Option<f64>,
    #[serde(default)]
    pub first_content_s: Option<f64>,
    #[serde(default)]
    pub first_visible_s: Option<f64>,
    #[serde(default)]
    pub last_token_s: Option<f64>,
    pub end_s: f64,
    #[serde(default)]
    pub ttft_s: Option<f64>,
    #[serde(default)]
    pub ttft_with_connect_s: Option<f64>,
    #[serde(default)]
    pub ttft_from_due_s: Option<f64>,
    #[serde(default)]
    pub ttft_content_s: Option<f64>,
    #[serde(default)]
    pub ttft_visible_s: Option<f64>,
    /// How late the client began: the wait at its own gate.
    #[serde(default)]
    pub send_lag_s: Option<f64>,
    /// By the server's count where it counts, else chunks.
    #[serde(default)]
    pub output_tokens: u32,
    /// Whether `output_tokens` only counts chunks.
    #[serde(default)]
    pub output_tokens_are_chunks: bool,
    #[serde(default)]
    pub prompt_tokens: Option<u32>,
    #[serde(default)]
    pub cached_tokens: Option<u32>,
    #[serde(default)]
    pub http_version: Option<String>,
    /// Whether an open connection was used again.
    #[serde(default)]
    pub reused: bool,
    /// The server's address and port.
    #[serde(default)]
    pub remote: Option<String>,
    #[serde(default)]
    pub retry_after_s: Option<f64>,
    /// Where the request was when it failed.
    #[serde(default)]
    pub phase: Option<String>,
    /// What the peer or the system said.
    #[serde(default)]
    pub error: Option<String>,
    #[serde(default)]
    pub finish_reason: Option<String>,
    /// Chunks that hold a token.
    #[serde(default)]
    pub chunks: u32,
    #[serde(default)]
    pub chunk_gap_median_s: Option<f64>,
    #[serde(default)]
    pub chunk_gap_max_s: Option<f64>,
    #[serde(default)]
    pub first_chunk_tokens: Option<u32>,
    /// How far the wall clock has moved against the monotonic one since the run's origin.
    #[serde(default)]
    pub wall_drift_s: f64,
    /// Whether it met a cold start, where something knows.
    #[serde(default)]
    pub cold: Option<bool>,
}

impl Row {
    /// The line of an exchange. `redact` takes what must not be written out of a text.
    pub fn new(whose: Whose<'_>, exchange: &Exchange, redact: &dyn Fn(&str) -> String) -> Self {
        let Exchange {
            observation,
            timeline,
            reason,
            chunks,
            ..
        } = exchange;
        let at = |instant: Option<Time>| instant.map(Time::as_secs);
        let span = |span: Option<Duration>| span.map(Duration::as_secs);
        let reason = reason.as_ref();
        Self {
            target: whose.target.to_owned(),
            model: whose.model.to_owned(),
            session: whose.session.to_owned(),
            index: whose.index,
            discarded: whose.discarded,
            outcome: exchange.outcome_name().to_owned(),
            status: exchange.status,
            reason: reason.map(|reason| redact(&reason.to_string())),
            sent_at: wall(exchange.sent_at),
            due_s: observation.due().as_secs(),
            started_s: at(timeline.started),
            dns_s: at(timeline.dns),
            connect_s: at(timeline.connected),
            tls_s: at(timeline.tls),
            written_s: at(timeline.written),
            headers_s: at(timeline.headers),
            first_byte_s: at(timeline.first_byte),
            first_comment_s: at(timeline.first_comment),
            role_chunk_s: at(timeline.role_chunk),
            first_token_s: at(timeline.first_token),
            first_reasoning_s: at(timeline.first_reasoning),
            first_content_s: at(timeline.first_content),
            first_visible_s: at(timeline.first_visible),
            last_token_s: at(timeline.last_token),
            end_s: observation.end().as_secs(),
            ttft_s: span(timeline.ttft()),
            ttft_with_connect_s: span(timeline.ttft_with_connect()),
            ttft_from_due_s: span(timeline.ttft_from_due()),
            ttft_content_s: span(timeline.ttft_content()),
            ttft_visible_s: span(timeline.ttft_visible()),
            send_lag_s: span(timeline.start_lag()),
            output_tokens: observation.output_tokens(),
            output_tokens_are_chunks: exchange.counts_chunks(),
            prompt_tokens: exchange.usage.prompt_tokens,
            cached_tokens: exchange.usage.cached_tokens,
            http_version: exchange.http_version.map(str::to_owned),
            reused: exchange.is_reused,
            remote: exchange.remote_address.clone(),
            retry_after_s: span(reason.and_then(Reason::retry_after)),
            phase: reason
                .and_then(Reason::phase)
                .map(|phase| phase.name().to_owned()),
            error: reason.and_then(Reason::message).map(redact),
            finish_reason: exchange.finish_reason.as_deref().map(redact),
            chunks: chunks.count,
            chunk_gap_median_s: span(chunks.gap_median),
            chunk_gap_max_s: span(chunks.gap_max),
            first_chunk_tokens: chunks.first_tokens,
            wall_drift_s: exchange.wall_drift_s,
            cold: None,
        }
    }

    /// What the statistics see of it, under the name `id`.
    ///
    /// Instants that the clock's reading left out of order by a hair are put in order.
    pub fn observation(&self, id: RequestId, endpoint: EndpointId) -> Observation {
        let due = Time::from_secs(self.due_s);
        let sent = self
            .written_s
            .or(self.started_s)
            .map_or(due, Time::from_secs);
        let sent = sent.max(due);
        let first_token = self
            .first_token_s
            .map(|first| Time::from_secs(first).max(sent));
        let end = Time::from_secs(self.end_s).max(first_token.unwrap_or(sent));
        Observation::new(
            id,
            endpoint,
            due,
            sent,
            first_token,
            end,
            self.output_tokens,
            self.kind(),
        )
    }

    /// The instants that a report looks at.
    pub fn timeline(&self) -> Timeline {
        let at = |instant: Option<f64>| instant.map(Time::from_secs);
        Timeline {
            due: at(Some(self.due_s)),
            started: at(self.started_s),
            dns: at(self.dns_s),
            connected: at(self.connect_s),
            tls: at(self.tls_s),
            written: at(self.written_s),
            headers: at(self.headers_s),
            first_byte: at(self.first_byte_s),
            first_comment: at(self.first_comment_s),
            role_chunk: at(self.role_chunk_s),
            first_token: at(self.first_token_s),
            first_reasoning: at(self.first_reasoning_s),
            first_content: at(self.first_content_s),
            first_visible: at(self.first_visible_s),
            last_token: at(self.last_token_s),
            end: at(Some(self.end_s)),
        }
    }

    /// How it ended, as the statistics see it.
    fn kind(&self) -> Outcome {
        match (self.outcome.as_str(), self.status) {
            ("ok", _) => Outcome::Succeeded,
            ("http-error", Some(status)) => Outcome::Rejected { status },
            ("timed-out", _) => Outcome::TimedOut,
            ("client-fault", _) => Outcome::ClientFault,
            _ => Outcome::Failed,
        }
    }

    /// What is wrong with it, if anything: the field and the fault.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        if !OUTCOMES.contains(&self.outcome.as_str()) {
            let known = OUTCOMES.join(", ");
            return Some((
                "outcome",
                format!("is {:?}, which is none of {known}", self.outcome),
            ));
        }
        if self.index == 0 {
            return Some(("index", "is 0, but counts from 1".to_owned()));
        }
        if self.outcome == "ok" && self.first_token_s.is_none() {
            return Some((
                "first_token_s",
                "is missing, but the outcome is ok".to_owned(),
            ));
        }
        if self.outcome == "http-error" && self.status.is_none() {
            return Some((
                "status",
                "is missing, but the outcome is http-error".to_owned(),
            ));
        }
        let instants = [
            ("due_s", Some(self.due_s)),
            ("started_s", self.started_s),
            ("written_s", self.written_s),
            ("first_token_s", self.first_token_s),
            ("end_s", Some(self.end_s)),
        ];
        instants.into_iter().find_map(|(name, instant)| {
            let instant = instant.filter(|&instant| instant < 0.0)?;
            Some((name, format!("is {instant}, before the run began")))
        })
    }
}

/// Nanoseconds since 1970 as RFC 3339.
fn wall(nanos: i64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(nanos)).map_or_else(|_| String::new(), stamp)
}
