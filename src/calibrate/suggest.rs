//! Which measurement next: the gap plan that is expected to narrow the free values most.
//!
//! Every plan is simulated at the same settings, drawn from what is known so far, with the same random numbers. Some of these
//! simulations then stand for the truth, one after the other; from each the values are inferred as the last round of a search does,
//! with the others as its table. The widths that come out, averaged over the truths, are what the plan lets expect. Preposterior
//! analysis of a Bayesian design (Chaloner & Verdinelli 1995, Stat. Sci. 10:273), by simulation.
//!
//! First all plans are looked at roughly, then the neighbours of the best, then the best of all finely, the best constant gap
//! among them.
//!
//! Invariant: a plan's figures depend on the seed and the budget alone, not on the other plans or on threads. Cold starts are taken
//! to be recognised, as they are where they take many times longer than a warm answer.

use rand::RngExt as _;
use rayon::prelude::*;

use super::design::{KeepAlive, designs, neighbours};
use super::distance::Lens;
use super::free::{Free, Place};
use super::observed::{Data, Maker, Series, Simulator};
use super::posterior::{Draw, Posterior, quantile};
use super::search::{Compass, Impossible, Simulated, answer};
use crate::measure::protocol::{GapPlan, Protocol};
use crate::streams::Streams;
use crate::time::Duration;

/// Replications apart from those of search and check.
const FIRST_REPLICATION: u64 = 1 << 42;
/// A first look at a plan takes this share of the budget.
const LOOK: u64 = 40;
/// A close one takes this.
const CLOSE: u64 = 5;
/// So many plans have their neighbours looked at.
const BEST: usize = 2;
/// So many plans are looked at closely, the best constant gap beside them.
const FINALISTS: usize = 5;
/// At most so many simulations of a plan stand for the truth.
const TRUTHS: usize = 60;
/// This share of a plan's simulations is kept for an answer.
const KEEP: f64 = 0.15;
/// But so many at least.
const KEEP_LEAST: usize = 60;
/// What is narrower than this share of the range is known.
const KNOWN: f64 = 1e-4;
/// Settings by which the keep-alive is looked up.
const LOOKED_UP: usize = 200;

/// What is asked.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The free values; those of a report have no part in a new measurement.
    pub free: &'a [Free],
    /// Makes plans of the scenario.
    pub maker: &'a Maker<'a>,
    /// What is known; `None` before anything is measured.
    pub posterior: Option<&'a Posterior>,
    /// Index of the provider.
    pub provider: usize,
    /// Index of the deployment.
    pub deployment: u32,
    /// When it will be measured, from Monday 00:00.
    pub at: Duration,
    /// The benchmark, whatever its gaps: as many requests as are to be sent.
    pub protocol: &'a Protocol,
    /// The longest that it may last by its gaps.
    pub within: Option<Duration>,
    /// The root of all randomness.
    pub seed: u64,
    /// How many simulations a calibration has; this takes about twice as many.
    pub simulations: u64,
}

impl std::fmt::Debug for Question<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question")
            .field("free", &self.free)
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

/// Plans, the best first.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// The free values of the scenario.
    pub free: Vec<Free>,
    /// How open each of them is now.
    pub now: Vec<f64>,
    /// What was looked at closely.
    pub plans: Vec<Expected>,
    /// Plans looked at.
    pub considered: usize,
    /// Simulations made.
    pub simulations: u64,
}

/// What a plan lets expect.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The plan.
    pub gaps: GapPlan,
    /// How long it takes on average \[s\].
    pub lasts_s: f64,
    /// How open each value will be: of a number the width of its 90 % interval as a share of its range, of a choice the
    /// probability that two draws differ.
    pub open: Vec<f64>,
    /// By what factor the values get narrower, the geometric mean over them.
    pub narrower: f64,
}

/// Simulations of a plan at a first look and at a close one.
fn looks(budget: u64) -> (u64, u64) {
    ((budget / LOOK).max(20), (budget / CLOSE).max(100))
}

/// So many simulations are made at most, where a calibration has so many.
pub fn most_simulations(budget: u64) -> u64 {
    /// A few more than there are.
    const PLANS: u64 = 45;
    let (look, close) = looks(budget);
    PLANS * look + (FINALISTS as u64 + 1) * close
}

