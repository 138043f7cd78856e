//! What was measured, as the command line gives it, and whom of the scenario it is of.

use anyhow::{bail, ensure};
use clap::Args;
use jiff::tz::TimeZone;

use crate::calibrate::free::{Free, Place, Range};
use crate::calibrate::observed::{Data, Figures, Series, measured, protocol_of};
use crate::cli::figures;
use crate::cli::files::{self, Tables};
use crate::experiment::Plan;
use crate::import::Series as File;
use crate::import::{Imported, Start, Stated};
use crate::measure::feasible::{Forced, Rounded};
use crate::measure::protocol::{GapPlan, Protocol};
use crate::report::calibrate::Source;
use crate::stats::CvDefinition;
use crate::time::Duration;

/// How many requests figures may be of when nobody says.
const REQUESTS: (u64, u64) = (75, 200);

/// The measurement.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Measurement")]
pub(super) struct Given {
    /// A file of measured requests, of any kind that `analyze` reads; may be given again
    #[arg(long, value_name = "FILE", required_unless_present_any = ["summary", "published", "suggest"])]
    measured: Vec<String>,
    /// Instead of files: reported figures
    ///
    /// median, p95 and cv, and if known n, std, max, cv-definition (std/mean or std/median), timeout.
    #[arg(long, value_name = "FIGURES", conflicts_with = "measured")]
    summary: Option<String>,
    /// Instead of files: the published rows of the scenario, all of them or that of --of
    #[arg(long, conflicts_with_all = ["measured", "summary"])]
    published: bool,
    /// Whom it is of, where names do not tell: PROVIDER/MODEL of the scenario
    #[arg(long, value_name = "NAME")]
    of: Option<String>,
    /// Only requests of this target, model or session of the files
    #[arg(long, value_name = "NAME", requires = "measured")]
    only: Option<String>,
}

/// What was measured.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) series: Vec<Series>,
    pub(super) sources: Vec<Source>,
    /// Values of the report that nobody states.
    pub(super) nuisance: Vec<Free>,
}

impl Given {
    /// Whether there is no measurement.
    pub(super) fn is_nothing(&self) -> bool {
        self.measured.is_empty() && self.summary.is_none() && !self.published
    }

    /// Provider and deployment that are to be measured next: those measured so far, else as far as the command line and the scenario
    /// tell.
    pub(super) fn target(&self, plan: &Plan, series: &[Series]) -> anyhow::Result<(usize, u32)> {
        let mut targets = series.iter().map(|one| (one.provider, one.deployment));
        let Some(first) = targets.next() else {
            return lane(plan, self.of.as_deref(), "", "");
        };
        ensure!(
            targets.all(|other| other == first),
            "several models were measured\nhelp: ask for one at a time, with --of or --only"
        );
        Ok(first)
    }

    pub(super) fn read(
        &self,
        plan: &Plan,
        tables: &Tables,
        zone: &TimeZone,
    ) -> anyhow::Result<Measured> {
        if let Some(text) = &self.summary {
            return self.of_figures(plan, text);
        }
        if self.published {
            return self.of_published(plan);
        }
        let options = tables.options(zone);
        let mut all = Measured {
            series: Vec::new(),
            sources: Vec::new(),
            nuisance: Vec::new(),
        };
        for file in &self.measured {
            let file = files::read(file, &options)?;
            self.add(plan, &file, &mut all)?;
        }
        if all.series.is_empty() {
            match &self.only {
                Some(name) => bail!("no requests of `{name}` in the files"),
                None => bail!("no requests in the files"),
            }
        }
        Ok(all)
    }

    fn of_figures(&self, plan: &Plan, text: &str) -> anyhow::Result<Measured> {
        let given = figures::parse("--summary", text, figures::SUMMARY)?;
        refuse_impossible(&given)?;
        let (provider, deployment) = lane(plan, self.of.as_deref(), "", "")?;
        let requests = given.n.map(|n| n as u32);
        let mut protocol = plan.benchmark.clone();
        protocol.requests = requests.unwrap_or(REQUESTS.1 as u32);
        if let Some(timeout) = given.timeout_s {
            protocol.timeout = Some(Duration::from_secs(timeout));
        }
        listed_times(&protocol, plan, requests.is_none())?;
        let figures = Figures {
            median: given.published.median,
            p95: given.published.p95,
            cv_percent: given.published.cv_percent,
            max: given.max,
            std: given.std,
            definition: given.definition,
        };
        let series = Series {
            name: "reported".to_owned(),
            provider,
            deployment,
            at: plan.sessions[0].at,
            protocol,
            is_from_due: false,
            data: Data::Figures(figures),
        };
        Ok(Measured {
            series: vec![series],
            sources: vec![Source::of_figures(text)],
            nuisance: nuisance(requests.is_none(), given.definition.is_none()),
        })
    }

