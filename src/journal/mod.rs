//! The observation file of a real benchmark: JSON Lines, a header and then a line per request as it ended.
//!
//! It is the only copy of hours of work, so it is written by appending alone, each line synced before the next request is sent
//! ([`Journal`]); whatever kills the program leaves every line but perhaps the last whole. [`Observations::read`] reads it back and
//! says file, line and field of what is wrong.
//!
//! Instants `*_s` are seconds from the run's origin (`started_at`) with up to nine decimals, `null` where they did not come to
//! be; `ttft_*_s` are spans. A key never gets here: the header names the variables and headers that were sent, not their values.

mod reader;
mod row;
mod writer;

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use reader::ObservationsError;
pub(crate) use row::OUTCOMES;
pub use row::{Row, Whose};
pub use writer::{Journal, JournalError, Opened};

/// What the header's `schema` says.
const SCHEMA: &str = "thermocline-observations";
/// The layout's number.
const VERSION: u32 = 1;
/// What `ttft_s` is.
const DEFINITION: &str = "request written to first token on any channel";

/// A file that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Observations {
    /// The run.
    pub header: Header,
    /// Its requests, in the order in which they ended.
    pub rows: Vec<Row>,
    /// Bytes up to the end of the last whole line.
    pub whole_bytes: u64,
    /// Bytes after it: a line that was being written when the program was killed.
    pub torn_bytes: u64,
}

/// The first line: what was asked of whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// `thermocline-observations`.
    pub schema: String,
    /// The layout's number.
    pub version: u32,
    /// The program and its version.
    pub tool: String,
    /// The run's origin: RFC 3339, UTC.
    pub started_at: String,
    /// What was sent, and when.
    pub protocol: Protocol,
    /// SHA-256 of the prompt, in hexadecimal.
    pub prompt_sha256: String,
    /// Where the client ran.
    pub host: Host,
    /// What `ttft_s` is.
    pub ttft_definition: String,
    /// Who was asked.
    pub targets: Vec<Target>,
    /// The client's own error, where it was measured before the run.
    pub client_error: Option<ClientError>,
}

/// What was sent, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Protocol {
    /// Requests of a session that count.
    pub requests: u32,
    /// Requests sent before them and thrown away.
    pub discard: u32,
    /// Requests under way at once, at most; `null` for any number.
    pub concurrency: Option<u32>,
    /// When they were sent.
    pub gaps: Gaps,
    /// By how much an instant may have been moved either way, at random \[s\].
    pub jitter_s: f64,
    /// The root of all randomness.
    pub seed: u64,
    /// The longest answer that was asked for \[tokens\].
    pub max_tokens: u32,
    /// The sampling temperature; `null` for the server's own.
    pub temperature: Option<f64>,
    /// Whether a text of its own preceded each prompt.
    pub nonce: bool,
    /// Whether the server was asked to count tokens.
    pub usage: bool,
    /// How long the client waited for a first token; `null` for ever \[s\].
    pub timeout_s: Option<f64>,
    /// Likewise for a connection \[s\].
    pub connect_timeout_s: f64,
    /// Likewise for the next token \[s\].
    pub stall_timeout_s: f64,
    /// Likewise from the first token to the last \[s\].
    pub answer_timeout_s: f64,
    /// Local times of day at which sessions start, `14:00`.
    pub at: Vec<String>,
    /// On how many days.
    pub days: u32,
    /// The sessions, in order of their starts.
    pub sessions: Vec<Session>,
}

/// When requests were sent; named as in a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gaps {
    /// This long after the one before had ended.
    Fixed {
        /// \[s\]
        gap_s: f64,
    },
    /// Evenly over this span.
    Even {
        /// \[s\]
        over_s: f64,
    },
    /// A few at a time.
    Bursts {
        /// Requests in a burst.
        size: u32,
        /// Within a burst \[s\].
        gap_s: f64,
        /// From burst to burst \[s\].
        every_s: f64,
    },
    /// Gaps that go up a ladder and start again.
    Ladder {
        /// \[s\]
        gaps_s: Vec<f64>,
    },
    /// At these offsets from the start.
    At {
        /// \[s\]
        times_s: Vec<f64>,
    },
}

