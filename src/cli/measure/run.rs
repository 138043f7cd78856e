//! The run itself: requests go out, exchanges go into the file, and in the end into a report.

use std::cell::RefCell;
use std::fs;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::{Duration as Wall, Instant};

use anyhow::{Context as _, anyhow};
use jiff::tz::TimeZone;

use super::patience::{InPieces, interruption};
use super::recorder::{Place, Recorder};
use super::watch::Watch;
use super::{Start, sessions};
use crate::cli::failure::Interrupted;
use crate::cli::options::{FormatName, Statistics};
use crate::cli::terminal::Terminal;
use crate::http::{Clock, Endpoint, Secret, Sink};
use crate::import;
use crate::journal::{Journal, Row};
use crate::measure::analysis::Method;
use crate::measure::drive::{Lane, Step, drive};
use crate::report::analysis::{Findings, Settings};
use crate::report::{Format, measured, number, words};
use crate::request::EndpointId;
use crate::streams::Streams;
use crate::targets::{Plan, Target};
use crate::time::Time;
use crate::timeline::{Exchange, Phase};

/// How often the live text is drawn anew.
const REFRESH: Wall = Wall::from_millis(500);

/// Everything that a run needs.
pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan,
    pub(super) start: Start,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) secrets: &'a [Secret],
    pub(super) lanes: &'a [Lane],
    pub(super) places: &'a [Place],
    pub(super) statistics: Statistics,
    pub(super) format: FormatName,
    pub(super) force: bool,
}

/// Why requests are sent no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// All have ended.
    Done,
    /// The user wants it so.
    Interrupted,
    /// No target could be reached from the start.
    Unreachable,
    /// An exchange could not be written down.
    Unwritten,
}

/// A lane for each target in each session, with whose it is.
pub(super) fn lanes(plan: &Plan, start: &Start) -> (Vec<Lane>, Vec<Place>) {
    let streams = Streams::new(start.header.protocol.seed, 0);
    let started_at = start.header.started_at.parse().unwrap_or_default();
    let targets = || (0..).zip(&plan.targets);
    let pairs = start
        .sessions
        .iter()
        .flat_map(|session| targets().map(move |target| (session, target)));
    let place = |(session, (index, target)): (&sessions::Session, (u32, &Target))| {
        let place = Place {
            endpoint: EndpointId(index),
            target: target.endpoint.name.clone(),
            model: target.endpoint.model.clone(),
            session: session.name.clone(),
            discard: plan.protocol.discard,
        };
        (place, sessions::start(session, started_at))
    };
    let pairs: Vec<(Place, Time)> = pairs.map(place).collect();
    let lane = |(index, (place, starts)): (usize, &(Place, Time))| {
        let jitter = streams.stream(&format!("{}/{}/jitter", place.target, place.session));
        Lane {
            endpoint: place.endpoint,
            moves: plan.protocol.moves(jitter),
            protocol: plan.protocol.clone(),
            start: *starts,
            done: place.done(index, &start.rows),
        }
    };
    let lanes = pairs.iter().enumerate().map(lane).collect();
    (lanes, pairs.into_iter().map(|(place, _)| place).collect())
}

