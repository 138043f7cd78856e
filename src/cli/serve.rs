//! `serve`: the simulated providers for any client.

use std::net::SocketAddr;

use anyhow::bail;
use clap::{Args, ValueEnum};

use super::builtin;
use super::options::{Chosen, bytes, duration, whole};
use super::terminal::Terminal;
use crate::experiment::Plan;
use crate::scenario::{self, did_you_mean, units};
use crate::serve::{Comment, Limits, Quirks, Reasoning, Serving, Settings};
use crate::stats::PercentileMethod;
use crate::time::Duration;

/// Serve a scenario's providers as OpenAI-compatible endpoints
///
/// Each provider listens on a port of its own and answers at the host's root. Its fleet is warmed up first; then virtual time
/// runs along the wall clock, and other users' traffic, keep-alive and cold starts go on between requests. Once everything is
/// ready, a line for each provider goes to standard output: URL, provider, models, with tabs in between.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Serve {
    #[command(flatten)]
    scenario: Chosen,
    /// Address of the first provider; the next ones take the ports after it, and port 0 lets the system choose
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8000",
        help_heading = "Server"
    )]
    listen: SocketAddr,
    /// Virtual seconds that pass in a second
    #[arg(long, value_name = "X", default_value = "1", value_parser = speed, help_heading = "Server")]
    speed: f64,
    /// Session whose hour of the week it is [default: the first]
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    session: Option<String>,
    /// Stop after this time, such as `10m`
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, help_heading = "Server")]
    span: Option<Duration>,
    #[command(flatten)]
    quirks: QuirkFlags,
    #[command(flatten)]
    limits: LimitFlags,
}

/// What real endpoints do and clients stumble over.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Quirks")]
struct QuirkFlags {
    /// Send keep-alives while a model loads
    #[arg(long, value_enum, value_name = "STYLE")]
    comments: Option<CommentStyle>,
    /// How often, in virtual time
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration, requires = "comments")]
    comment_every: Duration,
    /// Send the role when a request is accepted, not with its first token
    #[arg(long)]
    early_role: bool,
    /// Send the first half of each chat answer in this field
    #[arg(long, value_enum, value_name = "FIELD")]
    reasoning: Option<ReasoningField>,
    /// Hold streams back to their end, as a buffering proxy does
    #[arg(long)]
    buffered: bool,
    /// End lines of streams with CR LF
    #[arg(long)]
    crlf: bool,
}

/// Ways to keep a connection alive.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum CommentStyle {
    /// `: OPENROUTER PROCESSING`
    Openrouter,
    /// `:`
    Bare,
    /// An event with `{"type":"ping"}`
    JsonPing,
}

/// Fields of reasoning models.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ReasoningField {
    /// `reasoning`
    #[value(name = "reasoning")]
    Reasoning,
    /// `reasoning_content`
    #[value(name = "reasoning_content")]
    ReasoningContent,
}

/// What the server bears; times on the wall.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits")]
struct LimitFlags {
    /// Close a connection without a request, or with half a head, after this
    #[arg(long, value_name = "DURATION", default_value = "75s", value_parser = duration)]
    idle_timeout: Duration,
    /// Longest time for a request's body
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    read_timeout: Duration,
    /// Longest time in which a client takes nothing of its answer
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    write_timeout: Duration,
    /// Longest time for a whole request
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration)]
    request_timeout: Duration,
    /// Largest request body
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = bytes)]
    max_body: u64,
    /// Most connections at once to each provider; more wait
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = whole::<u32>(1..=1_000_000))]
    max_connections: u32,
}

const EXAMPLES: &str = "\
Examples:
  thermocline serve
      The lesson at http://127.0.0.1:8000, in real time
  thermocline serve my.toml --listen 127.0.0.1:0 --speed 60 --for 10m
      A minute a second, at ports that the system chooses, for ten minutes
  thermocline serve --comments openrouter --early-role
      With what breaks many a benchmark client
  curl -N http://127.0.0.1:8000/v1/chat/completions -H 'content-type: application/json' \\
      -d '{\"model\":\"niche\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"stream\":true}'
      A client";

impl Serve {
    pub(super) fn run(&self, terminal: &Terminal) -> anyhow::Result<()> {
        let text = builtin::find(&self.scenario.scenario)?;
        let overrides = self.scenario.overrides(PercentileMethod::default());
        let (plan, _) = scenario::load(&text.name, &text.text, &overrides)?;
        let settings = Settings {
            listen: self.listen,
            speed: self.speed,
            session: self.session(&plan)?,
            quirks: self.quirks.read(),
            limits: self.limits.read(),
        };
        let serving = Serving::start(&plan, &settings)?;
        if !self.listen.ip().is_loopback() {
            terminal.note(
                "warning: anyone who reaches this machine can use the endpoint; it asks for no key",
            );
        }
        terminal.results(|out| {
            for door in serving.doors() {
                let models = door.models.join(",");
                writeln!(out, "http://{}\t{}\t{models}", door.address, door.provider)?;
            }
            Ok(())
        })?;
        let session = &plan.sessions[settings.session];
        let hour = units::print_time_of_week(session.at);
        terminal.note(&format!(
            "it is {hour} there, and time passes at {} times its speed; Ctrl-C stops",
            self.speed
        ));
        serving.run(self.span.map(on_the_wall))?;
        terminal.note("stopped");
        Ok(())
    }

    /// The index of the session that was asked for.
    fn session(&self, plan: &Plan) -> anyhow::Result<usize> {
        let Some(wanted) = &self.session else {
            return Ok(0);
        };
        let names = || plan.sessions.iter().map(|session| session.name.as_str());
        if let Some(index) = names().position(|name| name == wanted) {
            return Ok(index);
        }
        match did_you_mean(wanted, names()) {
            Some(near) => bail!("there is no session `{wanted}`\nhelp: did you mean `{near}`?"),
            None => bail!(
                "there is no session `{wanted}`\nhelp: the scenario has: {}",
                names().collect::<Vec<_>>().join(", ")
            ),
        }
    }
}

impl QuirkFlags {
    fn read(&self) -> Quirks {
        let comment = self.comments.map(|style| match style {
            CommentStyle::Openrouter => Comment::OpenRouter,
            CommentStyle::Bare => Comment::Bare,
            CommentStyle::JsonPing => Comment::JsonPing,
        });
        Quirks {
            comments: comment.map(|comment| (comment, self.comment_every)),
            early_role: self.early_role,
            reasoning: self.reasoning.map(|field| match field {
                ReasoningField::Reasoning => Reasoning::Reasoning,
                ReasoningField::ReasoningContent => Reasoning::ReasoningContent,
            }),
            buffered: self.buffered,
            crlf: self.crlf,
        }
    }
}

impl LimitFlags {
    fn read(&self) -> Limits {
        Limits {
            body_bytes: self.max_body,
            connections: self.max_connections as usize,
            read: on_the_wall(self.read_timeout),
            write: on_the_wall(self.write_timeout),
            request: on_the_wall(self.request_timeout),
            idle: on_the_wall(self.idle_timeout),
        }
    }
}

fn on_the_wall(span: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(span.as_nanos())
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "it must be a number".to_owned())?;
    if (1e-3..=1e6).contains(&speed) {
        Ok(speed)
    } else {
        Err("it must be from 0.001 to 1000000".to_owned())
    }
}
