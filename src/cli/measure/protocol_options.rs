//! The options of `measure` that say what is sent and when.

use clap::Args;

use crate::scenario::{Document, Notation};

/// What is sent, and when. Each stands for the key of the same name in the `[protocol]` of a targets file.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Protocol")]
pub(super) struct ProtocolOptions {
    /// Requests that count, to each target in each session [default: 75]
    #[arg(long, value_name = "N")]
    requests: Option<String>,
    /// Requests sent before them and thrown away [default: 1]
    #[arg(long, value_name = "N")]
    discard: Option<String>,
    /// Requests under way at once, at most [default: 1]
    #[arg(long, value_name = "N")]
    concurrency: Option<String>,
    /// From the end of an answer to the next request [default: 5s]
    #[arg(long, value_name = "SPAN", group = "spread")]
    gap: Option<String>,
    /// Spread the requests evenly over this span
    #[arg(long, value_name = "SPAN", group = "spread")]
    over: Option<String>,
    /// Gaps that go up a ladder and start again: shows the keep-alive [default: 20s to 15m]
    #[arg(
        long,
        value_name = "SPANS",
        group = "spread",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    ladder: Option<String>,
    /// Move each instant by up to this much either way, at random
    #[arg(long, value_name = "SPAN")]
    jitter: Option<String>,
    /// Seed of the jitter, the nonces aside [default: from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<String>,
    /// Local time of day at which a session starts, such as 14:00; may be given again
    #[arg(long, value_name = "TIME")]
    at: Vec<String>,
    /// On how many days the sessions are held
    #[arg(long, value_name = "N", requires = "at")]
    days: Option<String>,
    /// The fixed prompt
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Begin each prompt with a text of its own, so that no prefix cache knows it
    #[arg(long)]
    nonce: bool,
    /// The longest answer to ask for [default: 64]
    #[arg(long, value_name = "N")]
    max_tokens: Option<String>,
    /// The sampling temperature, or none for the server's own [default: 0]
    #[arg(long, value_name = "T")]
    temperature: Option<String>,
    /// Do not ask the server to count tokens
    #[arg(long)]
    no_usage: bool,
    /// How long to wait for the first token, or none [default: 5m]
    #[arg(long, value_name = "SPAN")]
    timeout: Option<String>,
    /// How long to wait for a connection [default: 10s]
    #[arg(long, value_name = "SPAN")]
    connect_timeout: Option<String>,
    /// How long to wait for the next token [default: 60s]
    #[arg(long, value_name = "SPAN")]
    stall_timeout: Option<String>,
    /// How long an answer may take from its first token on [default: 10m]
    #[arg(long, value_name = "SPAN")]
    answer_timeout: Option<String>,
    /// A connection for each request, or one kept open: fresh or reuse [default: fresh]
    #[arg(long, value_name = "POLICY")]
    connection: Option<String>,
    /// How long a reused connection may have been idle [default: 4s]
    #[arg(long, value_name = "SPAN")]
    idle_limit: Option<String>,
    /// Speak HTTP/2 instead of HTTP/1.1
    #[arg(long)]
    http2: bool,
    /// A PEM file of certificates to trust beside the system's
    #[arg(long, value_name = "FILE")]
    ca_file: Option<String>,
    /// An HTTP proxy to go through; none is taken from the environment
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
}

impl ProtocolOptions {
    /// Puts what is given into the document.
    pub(super) fn give(&self, document: &mut Document) {
        let mut give = |option: &str, keys: &[&str], text: &str, notation: Notation| {
            let path = [&["protocol"], keys].concat();
            document.give(option, &path, text, notation);
        };
        let values: [(&str, &[&str], &Option<String>); 15] = [
            ("--requests", &["requests"], &self.requests),
            ("--discard", &["discard"], &self.discard),
            ("--concurrency", &["concurrency"], &self.concurrency),
            ("--gap", &["gaps", "fixed", "gap"], &self.gap),
            ("--over", &["gaps", "even", "over"], &self.over),
            ("--jitter", &["jitter"], &self.jitter),
            ("--seed", &["seed"], &self.seed),
            ("--days", &["days"], &self.days),
            ("--max-tokens", &["max_tokens"], &self.max_tokens),
            ("--temperature", &["temperature"], &self.temperature),
            ("--timeout", &["timeout"], &self.timeout),
            (
                "--connect-timeout",
                &["connect_timeout"],
                &self.connect_timeout,
            ),
            ("--stall-timeout", &["stall_timeout"], &self.stall_timeout),
            (
                "--answer-timeout",
                &["answer_timeout"],
                &self.answer_timeout,
            ),
            ("--idle-limit", &["idle_limit"], &self.idle_limit),
        ];
        for (option, keys, value) in values {
            if let Some(value) = value {
                give(option, keys, value, Notation::Toml);
            }
        }
        let texts = [
            ("--prompt", "prompt", &self.prompt),
            ("--connection", "connection", &self.connection),
            ("--ca-file", "ca_file", &self.ca_file),
            ("--proxy", "proxy", &self.proxy),
        ];
        for (option, key, value) in texts {
            if let Some(value) = value {
                give(option, &[key], value, Notation::Text);
            }
        }
        let switches = [
            ("--nonce", "nonce", self.nonce, "true"),
            ("--no-usage", "usage", self.no_usage, "false"),
            ("--http2", "http2", self.http2, "true"),
        ];
        for (option, key, is_given, value) in switches {
            if is_given {
                give(option, &[key], value, Notation::Toml);
            }
        }
        match self.ladder.as_deref() {
            Some("") => give("--ladder", &["gaps", "ladder"], "{}", Notation::Toml),
            Some(gaps) => give(
                "--ladder",
                &["gaps", "ladder", "gaps"],
                &list(gaps.split(',')),
                Notation::Toml,
            ),
            None => {}
        }
        if !self.at.is_empty() {
            give(
                "--at",
                &["at"],
                &list(self.at.iter().map(String::as_str)),
                Notation::Toml,
            );
        }
    }
}

/// Texts as a list in TOML.
fn list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let items: Vec<String> = items.map(|item| format!("{:?}", item.trim())).collect();
    format!("[{}]", items.join(", "))
}
