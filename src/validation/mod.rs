//! The validation suite: scenarios whose answer is known, and whether simulating them gives it.
//!
//! A [`Case`] holds the text of a scenario, what theory says of it ([`crate::theory`]) with the source, and what to read off a
//! run. A simulated figure is the mean over independent replications with Student's t interval at 99.9 %; the closed form must
//! lie inside. An interval so wide that it could not fail proves nothing: its half-width must also stay below a stated share
//! of the value. Figures without chance (arithmetic, statistics of given numbers) must agree up to a stated rounding.
//!
//! The cases are those of `reference/oracles.json`, under its names; what has no oracle stands in [`UNPROVEN`].

mod batches;
mod keep_alive;
mod observed;
mod pools;
mod queues;
mod samples;
mod unproven;

pub use unproven::{UNPROVEN, Unproven};

use crate::experiment::{Keep, Plan, Run, run};
use crate::scenario::{self, Overrides};
use crate::stats::{Estimate, Sample};
use observed::Observed;
use rayon::prelude::*;

/// The probability with which an interval holds a true closed form.
pub const CONFIDENCE: f64 = 0.999;
/// The seed of the suite, at which every case holds.
pub const SEED: u64 = 20;
/// Half-width that an interval may have, as a share of the value, unless its claim says otherwise. Runs are so long that it is
/// about three quarters of that, so that other seeds do not exceed it either.
const PRECISION: f64 = 0.04;

/// A system with a known answer.
#[derive(Debug)]
pub struct Case {
    /// Its name in `reference/oracles.json`.
    pub id: &'static str,
    /// The system.
    pub title: &'static str,
    /// The closed form.
    pub formula: &'static str,
    /// Where that comes from.
    pub source: &'static str,
    /// What else one must know.
    pub note: &'static str,
    evidence: Evidence,
}

/// How a case is held against theory.
#[derive(Debug)]
enum Evidence {
    /// A scenario, run many times.
    Simulated(Simulated),
    /// Figures without chance.
    Computed(fn() -> Vec<Computed>),
}

/// A scenario and what theory says of it.
#[derive(Debug)]
struct Simulated {
    scenario: String,
    replications: u64,
    claims: Vec<Claim>,
}

/// What theory says of one figure, and how it is read off a run.
#[derive(Debug)]
struct Claim {
    metric: &'static str,
    theory: f64,
    read: fn(&Observed) -> f64,
    precision: f64,
}

/// A figure that theory and the program compute, each in its own way.
#[derive(Clone, Copy, Debug)]
struct Computed {
    metric: &'static str,
    theory: f64,
    found: f64,
    /// How far rounding may move it.
    tolerance: f64,
}

/// What came of a case.
#[derive(Debug)]
pub struct Checked<'a> {
    /// The case.
    pub case: &'a Case,
    /// Its figures.
    pub figures: Vec<Figure>,
}

/// A figure beside its closed form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Its name in `reference/oracles.json`.
    pub metric: &'static str,
    /// The closed form.
    pub theory: f64,
    /// The mean over replications, or what was computed.
    pub found: f64,
    /// The ends of the interval of a simulated figure; for a computed one, what rounding allows.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Whether chance has a part in it.
    pub is_simulated: bool,
    /// Whether theory and simulation agree.
    pub verdict: Verdict,
}

/// Whether theory and simulation agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The closed form lies in the interval.
    Holds,
    /// It does not.
    Differs,
    /// It does, but the interval is too wide to prove anything.
    TooWide,
}

impl Verdict {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::TooWide => "too wide",
        }
    }
}

impl Case {
    /// The scenario's text, if the case is one.
    pub fn scenario(&self) -> Option<&str> {
        match &self.evidence {
            Evidence::Simulated(simulated) => Some(&simulated.scenario),
            Evidence::Computed(_) => None,
        }
    }

    /// How many replications stand behind its figures; none where chance has no part.
    pub fn replications(&self) -> u64 {
        match &self.evidence {
            Evidence::Simulated(simulated) => simulated.replications,
            Evidence::Computed(_) => 0,
        }
    }

