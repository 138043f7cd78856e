//! When requests come.
//!
//! Every pattern is a process of unit intensity seen through a clock: work of one unit per request, consumed at the intensity
//! rate x curve(t). A Poisson process uses exponential work, a renewal process its own law, an MMPP exponential work at the
//! intensity of its present state. So daily and weekly curves lie over any pattern and a stated rate stays the weekly mean.
//! A closed loop has no rate: its clients come back when they are answered, so their owner asks [`Arrivals::think`]. A trace is
//! replayed as it was ([`replay`](super::replay)), without a curve.

#![expect(
    clippy::inline_always,
    reason = "every request is one: a call costs as much as the arrival"
)]

use super::curve::Curve;
use super::replay::{Replay, Replaying, Row};
use crate::distribution::Distribution;
use crate::streams::Stream;
use crate::time::{Duration, Time};
use rand::RngExt;
use std::hint::cold_path;

/// Seconds in a week \[s\].
const WEEK: f64 = 604_800.0;

/// The law behind the arrivals.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Independent gaps of this law with mean 1: exponential gives a Poisson process, a constant a metronome.
    Renewal {
        /// Mean rate [1/s].
        rate: f64,
        /// The gap in units of its mean.
        gap: Distribution,
    },
    /// A two-state Markov-modulated Poisson process: calm and bursts, each exponentially long.
    Mmpp {
        /// Rate in each state [1/s].
        rates: [f64; 2],
        /// Mean length of each state \[s\].
        sojourns: [f64; 2],
    },
    /// At these offsets from the start of the measured window and never else, in order.
    At(Vec<Duration>),
    /// As in a trace, from the run's origin on.
    Trace(Box<Replay>),
    /// A closed loop: each client thinks, sends a request, waits for its end, and thinks again.
    Closed {
        /// How many clients.
        clients: u32,
        /// How long a client thinks \[s\].
        think: Distribution,
    },
}

/// A pattern under a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrivalProcess {
    /// The law of the gaps.
    pub pattern: Pattern,
    /// Variation over the day and the week.
    pub curve: Curve,
}

impl ArrivalProcess {
    /// No arrivals at all.
    pub fn none() -> Self {
        Self {
            pattern: Pattern::At(Vec::new()),
            curve: Curve::FLAT,
        }
    }

    /// Poisson arrivals at `rate` [1/s].
    pub fn poisson(rate: f64) -> Self {
        Self {
            pattern: Pattern::Renewal {
                rate,
                gap: Distribution::Exponential { mean: 1.0 },
            },
            curve: Curve::FLAT,
        }
    }

    /// Mean rate over a week [1/s]; zero for listed instants and for closed loops, whose rate the answers decide.
    pub fn mean_rate(&self) -> f64 {
        match &self.pattern {
            Pattern::Renewal { rate, .. } => *rate,
            Pattern::Mmpp { rates, sojourns } => {
                (rates[0] * sojourns[0] + rates[1] * sojourns[1]) / (sojourns[0] + sojourns[1])
            }
            Pattern::Trace(replay) => replay.mean_rate(),
            Pattern::At(_) | Pattern::Closed { .. } => 0.0,
        }
    }
}

/// The instants of one realisation of an [`ArrivalProcess`].
#[derive(Debug)]
pub struct Arrivals {
    process: ArrivalProcess,
    stream: Stream,
    /// Seconds from Monday 00:00 to the run's origin.
    phase: f64,
    /// Where listed offsets count from.
    window: Time,
    /// The last arrival, from the run's origin \[s\].
    at: f64,
    /// Arrivals so far.
    count: usize,
    /// State of the MMPP and when it ends \[s\].
    state: usize,
    state_ends: f64,
    /// The trace, where there is one.
    trace: Option<Box<Trace>>,
}

/// A trace under way.
#[derive(Debug)]
struct Trace {
    /// Once it is read.
    replaying: Option<Replaying>,
    /// The row of the last arrival.
    row: Row,
    /// What deals the rows to the trace's replays.
    deal: Stream,
}

impl Arrivals {
    /// The arrivals of `process` in a run whose origin lies `phase` after Monday 00:00 and whose measured window opens at
    /// `window`.
    pub fn new(process: ArrivalProcess, phase: Duration, window: Time, mut stream: Stream) -> Self {
        let mut state = 0;
        let mut state_ends = f64::INFINITY;
        if let Pattern::Mmpp { sojourns, .. } = &process.pattern {
            // Stationary start.
            state =
                usize::from(stream.random::<f64>() * (sojourns[0] + sojourns[1]) >= sojourns[0]);
            state_ends = Distribution::Exponential {
                mean: sojourns[state],
            }
            .sample(&mut stream);
        }
        let is_trace = matches!(process.pattern, Pattern::Trace(_));
        let trace = is_trace.then(|| {
            Box::new(Trace {
                replaying: None,
                row: Row::default(),
                deal: stream.clone(),
            })
        });
        Self {
            process,
            trace,
            stream,
            phase: phase.as_secs(),
            window,
            at: 0.0,
            count: 0,
            state,
            state_ends,
        }
    }

