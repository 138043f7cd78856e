//! What was measured, and the same measurement made of a scenario: requests as a calibration compares them.
//!
//! The benchmark of the simulation is the one that was made: as many requests, the same gaps, the same hours. Where requests never
//! overlapped, a gap counts from the end of the answer before, because that is how the client waited; where they did, each
//! is sent at its own instant.

use crate::experiment::{Keep, Plan, Published, Run, Session, run};
use crate::measure::analysis::Row;
use crate::measure::feasible::Rounded;
use crate::measure::protocol::{GapPlan, Protocol};
use crate::observation::{Observation, Outcome};
use crate::stats::CvDefinition;
use crate::time::{Duration, Time};

use super::free::{Free, Place};

/// A series of requests that somebody measured, or the figures reported of one.
#[derive(Clone, Debug)]
pub struct Series {
    /// What results call it.
    pub name: String,
    /// Index of the provider.
    pub provider: usize,
    /// Index of the deployment.
    pub deployment: u32,
    /// When it was measured, from Monday 00:00.
    pub at: Duration,
    /// The benchmark as it was made.
    pub protocol: Protocol,
    /// Whether TTFT runs from when a request was due, not from when it was sent.
    pub is_from_due: bool,
    /// What it showed.
    pub data: Data,
}

/// What a measurement showed.
#[derive(Clone, Debug)]
pub enum Data {
    /// Every request, those left out that failed in the client's own network.
    Requests(Vec<Shot>),
    /// Figures only.
    Figures(Figures),
}

/// Figures that somebody reports without the requests behind them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Median TTFT \[s\].
    pub median: Rounded,
    /// 95 % quantile of the TTFT \[s\].
    pub p95: Rounded,
    /// Coefficient of variation [%].
    pub cv_percent: Rounded,
    /// The longest TTFT \[s\], where it is reported.
    pub max: Option<Rounded>,
    /// The standard deviation \[s\], where it is reported.
    pub std: Option<Rounded>,
    /// What they mean by CV, where that is known.
    pub definition: Option<CvDefinition>,
}

impl Figures {
    /// Those of a published row, rounded as far as their digits tell.
    pub fn of_published(row: &Published) -> Self {
        Self {
            median: Rounded::shortest(row.ttft_median_s),
            p95: Rounded::shortest(row.ttft_p95_s),
            cv_percent: Rounded::shortest(row.cv_percent),
            max: None,
            std: row.ttft_std_s.map(Rounded::shortest),
            definition: None,
        }
    }
}

/// One request, measured or simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shot {
    /// How it ended.
    pub outcome: Outcome,
    /// From being sent to its first token, of a success \[s\].
    pub ttft_s: Option<f64>,
    /// From being sent to its end, of a success \[s\]; `None` where only the first token is known.
    pub latency_s: Option<f64>,
    /// From one token to the next, of a success \[s\].
    pub per_token_s: Option<f64>,
    /// From the end of the answer before to being sent \[s\]; `None` for the first, and where no times are known.
    pub gap_s: Option<f64>,
    /// Requests of the same series under way when it was sent.
    pub under_way: usize,
    /// Whether it met a cold start, where that is known.
    pub cold: Option<bool>,
}

/// A setting of the nuisance values: those that belong to a report and not to the scenario.
#[derive(Clone, Copy, Debug, Default)]
struct Nuisance {
    requests: Option<u32>,
    definition: Option<CvDefinition>,
}

/// What a measurement of one series gave.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The requests.
    pub shots: Vec<Shot>,
    /// What its report means by CV.
    pub definition: CvDefinition,
}

/// Makes the plan of a scenario with its free values at some texts; `None` where the scenario forbids them.
pub type Maker<'a> = dyn Fn(&[String]) -> Option<Plan> + Sync + 'a;

/// What can be simulated: the series as measured, at any setting of the free values.
#[derive(Clone, Copy)]
pub struct Simulator<'a> {
    /// The free values.
    pub free: &'a [Free],
    /// What was measured.
    pub series: &'a [Series],
    /// Makes plans.
    pub maker: &'a Maker<'a>,
}

impl std::fmt::Debug for Simulator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulator")
            .field("free", &self.free)
            .finish_non_exhaustive()
    }
}