impl Run<'_> {
    /// Sends what is left of the plan and reports what came back.
    pub(super) fn go(mut self, terminal: &Terminal) -> anyhow::Result<()> {
        let interruption = interruption()?;
        let is_new = self.start.journal.is_none();
        let journal = match self.start.journal.take() {
            Some(journal) => journal,
            None => Journal::create(&self.start.path, &self.start.header, self.force)?,
        };
        self.announce(terminal);
        let rows = std::mem::take(&mut self.start.rows);
        let recorder = RefCell::new(Recorder::new(journal, rows, self.places, self.secrets));
        let end = self.sent(
            &recorder,
            &|| interruption.load(Ordering::Relaxed),
            terminal,
        )?;
        let (rows, failure) = recorder.into_inner().into_parts();
        if end == End::Unreachable && is_new {
            // There is nothing in it, and the next try needs the name.
            let _ = fs::remove_file(&self.start.path);
            return Err(self.unreachable(&rows));
        }
        let requests = number::counted(rows.len() as u64, "request");
        terminal.note(&format!("{requests} in {}", self.start.path.display()));
        self.report(&rows, terminal)?;
        if let Some(failure) = failure {
            return Err(failure).context("the run was ended, because nothing more can be kept");
        }
        if end == End::Interrupted {
            return Err(self.interrupted(&rows).into());
        }
        if nothing_came_back(self.plan, &rows) {
            return Err(self.unreachable(&rows));
        }
        Ok(())
    }

    /// Sends requests until there is a reason to end.
    fn sent(
        &mut self,
        recorder: &RefCell<Recorder<'_>>,
        is_interrupted: &dyn Fn() -> bool,
        terminal: &Terminal,
    ) -> anyhow::Result<End> {
        let clock = Clock::starting_at(self.start.origin);
        let endpoints = std::mem::take(&mut self.endpoints);
        let sink: Sink<'_> = Box::new(|exchange: &Exchange| recorder.borrow_mut().take(exchange));
        let mut target = InPieces(crate::http::Target::new(endpoints, clock, sink)?);
        let live = terminal.live();
        let mut watch = Watch::new(self.places, self.lanes, self.statistics.percentile);
        let mut drawn: Option<Instant> = None;
        let mut end = End::Done;
        let can_give_up = self.plan.at.is_empty();
        drive(self.lanes, &mut target, Time::MAX, &mut |step| {
            if let Step::Ended(observation) = step {
                watch.ended(observation);
                let recorder = recorder.borrow();
                if recorder.has_failed() {
                    end = End::Unwritten;
                } else if can_give_up && nothing_came_back(self.plan, recorder.rows()) {
                    end = End::Unreachable;
                }
            }
            if is_interrupted() {
                end = End::Interrupted;
            }
            if live.is_shown() && drawn.is_none_or(|at| at.elapsed() >= REFRESH) {
                live.show(watch.text(clock.now()));
                drawn = Some(Instant::now());
            }
            match end {
                End::Done => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        });
        drop(target);
        Ok(end)
    }

    fn announce(&self, terminal: &Terminal) {
        let targets = number::counted(self.plan.targets.len() as u64, "target");
        let sessions = match self.start.sessions.len() {
            1 => String::new(),
            several => format!(" in each of {several} sessions"),
        };
        let left: usize = self
            .lanes
            .iter()
            .map(|lane| lane.protocol.total() as usize - lane.done.len())
            .sum();
        terminal.note(&format!(
            "{} to {targets}{sessions}: {left} left to send, seed {}",
            words::protocol(&self.plan.protocol),
            self.start.header.protocol.seed
        ));
    }

    /// The closing summary.
    fn report(&self, rows: &[Row], terminal: &Terminal) -> anyhow::Result<()> {
        let method = self.statistics.percentile;
        let series: Vec<measured::Series<'_>> = self
            .places
            .iter()
            .map(|place| self.series(place, rows))
            .collect();
        let error = self
            .start
            .header
            .client_error
            .map(|error| measured::OwnError {
                bias_s: error.bias_s,
                std_s: error.std_s,
            });
        let path = self.start.path.display().to_string();
        let bytes =
            fs::read(&self.start.path).with_context(|| format!("could not read `{path}`"))?;
        let zone = TimeZone::system();
        let settings = Settings {
            method: Method {
                percentile: method,
                definition: self.statistics.cv,
            },
            zone: zone.iana_name().unwrap_or("local").to_owned(),
            ..Settings::default()
        };
        let options = import::Options {
            zone,
            ..import::Options::default()
        };
        let files = [import::read(&path, bytes, &options)?];
        let findings = Findings::of(&files, &settings);
        let (format, width): (Format, usize) = (self.format.into(), terminal.width());
        terminal.results(|out| {
            findings.write(format, width, out)?;
            if format == Format::Text {
                writeln!(out)?;
                measured::write(&series, error, method, width, out)?;
            }
            Ok(())
        })?;
        Ok(())
    }

    fn series<'r>(&self, place: &Place, rows: &'r [Row]) -> measured::Series<'r> {
        let own = || rows.iter().filter(|row| place.has(row));
        let session = match self.start.sessions.len() {
            1 => String::new(),
            _ => format!(" · {}", place.session),
        };
        let request = |row: &'r Row| measured::Request {
            outcome: &row.outcome,
            reason: row.reason.as_deref(),
            timeline: row.timeline(),
        };
        measured::Series {
            label: format!("{} · {}{session}", place.target, place.model),
            requests: own().filter(|row| !row.discarded).map(request).collect(),
            discarded: own().filter(|row| row.discarded).count(),
        }
    }

    fn interrupted(&self, rows: &[Row]) -> Interrupted {
        let total: usize = self
            .lanes
            .iter()
            .map(|lane| lane.protocol.total() as usize)
            .sum();
        Interrupted(format!(
            "interrupted after {} of {total} requests; the same command with --resume {} goes on",
            rows.len(),
            self.start.path.display()
        ))
    }

    /// Says of each target why it could not be reached.
    fn unreachable(&self, rows: &[Row]) -> anyhow::Error {
        let why = |target: &Target| {
            let endpoint = &target.endpoint;
            let row = rows.iter().find(|row| row.target == endpoint.name);
            let reason = row
                .and_then(|row| row.reason.as_deref())
                .unwrap_or("no answer");
            format!(
                "could not reach `{}` at {}: {reason}",
                endpoint.name, endpoint.base_url
            )
        };
        let all: Vec<String> = self.plan.targets.iter().map(why).collect();
        anyhow!("{}", all.join("\n"))
    }
}

/// Whether every target was asked and nothing at all came back, because no connection was ever made.
fn nothing_came_back(plan: &Plan, rows: &[Row]) -> bool {
    let was_asked = |target: &Target| rows.iter().any(|row| row.target == target.endpoint.name);
    rows.iter().all(never_connected) && plan.targets.iter().all(was_asked)
}

/// Whether a request ended while its connection was set up, whoever's fault it was.
fn never_connected(row: &Row) -> bool {
    let phase = row.phase.as_deref().and_then(Phase::of_name);
    phase.is_some_and(Phase::is_set_up)
}
