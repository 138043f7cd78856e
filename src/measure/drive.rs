//! The one measuring loop: benchmark plans against a target, real or simulated.

use super::protocol::{GapPlan, Protocol};
use crate::observation::{Observation, Outcome};
use crate::request::{EndpointId, Request, RequestId};
use crate::target::Target;
use crate::time::Time;

/// One benchmark of one endpoint.
#[derive(Clone, Debug)]
pub struct Lane {
    /// What is measured.
    pub endpoint: EndpointId,
    /// How.
    pub protocol: Protocol,
    /// From when on.
    pub start: Time,
}

/// What a lane saw.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Requests thrown away as warm-up, in order of sending.
    pub discarded: Vec<Observation>,
    /// Requests that count, in order of sending.
    pub counted: Vec<Observation>,
}

/// Sends the plans of all lanes to `target`, interleaved as they fall due, until every request has ended or `limit` comes. A
/// request that has not ended then counts as timed out: it is never dropped from view.
///
/// `progress` hears of every request that ends.
pub fn drive(
    lanes: &[Lane],
    target: &mut dyn Target,
    limit: Time,
    progress: &mut dyn FnMut(&Observation),
) -> Vec<Seen> {
    let mut runners: Vec<Runner<'_>> = lanes
        .iter()
        .enumerate()
        .map(|(index, lane)| Runner::new(index, lane))
        .collect();
    loop {
        let next = runners.iter().filter_map(Runner::next_due).min();
        if next.is_none() && runners.iter().all(Runner::is_over) {
            break;
        }
        if let Some(observation) = target.advance(next.unwrap_or(limit).min(limit)) {
            runners[lane_of(observation.id())].ended(observation);
            progress(&observation);
        } else if target.now() >= limit {
            for runner in &mut runners {
                runner.give_up(limit);
            }
            break;
        } else {
            for runner in &mut runners {
                runner.send(target);
            }
        }
    }
    runners.into_iter().map(Runner::into_seen).collect()
}

/// A lane under way.
struct Runner<'a> {
    lane: &'a Lane,
    base: u64,
    sent: u32,
    ended: Vec<Option<Observation>>,
    due: Vec<Time>,
    counted_from: Option<Time>,
}

/// Bits of a request's name below the lane's number.
const LANE_BITS: u32 = 32;

fn lane_of(id: RequestId) -> usize {
    (id.0 >> LANE_BITS) as usize
}

impl<'a> Runner<'a> {
    fn new(index: usize, lane: &'a Lane) -> Self {
        let total = lane.protocol.total() as usize;
        Self {
            lane,
            base: (index as u64) << LANE_BITS,
            sent: 0,
            ended: vec![None; total],
            due: Vec::with_capacity(total),
            counted_from: None,
        }
    }

    fn is_over(&self) -> bool {
        self.ended.iter().all(Option::is_some)
    }

    /// When the next request is due; `None` while the one before is under way, and at the end.
    fn next_due(&self) -> Option<Time> {
        let protocol = &self.lane.protocol;
        if self.sent == protocol.total() {
            return None;
        }
        let is_open = matches!(protocol.gaps, GapPlan::At(_));
        let previous_end = match self.sent.checked_sub(1) {
            Some(previous) if !is_open => Some(self.ended[previous as usize]?.end()),
            _ => None,
        };
        Some(protocol.due(self.sent, self.lane.start, self.counted_from, previous_end))
    }

    /// Sends what is due by now.
    fn send(&mut self, target: &mut dyn Target) {
        while let Some(due) = self.next_due().filter(|&due| due <= target.now()) {
            let protocol = &self.lane.protocol;
            if self.sent == protocol.discard {
                self.counted_from = Some(due);
            }
            target.submit(Request {
                id: RequestId(self.base | u64::from(self.sent)),
                endpoint: self.lane.endpoint,
                due,
                prompt_tokens: protocol.prompt_tokens,
                output_tokens: protocol.output_tokens,
                timeout: protocol.timeout,
            });
            self.due.push(due);
            self.sent += 1;
        }
    }

