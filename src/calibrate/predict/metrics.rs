//! What a measurement is looked at by: the metrics of a series, as measured and as simulated.
//!
//! A posterior that was made from a measurement predicts its mean, its cold share and whatever else decided the posterior too well:
//! such metrics are refused less often than the level says (Bayarri & Berger 2000, J. Am. Stat. Assoc. 95:1127). So some metrics are
//! of what no free value decides: whether cold requests come in spells, whether warm answers resemble their neighbours, and how many
//! standard deviations the longest of some reported figures lies above their median, which has no more than `sqrt(n)` of them
//! (Samuelson 1968, J. Am. Stat. Assoc. 63:1522) and with one slow answer just as many.

use super::joint::{Column, Tail};
use super::{Load, METHOD, Metric, Point, Unit, sample};
use crate::calibrate::distance::{Lens, as_printed, log, report, together};
use crate::calibrate::observed::{Data, Figures, Seen, Shot};
use crate::measure::feasible::Rounded;
use crate::observation::Outcome;
use crate::stats::{CvDefinition, Sample};

/// Requests so many apart are compared for spells, the nearer ones counting more.
const SPELL: usize = 3;

/// Which metrics a series has.
pub(super) struct Eye<'a> {
    lens: &'a Lens,
    /// Half of the requests met at most so many others; `None` where all met as many.
    usual_load: Option<usize>,
    has_failures: bool,
}

type Values = Vec<(Metric, Option<f64>)>;

impl<'a> Eye<'a> {
    pub(super) fn of(data: &Data, lens: &'a Lens) -> Self {
        let Data::Requests(shots) = data else {
            return Self {
                lens,
                usual_load: None,
                has_failures: false,
            };
        };
        let mut loads: Vec<usize> = shots.iter().map(|shot| shot.under_way).collect();
        loads.sort_unstable();
        let usual = loads[loads.len() / 2];
        let least = loads[0];
        let usual = if usual == loads[loads.len() - 1] {
            least
        } else {
            usual
        };
        Self {
            lens,
            usual_load: (least != loads[loads.len() - 1]).then_some(usual),
            has_failures: shots.iter().any(|shot| shot.outcome != Outcome::Succeeded),
        }
    }

    /// Each metric with what is compared.
    pub(super) fn columns(&self, data: &Data, simulated: &[&Seen]) -> Vec<(Metric, Column)> {
        let measured = match data {
            Data::Figures(figures) => figured(figures, Printed::of(figures)),
            Data::Requests(shots) => self.values(shots, CvDefinition::default()),
        };
        let values: Vec<Values> = simulated
            .iter()
            .map(|seen| self.values(&seen.shots, seen.definition))
            .collect();
        let of = |(index, (metric, measured)): (usize, &(Metric, Option<f64>))| {
            let all: Vec<Option<f64>> = values.iter().map(|one| one[index].1).collect();
            // What too few simulations have cannot be compared.
            let enough = all.iter().flatten().count() * 2 > all.len();
            let column = Column {
                tail: Tail::Both,
                measured: (*measured)?,
                simulated: all,
            };
            enough.then_some((*metric, column))
        };
        measured.iter().enumerate().filter_map(of).collect()
    }

    /// All metrics of a measurement; always the same, in the same order.
    fn values(&self, shots: &[Shot], definition: CvDefinition) -> Values {
        let ttfts = sample(shots, |shot| shot.ttft_s);
        if let Some(figures) = self.lens.figures() {
            let printed = ttfts.map(|sample| Printed::by(figures, &sample, definition));
            return figured(figures, printed.unwrap_or_default());
        }
        let mut values = quantiles(
            ["TTFT p50", "TTFT p95", "TTFT p99"],
            Load::All,
            ttfts.as_ref(),
        );
        let cv = |definition| {
            ttfts
                .as_ref()
                .map(|sample| report(sample, definition).cv_percent)
        };
        values.extend([
            (seconds("TTFT max"), ttfts.as_ref().map(Sample::max)),
            (percent("std/mean"), cv(CvDefinition::StdOverMean)),
            (percent("std/median"), cv(CvDefinition::StdOverMedian)),
        ]);
        values.extend(self.serial(shots));
        if self.has_failures {
            let failed = shots
                .iter()
                .filter(|shot| shot.outcome != Outcome::Succeeded);
            values.push((requests("unanswered"), Some(failed.count() as f64)));
        }
        if self.lens.has_pace() {
            let pace = sample(shots, |shot| shot.per_token_s);
            let names = ["per token p50", "per token p95", "per token p99"];
            values.extend(quantiles(names, Load::All, pace.as_ref()));
        }
        if self.lens.has_latency() {
            let latency = sample(shots, |shot| shot.latency_s);
            let names = ["latency p50", "latency p95", "latency p99"];
            values.extend(quantiles(names, Load::All, latency.as_ref()));
        }
        values.extend(self.by_load(shots));
        values
    }

