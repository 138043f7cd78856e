//! `explain`: which decision about a deployment costs its users how much.

mod counterpart;
mod twin;

use clap::Args;

use super::builtin::{self, Text};
use super::options::{Chosen, Runs, whole};
use super::terminal::Terminal;
use crate::experiment::Plan;
use crate::experiment::explain::{MOST_DECISIONS, Subject, explain, met};
use crate::experiment::users::{Figure, Users};
use crate::report::explain::{Decision, ExplainReport};
use crate::scenario::{self, Overrides, Understood};
use crate::stats::PercentileMethod;
use counterpart::{Place, Search};

/// Split a deployment's latency among the decisions made about it
///
/// Replaces each decision (warm pool, keep-alive, GPU tier, format, engine, cold start, queueing, GPU priority, sharing, batching) by
/// its best-supported counterpart, one at a time and in every combination, under the same demand. Shares are Shapley values: they add up to the gap.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Explain {
    #[command(flatten)]
    scenario: Chosen,
    /// The deployment, as MODEL or PROVIDER/MODEL [default: the one whose users have the highest p95]
    #[arg(value_name = "MODEL", help_heading = "Arguments")]
    model: Option<String>,
    /// Another counterpart for the decision that PATH belongs to, or for one of its own; PATH starts below the deployment
    #[arg(long, value_name = "PATH=VALUE", help_heading = "Scenario")]
    counterpart: Vec<String>,
    /// The deployment whose decisions are the counterparts, as MODEL or PROVIDER/MODEL [default: the one whose users have the
    /// lowest p95, of the same model if there is one]
    #[arg(long, value_name = "MODEL", help_heading = "Scenario")]
    like: Option<String>,
    /// A decision to leave as it is, such as `GPU tier`; may be given again
    #[arg(long, value_name = "DECISION", help_heading = "Scenario")]
    keep: Vec<String>,
    /// The session [default: the first]
    #[arg(long, value_name = "NAME", help_heading = "Scenario")]
    session: Option<String>,
    /// Replications of every combination
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<u64>(1..=100_000), help_heading = "Statistics")]
    repeat: u64,
    #[command(flatten)]
    runs: Runs,
}

const EXAMPLES: &str = "\
Examples:
  thermocline explain deepseek-v4-pro south/deepseek-v4-pro
      Against the provider that bet on the model
  thermocline explain lesson --counterpart scaling.min=2
      Against a warm pool of two
  thermocline explain my.toml niche --like flagship --keep 'GPU tier'
      Against the decisions made for another model, on the same GPUs";

impl Explain {
    pub(super) fn run(&self, terminal: &Terminal) -> anyhow::Result<()> {
        let text = builtin::find(&self.scenario.scenario)?;
        let common = self.scenario.overrides(PercentileMethod::default());
        let (plan, understood) = scenario::load(&text.name, &text.text, &common)?;
        let pool = self.runs.pool()?;
        let session = self.session(&plan)?;
        let candidates = candidates(&plan, session);
        let providers = candidates.chunk_by(|one, next| one.provider == next.provider);
        let providers: Vec<&[Subject]> = providers.collect();
        let present = terminal.progress(providers.len() as u64 * self.repeat, |step| {
            let met = |some: &&[Subject]| met(&plan, some, self.repeat, step);
            pool.install(|| providers.iter().flat_map(met).collect::<Vec<Users>>())
        });
        let subject = self.subject(&plan, &candidates, &present)?;
        let peer = self.peer(&plan, &candidates, &present, subject)?;
        let source = Source::new(text, common, &plan, &understood, subject)?;
        let decisions = self.decisions(&source, peer)?;
        let (decisions, plans) = subsets(&source, decisions)?;
        let alone: Vec<(Plan, Subject)> = plans
            .into_iter()
            .map(|plan| twin::alone(plan, subject))
            .collect();
        let at = alone[0].1;
        let plans: Vec<Plan> = alone.into_iter().map(|(plan, _)| plan).collect();
        let runs = plans.len() as u64 * self.repeat;
        let explanation = terminal.progress(runs, |step| {
            pool.install(|| explain(&plans, at, self.repeat, step))
        });
        let report = ExplainReport {
            plan: &plan,
            subject,
            decisions: &decisions,
            explanation: &explanation,
            replications: self.repeat,
        };
        let format = self.runs.format.into();
        terminal.results(|out| report.write(format, terminal.width(), out))?;
        Ok(())
    }