/// A time at which every target was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its name.
    pub name: String,
    /// When it was to start: RFC 3339 with the local offset.
    pub starts_at: String,
}

/// The client's machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Processors that the client could use.
    pub cpus: usize,
    /// The operating system.
    pub os: String,
}

/// Who was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// What the user calls it.
    pub name: String,
    /// Where its interface begins.
    pub base_url: String,
    /// The model's name there.
    pub model: String,
    /// `chat` or `completions`.
    pub api: String,
    /// `fresh` or `reuse`.
    pub connection: String,
    /// How long a reused connection may have been idle \[s\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_limit_s: Option<f64>,
    /// The HTTP version that was spoken.
    pub http_version: String,
    /// The environment variable that held the key; never the key.
    pub key_env: Option<String>,
    /// The names of further headers; never their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// Further fields of the body.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub body: Map<String, Value>,
    /// Whether it was asked through a proxy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proxied: bool,
}

/// The client's own error on an endpoint of known times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientError {
    /// Median of measured less true TTFT \[s\].
    pub bias_s: f64,
    /// Standard deviation of it \[s\].
    pub std_s: f64,
}

impl Header {
    /// The header of a run that starts at `started_at`.
    pub fn new(
        started_at: jiff::Timestamp,
        protocol: Protocol,
        prompt: &str,
        targets: Vec<Target>,
        client_error: Option<ClientError>,
    ) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            tool: format!("thermocline {}", env!("CARGO_PKG_VERSION")),
            started_at: stamp(started_at),
            protocol,
            prompt_sha256: sha256(prompt),
            host: Host {
                cpus: std::thread::available_parallelism().map_or(1, usize::from),
                os: std::env::consts::OS.to_owned(),
            },
            ttft_definition: DEFINITION.to_owned(),
            targets,
            client_error,
        }
    }

    /// What differs between this run's plan and that of `other`, in words; `None` if one can go on in the other's file.
    ///
    /// When the sessions start is not part of it, nor where the client runs.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.prompt_sha256 != other.prompt_sha256 {
            return Some("the prompt is another".to_owned());
        }
        let without_sessions = |header: &Self| Protocol {
            sessions: Vec::new(),
            ..header.protocol.clone()
        };
        first_difference(
            "protocol",
            &without_sessions(self),
            &without_sessions(other),
        )
        .or_else(|| first_difference("targets", &self.targets, &other.targets))
    }
}

/// The first place in which two values of one shape differ: `protocol.requests is 75 there and 20 here`.
fn first_difference<T: Serialize>(name: &str, there: &T, here: &T) -> Option<String> {
    let tree = |value: &T| serde_json::to_value(value).unwrap_or(Value::Null);
    differs(name, &tree(there), &tree(here))
}

fn differs(path: &str, there: &Value, here: &Value) -> Option<String> {
    match (there, here) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a.keys().chain(b.keys());
            let place = |name: &String| {
                let get = |table: &Map<String, Value>| table.get(name).cloned().unwrap_or_default();
                differs(&format!("{path}.{name}"), &get(a), &get(b))
            };
            names.into_iter().find_map(place)
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            let mut places = pairs.map(|(index, (a, b))| differs(&format!("{path}.{index}"), a, b));
            places.find_map(|place| place)
        }
        _ if there == here => None,
        _ => Some(format!("{path} is {there} there and {here} here")),
    }
}

/// An instant of the wall clock, with all nine decimals.
fn stamp(at: jiff::Timestamp) -> String {
    format!("{at:.9}")
}

/// SHA-256 in hexadecimal.
fn sha256(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let mut shown = String::new();
    for byte in digest.as_ref() {
        let _ = write!(shown, "{byte:02x}");
    }
    shown
}

#[cfg(test)]
mod tests;