    /// The same, with the rows of a trace dealt by a stream that others share.
    #[must_use]
    pub fn dealt_by(mut self, deal: Stream) -> Self {
        if let Some(trace) = &mut self.trace {
            trace.deal = deal;
        }
        self
    }

    /// The next arrival of a random process.
    #[inline(always)]
    fn drawn(&mut self) -> Option<Time> {
        let work = self.work();
        self.at = self.consume(work)?;
        self.count += 1;
        Some(Time::from_secs(self.at))
    }

    /// What a trace tells of the last arrival's lengths.
    #[inline]
    pub fn row(&self) -> Row {
        self.trace.as_ref().map_or(Row::default(), |trace| {
            cold_path();
            trace.row
        })
    }

    /// The next arrival of a trace.
    #[cold]
    fn replayed(&mut self) -> Option<Time> {
        let Pattern::Trace(replay) = &self.process.pattern else {
            return None;
        };
        let Trace {
            replaying,
            row,
            deal,
        } = &mut **self.trace.as_mut()?;
        let replaying =
            replaying.get_or_insert_with(|| Replaying::new(replay, self.stream.clone(), deal));
        let (at, next) = replaying.next()?;
        *row = next;
        Some(at)
    }

    /// Work until the next arrival, in units of the mean gap. A metronome strikes at the origin first.
    #[inline]
    fn work(&mut self) -> f64 {
        match &self.process.pattern {
            Pattern::Renewal {
                gap: Distribution::Constant(_),
                ..
            } if self.count == 0 => 0.0,
            Pattern::Renewal { gap, .. } => gap.sample(&mut self.stream),
            Pattern::Mmpp { .. } => {
                Distribution::Exponential { mean: 1.0 }.sample(&mut self.stream)
            }
            Pattern::At(_) | Pattern::Trace(_) | Pattern::Closed { .. } => 0.0,
        }
    }

    /// Clients of a closed loop.
    pub fn clients(&self) -> u32 {
        match self.process.pattern {
            Pattern::Closed { clients, .. } => clients,
            _ => 0,
        }
    }

    /// How long a client of a closed loop thinks before its next request; `None` for all other patterns, which do not wait for
    /// answers.
    pub fn think(&mut self) -> Option<Duration> {
        let Pattern::Closed { think, .. } = &self.process.pattern else {
            return None;
        };
        Some(Duration::from_secs(think.sample(&mut self.stream)))
    }

    /// The intensity at `at` [1/s] and until when it holds \[s\].
    fn intensity(&self, at: f64) -> (f64, f64) {
        let (multiplier, holds) = self.process.curve.at(self.phase + at);
        match &self.process.pattern {
            Pattern::Renewal { rate, .. } => (rate * multiplier, holds - self.phase),
            Pattern::Mmpp { rates, .. } => (
                rates[self.state] * multiplier,
                self.state_ends.min(holds - self.phase),
            ),
            Pattern::At(_) | Pattern::Trace(_) | Pattern::Closed { .. } => (0.0, f64::INFINITY),
        }
    }

    /// Enters the MMPP's other state.
    fn switch(&mut self) {
        if let Pattern::Mmpp { sojourns, .. } = &self.process.pattern {
            self.state = 1 - self.state;
            self.state_ends += Distribution::Exponential {
                mean: sojourns[self.state],
            }
            .sample(&mut self.stream);
        }
    }

    /// Lets the clock run until `work` is consumed; `None` when nothing comes for a whole year.
    #[inline]
    fn consume(&mut self, work: f64) -> Option<f64> {
        let at = self.at;
        if let Pattern::Renewal { rate, .. } = &self.process.pattern
            && self.process.curve.is_flat()
        {
            // What the loop gives at its first turn.
            return (*rate > 0.0).then(|| at + work / rate);
        }
        self.consume_varying(work)
    }

    /// See [`Arrivals::consume`], with an intensity that changes.
    #[inline(never)]
    fn consume_varying(&mut self, mut work: f64) -> Option<f64> {
        let mut at = self.at;
        if matches!(&self.process.pattern, Pattern::Mmpp { rates, .. } if *rates == [0.0; 2]) {
            return None;
        }
        let silent = at + 52.0 * WEEK;
        loop {
            let (intensity, holds) = self.intensity(at);
            if intensity > 0.0 && intensity * (holds - at) >= work {
                return Some(at + work / intensity);
            }
            if holds.is_infinite() || holds > silent {
                return None;
            }
            work -= intensity * (holds - at);
            at = holds;
            if holds >= self.state_ends {
                self.switch();
            }
        }
    }
}

