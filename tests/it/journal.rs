//! A rolling digest of everything that happens in a fleet, so that two runs can be held against each other event by event.

use std::fmt::{Debug, Write};
use std::ops::ControlFlow;
use thermocline::experiment::{Plan, Run, lanes};
use thermocline::fleet::{Fleet, Probe, ReplicaMoved, RequestTrace};
use thermocline::measure::drive::drive;
use thermocline::streams::Streams;
use thermocline::target::Target;
use thermocline::time::{Duration, Time};

/// FNV-1a over text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(pub(crate) u64);

impl Digest {
    pub(crate) const NOTHING: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Of everything that a value shows of itself.
    pub(crate) fn of(value: &impl Debug) -> Self {
        let mut digest = Self::NOTHING;
        write!(digest, "{value:?}").expect("a digest takes any text");
        digest
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(())
    }
}

/// Watches a fleet and keeps one number an event: the digest of all events up to it.
#[derive(Debug)]
pub(crate) struct Journal {
    digests: Vec<Digest>,
    /// Which event is to be kept as text.
    wanted: Option<usize>,
    text: String,
}

impl Journal {
    fn new(wanted: Option<usize>) -> Self {
        Self {
            digests: Vec::new(),
            wanted,
            text: "nothing: this run is over".to_owned(),
        }
    }

    fn note(&mut self, what: std::fmt::Arguments<'_>) {
        let mut digest = self.digests.last().copied().unwrap_or(Digest::NOTHING);
        digest.write_fmt(what).expect("a digest takes any text");
        if self.wanted == Some(self.digests.len()) {
            self.text = what.to_string();
        }
        self.digests.push(digest);
    }
}

impl Probe for Journal {
    fn event(&mut self, at: Time, event: &dyn Debug) {
        self.note(format_args!("at {at}: {event:?}"));
    }

    fn request_ended(&mut self, trace: &RequestTrace) {
        self.note(format_args!("{trace:?}"));
    }

    fn replica_moved(&mut self, moved: &ReplicaMoved) {
        self.note(format_args!("{moved:?}"));
    }
}

/// How the clock is moved on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    /// From event to event.
    Events,
    /// With a stop every so often, at which nothing is done.
    Stops(Duration),
}

/// The first session of a plan at its first provider, with a journal kept.
fn keep(plan: &Plan, pace: Pace, journal: Journal) -> Journal {
    let provider = &plan.providers[0];
    let opened = Time::ZERO + plan.warm_up;
    let mut config = provider.fleet.clone();
    config.window = opened;
    let streams = Streams::new(plan.seed, 0);
    let mut fleet = Fleet::new(config, &provider.name, streams, journal);
    advance(&mut fleet, opened, pace);
    fleet.open_window();
    let first = Run {
        provider: 0,
        session: 0,
        replication: 0,
    };
    let lanes = lanes(plan, first);
    drive(&lanes, &mut fleet, Time::MAX, &mut |_| {
        ControlFlow::Continue(())
    });
    advance(&mut fleet, opened + plan.horizon, pace);
    fleet.close_window(opened);
    fleet.into_probe()
}

fn advance(fleet: &mut Fleet<Journal>, until: Time, pace: Pace) {
    while fleet.now() < until {
        let next = match pace {
            Pace::Events => until,
            Pace::Stops(span) => until.min(fleet.now() + span),
        };
        fleet.advance(next);
    }
}

/// The digest of all that happens in a plan's first run.
pub(crate) fn digest(plan: &Plan, pace: Pace) -> Digest {
    let journal = keep(plan, pace, Journal::new(None));
    journal.digests.last().copied().unwrap_or(Digest::NOTHING)
}

/// The first event of two runs in which they differ, told by both.
pub(crate) fn first_difference(one: (&Plan, Pace), other: (&Plan, Pace)) -> Option<[String; 2]> {
    let digests = [one, other].map(|(plan, pace)| keep(plan, pace, Journal::new(None)).digests);
    let [ours, theirs] = &digests;
    let length = ours.len().max(theirs.len());
    let index = (0..length).find(|&index| ours.get(index) != theirs.get(index));
    index.map(|_| [one, other].map(|(plan, pace)| keep(plan, pace, Journal::new(index)).text))
}