    /// How many were cold, whether they come in spells, and whether slow answers come together.
    fn serial(&self, shots: &[Shot]) -> Values {
        let cold: Vec<bool> = shots.iter().map(|shot| self.lens.is_cold(shot)).collect();
        let count = cold.iter().filter(|cold| **cold).count();
        let warm = shots.iter().zip(&cold).filter(|(_, cold)| !**cold);
        let warm: Vec<f64> = warm.filter_map(|(shot, _)| shot.ttft_s).map(log).collect();
        vec![
            (requests("cold"), Some(count as f64)),
            (plain("cold in spells"), Some(spells(self.lens, &cold))),
            (plain("warm lag-1"), Some(together(&warm))),
        ]
    }

    /// TTFT apart for requests that met few others and many.
    fn by_load(&self, shots: &[Shot]) -> Values {
        let Some(usual) = self.usual_load else {
            return Vec::new();
        };
        let of = |load: Load, wanted: &dyn Fn(usize) -> bool| {
            let ttft = |shot: &Shot| shot.ttft_s.filter(|_| wanted(shot.under_way));
            let names = ["TTFT p50", "TTFT p95", "TTFT p99"];
            quantiles(names, load, sample(shots, ttft).as_ref())
        };
        let mut values = of(Load::Quiet(usual), &|load| load <= usual);
        values.extend(of(Load::Busy(usual), &|load| load > usual));
        values
    }
}

/// Figures as they are printed.
#[derive(Clone, Copy, Debug, Default)]
struct Printed {
    median: Option<f64>,
    p95: Option<f64>,
    cv_percent: Option<f64>,
    max: Option<f64>,
    std: Option<f64>,
}

impl Printed {
    fn of(figures: &Figures) -> Self {
        let value = |one: Rounded| one.value;
        Self {
            median: Some(figures.median.value),
            p95: Some(figures.p95.value),
            cv_percent: Some(figures.cv_percent.value),
            max: figures.max.map(value),
            std: figures.std.map(value),
        }
    }

    /// Those of a sample, with as many digits as others have.
    fn by(like: &Figures, sample: &Sample, definition: CvDefinition) -> Self {
        let reported = report(sample, definition);
        Self {
            median: Some(as_printed(reported.median_s, like.median)),
            p95: Some(as_printed(reported.p95_s, like.p95)),
            cv_percent: Some(as_printed(reported.cv_percent, like.cv_percent)),
            max: like.max.map(|max| as_printed(sample.max(), max)),
            std: like.std.map(|std| as_printed(reported.std_s, std)),
        }
    }

    /// How many standard deviations the longest lies above the median; the CV of a mean stands for that of the median.
    fn reach(&self) -> Option<f64> {
        let median = self.median?;
        let std = self
            .std
            .or_else(|| Some(0.01 * self.cv_percent? * median))?;
        (std > 0.0).then_some((self.max? - median) / std)
    }
}

fn figured(figures: &Figures, printed: Printed) -> Values {
    let mut values = vec![
        (seconds("TTFT p50"), printed.median),
        (seconds("TTFT p95"), printed.p95),
        (percent("CV"), printed.cv_percent),
    ];
    if figures.max.is_some() {
        values.push((seconds("TTFT max"), printed.max));
        values.push((plain("max in deviations"), printed.reach()));
    }
    if figures.std.is_some() {
        values.push((seconds("TTFT std"), printed.std));
    }
    values
}

/// Whether requests after like gaps are cold in spells: how much one resembles the next few, zero on average if each is on its own.
///
/// Gaps decide how many are cold after each of them, and so do the free values; the order among those that could be either, they do
/// not. A request after a gap that always or never ends in a cold start says nothing.
fn spells(lens: &Lens, cold: &[bool]) -> f64 {
    let groups: Vec<Option<usize>> = (0..cold.len()).map(|index| lens.group(index)).collect();
    let share = |group: Option<usize>| {
        let members = || cold.iter().zip(&groups).filter(|(_, of)| **of == group);
        let count = members().filter(|(cold, _)| **cold).count();
        count as f64 / members().count() as f64
    };
    let count = groups.iter().flatten().max().map_or(0, |most| most + 1);
    let shares: Vec<f64> = (0..count).map(|group| share(Some(group))).collect();
    let off = cold.iter().zip(&groups).filter_map(|(cold, group)| {
        let share = shares[(*group)?];
        (share > 0.0 && share < 1.0).then_some(f64::from(u8::from(*cold)) - share)
    });
    let off: Vec<f64> = off.collect();
    let products = |apart: usize| -> f64 {
        let pairs = off.iter().zip(off.iter().skip(apart));
        pairs.map(|(a, b)| a * b).sum()
    };
    let square = products(0);
    let sum: f64 = (1..=SPELL)
        .map(|apart| products(apart) / apart as f64)
        .sum();
    if square > 0.0 { sum / square } else { 0.0 }
}

