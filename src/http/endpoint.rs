//! What is measured: one model behind one address, how it is asked, and what it may send back.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::secret::Secret;
use crate::time::Duration;

/// Which of the two streaming interfaces is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApiKind {
    /// `POST {base}/chat/completions`, the prompt as one user message.
    #[default]
    Chat,
    /// `POST {base}/completions`, the prompt as it is.
    Completions,
}

impl ApiKind {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Completions => "completions",
        }
    }

    /// What stands behind the base URL.
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Chat => "chat/completions",
            Self::Completions => "completions",
        }
    }
}

/// Whether a request has a connection of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionPolicy {
    /// A new connection for every request, closed after it.
    #[default]
    Fresh,
    /// The connection of an earlier request while it has been idle for less than the limit, else a new one. The limit must be
    /// below the server's, which closes idle connections too: a request sent into a closing connection fails.
    Reuse {
        /// How long a connection may have been idle.
        idle: Duration,
    },
}

impl ConnectionPolicy {
    /// Below the 5 s after which uvicorn and Node close an idle connection.
    pub const SHORT_IDLE: Duration = Duration::from_nanos(4_000_000_000);

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Reuse { .. } => "reuse",
        }
    }
}

/// How the answer's length is limited: servers differ in the name they accept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputLimit {
    /// `max_tokens`.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
    /// Not at all.
    Unlimited,
}

/// What a peer may take and send. Each bounds memory or time against a server that never ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For look-up, connection and encryption together.
    pub connect: Duration,
    /// Between two reads once the first token has come.
    pub stall: Duration,
    /// From the first token to the end.
    pub answer: Duration,
    /// Of the answer's head \[bytes\].
    pub header_bytes: usize,
    /// Of one event \[bytes\].
    pub event_bytes: usize,
    /// Of the answer's body \[bytes\].
    pub body_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_nanos(10_000_000_000),
            stall: Duration::from_nanos(60_000_000_000),
            answer: Duration::from_nanos(600_000_000_000),
            header_bytes: 64 << 10,
            event_bytes: 1 << 20,
            body_bytes: 64 << 20,
        }
    }
}

/// One model behind one address. Its `Debug` shows neither the key nor the value of a header.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// What the user calls it.
    pub name: String,
    /// Where its interface begins, such as `https://api.example.com/v1`.
    pub base_url: String,
    /// Which interface.
    pub api: ApiKind,
    /// The model's name there.
    pub model: String,
    /// Sent as `Authorization: Bearer`.
    pub key: Option<Secret>,
    /// Further headers. They replace those that the client would send, `Authorization` included.
    pub headers: Vec<(String, Secret)>,
    /// Further fields of the body. They replace those that the client would send; `null` leaves one out.
    pub body: Map<String, Value>,
    /// The prompt.
    pub prompt: String,
    /// Whether a text of its own precedes each prompt, so that no cache of prefixes knows it.
    pub nonce: bool,
    /// The sampling temperature; `None` leaves it to the server.
    pub temperature: Option<f64>,
    /// How the answer's length is limited.
    pub output_limit: OutputLimit,
    /// Whether the server is asked to count tokens (`stream_options.include_usage`).
    pub usage: bool,
    /// Whether a request has a connection of its own.
    pub connection: ConnectionPolicy,
    /// Whether HTTP/2 is spoken instead of HTTP/1.1.
    pub http2: bool,
    /// A PEM file of certificates that are trusted beside the system's.
    pub roots: Option<PathBuf>,
    /// An HTTP proxy to go through, such as `http://proxy:3128`. None is taken from the environment.
    pub proxy: Option<String>,
    /// What the peer may take and send.
    pub limits: Limits,
}

impl Endpoint {
    /// The model `model` at `base_url`, asked as the protocol asks: chat, temperature 0, tokens counted by the server, a fresh
    /// HTTP/1.1 connection for every request.
    pub fn new(
        name: impl Into<String>,
        base_url: impl Into<String>,
        model: impl Into<String>,
        prompt: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.into(),
            api: ApiKind::default(),
            model: model.into(),
            key: None,
            headers: Vec::new(),
            body: Map::new(),
            prompt: prompt.into(),
            nonce: false,
            temperature: Some(0.0),
            output_limit: OutputLimit::default(),
            usage: true,
            connection: ConnectionPolicy::default(),
            http2: false,
            roots: None,
            proxy: None,
            limits: Limits::default(),
        }
    }
}
