//! `measure`: the benchmark against real endpoints.

mod arguments;
mod forecast;
mod head;
mod outline;
mod patience;
mod protocol_options;
mod recorder;
mod run;
mod sessions;
mod watch;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use jiff::{Timestamp, ZonedDateTime};

use super::options::{FormatName, Statistics};
use super::terminal::Terminal;
use crate::http::{Endpoint, Secret, selftest};
use crate::journal::{ClientError, Header, Journal, Row};
use crate::scenario::Document;
use crate::targets::{self, Plan};
use crate::time::Time;
use arguments::TargetOptions;
use protocol_options::ProtocolOptions;
use recorder::redacted;
use run::Run;
use sessions::Session;

/// Measure real endpoints: the benchmark over HTTP, hour by hour
///
/// Sends the benchmark to OpenAI-compatible endpoints and prints what it found. Targets are given by options or in a TOML file
/// that `[protocol]` and `[targets.NAME]` make up; several interleave, so that all see the same hours. TTFT runs from when the
/// request was written to the first token on any channel.
///
/// Every request goes into a file and is synced before the next one is sent: a run that was killed goes on with `--resume FILE`
/// and the same options. Ctrl-C ends a run with its summary and exit code 130; a second one ends it at once.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Measure {
    /// A targets file, in TOML
    #[arg(value_name = "FILE", help_heading = "Targets")]
    file: Option<PathBuf>,
    #[command(flatten)]
    targets: TargetOptions,
    #[command(flatten)]
    protocol: ProtocolOptions,
    /// Where observations go [default: NAME-TIME.jsonl in this folder]
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Run",
        conflicts_with = "resume"
    )]
    out: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long, help_heading = "Run", conflicts_with = "resume")]
    force: bool,
    /// Go on with a run that was broken off, in the same file; targets and protocol must be given as they were
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    resume: Option<PathBuf>,
    /// Show what would be done, and do nothing
    #[arg(long, help_heading = "Run")]
    dry_run: bool,
    /// First measure the client's own error, against a server of known times
    #[arg(long, help_heading = "Run", conflicts_with = "resume")]
    selftest: bool,
    #[command(flatten)]
    statistics: Statistics,
    /// How the closing summary is written
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: FormatName,
}

const EXAMPLES: &str = "\
Examples:
  thermocline measure --url https://api.example.com/v1 --model m --key-env KEY
      75 requests, one after the other, 5 s apart
  thermocline measure targets.toml --at 14:00 --at 04:00
      At peak and off-peak, the next time these hours come
  thermocline measure --url http://127.0.0.1:8000/v1 --model m --ladder
      Gaps from 20 s to 15 min: from which one on does the model start cold?
  thermocline measure targets.toml --resume acme-20261201T140000.jsonl
      Go on after a crash

A targets file:
  [protocol]
  requests = 75
  gaps.even.over = \"3h\"            # as in a scenario's [benchmark]
  [targets.acme]
  base_url = \"https://api.example.com/v1\"
  model = \"my-model\"
  key_env = \"EXAMPLE_KEY\"          # the variable that holds the key
  body = { top_p = 0.9 }";

/// Requests of the selftest at each of its delays: a few seconds.
const SELFTEST_REQUESTS: u32 = 20;

/// What is to be done, all checked.
struct Start {
    header: Header,
    sessions: Vec<Session>,
    /// Requests of an earlier run.
    rows: Vec<Row>,
    /// The run's clock at this moment.
    origin: Time,
    path: PathBuf,
    /// The file of an earlier run; a new one is made last.
    journal: Option<Journal>,
}

impl Measure {
    pub(super) fn run(&self, terminal: &Terminal) -> anyhow::Result<()> {
        let plan = self.plan()?;
        let endpoints = if self.dry_run {
            plan.targets
                .iter()
                .map(|one| one.endpoint.clone())
                .collect()
        } else {
            unlocked(&plan)?
        };
        let secrets = secrets(&plan, &endpoints);
        let measures_itself = self.selftest && !self.dry_run;
        let error = measures_itself.then(own_error).transpose()?;
        // The run's origin: nothing that takes long may follow.
        let now = ZonedDateTime::now();
        let start = match &self.resume {
            Some(path) => resumed(path, &plan, &secrets, &now, terminal)?,
            None => self.fresh(&plan, &secrets, &now, error)?,
        };
        let (lanes, places) = run::lanes(&plan, &start);
        if self.dry_run {
            let outline = outline::text(&plan, &start, &lanes, &now);
            return Ok(terminal.results(|out| out.write_all(outline.as_bytes()))?);
        }
        Run {
            plan: &plan,
            start,
            endpoints,
            secrets: &secrets,
            lanes: &lanes,
            places: &places,
            statistics: self.statistics,
            format: self.format,
            force: self.force,
        }
        .go(terminal)
    }