/// Plans of the question, the best first; none where no plan is short enough. `progress` hears of every simulation.
pub fn suggest(
    question: &Question<'_>,
    progress: &(dyn Fn() + Sync),
) -> Result<Suggestion, Impossible> {
    let inquiry = Inquiry::of(question);
    let most = question.within.map(Duration::as_secs);
    let requests = question.protocol.requests;
    let (look, close) = looks(question.simulations);
    let looked_at = |plans: Vec<GapPlan>| -> Result<Vec<Expected>, Impossible> {
        let all = plans
            .into_iter()
            .map(|gaps| inquiry.expected(gaps, look, progress));
        all.collect()
    };
    let mut all = looked_at(designs(inquiry.keep_alive()?, requests, most))?;
    rank(&mut all);
    let near = all
        .iter()
        .take(BEST)
        .flat_map(|best| neighbours(&best.gaps, requests, most));
    let mut new: Vec<GapPlan> = Vec::new();
    for plan in near {
        if !new.contains(&plan) && all.iter().all(|one| one.gaps != plan) {
            new.push(plan);
        }
    }
    all.extend(looked_at(new)?);
    rank(&mut all);
    let is_constant = |one: &&Expected| matches!(one.gaps, GapPlan::Fixed(_));
    let mut finalists: Vec<&Expected> = all.iter().take(FINALISTS).collect();
    if !finalists.iter().any(is_constant) {
        finalists.extend(all.iter().find(is_constant));
    }
    let plans = finalists
        .iter()
        .map(|one| inquiry.expected(one.gaps.clone(), close, progress));
    let mut plans: Vec<Expected> = plans.collect::<Result<_, _>>()?;
    rank(&mut plans);
    Ok(Suggestion {
        now: inquiry.now(close),
        simulations: look * all.len() as u64 + close * plans.len() as u64,
        considered: all.len(),
        free: inquiry.free,
        plans,
    })
}

fn rank(plans: &mut [Expected]) {
    plans.sort_by(|a, b| b.narrower.total_cmp(&a.narrower));
}

/// A question made ready.
struct Inquiry<'a> {
    question: &'a Question<'a>,
    /// The free values of the scenario.
    free: Vec<Free>,
    /// Their indices among all that were free.
    kept: Vec<usize>,
}

impl<'a> Inquiry<'a> {
    fn of(question: &'a Question<'a>) -> Self {
        let in_scenario = |&index: &usize| matches!(question.free[index].place, Place::Path(_));
        let kept: Vec<usize> = (0..question.free.len()).filter(in_scenario).collect();
        Self {
            free: kept
                .iter()
                .map(|&index| question.free[index].clone())
                .collect(),
            kept,
            question,
        }
    }

    /// Settings as probable as what is known makes them.
    fn settings(&self, count: u64) -> Vec<Vec<f64>> {
        let Some(posterior) = self.question.posterior else {
            let place = |number: u64| {
                let mut stream = Streams::new(self.question.seed, number).stream("suggest/places");
                self.kept.iter().map(|_| stream.random()).collect()
            };
            return (0..count).map(place).collect();
        };
        let drawn = posterior.resampled(count as usize);
        let of = |places: &[f64]| self.kept.iter().map(|&index| places[index]).collect();
        drawn.into_iter().map(of).collect()
    }

    /// How open each value is now.
    fn now(&self, count: u64) -> Vec<f64> {
        let draws = self.settings(count).into_iter().map(|places| Draw {
            places,
            weight: 1.0,
        });
        open(&self.free, &draws.collect::<Vec<Draw>>())
    }

    /// What is known of the keep-alive; what is usual where there is none.
    fn keep_alive(&self) -> Result<KeepAlive, Impossible> {
        let question = self.question;
        let settings = self.settings(LOOKED_UP as u64);
        let plan = |places: &Vec<f64>| {
            let texts: Vec<String> = self
                .free
                .iter()
                .zip(places)
                .map(|(free, at)| free.text(*at))
                .collect();
            (question.maker)(&texts)
        };
        let plans: Vec<_> = settings.par_iter().filter_map(plan).collect();
        if plans.len() * 10 < LOOKED_UP {
            let impossible = (LOOKED_UP - plans.len()) as u64;
            let tried = LOOKED_UP as u64;
            return Err(Impossible { impossible, tried });
        }
        let span = |plan: &crate::experiment::Plan| {
            plan.keep_alive_s(question.provider, question.deployment)
        };
        let spans: Vec<f64> = plans.iter().filter_map(span).collect();
        if spans.is_empty() {
            return Ok(KeepAlive::default());
        }
        let at = |p| quantile(spans.iter().map(|span| (*span, 1.0)), p);
        let (low, high) = (at(0.05), at(0.95));
        // A keep-alive that is known has a bracket all the same.
        let wide = high > 1.1 * low;
        Ok(KeepAlive {
            low: if wide { low } else { low / 1.5 },
            quarter: if wide { at(0.25) } else { low / 1.1 },
            middle: at(0.5),
            three_quarters: if wide { at(0.75) } else { high * 1.1 },
            high: if wide { high } else { high * 1.5 },
        })
    }