    fn session(&self, plan: &Plan) -> anyhow::Result<usize> {
        let Some(wanted) = &self.session else {
            return Ok(0);
        };
        let names: Vec<&str> = plan.sessions.iter().map(|one| one.name.as_str()).collect();
        let found = names.iter().position(|name| name == wanted);
        found.ok_or_else(|| {
            anyhow::anyhow!(
                "there is no session `{wanted}`: they are {}",
                names.join(", ")
            )
        })
    }

    /// The deployment that is asked for, or whose users have the highest p95.
    fn subject(
        &self,
        plan: &Plan,
        candidates: &[Subject],
        present: &[Users],
    ) -> anyhow::Result<Subject> {
        match &self.model {
            Some(wanted) => named(plan, candidates, wanted),
            None => extreme(candidates.iter().zip(present), |p95| -p95)
                .ok_or_else(|| anyhow::anyhow!("no user of any deployment gets an answer")),
        }
    }

    /// The deployment whose decisions are taken over: a better one of the same model, else a better one of the provider's.
    fn peer(
        &self,
        plan: &Plan,
        candidates: &[Subject],
        present: &[Users],
        subject: Subject,
    ) -> anyhow::Result<Option<Subject>> {
        if let Some(wanted) = &self.like {
            return named(plan, candidates, wanted).map(Some);
        }
        let place = |one: &Subject| place(plan, *one);
        let own = place(&subject);
        let at = candidates.iter().position(|one| *one == subject);
        let own_p95 = at.and_then(|at| present[at].point(Figure::TtftP95));
        let better = || {
            let pairs = candidates.iter().zip(present);
            pairs.filter(move |(_, users)| {
                let p95 = users.point(Figure::TtftP95);
                p95.is_some_and(|p95| own_p95.is_none_or(|own| p95 < own))
            })
        };
        let same_model = better().filter(|(one, _)| place(one).model == own.model);
        let same_provider = better().filter(|(one, _)| one.provider == subject.provider);
        let least = |p95: f64| p95;
        Ok(extreme(same_model, least).or_else(|| extreme(same_provider, least)))
    }

    fn decisions(
        &self,
        source: &Source<'_>,
        peer: Option<Subject>,
    ) -> anyhow::Result<Vec<Decision>> {
        let load = |set: &[String]| source.stated(set).ok();
        let own = &source.place;
        let peer = peer.map(|peer| place(source.plan, peer));
        let search = Search::new(&source.understood, own, peer.as_ref(), &load);
        let decisions = search.decisions(&self.counterpart, &self.keep)?;
        if decisions.is_empty() {
            anyhow::bail!(
                "{} of {} has every decision as its best-supported counterpart has it\nhelp: name others with --counterpart PATH=VALUE",
                own.model,
                own.provider
            );
        }
        if decisions.len() > MOST_DECISIONS {
            anyhow::bail!(
                "{} decisions make {} combinations; at most {MOST_DECISIONS} are replaced\nhelp: leave some as they are with --keep",
                decisions.len(),
                1_u64 << decisions.len().min(63)
            );
        }
        Ok(decisions)
    }
}

/// Every benchmarked deployment of the scenario in one session.
fn candidates(plan: &Plan, session: usize) -> Vec<Subject> {
    let of_provider = |(provider, named): (usize, &crate::experiment::Provider)| {
        let one = move |&deployment: &u32| Subject {
            provider,
            deployment,
            session,
        };
        named.benchmarked.iter().map(one).collect::<Vec<Subject>>()
    };
    plan.providers
        .iter()
        .enumerate()
        .flat_map(of_provider)
        .collect()
}

fn place(plan: &Plan, subject: Subject) -> Place {
    let provider = &plan.providers[subject.provider];
    Place {
        provider: provider.name.clone(),
        model: provider.fleet.deployments[subject.deployment as usize]
            .name
            .clone(),
    }
}

