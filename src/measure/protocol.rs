//! The benchmark's plan: how many requests, of what kind, and when.
//!
//! The protocol is sequential: a request is sent when the plan wants it and the one before has ended, whichever is later. Only
//! listed instants ([`GapPlan::At`]) are kept whatever happens, which makes an open load.
//!
//! How requests are spread decides what a benchmark can see. One whose gaps are shorter than the endpoint's keep-alive keeps
//! the model warm for itself and meets no cold start after its first request.

use crate::time::{Duration, Time};

/// What a benchmark sends to one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Requests that count.
    pub requests: u32,
    /// Requests sent before them and thrown away.
    pub discard: u32,
    /// When they are sent.
    pub gaps: GapPlan,
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
    /// At these offsets from the start, whether or not the one before has ended.
    At(Vec<Duration>),
}

impl Protocol {
    /// All requests, those thrown away included.
    pub fn total(&self) -> u32 {
        self.requests + self.discard
    }

    /// When request number `index` is due, counting those thrown away; `previous_end` is when the one before ended. `start` is
    /// when the benchmark starts and `counted_from` when its first counted request was due, once known.
    pub fn due(
        &self,
        index: u32,
        start: Time,
        counted_from: Option<Time>,
        previous_end: Option<Time>,
    ) -> Time {
        if let GapPlan::At(offsets) = &self.gaps {
            return start + offsets[index as usize];
        }
        let Some(previous_end) = previous_end else {
            return start;
        };
        let counted = index.saturating_sub(self.discard);
        let origin = counted_from.unwrap_or(previous_end);
        match &self.gaps {
            GapPlan::Fixed(gap) => previous_end + *gap,
            GapPlan::Ladder(gaps) if counted > 0 => {
                previous_end + gaps[(counted as usize - 1) % gaps.len()]
            }
            GapPlan::Even { over } if counted > 0 => {
                let share =
                    over.as_secs() * f64::from(counted) / f64::from((self.requests - 1).max(1));
                previous_end.max(origin + Duration::from_secs(share))
            }
            GapPlan::Bursts { size, every, .. } if counted > 0 && counted.is_multiple_of(*size) => {
                previous_end.max(origin + *every * u64::from(counted / size))
            }
            GapPlan::Bursts { gap, .. } if counted > 0 => previous_end + *gap,
            // Requests thrown away follow each other at once, and the first that counts follows them.
            _ => previous_end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// When requests are due if each takes one second.
    fn schedule(protocol: &Protocol) -> Vec<f64> {
        let start = Time::from_secs(10.0);
        let (mut counted_from, mut previous_end) = (None, None);
        (0..protocol.total())
            .map(|index| {
                let due = protocol.due(index, start, counted_from, previous_end);
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
            gaps,
            prompt_tokens: 1,
            output_tokens: 1,
            timeout: None,
        }
    }

    #[test]
    fn plans_spread_requests_as_they_say() {
        let cases = [
            (
                protocol(3, 1, GapPlan::Fixed(seconds(4.0))),
                vec![10.0, 15.0, 20.0, 25.0],
            ),
            (
                protocol(
                    3,
                    1,
                    GapPlan::Even {
                        over: seconds(20.0),
                    },
                ),
                vec![10.0, 11.0, 21.0, 31.0],
            ),
            (
                protocol(
                    4,
                    0,
                    GapPlan::Bursts {
                        size: 2,
                        gap: seconds(0.5),
                        every: seconds(60.0),
                    },
                ),
                vec![10.0, 11.5, 70.0, 71.5],
            ),
            (
                protocol(4, 0, GapPlan::Ladder(vec![seconds(1.0), seconds(10.0)])),
                vec![10.0, 12.0, 23.0, 25.0],
            ),
            (
                protocol(2, 0, GapPlan::At(vec![seconds(0.0), seconds(0.5)])),
                vec![10.0, 10.5],
            ),
        ];
        for (protocol, expected) in cases {
            assert_eq!(schedule(&protocol), expected, "{:?}", protocol.gaps);
        }
    }

    #[test]
    fn a_slow_answer_moves_the_plan_instead_of_overlapping_it() {
        let protocol = protocol(
            3,
            0,
            GapPlan::Even {
                over: seconds(20.0),
            },
        );
        let start = Time::from_secs(10.0);
        let due = protocol.due(1, start, Some(start), Some(Time::from_secs(50.0)));
        assert_eq!(due, Time::from_secs(50.0));
    }
}
