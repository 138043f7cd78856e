//! The one measuring loop: benchmark plans against a target, real or simulated.
//!
//! Lanes of different endpoints interleave, so that all see the same hours; lanes of one endpoint follow each other, because two
//! benchmarks at once would measure each other. A lane that begins later than it was to, be it that the one before took long or
//! that the program was not running, moves its whole plan by as much: what was missed is not made up in a burst.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::protocol::{Origin, Protocol};
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
    /// By how much each request's instant is moved \[ns\]: [`Protocol::moves`].
    pub moves: Vec<i64>,
    /// What was seen already, by an earlier run of the same benchmark; each request's name says which it is.
    pub done: Vec<Observation>,
}

/// What a lane saw.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Requests thrown away as warm-up, in order of sending.
    pub discarded: Vec<Observation>,
    /// Requests that count, in order of sending.
    pub counted: Vec<Observation>,
}

/// What happens during a benchmark, for whoever watches it.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// A request has ended.
    Ended(&'a Observation),
    /// Nothing is to be done until an answer comes, or this instant.
    Waiting(Option<Time>),
}

/// Which request of which lane this is, both from zero.
pub fn place_of(id: RequestId) -> (usize, u32) {
    ((id.0 >> LANE_BITS) as usize, id.0 as u32)
}

/// The name of a request, given its lane and its number in it, both from zero.
pub fn id_of(lane: usize, index: u32) -> RequestId {
    RequestId((lane as u64) << LANE_BITS | u64::from(index))
}

/// Bits of a request's name below the lane's number.
const LANE_BITS: u32 = 32;