/// How far the whole sample lies from the middle of the simulated ones: large is bad, small cannot be.
pub(super) fn of_curve(
    data: &Data,
    simulated: &[&Seen],
    curve: &[Point],
) -> Option<(Metric, Column)> {
    let Data::Requests(shots) = data else {
        return None;
    };
    let distance = |shots: &[Shot]| {
        let sample = sample(shots, |shot| shot.ttft_s)?;
        let off =
            |point: &Point| (log(sample.quantile(point.p, METHOD)) - log(point.middle_s)).abs();
        Some(curve.iter().map(off).sum::<f64>() / curve.len() as f64)
    };
    let all = simulated.iter().map(|seen| distance(&seen.shots));
    let column = Column {
        tail: Tail::Upper,
        measured: distance(shots)?,
        simulated: all.collect(),
    };
    Some((plain("distance of log TTFT"), column))
}

fn seconds(name: &'static str) -> Metric {
    counted(name, Unit::Seconds)
}

fn percent(name: &'static str) -> Metric {
    counted(name, Unit::Percent)
}

fn requests(name: &'static str) -> Metric {
    counted(name, Unit::Requests)
}

fn plain(name: &'static str) -> Metric {
    counted(name, Unit::One)
}

fn counted(name: &'static str, unit: Unit) -> Metric {
    let load = Load::All;
    Metric { name, unit, load }
}

fn quantiles(names: [&'static str; 3], load: Load, sample: Option<&Sample>) -> Values {
    let pairs = names.into_iter().zip([0.5, 0.95, 0.99]);
    let value = |p| sample.map(|sample| sample.quantile(p, METHOD));
    let metric = |name| Metric {
        load,
        ..seconds(name)
    };
    pairs.map(|(name, p)| (metric(name), value(p))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::observed::Series;
    use crate::measure::protocol::{GapPlan, Protocol};
    use crate::streams::Streams;
    use crate::time::Duration;
    use rand::RngExt as _;

    fn shot(gap_s: Option<f64>, cold: bool) -> Shot {
        Shot {
            outcome: Outcome::Succeeded,
            ttft_s: Some(if cold { 15.0 } else { 0.4 }),
            latency_s: None,
            per_token_s: None,
            gap_s,
            under_way: 0,
            cold: Some(cold),
        }
    }

    /// A series of requests that follow these gaps in turn.
    fn spells_of(gaps: &[f64], cold: &[bool]) -> f64 {
        let gap = |index: usize| (index > 0).then(|| gaps[(index - 1) % gaps.len()]);
        let shots = cold.iter().enumerate();
        let shots = shots.map(|(index, &cold)| shot(gap(index), cold));
        let series = Series {
            name: "once".to_owned(),
            provider: 0,
            deployment: 0,
            at: Duration::ZERO,
            protocol: Protocol {
                requests: cold.len() as u32,
                discard: 0,
                concurrency: 1,
                gaps: GapPlan::Fixed(Duration::ZERO),
                jitter: Duration::ZERO,
                prompt_tokens: 64,
                output_tokens: 64,
                timeout: None,
            },
            is_from_due: false,
            data: Data::Requests(shots.collect()),
        };
        spells(&Lens::of(&series), cold)
    }

    #[test]
    fn spells_are_told_from_requests_that_are_each_on_their_own() {
        let mut stream = Streams::new(7, 0).stream("test");
        let alone: Vec<bool> = (0..500).map(|_| stream.random::<f64>() < 0.4).collect();
        // A deviation of 1/sqrt(500) for each lag, weighted 1, 1/2, 1/3: 99.9 % lie within 0.17.
        let none = spells_of(&[300.0], &alone);
        assert!(none.abs() < 0.17, "{none}");
        let long: Vec<bool> = (0..500).map(|at| at / 10 % 2 == 0).collect();
        let some = spells_of(&[300.0], &long);
        // One in ten is followed by another kind, two in ten two later, three in ten three later: 0.8 + 0.6/2 + 0.4/3.
        assert!((some - 1.233).abs() < 0.02, "{some}");
        let turns: Vec<bool> = (0..500).map(|at| at % 2 == 0).collect();
        assert!(spells_of(&[300.0], &turns) < -0.5);
    }

    #[test]
    fn gaps_that_decide_make_no_spells() {
        // Every request after the long gap is cold, none after the short one.
        let decided: Vec<bool> = (0..100).map(|at| at % 2 == 0).collect();
        assert_eq!(spells_of(&[10.0, 900.0], &decided), 0.0);
        assert_eq!(spells_of(&[10.0], &[false; 50]), 0.0);
    }

    #[test]
    fn one_slow_request_of_n_lies_sqrt_n_deviations_above_the_median() {
        let exact = |value| Rounded {
            value,
            half_unit: 0.0,
        };
        let like = Figures {
            median: exact(1.0),
            p95: exact(1.0),
            cv_percent: exact(1.0),
            max: Some(exact(1.0)),
            std: None,
            definition: None,
        };
        for n in [75_usize, 94] {
            let mut all = vec![0.4; n - 1];
            all.push(15.0);
            let sample = Sample::new(all).expect("not empty");
            let printed = Printed::by(&like, &sample, CvDefinition::StdOverMedian);
            let reach = printed.reach().expect("a longest");
            let expected = (n as f64).sqrt();
            assert!((reach - expected).abs() < 1e-9, "{n}: {reach}");
        }
    }
}