    /// The targets and the protocol, from the file and the options.
    fn plan(&self) -> anyhow::Result<Plan> {
        if self.file.is_none() && self.targets.is_empty() {
            bail!(
                "nothing to measure\nhelp: give --url and --model, or a targets file; `thermocline measure --help` shows both"
            );
        }
        let mut document = match &self.file {
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("could not read the targets `{}`", path.display()))?;
                Document::parse(&path.display().to_string(), &text)?
            }
            None => Document::parse("<options>", "")?,
        };
        self.protocol.give(&mut document);
        let extras = self.targets.give(&mut document)?;
        let mut plan = targets::load(document)?;
        for extras in extras {
            extras.apply(&mut plan.targets);
        }
        Ok(plan)
    }

    /// A new run, from now on.
    fn fresh(
        &self,
        plan: &Plan,
        secrets: &[Secret],
        now: &ZonedDateTime,
        error: Option<ClientError>,
    ) -> anyhow::Result<Start> {
        let sessions = sessions::from_now(&plan.at, plan.days, now)?;
        let started_at = now.timestamp();
        // The clock is as good as dice, and the seed is written down.
        let seed = plan
            .seed
            .unwrap_or(started_at.as_microsecond().unsigned_abs() % 1_000_000_000);
        let redact = |text: &str| redacted(secrets, text);
        let header = head::header(plan, seed, &sessions, started_at, error, &redact);
        let path = match &self.out {
            Some(path) => path.clone(),
            None => default_path(plan, now),
        };
        Ok(Start {
            header,
            sessions,
            rows: Vec::new(),
            origin: Time::ZERO,
            path,
            journal: None,
        })
    }
}

/// The rest of an earlier run.
fn resumed(
    path: &Path,
    plan: &Plan,
    secrets: &[Secret],
    now: &ZonedDateTime,
    terminal: &Terminal,
) -> anyhow::Result<Start> {
    let opened = Journal::resume(path)?;
    let (earlier, rows) = (opened.observations.header, opened.observations.rows);
    if opened.observations.torn_bytes > 0 {
        terminal.note(&format!(
            "the last line of {} was not whole: {} bytes cut off, the request counts as not made",
            path.display(),
            opened.observations.torn_bytes
        ));
    }
    let has_begun = |session: &str| rows.iter().any(|row| row.session == session);
    let sessions = sessions::of_file(&earlier.protocol.sessions, has_begun, now)?;
    let seed = plan.seed.unwrap_or(earlier.protocol.seed);
    let started_at = earlier.started_at.parse::<Timestamp>();
    let started_at = started_at.context("the file does not say when its run started")?;
    let redact = |text: &str| redacted(secrets, text);
    let header = head::header(plan, seed, &sessions, started_at, None, &redact);
    if let Some(difference) = earlier.difference(&header) {
        bail!(
            "`{}` holds another run: {difference}\nhelp: go on with the options of that run, or begin a new file",
            path.display()
        );
    }
    // By the wall clock, which may have been set back since.
    let since = now.timestamp().as_nanosecond() - started_at.as_nanosecond();
    let last = rows.iter().map(|row| Time::from_secs(row.end_s)).max();
    let origin = Time::from_nanos(u64::try_from(since).unwrap_or(0)).max(last.unwrap_or_default());
    Ok(Start {
        header: earlier,
        sessions,
        rows,
        origin,
        path: path.to_owned(),
        journal: Some(opened.journal),
    })
}

/// The client's own error.
fn own_error() -> anyhow::Result<ClientError> {
    let found = selftest::run(SELFTEST_REQUESTS).context("the selftest")?;
    Ok(ClientError {
        bias_s: found.all.median_s,
        std_s: found.all.std_s,
    })
}

/// The endpoints with their keys.
fn unlocked(plan: &Plan) -> anyhow::Result<Vec<Endpoint>> {
    let unlock = |target: &targets::Target| {
        let name = &target.endpoint.name;
        target
            .unlock()
            .with_context(|| format!("the key of `{name}`"))
    };
    plan.targets.iter().map(unlock).collect()
}

/// Keys, and the headers' values that the environment holds: what nothing may show. Other headers are the client's own to judge:
/// a short one would take half of every text with it.
fn secrets(plan: &Plan, endpoints: &[Endpoint]) -> Vec<Secret> {
    let of_target = |(target, endpoint): (&targets::Target, &Endpoint)| {
        let is_held = |name: &str| target.header_env.iter().any(|(held, _)| held == name);
        let headers = endpoint.headers.iter().filter(|(name, _)| is_held(name));
        let values = headers.map(|(_, value)| value.clone());
        endpoint
            .key
            .iter()
            .cloned()
            .chain(values)
            .collect::<Vec<Secret>>()
    };
    plan.targets
        .iter()
        .zip(endpoints)
        .flat_map(of_target)
        .collect()
}

/// `acme-20261201T140000.jsonl`.
fn default_path(plan: &Plan, now: &ZonedDateTime) -> PathBuf {
    let names: Vec<&str> = plan
        .targets
        .iter()
        .map(|one| one.endpoint.name.as_str())
        .collect();
    let name = match names.as_slice() {
        [one] => (*one).to_owned(),
        [first, ..] => format!("{first}-and-{}-more", names.len() - 1),
        [] => "observations".to_owned(),
    };
    let name = name.replace('/', "-");
    PathBuf::from(format!("{name}-{}.jsonl", now.strftime("%Y%m%dT%H%M%S")))
}
