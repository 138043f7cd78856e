//! One hidden truth, measured twice: at a constant gap, and as `calibrate --suggest` says.
//!
//! The truth is a setting of a scenario's free values. Both measurements send as many requests, and both are calibrated to alike.
//! The suggested one is made in parts, as a user would: each part's gaps are suggested by what the parts before told, the first
//! by what the scenario allows.

use thermocline::calibrate::free::{Free, Place};
use thermocline::calibrate::observed::{Data, Series, Simulator};
use thermocline::calibrate::posterior::Posterior;
use thermocline::calibrate::search::search;
use thermocline::calibrate::suggest::{Question, suggest};
use thermocline::experiment::Plan;
use thermocline::measure::protocol::{GapPlan, Protocol};
use thermocline::scenario::{self, Overrides};

/// A scenario with free values.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    name: &'a str,
    text: &'a str,
    /// As it stands.
    pub(crate) plan: Plan,
    /// What is free.
    pub(crate) free: Vec<Free>,
}

/// How a truth is measured and inferred.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Simulations of each calibration.
    pub(crate) simulations: u64,
    /// Which random numbers the measurement meets.
    pub(crate) replication: u64,
}

impl<'a> Subject<'a> {
    /// Of a scenario's text.
    pub(crate) fn new(name: &'a str, text: &'a str) -> Self {
        let loaded = scenario::load_with_free(name, text, &Overrides::default());
        let (plan, free, _) = loaded.unwrap_or_else(|error| panic!("{error}"));
        Self {
            name,
            text,
            plan,
            free,
        }
    }

    /// The index of a free value.
    pub(crate) fn index(&self, name: &str) -> usize {
        let found = self.free.iter().position(|free| free.name == name);
        found.unwrap_or_else(|| panic!("{name} is not free"))
    }

    /// The scenario with its free values at some texts.
    pub(crate) fn at(&self, values: &[String]) -> Option<Plan> {
        let pairs = self.free.iter().zip(values);
        let set = pairs.map(|(free, value)| match &free.place {
            Place::Path(path) => format!("{path}={value}"),
            other => unreachable!("{other:?} is in no scenario"),
        });
        let overrides = Overrides {
            set: set.collect(),
            ..Overrides::default()
        };
        let loaded = scenario::load(self.name, self.text, &overrides).ok();
        loaded.map(|(plan, _)| plan)
    }

    /// What a truth shows to some requests.
    fn measured(&self, truth: &[f64], requests: u32, gaps: GapPlan, replication: u64) -> Series {
        let mut series = Series {
            name: "measured".to_owned(),
            provider: 0,
            deployment: 0,
            at: self.plan.sessions[0].at,
            protocol: Protocol {
                requests,
                gaps,
                ..self.plan.benchmark.clone()
            },
            is_from_due: false,
            data: Data::Requests(Vec::new()),
        };
        let make = |values: &[String]| self.at(values);
        let simulator = Simulator {
            free: &self.free,
            series: std::slice::from_ref(&series),
            maker: &make,
        };
        let seen = simulator.run(truth, replication).expect("a valid scenario");
        let shots = seen.into_iter().flat_map(|seen| seen.shots).collect();
        series.data = Data::Requests(shots);
        series
    }

    /// What some measurements tell.
    fn told(&self, series: &[Series], simulations: u64) -> Posterior {
        let make = |values: &[String]| self.at(values);
        let simulator = Simulator {
            free: &self.free,
            series,
            maker: &make,
        };
        search(&simulator, self.plan.seed, simulations, &|_| ()).expect("valid settings")
    }

    /// What the best plan is for so many requests, given what is known.
    fn suggested(&self, known: Option<&Posterior>, requests: u32, simulations: u64) -> GapPlan {
        let protocol = Protocol {
            requests,
            ..self.plan.benchmark.clone()
        };
        let make = |values: &[String]| self.at(values);
        let question = Question {
            free: &self.free,
            maker: &make,
            posterior: known,
            provider: 0,
            deployment: 0,
            at: self.plan.sessions[0].at,
            protocol: &protocol,
            within: None,
            seed: self.plan.seed,
            simulations,
        };
        let found = suggest(&question, &|| ()).expect("valid settings");
        found.plans[0].gaps.clone()
    }

    /// What requests tell of a truth that are spread by one plan.
    pub(crate) fn with_gaps(
        &self,
        truth: &[f64],
        requests: u32,
        gaps: GapPlan,
        effort: Effort,
    ) -> Posterior {
        let series = self.measured(truth, requests, gaps, effort.replication);
        self.told(&[series], effort.simulations)
    }

    /// What requests tell that are spread as is suggested, in parts.
    pub(crate) fn as_suggested(
        &self,
        truth: &[f64],
        parts: &[u32],
        effort: Effort,
    ) -> (Vec<GapPlan>, Posterior) {
        let (mut plans, mut series) = (Vec::new(), Vec::new());
        let mut known: Option<Posterior> = None;
        for (part, &requests) in (0..).zip(parts) {
            let gaps = self.suggested(known.as_ref(), requests, effort.simulations);
            // Another hour, other users.
            let replication = effort.replication + 1000 * (1 + part);
            series.push(self.measured(truth, requests, gaps.clone(), replication));
            plans.push(gaps);
            known = Some(self.told(&series, effort.simulations));
        }
        (plans, known.expect("there is a part"))
    }
}
