//! Replay of a trace: requests that came once come again, on the run's clock.
//!
//! The core reads no files. It is given a [`Source`], which each run opens for itself and reads row by row, so that a trace may
//! be longer than memory. The first row comes at the run's origin.
//!
//! Rates are scaled without touching the gaps' law more than must be: down by thinning (each row is kept with one probability),
//! up by superposing copies of the trace that are turned against each other by a random part of its length, then thinned.
//! Copies of a trace of two days or more are turned by whole days and less than an hour, so that hours of the day stay
//! what they are. Scaling time instead keeps every burst and squeezes or stretches it.
//!
//! A trace that does not tell models is dealt to them: each row draws a number from a stream that all replays of the trace share,
//! and a replay takes the rows whose numbers lie in its slice, so that disjoint slices get disjoint rows.
//!
//! Rows with one stamp, on files coarser than the arrivals were, are spread evenly at random over the step, in their order.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use rand::RngExt;

use crate::streams::Stream;
use crate::time::{Duration, Time};

const HOUR: Duration = Duration::from_nanos(3_600_000_000_000);
const DAY: Duration = Duration::from_nanos(86_400_000_000_000);

/// A request of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// When it came, from the first one.
    pub at: Duration,
    /// Length of its prompt \[tokens\], where the trace tells.
    pub prompt_tokens: Option<u32>,
    /// Length of its answer \[tokens\], where the trace tells.
    pub output_tokens: Option<u32>,
}

/// Rows in order of time, read by one run.
pub type Rows = Box<dyn Iterator<Item = Row> + Send>;

/// A trace that can be read again and again.
pub trait Source: fmt::Debug + Send + Sync {
    /// Reads from the first row on.
    fn open(&self) -> Rows;
}

/// A trace and how it is replayed.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Where the rows are.
    pub source: Arc<dyn Source>,
    /// Mean rate of the rows [1/s].
    pub rate: f64,
    /// From the first row to where it would come again, longer than from the first to the last.
    pub period: Duration,
    /// What of it is left out at the beginning.
    pub skip: Duration,
    /// Whether it begins again when it is over.
    pub repeats: bool,
    /// Requests for each row on average.
    pub factor: f64,
    /// How many times faster than it happened.
    pub speed: f64,
    /// The step over which rows of one stamp are spread; zero leaves them where they are.
    pub step: Duration,
    /// Whether requests have the lengths of their rows: of the prompt, of the answer.
    pub lengths: [bool; 2],
    /// From where to where in 0 to 1 the numbers of its rows lie.
    pub slice: [f64; 2],
}

impl PartialEq for Replay {
    /// Whether they are the same trace replayed in the same way.
    fn eq(&self, other: &Self) -> bool {
        let shape = |one: &Self| (one.period, one.skip, one.repeats, one.step, one.lengths);
        let scale = |one: &Self| (one.rate, one.factor, one.speed, one.slice);
        Arc::ptr_eq(&self.source, &other.source)
            && shape(self) == shape(other)
            && scale(self) == scale(other)
    }
}

impl Replay {
    /// Mean rate of the replay while it lasts [1/s].
    pub fn mean_rate(&self) -> f64 {
        self.rate * (self.slice[1] - self.slice[0]) * self.factor * self.speed
    }
}

/// One realisation of a [`Replay`].
pub(super) struct Replaying {
    copies: Vec<Turned>,
    /// The next row of each copy.
    heads: Vec<Option<Row>>,
    keeps: f64,
    speed: f64,
    lengths: [bool; 2],
    stream: Stream,
}

impl fmt::Debug for Replaying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replaying")
            .field("heads", &self.heads)
            .finish_non_exhaustive()
    }
}

impl Replaying {
    /// Opens the trace as often as copies of it are needed; `deal` is the stream that all replays of it share.
    pub(super) fn new(replay: &Replay, mut stream: Stream, deal: &Stream) -> Self {
        let count = replay.factor.ceil().max(1.0);
        let mut copies: Vec<Turned> = (0..count as u64)
            .map(|copy| Turned::new(replay, turn(copy, replay.period, &mut stream), deal.clone()))
            .collect();
        let heads = copies.iter_mut().map(|copy| copy.next(&mut stream));
        Self {
            heads: heads.collect(),
            copies,
            keeps: replay.factor / count,
            speed: replay.speed,
            lengths: replay.lengths,
            stream,
        }
    }

    /// The next row of all copies, thinned or not.
    fn earliest(&mut self) -> Option<Row> {
        let ats = self.heads.iter().enumerate();
        let ats = ats.filter_map(|(index, head)| Some((head.as_ref()?.at, index)));
        let (_, index) = ats.min()?;
        let next = self.copies[index].next(&mut self.stream);
        std::mem::replace(&mut self.heads[index], next)
    }

