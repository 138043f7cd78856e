//! `calibrate --trials`: whether calibrations of a scenario can be trusted, from measurements whose truth is known.

use anyhow::{bail, ensure};
use clap::Args;
use rayon::prelude::*;

use super::given::{concerned, lane};
use super::maker;
use crate::calibrate::free::Free;
use crate::calibrate::observed::{Data, Series, Simulator};
use crate::calibrate::trials::{Digest, Trial, Trials};
use crate::cli::builtin::{self, Text};
use crate::cli::failure::No;
use crate::cli::options::{Runs, whole};
use crate::cli::terminal::Terminal;
use crate::experiment::Plan;
use crate::report::calibrate::trials::TrialsReport;
use crate::scenario::{self, Overrides, units};
use crate::stats::CvDefinition;

/// How calibrations are put to the test.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Trials")]
pub(super) struct TrialOptions {
    /// Instead of a measurement: calibrate to so many that the scenario makes itself, at settings drawn from the ranges, and see
    /// whether the answers hold what was put in
    #[arg(long, value_name = "N", conflicts_with_all = ["measured", "summary", "published", "suggest", "out", "budget"], value_parser = whole::<u64>(2..=100_000))]
    pub(super) trials: Option<u64>,
    /// Make all measurements at this value instead, for example `keep_alive=6m`; once for each free value
    #[arg(long, value_name = "NAME=VALUE", requires = "trials")]
    truth: Vec<String>,
    /// A drill: make the measurements by this scenario, which frees values of the same names; the check should refuse them
    #[arg(long, value_name = "SCENARIO", requires = "trials")]
    made_by: Option<String>,
    /// Measurements are median, p95 and CV only, the CV being std/mean or std/median
    #[arg(long, value_name = "DEFINITION", requires = "trials")]
    figures: Option<CvDefinition>,
    /// And the longest TTFT
    #[arg(long, requires = "figures")]
    with_max: bool,
    /// A drill: the CV is taken for this one
    #[arg(long, value_name = "DEFINITION", requires = "figures")]
    taken_for: Option<CvDefinition>,
}

/// The scenario that is calibrated, and how the command line changes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub(super) text: &'a Text,
    pub(super) common: &'a Overrides,
    pub(super) plan: &'a Plan,
    pub(super) free: &'a [Free],
    pub(super) of: Option<&'a str>,
    pub(super) simulations: u64,
}

impl TrialOptions {
    pub(super) fn run(
        &self,
        trials: u64,
        subject: Subject<'_>,
        runs: Runs,
        terminal: &Terminal,
    ) -> anyhow::Result<()> {
        let series = series(subject.plan, subject.of)?;
        let free = concerned(subject.free.to_vec(), subject.plan, &providers(&series));
        ensure!(!free.is_empty(), "nothing that is free is of the model");
        let truth = self.truth(&free)?;
        let make = maker(subject.text, subject.common, &free);
        let calibrated = Simulator {
            free: &free,
            series: &series,
            maker: &make,
        };
        let other = self
            .made_by
            .as_deref()
            .map(|name| World::read(name, subject))
            .transpose()?;
        let make_other = other
            .as_ref()
            .map(|other| maker(&other.text, subject.common, &other.free));
        let world = match (&other, &make_other) {
            (Some(other), Some(make)) => Simulator {
                free: other.same_as(&free)?,
                series: &other.series,
                maker: make,
            },
            _ => calibrated,
        };
        let figures = self.figures.map(|said| Digest {
            said,
            taken: self.taken_for.unwrap_or(said),
            has_max: self.with_max,
        });
        let all = Trials {
            world,
            calibrated,
            truth: truth.as_deref(),
            figures,
            seed: subject.plan.seed,
            simulations: subject.simulations,
        };
        let done = made(&all, trials, runs, terminal)?;
        let report = TrialsReport {
            name: &subject.text.name,
            plan: subject.plan,
            trials: &all,
            done: &done,
            is_drill: other.is_some() || figures.is_some_and(|one| one.said != one.taken),
        };
        terminal.results(|out| report.write(runs.format.into(), terminal.width(), out))?;
        if report.holds() {
            Ok(())
        } else {
            Err(No.into())
        }
    }