    fn ended(&mut self, observation: Observation) {
        let index = (observation.id().0 ^ self.base) as usize;
        assert!(
            self.ended[index].replace(observation).is_none(),
            "request {index} ended twice"
        );
    }

    /// Counts what is under way as timed out. What was never sent does not count at all.
    fn give_up(&mut self, limit: Time) {
        for index in 0..self.sent as usize {
            let (due, endpoint) = (self.due[index], self.lane.endpoint);
            let id = RequestId(self.base | index as u64);
            self.ended[index].get_or_insert_with(|| {
                Observation::new(
                    id,
                    endpoint,
                    due,
                    due,
                    None,
                    limit.max(due),
                    0,
                    Outcome::TimedOut,
                )
            });
        }
    }

    fn into_seen(self) -> Seen {
        let mut all: Vec<Observation> = self.ended.into_iter().flatten().collect();
        let counted = all.split_off((self.lane.protocol.discard as usize).min(all.len()));
        Seen {
            discarded: all,
            counted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    /// A target that answers every request after one second, or never.
    struct Clockwork {
        now: Time,
        answers: bool,
        pending: Vec<Request>,
    }

    impl Target for Clockwork {
        fn now(&self) -> Time {
            self.now
        }

        fn submit(&mut self, request: Request) {
            assert!(request.due <= self.now);
            self.pending.push(request);
        }

        fn advance(&mut self, until: Time) -> Option<Observation> {
            let first = self
                .pending
                .first()
                .map(|request| request.due + Duration::from_secs(1.0));
            let Some(end) = first.filter(|&end| self.answers && end <= until) else {
                self.now = self.now.max(until);
                return None;
            };
            let request = self.pending.remove(0);
            self.now = self.now.max(end);
            Some(Observation::new(
                request.id,
                request.endpoint,
                request.due,
                request.due,
                Some(end),
                end,
                1,
                Outcome::Succeeded,
            ))
        }
    }

    fn lane(endpoint: u32, gaps: GapPlan) -> Lane {
        let protocol = Protocol {
            requests: 3,
            discard: 1,
            gaps,
            prompt_tokens: 1,
            output_tokens: 1,
            timeout: None,
        };
        Lane {
            endpoint: EndpointId(endpoint),
            protocol,
            start: Time::from_secs(5.0),
        }
    }

    fn target(answers: bool) -> Clockwork {
        Clockwork {
            now: Time::ZERO,
            answers,
            pending: Vec::new(),
        }
    }

    #[test]
    fn lanes_interleave_and_each_keeps_its_own_gaps() {
        let lanes = [
            lane(0, GapPlan::Fixed(Duration::from_secs(2.0))),
            lane(
                1,
                GapPlan::At([0.0, 0.0, 3.0, 3.0].map(Duration::from_secs).to_vec()),
            ),
        ];
        let mut heard = 0;
        let seen = drive(&lanes, &mut target(true), Time::MAX, &mut |_| heard += 1);
        let due = |seen: &[Observation]| {
            seen.iter()
                .map(|one| one.due().as_secs())
                .collect::<Vec<_>>()
        };
        assert_eq!(heard, 8);
        assert_eq!(
            (due(&seen[0].discarded), due(&seen[0].counted)),
            (vec![5.0], vec![8.0, 11.0, 14.0])
        );
        assert_eq!(
            (due(&seen[1].discarded), due(&seen[1].counted)),
            (vec![5.0], vec![5.0, 8.0, 8.0])
        );
    }

    #[test]
    fn requests_without_an_answer_are_counted_when_time_is_up() {
        let lanes = [lane(
            0,
            GapPlan::At([0.0, 1.0, 2.0, 900.0].map(Duration::from_secs).to_vec()),
        )];
        let seen = drive(
            &lanes,
            &mut target(false),
            Time::from_secs(100.0),
            &mut |_| (),
        );
        assert_eq!(
            seen[0].counted.len(),
            2,
            "the one due at 905 s was never sent"
        );
        assert!(
            seen[0]
                .counted
                .iter()
                .all(|one| one.outcome() == Outcome::TimedOut)
        );
    }
}