    /// The next request, when it comes, and its lengths.
    pub(super) fn next(&mut self) -> Option<(Time, Row)> {
        loop {
            let row = self.earliest()?;
            if self.keeps < 1.0 && self.stream.random::<f64>() >= self.keeps {
                continue;
            }
            let at = if self.speed == 1.0 {
                Time::ZERO + row.at
            } else {
                Time::from_secs(row.at.as_secs() / self.speed)
            };
            let [has_prompt, has_output] = self.lengths;
            let row = Row {
                at: row.at,
                prompt_tokens: row.prompt_tokens.filter(|_| has_prompt),
                output_tokens: row.output_tokens.filter(|_| has_output),
            };
            return Some((at, row));
        }
    }
}

/// By how much a copy is turned; the first one is not.
fn turn(copy: u64, period: Duration, stream: &mut Stream) -> Duration {
    let part = |of: Duration, stream: &mut Stream| {
        Duration::from_nanos((of.as_nanos() as f64 * stream.random::<f64>()) as u64)
    };
    let days = period.as_nanos() / DAY.as_nanos();
    match (copy, days) {
        (0, _) => Duration::ZERO,
        (_, 0 | 1) => part(period, stream),
        _ => DAY * (copy % days) + part(HOUR, stream),
    }
}

/// A copy of a trace, read round after round from where it is turned to.
struct Turned {
    source: Arc<dyn Source>,
    spread: Spread,
    period: Duration,
    /// What has gone by when the replay begins.
    gone: Duration,
    /// Where the present round begins, before `gone` is taken off.
    round: Duration,
    /// After this it is over.
    end: Duration,
    slice: [f64; 2],
    deal: Stream,
}

impl Turned {
    fn new(replay: &Replay, turn: Duration, deal: Stream) -> Self {
        Self {
            source: Arc::clone(&replay.source),
            spread: Spread::new(replay.source.open(), replay.step),
            period: replay.period,
            gone: turn + replay.skip,
            round: Duration::ZERO,
            end: if replay.repeats {
                Duration::MAX
            } else {
                replay.period.saturating_sub(replay.skip)
            },
            slice: replay.slice,
            deal,
        }
    }

    /// Draws the next row's number: whether it lies in the slice.
    fn is_own(&mut self) -> bool {
        let [from, to] = self.slice;
        let number = self.deal.random::<f64>();
        from <= number && number < to
    }

    fn next(&mut self, stream: &mut Stream) -> Option<Row> {
        let mut is_new = false;
        loop {
            let Some(row) = self.spread.next(stream) else {
                // A source without rows would never give one.
                if is_new || self.round.as_nanos() > u64::MAX / 2 {
                    return None;
                }
                is_new = true;
                self.round += self.period;
                let begins = self.round.saturating_sub(self.gone);
                if self.round >= self.gone && begins >= self.end {
                    return None;
                }
                self.spread = Spread::new(self.source.open(), self.spread.step);
                continue;
            };
            is_new = false;
            let at = self.round + row.at;
            let is_own = self.is_own();
            if at < self.gone || !is_own {
                continue;
            }
            let at = at - self.gone;
            return (at < self.end).then_some(Row { at, ..row });
        }
    }
}

/// Rows with those of one stamp spread over a step.
struct Spread {
    rows: Rows,
    step: Duration,
    /// The first row of the next stamp.
    ahead: Option<Row>,
    /// Rows of the present stamp, spread.
    ready: VecDeque<Row>,
}

impl Spread {
    fn new(rows: Rows, step: Duration) -> Self {
        Self {
            rows,
            step,
            ahead: None,
            ready: VecDeque::new(),
        }
    }

    fn next(&mut self, stream: &mut Stream) -> Option<Row> {
        if self.step == Duration::ZERO {
            return self.rows.next();
        }
        if self.ready.is_empty() {
            self.gather(stream);
        }
        self.ready.pop_front()
    }

    /// Reads all rows of the next stamp and gives each its place in the step; the order stays.
    fn gather(&mut self, stream: &mut Stream) {
        let Some(first) = self.ahead.take().or_else(|| self.rows.next()) else {
            return;
        };
        self.ready.push_back(first);
        for row in self.rows.by_ref() {
            if row.at > first.at {
                self.ahead = Some(row);
                break;
            }
            self.ready.push_back(row);
        }
        let mut places: Vec<u64> = self
            .ready
            .iter()
            .map(|_| (self.step.as_nanos() as f64 * stream.random::<f64>()) as u64)
            .collect();
        places.sort_unstable();
        for (row, place) in self.ready.iter_mut().zip(places) {
            row.at += Duration::from_nanos(place);
        }
    }
}