    /// The scenario's published rows. Its benchmark says of how many requests they are; what they mean by CV is asked.
    fn of_published(&self, plan: &Plan) -> anyhow::Result<Measured> {
        let mut all = Measured {
            series: Vec::new(),
            sources: Vec::new(),
            nuisance: nuisance(false, true),
        };
        let mut known = Vec::new();
        for row in &plan.published {
            let name = format!("{}/{}", row.provider, row.model);
            if self.of.as_ref().is_none_or(|of| *of == name) {
                let (provider, deployment) = lane(plan, Some(&name), "", "")?;
                all.sources.push(Source::of_published(row));
                all.series.push(Series {
                    name: name.clone(),
                    provider,
                    deployment,
                    at: plan.sessions[0].at,
                    protocol: plan.benchmark.clone(),
                    is_from_due: false,
                    data: Data::Figures(Figures::of_published(row)),
                });
            }
            known.push(name);
        }
        match &self.of {
            _ if known.is_empty() => bail!("the scenario has no `[[published]]` rows"),
            Some(of) if all.series.is_empty() => bail!(
                "nothing was published of `{of}`\nhelp: known: {}",
                known.join(", ")
            ),
            _ => Ok(all),
        }
    }

    /// Adds what a file holds.
    fn add(&self, plan: &Plan, file: &Imported, all: &mut Measured) -> anyhow::Result<()> {
        let wanted = |names: [&str; 3]| {
            self.only
                .as_deref()
                .is_none_or(|only| names.contains(&only))
        };
        let series = || {
            file.series
                .iter()
                .filter(|one| wanted([&one.target, &one.model, &one.session]))
        };
        let stated = || {
            file.stated
                .iter()
                .filter(|one| wanted([&one.target, &one.model, &one.session]))
        };
        let count = series().count().max(1);
        let is_from_due = file.tool.definition().start == Start::Due;
        for one in series() {
            let share = file.discarded / file.series.len().max(1);
            let series = self.of_requests(plan, one, share as u32, count, is_from_due)?;
            all.series.push(series);
        }
        for one in stated().filter(|_| file.series.is_empty()) {
            all.series.push(self.of_stated(plan, one, &file.file)?);
        }
        let fails = series()
            .flat_map(|one| &one.rows)
            .filter(|row| !row.seen.succeeded());
        all.sources.push(Source::of_file(file, fails.count()));
        Ok(())
    }

    fn of_requests(
        &self,
        plan: &Plan,
        one: &File,
        discarded: u32,
        count: usize,
        is_from_due: bool,
    ) -> anyhow::Result<Series> {
        let (provider, deployment) = lane(plan, self.of.as_deref(), &one.target, &one.model)?;
        let session = plan
            .sessions
            .iter()
            .find(|session| session.name == one.session);
        let at = session.unwrap_or(&plan.sessions[0]).at;
        let protocol = protocol_of(&one.rows, &plan.benchmark, discarded, is_from_due);
        listed_times(&protocol, plan, false)?;
        let shots = measured(&one.rows);
        ensure!(
            shots.len() >= 5,
            "{} requests of {} are too few to calibrate to",
            shots.len(),
            named(one, count)
        );
        Ok(Series {
            name: named(one, count),
            provider,
            deployment,
            at: one.began.unwrap_or(at),
            protocol,
            is_from_due,
            data: Data::Requests(shots),
        })
    }

    fn of_stated(&self, plan: &Plan, one: &Stated, file: &str) -> anyhow::Result<Series> {
        let figures = one
            .median_s
            .zip(one.p95_s)
            .zip(one.cv_percent())
            .zip(one.succeeded);
        let Some((((median, p95), cv), n)) = figures else {
            bail!(
                "`{file}` states figures without median, p95, standard deviation, mean and number of requests: too little to calibrate to"
            );
        };
        let (provider, deployment) = lane(plan, self.of.as_deref(), &one.target, &one.model)?;
        let exact = |value| Rounded {
            value,
            half_unit: 0.0,
        };
        let protocol = Protocol {
            requests: u32::try_from(n)?,
            ..plan.benchmark.clone()
        };
        listed_times(&protocol, plan, false)?;
        Ok(Series {
            name: [&one.model, &one.session]
                .map(String::as_str)
                .join(" ")
                .trim()
                .to_owned(),
            provider,
            deployment,
            at: plan.sessions[0].at,
            protocol,
            is_from_due: false,
            data: Data::Figures(Figures {
                median: exact(median),
                p95: exact(p95),
                cv_percent: exact(cv),
                max: one.max_s.map(exact),
                std: None,
                definition: Some(CvDefinition::StdOverMean),
            }),
        })
    }
}