    /// What a plan lets expect, by so many simulations.
    fn expected(
        &self,
        gaps: GapPlan,
        count: u64,
        progress: &(dyn Fn() + Sync),
    ) -> Result<Expected, Impossible> {
        let table = self.simulated(&gaps, count, progress);
        if table.len() * 10 < count as usize || table.is_empty() {
            let impossible = count - table.len() as u64;
            return Err(Impossible {
                impossible,
                tried: count,
            });
        }
        let truths = TRUTHS.min(table.len());
        let rows: Vec<&Simulated> = table.iter().map(|(one, _)| one).collect();
        // Which one it is aimed at comes later.
        let compass = Compass::of(&self.free, &rows, &rows[0].statistics);
        let kept = ((rows.len() as f64 * KEEP) as usize).max(KEEP_LEAST);
        let infer = |number: usize| {
            let truth = number * rows.len() / truths;
            let pool = [&rows[..truth], &rows[truth + 1..]].concat();
            let compass = compass.aimed(&rows[truth].statistics);
            open(&self.free, &answer(&self.free, &compass, &pool, kept))
        };
        let opens: Vec<Vec<f64>> = (0..truths).into_par_iter().map(infer).collect();
        let mean = |(index, free): (usize, &Free)| {
            let values = opens.iter().map(|open| open[index]);
            let count = truths as f64;
            match free.choices() {
                None => (values.map(f64::ln).sum::<f64>() / count).exp(),
                Some(_) => values.sum::<f64>() / count,
            }
        };
        let open: Vec<f64> = self.free.iter().enumerate().map(mean).collect();
        let now = self.now(count);
        let factor: f64 = now
            .iter()
            .zip(&open)
            .map(|(now, then)| (now / then).ln())
            .sum();
        Ok(Expected {
            lasts_s: table.iter().map(|(_, lasts)| lasts).sum::<f64>() / table.len() as f64,
            narrower: (factor / open.len() as f64).exp(),
            gaps,
            open,
        })
    }

    /// Simulations of a plan, and how long each took \[s\]; those left out that the scenario forbids.
    fn simulated(
        &self,
        gaps: &GapPlan,
        count: u64,
        progress: &(dyn Fn() + Sync),
    ) -> Vec<(Simulated, f64)> {
        let question = self.question;
        let mut series = Series {
            name: "next".to_owned(),
            provider: question.provider,
            deployment: question.deployment,
            at: question.at,
            protocol: Protocol {
                gaps: gaps.clone(),
                ..question.protocol.clone()
            },
            is_from_due: false,
            data: Data::Requests(Vec::new()),
        };
        let simulator = Simulator {
            free: &self.free,
            series: std::slice::from_ref(&series),
            maker: question.maker,
        };
        let one = |(number, places): (usize, Vec<f64>)| {
            let seen = simulator.run(&places, FIRST_REPLICATION + number as u64);
            progress();
            Some((places, seen?.remove(0)))
        };
        let settings = self.settings(count).into_par_iter().enumerate();
        let seen: Vec<_> = settings.filter_map(one).collect();
        let Some((_, first)) = seen.first() else {
            return Vec::new();
        };
        series.data = Data::Requests(first.shots.clone());
        let lens = Lens::of(&series);
        let row = |(places, seen): &(Vec<f64>, super::observed::Seen)| {
            let statistics = lens.statistics(seen);
            let span = |shot: &super::observed::Shot| {
                shot.gap_s.unwrap_or(0.0) + shot.latency_s.or(shot.ttft_s).unwrap_or(0.0)
            };
            let places = places.clone();
            (
                Simulated { places, statistics },
                seen.shots.iter().map(span).sum(),
            )
        };
        seen.par_iter().map(row).collect()
    }
}

/// How open each value is under some draws.
fn open(free: &[Free], draws: &[Draw]) -> Vec<f64> {
    let total: f64 = draws.iter().map(|draw| draw.weight).sum();
    let of = |(index, free): (usize, &Free)| {
        let values = || draws.iter().map(|draw| (draw.places[index], draw.weight));
        let Some(count) = free.choices() else {
            return (quantile(values(), 0.95) - quantile(values(), 0.05)).max(KNOWN);
        };
        let mut shares = vec![0.0; count];
        for (place, weight) in values() {
            shares[((place * count as f64) as usize).min(count - 1)] += weight / total;
        }
        (1.0 - shares.iter().map(|share| share * share).sum::<f64>()).max(KNOWN)
    };
    free.iter().enumerate().map(of).collect()
}