impl Simulator<'_> {
    /// Makes every series at places of `[0, 1)`, with the random numbers of a replication.
    pub fn run(&self, places: &[f64], replication: u64) -> Option<Vec<Seen>> {
        self.run_as(self.series, places, replication)
    }

    /// The same with other benchmarks.
    pub fn run_as(&self, series: &[Series], places: &[f64], replication: u64) -> Option<Vec<Seen>> {
        let mut plan = (self.maker)(&self.texts(places))?;
        let nuisance = self.nuisance(places);
        let requests = |one: &Series| nuisance.requests.unwrap_or(one.protocol.requests);
        plan.sessions = series
            .iter()
            .map(|one| Session {
                name: one.name.clone(),
                at: one.at,
                requests: requests(one),
            })
            .collect();
        let seen = series.iter().enumerate().map(|(session, one)| {
            plan.benchmark = one.protocol.clone();
            plan.providers[one.provider].benchmarked = vec![one.deployment];
            let which = Run {
                provider: one.provider,
                session,
                replication,
            };
            let result = run(&plan, which, Keep::default());
            let known = match one.data {
                Data::Figures(figures) => figures.definition,
                Data::Requests(_) => None,
            };
            Seen {
                shots: shots(&result.lanes[0].observations(), true, one.is_from_due),
                definition: nuisance.definition.or(known).unwrap_or_default(),
            }
        });
        Some(seen.collect())
    }

    /// The scenario's values at these places, as `--set` takes them.
    pub fn texts(&self, places: &[f64]) -> Vec<String> {
        let in_scenario = |free: &Free| matches!(free.place, Place::Path(_));
        let pairs = self.free.iter().zip(places);
        pairs
            .filter(|(free, _)| in_scenario(free))
            .map(|(free, at)| free.text(*at))
            .collect()
    }

    fn nuisance(&self, places: &[f64]) -> Nuisance {
        let mut nuisance = Nuisance::default();
        for (free, &at) in self.free.iter().zip(places) {
            match free.place {
                Place::Path(_) => {}
                Place::Requests => nuisance.requests = Some(free.number(at) as u32),
                Place::CvDefinition => {
                    nuisance.definition = Some(CvDefinition::ALL[free.number(at) as usize]);
                }
            }
        }
        nuisance
    }
}

/// Requests of a file, in order of time.
pub fn measured(rows: &[Row]) -> Vec<Shot> {
    let is_timed = rows.iter().all(|row| row.is_timed);
    let seen: Vec<(Observation, Option<bool>)> =
        rows.iter().map(|row| (row.seen, row.cold)).collect();
    // In a file both are one instant: whichever it has.
    shots(&seen, is_timed, false)
}

/// Observations in order of time as a calibration compares them, all spans from the same instant as those of the measurement.
fn shots(seen: &[(Observation, Option<bool>)], is_timed: bool, is_from_due: bool) -> Vec<Shot> {
    let reached = seen
        .iter()
        .filter(|(one, _)| one.outcome() != Outcome::ClientFault);
    let mut shots = Vec::with_capacity(seen.len());
    let mut ends: Vec<Time> = Vec::with_capacity(seen.len());
    for (one, cold) in reached {
        let begun = if is_from_due { one.due() } else { one.sent() };
        let last = ends.iter().max().filter(|_| is_timed);
        let under_way = ends.iter().filter(|&&end| end > begun).count();
        shots.push(Shot {
            gap_s: last.map(|end| begun.saturating_since(*end).as_secs()),
            under_way: if is_timed { under_way } else { 0 },
            cold: *cold,
            ..shot(one, begun)
        });
        ends.push(one.end());
    }
    shots
}

fn shot(one: &Observation, begun: Time) -> Shot {
    let first = one.first_token().filter(|_| one.succeeded());
    let tokens = one.output_tokens();
    let decode = first.map(|first| one.end().since(first).as_secs());
    // A file that knows no ends gives the first token's.
    let decode = decode.filter(|span| *span > 0.0);
    let ttft_s = first.map(|first| first.since(begun).as_secs());
    Shot {
        outcome: one.outcome(),
        ttft_s,
        latency_s: ttft_s.zip(decode).map(|(ttft, decode)| ttft + decode),
        per_token_s: decode
            .filter(|_| tokens > 1)
            .map(|span| span / f64::from(tokens - 1)),
        gap_s: None,
        under_way: 0,
        cold: None,
    }
}