impl Iterator for Arrivals {
    type Item = Time;

    #[inline(always)]
    fn next(&mut self) -> Option<Time> {
        match &self.process.pattern {
            Pattern::Renewal { .. } | Pattern::Mmpp { .. } => self.drawn(),
            Pattern::At(offsets) => {
                let offset = *offsets.get(self.count)?;
                self.count += 1;
                Some(self.window + offset)
            }
            Pattern::Trace(_) => self.replayed(),
            Pattern::Closed { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::Streams;
    use crate::workload::curve::weekend;

    fn arrivals(process: ArrivalProcess) -> Arrivals {
        Arrivals::new(
            process,
            Duration::ZERO,
            Time::ZERO,
            Streams::new(3, 0).stream("arrivals"),
        )
    }

    fn renewal(rate: f64, gap: Distribution) -> ArrivalProcess {
        ArrivalProcess {
            pattern: Pattern::Renewal { rate, gap },
            curve: Curve::FLAT,
        }
    }

    #[test]
    fn a_metronome_strikes_at_zero_and_keeps_exact_time() {
        let times: Vec<Time> = arrivals(renewal(1.25, Distribution::Constant(1.0)))
            .take(4)
            .collect();
        assert_eq!(times, [0.0, 0.8, 1.6, 2.4].map(Time::from_secs));
    }

    #[test]
    fn a_metronome_that_begins_in_a_silent_hour_strikes_when_it_is_over() {
        let mut daily = [1.0; 24];
        daily[0] = 0.0;
        let process = ArrivalProcess {
            curve: Curve::new(&daily, &[1.0; 7]),
            ..renewal(1.0, Distribution::Constant(1.0))
        };
        assert_eq!(arrivals(process).next(), Some(Time::from_secs(3600.0)));
    }

    #[test]
    fn listed_offsets_count_from_the_window() {
        let process = ArrivalProcess {
            pattern: Pattern::At(vec![Duration::ZERO, Duration::from_secs(2.0)]),
            curve: Curve::FLAT,
        };
        let window = Time::from_secs(100.0);
        let times: Vec<Time> = Arrivals::new(
            process,
            Duration::ZERO,
            window,
            Streams::new(0, 0).stream("x"),
        )
        .collect();
        assert_eq!(times, [100.0, 102.0].map(Time::from_secs));
    }

    #[test]
    fn counts_agree_with_the_mean_rate() {
        // Asymptotic variance of a renewal count is rate x CV^2 x horizon; of the MMPP count, rate x horizon plus
        // 2 (difference of rates)^2 p q / (switching rate) x horizon (Cox & Isham 1980): 99.9 % intervals.
        let horizon = 200_000.0;
        let mmpp = Pattern::Mmpp {
            rates: [0.3, 1.5],
            sojourns: [50.0, 20.0],
        };
        let (p, q, switching): (f64, f64, f64) = (5.0 / 7.0, 2.0 / 7.0, 1.0 / 50.0 + 1.0 / 20.0);
        for (process, variance_rate) in [
            (ArrivalProcess::poisson(0.5), 0.5),
            (
                renewal(0.5, Distribution::Gamma { mean: 1.0, cv: 2.0 }),
                0.5 * 4.0,
            ),
            (
                renewal(0.5, Distribution::weibull_by_cv(1.0, 1.5)),
                0.5 * 2.25,
            ),
            (
                ArrivalProcess {
                    pattern: mmpp,
                    curve: Curve::FLAT,
                },
                0.3 * p + 1.5 * q + 2.0 * 1.2 * 1.2 * p * q / switching,
            ),
        ] {
            let expected = process.mean_rate() * horizon;
            let count = arrivals(process.clone())
                .take_while(|at| at.as_secs() < horizon)
                .count() as f64;
            let half_width = 3.29 * (variance_rate * horizon).sqrt();
            assert!(
                (count - expected).abs() < half_width,
                "{process:?}: {count} for {expected} ± {half_width}"
            );
        }
    }

    #[test]
    fn a_curve_moves_arrivals_without_changing_their_number() {
        let mut daily = [0.0; 24];
        daily[12] = 1.0;
        let process = ArrivalProcess {
            curve: Curve::new(&daily, &weekend(1.0)),
            ..ArrivalProcess::poisson(0.01)
        };
        let times: Vec<f64> = arrivals(process)
            .map(Time::as_secs)
            .take_while(|at| *at < 10.0 * WEEK)
            .collect();
        assert!(times.iter().all(|at| (at / 3600.0) as usize % 24 == 12));
        let expected = 0.01 * 10.0 * WEEK;
        assert!((times.len() as f64 - expected).abs() < 3.29 * expected.sqrt());
    }
}
