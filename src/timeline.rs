//! What a real client saw of one request beyond its [`Observation`]: every instant, why it failed, and what the answer was
//! made of.
//!
//! Everything is optional, because a request can end anywhere. There is no common definition of TTFT, so each instant that some
//! client starts or stops its clock at is kept: the role chunk, the first reasoning, the first content, the first visible
//! character. The headline is *request written to first token on any channel*; the others stand beside it.

use std::fmt;

use crate::observation::Observation;
use crate::time::{Duration, Time};

/// The instants of one request, from the run's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// When the plan wanted it sent.
    pub due: Option<Time>,
    /// When the client began: look-up, connection, request.
    pub started: Option<Time>,
    /// When the host's addresses were known.
    pub dns: Option<Time>,
    /// When the transport connection stood.
    pub connected: Option<Time>,
    /// When it was encrypted.
    pub tls: Option<Time>,
    /// When the last byte of the request was handed to the socket.
    pub written: Option<Time>,
    /// When the head of the answer was complete.
    pub headers: Option<Time>,
    /// When the first byte of the body came.
    pub first_byte: Option<Time>,
    /// When the first comment came: a sign of life, never a token.
    pub first_comment: Option<Time>,
    /// When the first chunk came that names a role and holds no token.
    pub role_chunk: Option<Time>,
    /// When the first token came on any channel: content, reasoning or tool call.
    pub first_token: Option<Time>,
    /// When the first token of reasoning came.
    pub first_reasoning: Option<Time>,
    /// When the first token of content came.
    pub first_content: Option<Time>,
    /// When the first content came that is not white space.
    pub first_visible: Option<Time>,
    /// When the last token came.
    pub last_token: Option<Time>,
    /// When the client was done.
    pub end: Option<Time>,
}

impl Timeline {
    /// The headline: request written to first token on any channel.
    pub fn ttft(&self) -> Option<Duration> {
        span(self.written, self.first_token)
    }

    /// With look-up, connection and encryption: what a client without an open connection waits.
    pub fn ttft_with_connect(&self) -> Option<Duration> {
        span(self.started, self.first_token)
    }

    /// From when the request was due: waiting at the client's own gate counts.
    pub fn ttft_from_due(&self) -> Option<Duration> {
        span(self.due, self.first_token)
    }

    /// To the first token of content, as clients measure that do not know reasoning.
    pub fn ttft_content(&self) -> Option<Duration> {
        span(self.written, self.first_content)
    }

    /// To the first content that is not white space: what a reader waits.
    pub fn ttft_visible(&self) -> Option<Duration> {
        span(self.written, self.first_visible)
    }

    /// How late the client began: the wait at its own gate, without setting up a connection.
    pub fn start_lag(&self) -> Option<Duration> {
        span(self.due, self.started)
    }
}

/// From one instant to another, where there are both. A peer can answer before it was asked: that is no time at all.
fn span(from: Option<Time>, to: Option<Time>) -> Option<Duration> {
    Some(to?.saturating_since(from?))
}

/// A stage of a request, for saying where it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Looking up the host's addresses.
    Dns,
    /// Connecting.
    Connect,
    /// Encrypting.
    Tls,
    /// Writing the request.
    Send,
    /// Waiting for the head of the answer.
    Headers,
    /// Waiting for the first token.
    FirstToken,
    /// Reading the rest.
    Stream,
}