/// Free values that can show in what was measured: those of other providers stay as the scenario has them.
pub(super) fn concerned(free: Vec<Free>, plan: &Plan, providers: &[usize]) -> Vec<Free> {
    let others = plan
        .providers
        .iter()
        .enumerate()
        .filter(|(index, _)| !providers.contains(index));
    let others: Vec<[String; 2]> = others
        .map(|(_, provider)| {
            let name = &provider.name;
            [
                format!("providers.{name}."),
                format!("providers.\"{name}\"."),
            ]
        })
        .collect();
    let is_of_another = |path: &str| others.iter().flatten().any(|start| path.starts_with(start));
    free.into_iter()
        .filter(|free| match &free.place {
            Place::Path(path) => !is_of_another(path),
            Place::Requests | Place::CvDefinition => true,
        })
        .collect()
}

/// What results call a series: what tells it from the others.
fn named(one: &File, count: usize) -> String {
    let names = [&one.target, &one.model, &one.session];
    let names: Vec<&str> = names
        .into_iter()
        .map(String::as_str)
        .filter(|name| !name.is_empty())
        .collect();
    match names.last() {
        Some(last) if count == 1 => (*last).to_owned(),
        Some(_) => names.join(" "),
        None => "measured".to_owned(),
    }
}

/// Listed times fix the number of requests.
fn listed_times(protocol: &Protocol, plan: &Plan, is_open: bool) -> anyhow::Result<()> {
    let GapPlan::At(times) = &protocol.gaps else {
        return Ok(());
    };
    let is_own = protocol.gaps != plan.benchmark.gaps;
    if !is_own && (is_open || times.len() != protocol.total() as usize) {
        bail!(
            "the scenario lists times for {} requests, but what was measured has another number and no times of its own\nhelp: give the scenario other gaps, for example --set benchmark.gaps=5s",
            times.len()
        );
    }
    Ok(())
}

/// Which deployment a series is of.
fn lane(plan: &Plan, of: Option<&str>, target: &str, model: &str) -> anyhow::Result<(usize, u32)> {
    let mut all: Vec<(usize, u32, String)> = Vec::new();
    for (index, provider) in plan.providers.iter().enumerate() {
        for &deployment in &provider.benchmarked {
            let name = &provider.fleet.deployments[deployment as usize].name;
            all.push((index, deployment, format!("{}/{name}", provider.name)));
        }
    }
    let known: Vec<String> = all.iter().map(|(_, _, name)| name.clone()).collect();
    if let Some(of) = of {
        let found = all.iter().find(|(_, _, name)| name == of);
        let Some(&(provider, deployment, _)) = found else {
            bail!(
                "the scenario has no `{of}`\nhelp: known: {}",
                known.join(", ")
            );
        };
        return Ok((provider, deployment));
    }
    let mut left = all.clone();
    for keep in [
        &(|name: &str| {
            name.split_once('/')
                .is_some_and(|(provider, _)| provider == target)
        }) as &dyn Fn(&str) -> bool,
        &|name: &str| name.split_once('/').is_some_and(|(_, of)| of == model),
    ] {
        if left.iter().any(|(_, _, name)| keep(name)) {
            left.retain(|(_, _, name)| keep(name));
        }
    }
    match left.as_slice() {
        [(provider, deployment, _)] => Ok((*provider, *deployment)),
        _ => bail!(
            "the scenario has {} models, and nothing tells which of them was measured\nhelp: say it with --of, one of {}",
            all.len(),
            known.join(", ")
        ),
    }
}

/// Figures that no requests can have are not calibrated to.
fn refuse_impossible(given: &figures::Given) -> anyhow::Result<()> {
    let reported = crate::measure::reported::Reported {
        cap_s: given
            .max
            .or(given.timeout_s.map(|value| Rounded {
                value,
                half_unit: 0.0,
            }))
            .map(|one| one.value + one.half_unit)
            .or(Some(f64::MAX)),
        ..given.reported()
    };
    let answers = reported.answers();
    let possible: Vec<CvDefinition> = answers
        .iter()
        .filter(|answer| {
            answer
                .sizes
                .iter()
                .any(|size| size.forced != Forced::Impossible && size.is_possible)
        })
        .map(|answer| answer.definition)
        .collect();
    match given.definition {
        Some(definition) if !possible.contains(&definition) => bail!(
            "no requests can have these figures if CV is {definition}\nhelp: `thermocline analyze --reported` says what is possible"
        ),
        None if possible.is_empty() => bail!(
            "no requests can have these figures\nhelp: `thermocline analyze --reported` says what is possible"
        ),
        _ => Ok(()),
    }
}

/// What a report leaves open.
fn nuisance(requests: bool, definition: bool) -> Vec<Free> {
    let mut all = Vec::new();
    if requests {
        all.push(Free {
            name: "n".to_owned(),
            place: Place::Requests,
            range: Range::Integer {
                from: REQUESTS.0,
                to: REQUESTS.1,
            },
        });
    }
    if definition {
        let names = CvDefinition::ALL.map(|one| one.name().to_owned());
        all.push(Free {
            name: "cv-definition".to_owned(),
            place: Place::CvDefinition,
            range: Range::Choice(names.to_vec()),
        });
    }
    all
}
