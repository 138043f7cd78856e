//! What a client saw of one request.

use crate::request::{EndpointId, RequestId};
use crate::time::{Duration, Time};

/// How a request ended, as the client saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Answered to the last token.
    Succeeded,
    /// Refused by the server with this HTTP status (429, 503, 413).
    Rejected {
        /// The HTTP status.
        status: u16,
    },
    /// The client gave up before the first token came: its TTFT is right-censored at `end - sent`.
    TimedOut,
    /// The server's host refused the connection, the connection broke, or the server reported an error after accepting the
    /// request.
    Failed,
    /// The client's side failed before the request was written: no such host, no way there, no connection in time. It says nothing about the server: it is shown, and
    /// stays out of every figure of the server.
    ClientFault,
}

/// One request from the client's side: four instants and an outcome.
///
/// Invariant, held by [`Observation::new`]: `due <= sent <= first_token <= end`, and a success has a first token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    id: RequestId,
    endpoint: EndpointId,
    due: Time,
    sent: Time,
    first_token: Option<Time>,
    end: Time,
    output_tokens: u32,
    outcome: Outcome,
}

impl Observation {
    /// An observation of the request `id`.
    ///
    /// # Panics
    /// If the instants are out of order, or a success lacks a first token.
    #[expect(
        clippy::too_many_arguments,
        reason = "one argument a field, checked together"
    )]
    pub fn new(
        id: RequestId,
        endpoint: EndpointId,
        due: Time,
        sent: Time,
        first_token: Option<Time>,
        end: Time,
        output_tokens: u32,
        outcome: Outcome,
    ) -> Self {
        let first = first_token.unwrap_or(sent);
        assert!(
            due <= sent && sent <= first && first <= end,
            "instants out of order: {due}, {sent}, {first}, {end}"
        );
        assert!(
            outcome != Outcome::Succeeded || first_token.is_some(),
            "a success without a first token"
        );
        Self {
            id,
            endpoint,
            due,
            sent,
            first_token,
            end,
            output_tokens,
            outcome,
        }
    }

    /// The request's name.
    pub fn id(&self) -> RequestId {
        self.id
    }

    /// Where it went.
    pub fn endpoint(&self) -> EndpointId {
        self.endpoint
    }

    /// When the plan wanted it sent.
    pub fn due(&self) -> Time {
        self.due
    }

    /// When it was sent in full. Where it never was, when the client began to try.
    pub fn sent(&self) -> Time {
        self.sent
    }

    /// When its first token arrived, if one did.
    pub fn first_token(&self) -> Option<Time> {
        self.first_token
    }

    /// When the client was done with it.
    pub fn end(&self) -> Time {
        self.end
    }

    /// Tokens received.
    pub fn output_tokens(&self) -> u32 {
        self.output_tokens
    }

    /// How it ended.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Whether it was answered in full.
    pub fn succeeded(&self) -> bool {
        self.outcome == Outcome::Succeeded
    }

    /// Time to first token, from when the request was sent: what the server and the way to it take.
    pub fn ttft(&self) -> Option<Duration> {
        self.first_token.map(|first| first.since(self.sent))
    }

    /// Time to first token, from when the request was due: waiting at the client's own gate counts.
    pub fn ttft_from_due(&self) -> Option<Duration> {
        self.first_token.map(|first| first.since(self.due))
    }

    /// How late the request was sent.
    pub fn send_lag(&self) -> Duration {
        self.sent.since(self.due)
    }

    /// Time to the end, from when the request was due.
    pub fn latency(&self) -> Duration {
        self.end.since(self.due)
    }
}