    /// Places of the truth that is stated.
    fn truth(&self, free: &[Free]) -> anyhow::Result<Option<Vec<f64>>> {
        if self.truth.is_empty() {
            return Ok(None);
        }
        let mut places = vec![None; free.len()];
        for given in &self.truth {
            let Some((name, value)) = given.split_once('=') else {
                bail!("--truth: found `{given}`, NAME=VALUE is needed");
            };
            let Some(index) = free.iter().position(|one| one.name == name) else {
                let known: Vec<&str> = free.iter().map(|one| one.name.as_str()).collect();
                bail!(
                    "--truth: nothing that is free is called `{name}`\nhelp: known: {}",
                    known.join(", ")
                );
            };
            places[index] = Some(place(&free[index], value)?);
        }
        let missing = free.iter().zip(&places).find(|(_, place)| place.is_none());
        match missing {
            Some((free, _)) => bail!(
                "--truth: `{}` has no value\nhelp: state one for each free value",
                free.name
            ),
            None => Ok(places.into_iter().collect()),
        }
    }
}

/// Makes so many trials, on all threads.
fn made(
    all: &Trials<'_>,
    trials: u64,
    runs: Runs,
    terminal: &Terminal,
) -> anyhow::Result<Vec<Trial>> {
    let pool = runs.pool()?;
    let done = terminal.progress(trials, |step| {
        let one = |number| {
            let trial = all.run(number);
            step();
            trial
        };
        pool.install(|| {
            (0..trials)
                .into_par_iter()
                .map(one)
                .collect::<Result<Vec<_>, _>>()
        })
    });
    Ok(done?)
}

/// The place of a value as text.
fn place(free: &Free, value: &str) -> anyhow::Result<f64> {
    let number = match free.choices() {
        Some(count) => {
            let all = (0..count).map(|choice| free.text((choice as f64 + 0.5) / count as f64));
            let found = all
                .into_iter()
                .position(|text| text.trim_matches('"') == value);
            found.map(|index| (index as f64 + 0.5) / count as f64)
        }
        None => units::any(value).ok().and_then(|quantity| {
            let unit = units::Quantity {
                number: 1.0,
                unit: free.unit().to_owned(),
            };
            quantity
                .in_unit_of(&unit)
                .map(|number| free.place_of(number))
        }),
    };
    match number {
        Some(place) if (0.0..1.0).contains(&place) => Ok(place),
        _ => bail!(
            "--truth: `{}` cannot be `{value}`\nhelp: it is allowed from {} to {}",
            free.name,
            free.text_of(0.0, 3),
            free.text_of(1.0, 3)
        ),
    }
}

/// Of whom the series are.
fn providers(series: &[Series]) -> Vec<usize> {
    series.iter().map(|one| one.provider).collect()
}

/// One series per session of the one model that is benchmarked, as the scenario's benchmark makes it.
fn series(plan: &Plan, of: Option<&str>) -> anyhow::Result<Vec<Series>> {
    let (provider, deployment) = lane(plan, of, "", "")?;
    let one = |session: &crate::experiment::Session| Series {
        name: session.name.clone(),
        provider,
        deployment,
        at: session.at,
        protocol: crate::measure::protocol::Protocol {
            requests: session.requests,
            ..plan.benchmark.clone()
        },
        is_from_due: false,
        data: Data::Requests(Vec::new()),
    };
    Ok(plan.sessions.iter().map(one).collect())
}

/// The scenario that makes the measurements of a drill.
struct World {
    text: Text,
    free: Vec<Free>,
    series: Vec<Series>,
}

impl World {
    fn read(name: &str, subject: Subject<'_>) -> anyhow::Result<Self> {
        let text = builtin::find(name)?;
        let (plan, free, _) = scenario::load_with_free(&text.name, &text.text, subject.common)?;
        let series = series(&plan, subject.of)?;
        let free = concerned(free, &plan, &providers(&series));
        Ok(Self { text, free, series })
    }

    /// Its free values, which must be those of the scenario that is calibrated.
    fn same_as(&self, free: &[Free]) -> anyhow::Result<&[Free]> {
        let same = self.free.len() == free.len()
            && self
                .free
                .iter()
                .zip(free)
                .all(|(a, b)| a.name == b.name && a.range == b.range);
        ensure!(
            same && self.series.len() == 1,
            "`{}` must free values of the same names and ranges, in the same order, and have one session",
            self.text.name
        );
        Ok(&self.free)
    }
}
