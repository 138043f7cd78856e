//! The benchmark's plan: how many requests, of what kind, and when.
//!
//! A request is sent when the plan wants it and a place is free: at most [`Protocol::concurrency`] are under way at once. Plans
//! come in two kinds. Some count from the answer before: a slow answer moves what follows. The others name instants from the
//! start ([`GapPlan::Even`], the starts of [`GapPlan::Bursts`], [`GapPlan::At`]): those do not drift, and a request that finds
//! no free place at its instant is sent late but stays due when it was.
//!
//! How requests are spread decides what a benchmark can see. One whose gaps are shorter than the endpoint's keep-alive keeps
//! the model warm for itself and meets no cold start after its first request; a ladder of gaps shows where the keep-alive ends.

use rand::RngExt as _;

use crate::streams::Stream;
use crate::time::{Duration, Time};

/// What a benchmark sends to one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Requests that count.
    pub requests: u32,
    /// Requests sent before them and thrown away.
    pub discard: u32,
    /// Requests under way at once, at most.
    pub concurrency: u32,
    /// When they are sent.
    pub gaps: GapPlan,
    /// By how much an instant may be moved either way, at random.
    pub jitter: Duration,
    /// Length of the fixed prompt \[tokens\].
    pub prompt_tokens: u32,
    /// Length of the answer \[tokens\].
    pub output_tokens: u32,
    /// How long the client waits for the first token; `None` for ever.
    pub timeout: Option<Duration>,
}

/// When requests are sent.
#[derive(Clone, Debug, PartialEq)]
pub enum GapPlan {
    /// This long after the one before has ended.
    Fixed(Duration),
    /// Evenly over this span.
    Even {
        /// From the first request to the last.
        over: Duration,
    },
    /// A few at a time.
    Bursts {
        /// Requests in a burst.
        size: u32,
        /// After the one before has ended, within a burst.
        gap: Duration,
        /// From the start of a burst to the start of the next.
        every: Duration,
    },
    /// Gaps that go up a ladder and start again.
    Ladder(Vec<Duration>),
    /// At these offsets from the start.
    At(Vec<Duration>),
}

/// What the instant of a request depends on, beside the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// When the benchmark starts.
    pub start: Time,
    /// When its first counted request was due, once known.
    pub counted_from: Option<Time>,
}

impl Protocol {
    /// All requests, those thrown away included.
    pub fn total(&self) -> u32 {
        self.requests + self.discard
    }

    /// When request number `index` is due, counting those thrown away. `previous_end` is when the request ended whose place it
    /// takes, `None` for a place not yet used.
    pub fn due(&self, index: u32, origin: Origin, previous_end: Option<Time>) -> Time {
        let counted = index.saturating_sub(self.discard);
        if let Some(offset) = self.offset(index) {
            let from = match self.gaps {
                GapPlan::At(_) => Some(origin.start),
                _ => origin.counted_from,
            };
            return from.unwrap_or(origin.start) + offset;
        }
        let Some(previous_end) = previous_end else {
            return origin.start;
        };
        match &self.gaps {
            GapPlan::Fixed(gap) => previous_end + *gap,
            GapPlan::Ladder(gaps) if counted > 0 => {
                previous_end + gaps[(counted as usize - 1) % gaps.len()]
            }
            GapPlan::Bursts { gap, .. } if counted > 0 => previous_end + *gap,
            // Requests thrown away follow each other at once, and the first that counts follows them.
            _ => previous_end,
        }
    }

    /// How long after its origin the plan wants request `index`; `None` where it counts from the answer before.
    fn offset(&self, index: u32) -> Option<Duration> {
        let counted = index.saturating_sub(self.discard);
        match &self.gaps {
            GapPlan::At(offsets) => Some(offsets[index as usize]),
            GapPlan::Even { over } if counted > 0 => {
                let last = (self.requests - 1).max(1);
                Some(Duration::from_secs(
                    over.as_secs() * f64::from(counted) / f64::from(last),
                ))
            }
            GapPlan::Bursts { size, every, .. } if counted > 0 && counted.is_multiple_of(*size) => {
                Some(*every * u64::from(counted / size))
            }
            _ => None,
        }
    }