impl Phase {
    /// All stages, in order.
    pub const ALL: [Self; 7] = [
        Self::Dns,
        Self::Connect,
        Self::Tls,
        Self::Send,
        Self::Headers,
        Self::FirstToken,
        Self::Stream,
    ];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Send => "send",
            Self::Headers => "headers",
            Self::FirstToken => "first-token",
            Self::Stream => "stream",
        }
    }

    /// The stage of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }

    /// Whether the server has seen nothing of the request yet.
    pub const fn is_set_up(self) -> bool {
        matches!(self, Self::Dns | Self::Connect | Self::Tls)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a request did not succeed. Messages come from the peer or the system, shortened, and hold no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// An HTTP status that is not a success.
    HttpStatus {
        /// The status.
        status: u16,
        /// When the server asks to be asked again.
        retry_after: Option<Duration>,
        /// What it said.
        message: String,
    },
    /// An error reported inside an answer that began as a success.
    StreamError {
        /// Tokens received before it.
        tokens: u32,
        /// What it said.
        message: String,
    },
    /// An answer that ended as it should and held no token.
    Empty,
    /// An answer that ended without saying that it is complete.
    Truncated {
        /// Tokens received.
        tokens: u32,
    },
    /// The client gave up.
    TimedOut {
        /// Where the request was then.
        phase: Phase,
    },
    /// An answer that the client cannot read.
    ParseError {
        /// What is wrong with it.
        message: String,
    },
    /// The connection failed: a fault on the client's side in a phase of set-up, else the server's.
    Connection {
        /// Where the request was then.
        phase: Phase,
        /// What the system said.
        message: String,
    },
    /// The server's host refused the connection, or reset or closed it while it was set up: the network had brought the client
    /// there, so the fault is the server's.
    Refused {
        /// Where the request was then.
        phase: Phase,
        /// What the system said.
        message: String,
    },
}

impl Reason {
    /// The outcome's name in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::HttpStatus { .. } => "http-error",
            Self::StreamError { .. } => "stream-error",
            Self::Empty => "empty",
            Self::Truncated { .. } => "truncated",
            fault if fault.is_client_fault() => "client-fault",
            Self::TimedOut { .. } => "timed-out",
            Self::ParseError { .. } => "parse-error",
            Self::Connection { .. } | Self::Refused { .. } => "connection-fault",
        }
    }

    /// Where the request was, for those reasons that say.
    pub const fn phase(&self) -> Option<Phase> {
        match self {
            Self::TimedOut { phase }
            | Self::Connection { phase, .. }
            | Self::Refused { phase, .. } => Some(*phase),
            _ => None,
        }
    }

    /// Whether it is a fault on the client's side, which says nothing about the server.
    pub const fn is_client_fault(&self) -> bool {
        match self {
            Self::TimedOut { phase } | Self::Connection { phase, .. } => phase.is_set_up(),
            _ => false,
        }
    }

    /// When the server asks to be asked again.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::HttpStatus { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// What the peer or the system said, if it said something.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::HttpStatus { message, .. }
            | Self::StreamError { message, .. }
            | Self::ParseError { message }
            | Self::Connection { message, .. }
            | Self::Refused { message, .. } => Some(message).filter(|said| !said.is_empty()),
            Self::Empty | Self::Truncated { .. } | Self::TimedOut { .. } => None,
        }
        .map(String::as_str)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HttpStatus {
                status, message, ..
            } if message.is_empty() => write!(f, "HTTP {status}"),
            Self::HttpStatus {
                status, message, ..
            } => write!(f, "HTTP {status}: {message}"),
            Self::StreamError { tokens, message } => {
                write!(f, "error in the stream after {tokens} tokens: {message}")
            }
            Self::Empty => f.write_str("an answer without a token"),
            Self::Truncated { tokens } => write!(f, "broken off after {tokens} tokens"),
            Self::TimedOut { phase } => write!(f, "timed out in phase {phase}"),
            Self::ParseError { message } => write!(f, "unreadable answer: {message}"),
            Self::Connection { phase, message } | Self::Refused { phase, message } => {
                write!(f, "connection failed in phase {phase}: {message}")
            }
        }
    }
}

/// How an answer was cut into chunks. A chunk is not a token: servers bundle several, and proxies hold them back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    /// Chunks that hold a token.
    pub count: u32,
    /// Median of the gaps between them, of at least two.
    pub gap_median: Option<Duration>,
    /// The longest gap between two of them.
    pub gap_max: Option<Duration>,
    /// Tokens in the first of them: as the server counts where it does so in every chunk, else estimated by its share of the
    /// answer's bytes.
    pub first_tokens: Option<u32>,
    /// Whether the answer came in pieces at all: one JSON object is read as a single chunk.
    pub is_streamed: bool,
}