/// Sends the plans of all lanes to `target` until every request has ended or `limit` comes. A request that has not ended then
/// counts as timed out: it is never dropped from view.
///
/// `watch` may end the benchmark at any step; what is under way then is left out.
pub fn drive(
    lanes: &[Lane],
    target: &mut dyn Target,
    limit: Time,
    watch: &mut dyn FnMut(Step<'_>) -> ControlFlow<()>,
) -> Vec<Seen> {
    let mut runners: Vec<Runner<'_>> = lanes
        .iter()
        .enumerate()
        .map(|(index, lane)| Runner::new(index, lane))
        .collect();
    begin(&mut runners, target.now());
    loop {
        let next = runners.iter().filter_map(Runner::next_due).min();
        if next.is_none() && runners.iter().all(Runner::is_over) {
            break;
        }
        if watch(Step::Waiting(next)).is_break() {
            break;
        }
        if let Some(observation) = target.advance(next.unwrap_or(limit).min(limit)) {
            let (lane, _) = place_of(observation.id());
            runners[lane].ended(observation);
            if runners[lane].is_over() {
                begin(&mut runners, target.now());
            }
            if watch(Step::Ended(&observation)).is_break() {
                break;
            }
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

/// Begins every lane whose endpoint has no other under way.
fn begin(runners: &mut [Runner<'_>], now: Time) {
    for index in 0..runners.len() {
        let (before, rest) = runners.split_at_mut(index);
        let endpoint = rest[0].lane.endpoint;
        let is_free = |other: &Runner<'_>| other.lane.endpoint != endpoint || other.is_over();
        if !rest[0].has_begun && before.iter().all(is_free) {
            rest[0].begin(now);
        }
    }
}

/// A lane under way.
struct Runner<'a> {
    lane: &'a Lane,
    index: usize,
    has_begun: bool,
    origin: Origin,
    /// Nothing is due earlier.
    floor: Time,
    /// The next request to send.
    next: u32,
    /// Free places, each with when its last request ended.
    places: VecDeque<Option<Time>>,
    ended: Vec<Option<Observation>>,
    /// Requests that have not ended.
    left: usize,
    /// When each request was due that was sent.
    due: Vec<Option<Time>>,
}

impl<'a> Runner<'a> {
    fn new(index: usize, lane: &'a Lane) -> Self {
        let total = lane.protocol.total() as usize;
        let mut runner = Self {
            lane,
            index,
            has_begun: false,
            origin: Origin {
                start: lane.start,
                counted_from: None,
            },
            floor: Time::ZERO,
            next: 0,
            places: vec![None; total.min(lane.protocol.concurrency as usize)].into(),
            ended: vec![None; total],
            left: total,
            due: vec![None; total],
        };
        runner.take_up(&lane.done);
        runner
    }

    /// Takes up what an earlier run saw.
    fn take_up(&mut self, done: &[Observation]) {
        for observation in done {
            let (_, index) = place_of(observation.id());
            let due = observation.due();
            self.due[index as usize] = Some(due);
            if index >= self.lane.protocol.discard {
                let from = self.origin.counted_from.map_or(due, |from| from.min(due));
                self.origin.counted_from = Some(from);
            }
            self.ended(*observation);
        }
        // The last of them left the places as they are now.
        let capacity = self.places.len() - done.len();
        let ends = self.places.make_contiguous();
        ends.sort_unstable();
        self.places = ends[ends.len() - capacity..].iter().copied().collect();
        self.skip_ended();
    }

    /// Starts the lane, its plan moved by as much as it is late.
    fn begin(&mut self, now: Time) {
        self.has_begun = true;
        self.floor = now;
        if self.next < self.lane.protocol.total() {
            let late = now.saturating_since(self.planned());
            self.origin.start += late;
            if let Some(from) = &mut self.origin.counted_from {
                *from += late;
            }
        }
    }

    fn is_over(&self) -> bool {
        self.left == 0
    }

    /// When the next request is due; `None` while there is no place for it, and at the end.
    fn next_due(&self) -> Option<Time> {
        let is_ready =
            self.has_begun && self.next < self.lane.protocol.total() && !self.places.is_empty();
        is_ready.then(|| self.moved())
    }

    /// When the plan wants the next request.
    fn planned(&self) -> Time {
        let previous_end = self.places.front().copied().flatten();
        self.lane.protocol.due(self.next, self.origin, previous_end)
    }

    /// The same with its jitter.
    fn moved(&self) -> Time {
        let planned = self.planned();
        let by = self.lane.moves[self.next as usize];
        let moved = Time::from_nanos(planned.as_nanos().saturating_add_signed(by));
        // A place that has just become free is the earliest instant of what counts from it.
        let free = self.places.front().copied().flatten().unwrap_or_default();
        moved.max(free.min(planned)).max(self.floor)
    }

    /// Sends what is due by now.
    fn send(&mut self, target: &mut dyn Target) {
        while let Some(due) = self.next_due().filter(|&due| due <= target.now()) {
            let protocol = &self.lane.protocol;
            if self.next == protocol.discard {
                self.origin.counted_from = Some(due);
            }
            target.submit(Request {
                id: id_of(self.index, self.next),
                endpoint: self.lane.endpoint,
                due,
                prompt_tokens: protocol.prompt_tokens,
                output_tokens: protocol.output_tokens,
                timeout: protocol.timeout,
            });
            self.due[self.next as usize] = Some(due);
            self.places.pop_front();
            self.next += 1;
            self.skip_ended();
        }
    }

    fn skip_ended(&mut self) {
        while let Some(Some(_)) = self.ended.get(self.next as usize) {
            self.next += 1;
        }
    }

    fn ended(&mut self, observation: Observation) {
        let (_, index) = place_of(observation.id());
        assert!(
            self.ended[index as usize].replace(observation).is_none(),
            "request {index} ended twice"
        );
        self.left -= 1;
        self.places.push_back(Some(observation.end()));
    }

    /// Counts what is under way as timed out. What was never sent does not count at all.
    fn give_up(&mut self, limit: Time) {
        let endpoint = self.lane.endpoint;
        for (index, seen) in self.ended.iter_mut().enumerate() {
            let Some(due) = self.due[index] else {
                continue;
            };
            let id = id_of(self.index, index as u32);
            let end = limit.max(due);
            seen.get_or_insert_with(|| {
                Observation::new(id, endpoint, due, due, None, end, 0, Outcome::TimedOut)
            });
        }
    }

    fn into_seen(self) -> Seen {
        let discard = self.lane.protocol.discard;
        let is_discarded = |seen: &Observation| place_of(seen.id()).1 < discard;
        let (discarded, counted) = self.ended.into_iter().flatten().partition(is_discarded);
        Seen { discarded, counted }
    }
}

#[cfg(test)]
mod tests {
    use super::super::protocol::GapPlan;
    use super::*;
    use crate::time::Duration;

    /// A target that answers every request after some time, or never.
    struct Clockwork {
        now: Time,
        service: Option<Duration>,
        pending: Vec<(Time, Request)>,
        most: usize,
    }

    impl Target for Clockwork {
        fn now(&self) -> Time {
            self.now
        }

        fn submit(&mut self, request: Request) {
            assert!(request.due <= self.now);
            self.pending.push((self.now, request));
            self.most = self.most.max(self.pending.len());
        }

        fn advance(&mut self, until: Time) -> Option<Observation> {
            let first = self.pending.first();
            let end = first.and_then(|(sent, _)| Some(*sent + self.service?));
            let Some(end) = end.filter(|&end| end <= until) else {
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

    fn seconds<const N: usize>(seconds: [f64; N]) -> Vec<Duration> {
        seconds.map(Duration::from_secs).to_vec()
    }

    /// Three requests and one thrown away.
    fn lane(endpoint: u32, gaps: GapPlan) -> Lane {
        let protocol = Protocol {
            requests: 3,
            discard: 1,
            concurrency: 1,
            gaps,
            jitter: Duration::ZERO,
            prompt_tokens: 1,
            output_tokens: 1,
            timeout: None,
        };
        Lane {
            endpoint: EndpointId(endpoint),
            moves: vec![0; protocol.total() as usize],
            protocol,
            start: Time::from_secs(5.0),
            done: Vec::new(),
        }
    }

    fn open(mut lane: Lane) -> Lane {
        lane.protocol.concurrency = u32::MAX;
        lane
    }

    fn fixed(gap: f64) -> GapPlan {
        GapPlan::Fixed(Duration::from_secs(gap))
    }

    fn target(service: impl Into<Option<f64>>) -> Clockwork {
        Clockwork {
            now: Time::ZERO,
            service: service.into().map(Duration::from_secs),
            pending: Vec::new(),
            most: 0,
        }
    }

    fn on(_: Step<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn due(seen: &[Observation]) -> Vec<f64> {
        seen.iter().map(|one| one.due().as_secs()).collect()
    }

    fn sent(seen: &[Observation]) -> Vec<f64> {
        seen.iter().map(|one| one.sent().as_secs()).collect()
    }

    #[test]
    fn lanes_interleave_and_each_keeps_its_own_gaps() {
        let listed = GapPlan::At(seconds([0.0, 0.0, 3.0, 3.0]));
        let lanes = [lane(0, fixed(2.0)), open(lane(1, listed))];
        let mut heard = 0;
        let seen = drive(&lanes, &mut target(1.0), Time::MAX, &mut |step| {
            heard += u32::from(matches!(step, Step::Ended(_)));
            ControlFlow::Continue(())
        });
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
    fn lanes_of_one_endpoint_follow_each_other() {
        let lanes = [lane(0, fixed(2.0)), lane(0, fixed(1.0))];
        let seen = drive(&lanes, &mut target(1.0), Time::MAX, &mut on);
        assert_eq!(due(&seen[0].counted), [8.0, 11.0, 14.0]);
        assert_eq!(due(&seen[1].discarded), [15.0]);
        assert_eq!(due(&seen[1].counted), [17.0, 19.0, 21.0]);
    }

    #[test]
    fn requests_without_an_answer_are_counted_when_time_is_up() {
        let listed = GapPlan::At(seconds([0.0, 1.0, 2.0, 900.0]));
        let limit = Time::from_secs(100.0);
        let seen = drive(&[open(lane(0, listed))], &mut target(None), limit, &mut on);
        assert_eq!(
            seen[0].counted.len(),
            2,
            "the one due at 905 s was never sent"
        );
        let timed_out = |one: &Observation| one.outcome() == Outcome::TimedOut;
        assert!(seen[0].counted.iter().all(timed_out));
    }

    #[test]
    fn waiting_for_a_free_place_counts_from_when_a_request_was_due() {
        // Ten requests a second against half a second of service, one at a time: 0.5 s + 0.4 s a request before it.
        let mut lane = lane(
            0,
            GapPlan::Even {
                over: Duration::from_secs(0.7),
            },
        );
        (lane.protocol.requests, lane.protocol.discard) = (8, 0);
        lane.moves = vec![0; 8];
        let seen = drive(&[lane], &mut target(0.5), Time::MAX, &mut on);
        let latency = |index: u32, one: &Observation| {
            let expected = 0.5 + 0.4 * f64::from(index);
            assert!((one.end().since(one.due()).as_secs() - expected).abs() < 1e-6);
            assert_eq!(one.end().since(one.sent()).as_secs(), 0.5);
        };
        for (index, one) in (0..).zip(&seen[0].counted) {
            latency(index, one);
        }
    }

    #[test]
    fn concurrency_holds_during_the_warm_up_too() {
        let mut lane = lane(0, fixed(1.0));
        lane.protocol = Protocol {
            requests: 8,
            discard: 100,
            concurrency: 4,
            ..lane.protocol
        };
        lane.moves = vec![0; 108];
        let mut target = target(1.0);
        let seen = drive(&[lane], &mut target, Time::MAX, &mut on);
        assert_eq!(target.most, 4);
        assert_eq!(seen[0].discarded.len(), 100);
        // 25 rounds of two seconds each, four at a time.
        assert_eq!(
            due(&seen[0].counted),
            [55.0, 55.0, 55.0, 55.0, 57.0, 57.0, 57.0, 57.0]
        );
    }

    #[test]
    fn whoever_watches_can_end_it_and_what_was_seen_stays() {
        let mut ended = 0;
        let seen = drive(
            &[lane(0, fixed(2.0))],
            &mut target(1.0),
            Time::MAX,
            &mut |step| {
                ended += u32::from(matches!(step, Step::Ended(_)));
                if ended == 2 {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            },
        );
        assert_eq!((seen[0].discarded.len(), seen[0].counted.len()), (1, 1));
    }

    #[test]
    fn a_benchmark_goes_on_where_it_was_broken_off() {
        let ladder = GapPlan::Ladder(seconds([1.0, 10.0, 100.0]));
        let even = GapPlan::Even {
            over: Duration::from_secs(20.0),
        };
        // Broken off after two requests, and taken up again at once or at 1000 s.
        let cases = [
            (ladder.clone(), 7.0, vec![6.0, 8.0, 19.0]),
            (ladder, 1000.0, vec![6.0, 1000.0, 1011.0]),
            (even.clone(), 7.0, vec![6.0, 16.0, 26.0]),
            (even, 1000.0, vec![6.0, 1000.0, 1010.0]),
        ];
        for (gaps, now, expected) in cases {
            let mut lane = lane(0, gaps);
            let first = drive(&[lane.clone()], &mut target(1.0), Time::MAX, &mut on);
            lane.done = vec![first[0].discarded[0], first[0].counted[0]];
            let mut target = target(1.0);
            target.now = Time::from_secs(now);
            let seen = drive(&[lane], &mut target, Time::MAX, &mut on);
            assert_eq!(due(&seen[0].counted), expected);
            assert_eq!(sent(&seen[0].counted), expected);
        }
    }

    #[test]
    fn jitter_moves_requests_but_not_the_plan() {
        let mut lane = lane(
            0,
            GapPlan::Even {
                over: Duration::from_secs(20.0),
            },
        );
        lane.moves = vec![0, 0, -3_000_000_000, 2_000_000_000];
        let seen = drive(&[lane], &mut target(1.0), Time::MAX, &mut on);
        assert_eq!(due(&seen[0].counted), [6.0, 13.0, 28.0]);
    }
}
