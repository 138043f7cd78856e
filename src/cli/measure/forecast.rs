//! How long a plan takes, by driving it against a clock that answers.

use std::ops::ControlFlow;

use crate::measure::drive::{Lane, drive};
use crate::observation::{Observation, Outcome};
use crate::request::Request;
use crate::target::Target;
use crate::time::{Duration, Time};

/// When the last request of the lanes will have ended, if each takes `service` from `now` on.
pub(super) fn end(lanes: &[Lane], now: Time, service: Duration) -> Time {
    let mut clock = Clockwork {
        now,
        service,
        pending: Vec::new(),
    };
    drive(lanes, &mut clock, Time::MAX, &mut |_| {
        ControlFlow::Continue(())
    });
    clock.now
}

/// Answers every request after the same time, in no time.
struct Clockwork {
    now: Time,
    service: Duration,
    /// In order of sending, hence of ending.
    pending: Vec<(Time, Request)>,
}

impl Target for Clockwork {
    fn now(&self) -> Time {
        self.now
    }

    fn submit(&mut self, request: Request) {
        self.pending.push((self.now, request));
    }

    fn advance(&mut self, until: Time) -> Option<Observation> {
        let first = self.pending.first().map(|(sent, _)| *sent + self.service);
        let Some(end) = first.filter(|&end| end <= until) else {
            self.now = self.now.max(until);
            return None;
        };
        let (sent, request) = self.pending.remove(0);
        self.now = self.now.max(end);
        Some(Observation::new(
            request.id,
            request.endpoint,
            request.due,
            sent,
            Some(end),
            end,
            1,
            Outcome::Succeeded,
        ))
    }
}