/// Tokens as the server counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Of the prompt.
    pub prompt_tokens: Option<u32>,
    /// Of the prompt, found in a cache.
    pub cached_tokens: Option<u32>,
    /// Of the answer.
    pub completion_tokens: Option<u32>,
}

/// One request to a real server, whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// What the statistics see of it. Its output tokens are the server's count where there is one, else chunks.
    pub observation: Observation,
    /// Every instant.
    pub timeline: Timeline,
    /// Why it did not succeed; `None` for a success.
    pub reason: Option<Reason>,
    /// The HTTP status, if an answer began.
    pub status: Option<u16>,
    /// The HTTP version, if an answer began: `1.1`, `2`.
    pub http_version: Option<&'static str>,
    /// Whether an open connection was used again.
    pub is_reused: bool,
    /// The server's address and port, once connected.
    pub remote_address: Option<String>,
    /// Tokens as the server counts them.
    pub usage: Usage,
    /// How the answer was cut.
    pub chunks: Chunks,
    /// Why the server stopped: `stop`, `length`.
    pub finish_reason: Option<String>,
    /// The visible answer.
    pub content: String,
    /// When the client began, by the wall clock: nanoseconds since 1970 UTC.
    pub sent_at: i64,
    /// How far the wall clock has moved against the monotonic one since the run's origin \[s\]: a set clock, or sleep.
    pub wall_drift_s: f64,
}

impl Exchange {
    /// The outcome's name in files: `ok`, or the reason's.
    pub fn outcome_name(&self) -> &'static str {
        self.reason.as_ref().map_or("ok", Reason::name)
    }

    /// Whether the number of output tokens is only the number of chunks.
    pub fn counts_chunks(&self) -> bool {
        self.usage.completion_tokens.is_none()
    }

    /// Time per output token after the first, of at least two, by the server's count where there is one.
    pub fn tpot_s(&self) -> Option<f64> {
        let tokens = self.observation.output_tokens().checked_sub(1)?;
        let span = span(self.timeline.first_token, self.timeline.last_token)?;
        (tokens > 0).then(|| span.as_secs() / f64::from(tokens))
    }

    /// Chunks per token, where the server counts tokens. Far below one, times of single tokens cannot be told.
    pub fn chunks_per_token(&self) -> Option<f64> {
        let tokens = self.usage.completion_tokens.filter(|&tokens| tokens > 0)?;
        Some(f64::from(self.chunks.count) / f64::from(tokens))
    }

    /// Whether an answer of several tokens came all at once: from the first to the last took less than 1 % of the whole.
    pub fn is_not_incremental(&self) -> bool {
        let streamed = span(self.timeline.first_token, self.timeline.last_token);
        let whole = span(self.timeline.written, self.timeline.last_token);
        let several = self.observation.output_tokens() > 1;
        several
            && streamed
                .zip(whole)
                .is_some_and(|(part, whole)| part * 100 < whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_set_up_is_the_clients_unless_the_host_refused() {
        let message = String::from("refused");
        let names = Phase::ALL.map(|phase| {
            let fault = Reason::Connection {
                phase,
                message: message.clone(),
            };
            let message = message.clone();
            assert_eq!(
                Reason::Refused { phase, message }.name(),
                "connection-fault"
            );
            (fault.name(), Reason::TimedOut { phase }.name())
        });
        assert_eq!(names[..3], [("client-fault", "client-fault"); 3]);
        assert_eq!(names[3..], [("connection-fault", "timed-out"); 4]);
    }

    #[test]
    fn an_answer_before_the_question_takes_no_time() {
        let timeline = Timeline {
            written: Some(Time::from_secs(2.0)),
            first_token: Some(Time::from_secs(1.0)),
            ..Timeline::default()
        };
        assert_eq!(timeline.ttft(), Some(Duration::ZERO));
        assert_eq!(timeline.ttft_content(), None);
    }
}