/// The only deployment of this name, which may begin with its provider's.
fn named(plan: &Plan, candidates: &[Subject], wanted: &str) -> anyhow::Result<Subject> {
    let full = |one: &Subject| {
        let place = place(plan, *one);
        format!("{}/{}", place.provider, place.model)
    };
    let is_meant = |one: &&Subject| full(one) == wanted || place(plan, **one).model == wanted;
    let found: Vec<&Subject> = candidates.iter().filter(is_meant).collect();
    let list = |some: &[&Subject]| {
        let names: Vec<String> = some.iter().take(12).map(|one| full(one)).collect();
        names.join(", ")
    };
    match found.as_slice() {
        [one] => Ok(**one),
        [] => {
            let all: Vec<&Subject> = candidates.iter().collect();
            anyhow::bail!("there is no deployment `{wanted}` among {}", list(&all))
        }
        several => anyhow::bail!(
            "`{wanted}` may be {}\nhelp: name the provider too",
            list(several)
        ),
    }
}

/// The deployment with the least score of its users' p95, the first of equals.
fn extreme<'a>(
    candidates: impl Iterator<Item = (&'a Subject, &'a Users)>,
    score: impl Fn(f64) -> f64,
) -> Option<Subject> {
    let scored =
        candidates.filter_map(|(one, users)| Some((*one, score(users.point(Figure::TtftP95)?))));
    let least = scored.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(least.0)
}

/// Where plans with some decisions replaced come from.
struct Source<'a> {
    /// The scenario, or its twin where models of catalogues are deployments.
    text: Text,
    common: Overrides,
    /// As it is understood.
    understood: Understood,
    is_twin: bool,
    plan: &'a Plan,
    subject: Subject,
    place: Place,
}

impl<'a> Source<'a> {
    fn new(
        text: Text,
        common: Overrides,
        plan: &'a Plan,
        understood: &Understood,
        subject: Subject,
    ) -> anyhow::Result<Self> {
        let place = place(plan, subject);
        let twin = twin::twin(&text, plan, understood);
        let is_twin = twin.is_some();
        let source = |text, common, understood| Self {
            text,
            common,
            understood,
            is_twin,
            plan,
            subject,
            place,
        };
        let Some(twin) = twin else {
            return Ok(source(text, common, understood.clone()));
        };
        // What the command line sets is part of what was understood.
        let common = Overrides {
            set: Vec::new(),
            ..common
        };
        let (_, understood) = scenario::load(&twin.name, &twin.text, &common)?;
        Ok(source(twin, common, understood))
    }

    /// The scenario or its twin with more values set.
    fn stated(&self, set: &[String]) -> Result<Plan, scenario::ScenarioError> {
        let overrides = Overrides {
            set: self.common.set.iter().chain(set).cloned().collect(),
            ..self.common.clone()
        };
        Ok(scenario::load(&self.text.name, &self.text.text, &overrides)?.0)
    }

    /// The plan with some of the subject's values replaced.
    fn with(&self, set: &[String]) -> Result<Plan, scenario::ScenarioError> {
        let stated = self.stated(set)?;
        if self.is_twin {
            let plan = self.plan.clone();
            return Ok(twin::transplanted(plan, self.subject, &self.place, &stated));
        }
        Ok(stated)
    }
}

/// The scenario with every subset of the decisions replaced. Where hardware cannot be replaced piece by piece, because a format
/// does not exist on the other GPU or does not fit it, those decisions become one.
fn subsets(
    source: &Source<'_>,
    decisions: Vec<Decision>,
) -> anyhow::Result<(Vec<Decision>, Vec<Plan>)> {
    match plans(source, &decisions) {
        Ok(plans) => Ok((decisions, plans)),
        Err(problem) => {
            let joined = Decision::joined(decisions.clone(), &["GPU tier", "format", "engine"]);
            if joined.len() == decisions.len() {
                return Err(problem.into());
            }
            let plans = plans(source, &joined)?;
            Ok((joined, plans))
        }
    }
}

fn plans(
    source: &Source<'_>,
    decisions: &[Decision],
) -> Result<Vec<Plan>, scenario::ScenarioError> {
    let plan = |subset: usize| {
        let chosen = decisions.iter().enumerate();
        let chosen = chosen.filter(|(index, _)| subset >> index & 1 == 1);
        let set: Vec<String> = chosen
            .flat_map(|(_, one)| one.set.iter().cloned())
            .collect();
        source.with(&set)
    };
    (0..1 << decisions.len()).map(plan).collect()
}