/// The benchmark as it was made, on top of the scenario's own.
///
/// Where a file tells when requests were due and not when they were sent, the client's own limit stays the scenario's.
pub fn protocol_of(
    rows: &[Row],
    scenario: &Protocol,
    discarded: u32,
    is_from_due: bool,
) -> Protocol {
    let reached: Vec<&Row> = rows
        .iter()
        .filter(|row| row.seen.outcome() != Outcome::ClientFault)
        .collect();
    let mut protocol = Protocol {
        requests: reached.len() as u32,
        discard: discarded,
        timeout: waited(&reached).or(scenario.timeout),
        ..scenario.clone()
    };
    if reached.iter().any(|row| !row.is_timed) {
        return protocol;
    }
    protocol.jitter = Duration::ZERO;
    let pairs = reached.windows(2);
    let overlap = pairs
        .clone()
        .any(|pair| pair[1].seen.sent() < pair[0].seen.end());
    if overlap {
        let start = reached.first().map_or(Time::ZERO, |row| row.seen.sent());
        let offsets = reached.iter().map(|row| row.seen.sent().since(start));
        protocol.gaps = GapPlan::At(offsets.collect());
        if !is_from_due {
            protocol.concurrency = u32::MAX;
        }
        // When those before were sent is not known.
        protocol.discard = 0;
    } else {
        let gaps = pairs.map(|pair| pair[1].seen.sent().since(pair[0].seen.end()));
        let gaps: Vec<Duration> = gaps.collect();
        protocol.concurrency = 1;
        protocol.gaps = match gaps.first() {
            Some(_) => GapPlan::Ladder(gaps),
            None => GapPlan::Fixed(Duration::ZERO),
        };
    }
    protocol
}

/// How long the client waited for a first token, if it ever gave up.
fn waited(rows: &[&Row]) -> Option<Duration> {
    let given_up = rows
        .iter()
        .filter(|row| row.seen.outcome() == Outcome::TimedOut);
    let spans = given_up.map(|row| row.seen.end().since(row.seen.sent()));
    spans.filter(|span| *span > Duration::ZERO).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::detect::Signs;
    use crate::request::{EndpointId, RequestId};

    fn row(sent: f64, ttft: f64, end: f64) -> Row {
        let at = Time::from_secs;
        let (id, to) = (RequestId(1), EndpointId(0));
        let first = Some(at(sent + ttft));
        Row {
            seen: Observation::new(
                id,
                to,
                at(sent),
                at(sent),
                first,
                at(end),
                11,
                Outcome::Succeeded,
            ),
            cold: None,
            hour: None,
            is_timed: true,
            signs: Signs::default(),
        }
    }

    fn scenario() -> Protocol {
        Protocol {
            requests: 75,
            discard: 1,
            concurrency: 1,
            gaps: GapPlan::Fixed(Duration::from_secs(5.0)),
            jitter: Duration::ZERO,
            prompt_tokens: 64,
            output_tokens: 64,
            timeout: None,
        }
    }

    #[test]
    fn gaps_are_counted_from_the_answer_before() {
        let rows = [
            row(0.0, 0.5, 2.5),
            row(12.5, 0.5, 14.5),
            row(34.5, 1.0, 36.5),
        ];
        let made = protocol_of(&rows, &scenario(), 2, false);
        let gaps = [10.0, 20.0].map(Duration::from_secs).to_vec();
        assert_eq!(made.gaps, GapPlan::Ladder(gaps));
        assert_eq!((made.requests, made.discard, made.concurrency), (3, 2, 1));
        let shots = measured(&rows);
        assert_eq!(shots[2].gap_s, Some(20.0));
        assert_eq!(shots[0].per_token_s, Some(0.2));
        assert_eq!(shots[0].latency_s, Some(2.5));
    }

    #[test]
    fn requests_that_overlap_are_sent_at_their_instants() {
        let rows = [row(10.0, 0.5, 12.0), row(11.0, 0.5, 13.0)];
        let made = protocol_of(&rows, &scenario(), 1, false);
        let at = [0.0, 1.0].map(Duration::from_secs).to_vec();
        assert_eq!(made.gaps, GapPlan::At(at));
        assert_eq!((made.discard, made.concurrency), (0, u32::MAX));
        assert_eq!(measured(&rows)[1].under_way, 1);
    }
}