    /// What theory says of each figure, without simulating it.
    pub fn stated(&self) -> Vec<(&'static str, f64)> {
        match &self.evidence {
            Evidence::Simulated(simulated) => {
                let claims = simulated.claims.iter();
                claims.map(|claim| (claim.metric, claim.theory)).collect()
            }
            Evidence::Computed(compute) => {
                let figures = compute().into_iter();
                figures.map(|one| (one.metric, one.theory)).collect()
            }
        }
    }

    fn plan(&self, seed: u64) -> Option<Plan> {
        let overrides = Overrides {
            seed: Some(seed),
            ..Overrides::default()
        };
        let loaded = scenario::load(self.id, self.scenario()?, &overrides);
        let (plan, _) = loaded.unwrap_or_else(|problems| panic!("{}: {problems}", self.id));
        Some(plan)
    }
}

impl Checked<'_> {
    /// Whether all its figures hold.
    pub fn holds(&self) -> bool {
        let mut figures = self.figures.iter();
        figures.all(|figure| figure.verdict == Verdict::Holds)
    }
}

/// All cases: queues, starts and keep-alive, batches, shared GPUs, statistics.
pub fn cases() -> Vec<Case> {
    let parts = [
        queues::cases(),
        keep_alive::cases(),
        batches::cases(),
        pools::cases(),
        samples::cases(),
    ];
    parts.into_iter().flatten().collect()
}

/// Checks cases on all cores of the present pool. `progress` hears of every replication that ends, from any thread.
pub fn check<'a>(cases: &[&'a Case], seed: u64, progress: &(dyn Fn() + Sync)) -> Vec<Checked<'a>> {
    let plans: Vec<Option<Plan>> = cases.iter().map(|case| case.plan(seed)).collect();
    let jobs: Vec<(usize, u64)> = (0..cases.len())
        .flat_map(|index| (0..cases[index].replications()).map(move |number| (index, number)))
        .collect();
    let found: Vec<Vec<f64>> = jobs
        .par_iter()
        .map(|&(index, replication)| {
            let read = replicate(cases[index], plans[index].as_ref(), replication);
            progress();
            read
        })
        .collect();
    let mut found = found.into_iter();
    let judged = |case: &&'a Case| Checked {
        figures: case.judge(&mut found),
        case,
    };
    cases.iter().map(judged).collect()
}

/// The figures of one replication, in the order of the claims.
fn replicate(case: &Case, plan: Option<&Plan>, replication: u64) -> Vec<f64> {
    let (Evidence::Simulated(simulated), Some(plan)) = (&case.evidence, plan) else {
        return Vec::new();
    };
    let (provider, session) = (0, 0);
    let which = Run {
        provider,
        session,
        replication,
    };
    let keep = Keep {
        everybody: true,
        replicas: false,
    };
    let observed = Observed::new(run(plan, which, keep));
    let read = |claim: &Claim| (claim.read)(&observed);
    simulated.claims.iter().map(read).collect()
}

impl Case {
    /// Judges what the next replications found.
    fn judge(&self, found: &mut impl Iterator<Item = Vec<f64>>) -> Vec<Figure> {
        match &self.evidence {
            Evidence::Simulated(simulated) => {
                let rows: Vec<Vec<f64>> = found.take(simulated.replications as usize).collect();
                let values = |index: usize| rows.iter().map(|row| row[index]).collect();
                let claims = simulated.claims.iter().enumerate();
                claims
                    .map(|(index, claim)| claim.judge(values(index)))
                    .collect()
            }
            Evidence::Computed(compute) => compute().into_iter().map(Computed::judge).collect(),
        }
    }
}