    /// Whether the plan itself, not only a free place, decides when request `index` is due.
    fn has_gap_before(&self, index: u32) -> bool {
        match self.gaps {
            GapPlan::Fixed(_) => index > 0,
            GapPlan::At(_) => false,
            _ => index > self.discard,
        }
    }

    /// By how much each request's instant is moved \[ns\], drawn uniformly from `stream`. Listed instants and requests that
    /// follow at once are not moved.
    pub fn moves(&self, mut stream: Stream) -> Vec<i64> {
        let most = i64::try_from(self.jitter.as_nanos()).unwrap_or(i64::MAX);
        let mut drawn = |index: u32| match most {
            0 => 0,
            _ if !self.has_gap_before(index) => 0,
            most => stream.random_range(-most..=most),
        };
        (0..self.total()).map(&mut drawn).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::Streams;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// When requests are due if each takes one second.
    fn schedule(protocol: &Protocol) -> Vec<f64> {
        let start = Time::from_secs(10.0);
        let (mut counted_from, mut previous_end) = (None, None);
        (0..protocol.total())
            .map(|index| {
                let origin = Origin {
                    start,
                    counted_from,
                };
                let due = protocol.due(index, origin, previous_end);
                if index == protocol.discard {
                    counted_from = Some(due);
                }
                previous_end = Some(due + seconds(1.0));
                due.as_secs()
            })
            .collect()
    }

    fn protocol(requests: u32, discard: u32, gaps: GapPlan) -> Protocol {
        Protocol {
            requests,
            discard,
            concurrency: 1,
            gaps,
            jitter: Duration::ZERO,
            prompt_tokens: 1,
            output_tokens: 1,
            timeout: None,
        }
    }

    fn even(over: f64) -> GapPlan {
        let over = seconds(over);
        GapPlan::Even { over }
    }

    #[test]
    fn plans_spread_requests_as_they_say() {
        let bursts = GapPlan::Bursts {
            size: 2,
            gap: seconds(0.5),
            every: seconds(60.0),
        };
        let ladder = GapPlan::Ladder(vec![seconds(1.0), seconds(10.0)]);
        let listed = GapPlan::At(vec![seconds(0.0), seconds(0.5)]);
        let cases = [
            (
                protocol(3, 1, GapPlan::Fixed(seconds(4.0))),
                vec![10.0, 15.0, 20.0, 25.0],
            ),
            (protocol(3, 1, even(20.0)), vec![10.0, 11.0, 21.0, 31.0]),
            (protocol(4, 0, bursts), vec![10.0, 11.5, 70.0, 71.5]),
            (protocol(4, 0, ladder), vec![10.0, 12.0, 23.0, 25.0]),
            (protocol(2, 0, listed), vec![10.0, 10.5]),
        ];
        for (protocol, expected) in cases {
            assert_eq!(schedule(&protocol), expected, "{:?}", protocol.gaps);
        }
    }

    #[test]
    fn a_slow_answer_does_not_move_a_plan_of_instants() {
        let protocol = protocol(3, 0, even(20.0));
        let start = Time::from_secs(10.0);
        let origin = Origin {
            start,
            counted_from: Some(start),
        };
        let due = protocol.due(1, origin, Some(Time::from_secs(50.0)));
        assert_eq!(due, Time::from_secs(20.0));
    }

    #[test]
    fn moves_stay_within_the_jitter_and_spare_what_follows_at_once() {
        let stream = || Streams::new(1, 0).stream("jitter");
        let still = protocol(100, 2, even(20.0));
        assert_eq!(still.moves(stream()), [0; 102]);
        let jitter = seconds(2.0);
        let moved = Protocol { jitter, ..still }.moves(stream());
        assert_eq!(moved[..3], [0, 0, 0], "two thrown away, and the first");
        assert!(moved.iter().all(|nanos| nanos.abs() <= 2_000_000_000));
        assert!(moved.iter().any(|&nanos| nanos < -1_000_000_000));
        assert!(moved.iter().any(|&nanos| nanos > 1_000_000_000));
        let listed = GapPlan::At(vec![seconds(1.0); 2]);
        let listed = Protocol {
            jitter,
            ..protocol(2, 0, listed)
        };
        assert_eq!(listed.moves(stream()), [0, 0]);
    }
}