impl Claim {
    /// # Panics
    /// If a figure is not finite or there is only one: the case is wrong.
    fn judge(&self, values: Vec<f64>) -> Figure {
        let sample = Sample::new(values).unwrap_or_else(|| panic!("{}: no figure", self.metric));
        let interval = Estimate::of_mean(&sample, CONFIDENCE).interval;
        let interval = interval.expect("several replications");
        let verdict = if !interval.contains(self.theory) {
            Verdict::Differs
        } else if interval.half_width() > self.precision * self.theory.abs() {
            Verdict::TooWide
        } else {
            Verdict::Holds
        };
        Figure {
            metric: self.metric,
            theory: self.theory,
            found: sample.mean(),
            low: interval.low,
            high: interval.high,
            is_simulated: true,
            verdict,
        }
    }

    /// The same with another share of the value as the largest half-width.
    fn within(self, precision: f64) -> Self {
        Self { precision, ..self }
    }
}

impl Computed {
    fn judge(self) -> Figure {
        let is_near = (self.found - self.theory).abs() <= self.tolerance;
        Figure {
            metric: self.metric,
            theory: self.theory,
            found: self.found,
            low: self.found - self.tolerance,
            high: self.found + self.tolerance,
            is_simulated: false,
            verdict: if is_near {
                Verdict::Holds
            } else {
                Verdict::Differs
            },
        }
    }
}

/// A figure without chance.
fn computed(metric: &'static str, theory: f64, found: f64, tolerance: f64) -> Computed {
    Computed {
        metric,
        theory,
        found,
        tolerance,
    }
}

/// A claim with the usual precision.
fn claim(metric: &'static str, theory: f64, read: fn(&Observed) -> f64) -> Claim {
    Claim {
        metric,
        theory,
        read,
        precision: PRECISION,
    }
}

/// A scenario of one deployment without a benchmark.
fn fleet(warm_up: &str, horizon: &str, deployment: &str) -> String {
    format!(
        "time = {{ warm_up = \"{warm_up}\", horizon = \"{horizon}\" }}\nbenchmark = {{ requests = 0, discard = 0 }}\n\n\
         [providers.p.deployments.m]\n{deployment}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(theory: f64, values: &[f64]) -> Verdict {
        claim("EW", theory, |_| 0.0).judge(values.to_vec()).verdict
    }

    #[test]
    fn a_planted_error_is_found_and_a_wide_interval_proves_nothing() {
        // Student's t at 99.9 % with 4 degrees of freedom is 8.61: half-widths 0.061 and 0.61.
        let narrow = [3.98, 3.99, 4.0, 4.01, 4.02];
        assert_eq!(verdict(4.0, &narrow), Verdict::Holds);
        assert_eq!(verdict(4.1, &narrow), Verdict::Differs);
        let wide = [3.8, 3.9, 4.0, 4.1, 4.2];
        assert_eq!(verdict(4.0, &wide), Verdict::TooWide);
        let computed = |found| Computed {
            metric: "mean",
            theory: 1.0,
            found,
            tolerance: 1e-9,
        };
        assert_eq!(computed(1.0 + 5e-10).judge().verdict, Verdict::Holds);
        assert_eq!(computed(1.0 + 5e-9).judge().verdict, Verdict::Differs);
    }

    #[test]
    fn a_planted_error_in_a_scenario_is_found() {
        let mut case = cases()
            .into_iter()
            .find(|case| case.id == "K02_ample_setup_det")
            .expect("the case is there");
        let Evidence::Simulated(simulated) = &mut case.evidence else {
            panic!("it is simulated");
        };
        let right = simulated.scenario.clone();
        // A keep-alive that counts from the start of the last request, as in a known bug of another simulator.
        simulated.scenario = right.replace("keep_alive = \"60s\"", "keep_alive = \"58s\"");
        assert_ne!(simulated.scenario, right);
        let checked = check(&[&case], SEED, &|| ());
        assert!(!checked[0].holds(), "{:?}", checked[0].figures);
    }

    #[test]
    fn names_are_unique() {
        let cases = cases();
        let mut ids: Vec<&str> = cases.iter().map(|case| case.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), cases.len());
    }
}
