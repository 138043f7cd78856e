//! A catalogue's `policy` and its budget: who is kept warm.

use super::super::{Kind, Reader, Variant};
use super::popularity::Users;
use super::provider::Context;
use super::values::count;
use crate::experiment::{Bet, Budget};
use crate::fleet::config::DeploymentConfig;
use crate::policy::{Candidate, Policy, Service, Unit, spent};
use crate::workload::popularity::Model;

/// A policy and what it may spend; `None` is as much as a table asks for.
#[derive(Clone, Debug)]
pub(super) struct Investment {
    policy: Policy,
    unit: Unit,
    millionths: Option<u64>,
}

/// A model as it is served where the policy backs it, and where it does not.
pub(super) struct Choices<'a> {
    pub(super) model: &'a Model,
    pub(super) backed: &'a DeploymentConfig,
    pub(super) rest: &'a DeploymentConfig,
}

/// Reads `policy`, `budget_gpus` and `budget_cost`; nothing where there is no policy.
pub(super) fn read(reader: &mut Reader<'_>, users: &Users) -> Option<Investment> {
    let forms = [
        Variant::unit("curated"),
        Variant::unit("breadth-first"),
        Variant::unit("uniform"),
        Variant::unit("proportional"),
        Variant::unit("square-root"),
        Variant::table("table"),
        Variant::unit("optimised"),
    ];
    let chosen = reader.optional_variant("policy", &forms);
    let policy = chosen.map(|(form, mut inner)| {
        let policy = match form {
            "breadth-first" => {
                let head = users.popularity.head.max(1).to_string();
                Policy::BreadthFirst {
                    head: count(reader, "head", "1", &head) as usize,
                }
            }
            "uniform" => Policy::Uniform,
            "proportional" => Policy::Proportional,
            "square-root" => Policy::SquareRoot,
            "table" => Policy::Table(table(&mut inner)),
            "optimised" => Policy::Optimised,
            _ => Policy::Curated,
        };
        inner.finish();
        policy
    });
    let gpus = reader.optional("budget_gpus", &Kind::whole().at_most("1000000"));
    let price = Kind::price().non_negative().at_most("1000000usd/h");
    let cost = reader.optional("budget_cost", &price);
    let Some(policy) = policy else {
        for key in ["budget_gpus", "budget_cost"] {
            if reader.is_given(key) && reader.is_sound("policy") {
                let help = "add one, for example policy = \"proportional\"";
                reader.problem_at(
                    key,
                    "a budget needs a policy that spends it",
                    "of nobody",
                    help,
                );
            }
        }
        return None;
    };
    if gpus.is_some() && cost.is_some() {
        let help = "keep budget_gpus or budget_cost";
        reader.problem_at(
            "budget_cost",
            "a policy has one budget",
            "the second one",
            help,
        );
    }
    let is_needed = !matches!(policy, Policy::Table(_));
    if is_needed && !reader.is_given("budget_gpus") && !reader.is_given("budget_cost") {
        reader.missing("budget_gpus", "64");
    }
    let (unit, amount) = match (gpus, cost) {
        (_, Some(usd)) => (Unit::UsdPerHour, Some(usd)),
        (gpus, None) => (Unit::Gpus, gpus.map(|gpus| gpus as f64)),
    };
    Some(Investment {
        policy,
        unit,
        millionths: amount.map(millionths),
    })
}

fn millionths(amount: f64) -> u64 {
    (amount * 1e6).round() as u64
}

/// Warm replicas by rank, stated for groups of models.
fn table(inner: &mut Reader<'_>) -> Vec<u32> {
    let mut warm = Vec::new();
    for mut row in inner.list("rows") {
        let models = row.required("models", &Kind::whole().at_least("1").at_most("10000"));
        let each = count(&mut row, "warm", "0", "1");
        warm.extend(std::iter::repeat_n(each, models as usize));
        row.finish();
    }
    if warm.is_empty() && inner.is_sound("rows") {
        inner.missing(
            "rows",
            "[{ models = 8, warm = 2 }, { models = 32, warm = 1 }]",
        );
    }
    warm
}

impl Investment {
    /// How many warm replicas each model gets, and the account of it.
    pub(super) fn spend(
        &self,
        reader: &mut Reader<'_>,
        choices: &[Choices<'_>],
        users: &Users,
        context: &Context<'_>,
    ) -> (Vec<u32>, Bet) {
        let candidates: Vec<Candidate> = choices
            .iter()
            .map(|choice| self.candidate(choice, users, context))
            .collect();
        if candidates.iter().any(|candidate| candidate.price == 0) {
            let message = "a budget in money needs a price for every warm replica";
            let help = "state a price in the deployment";
            reader.problem_at("budget_cost", message, "one of them costs nothing", help);
        }
        let payable: Vec<Candidate> = candidates
            .into_iter()
            .map(|candidate| Candidate {
                price: candidate.price.max(1),
                ..candidate
            })
            .collect();
        let budget = self.millionths.unwrap_or(u64::MAX);
        let warm = self.policy.allocate(&payable, budget);
        self.check_table(reader, &warm);
        let spent = spent(&payable, &warm);
        let bet = Bet {
            policy: self.policy.clone(),
            budget: Budget {
                unit: self.unit,
                millionths: self.millionths.unwrap_or(spent),
                spent_millionths: spent,
            },
        };
        (warm, bet)
    }

    /// A table is meant as it stands: what the budget or a limit does not allow is a contradiction.
    fn check_table(&self, reader: &mut Reader<'_>, warm: &[u32]) {
        let Policy::Table(wanted) = &self.policy else {
            return;
        };
        if wanted.len() > warm.len() {
            let found = format!("has {} rows of {} models", wanted.len(), warm.len());
            let help = "shorten the table, or offer more models";
            reader.problem_at(
                "policy",
                "the table is longer than the catalogue",
                found,
                help,
            );
        }
        let short = wanted
            .iter()
            .zip(warm)
            .position(|(wanted, got)| wanted > got);
        if let Some(index) = short {
            let message = "the table asks for more than the budget or `scaling.max` allows";
            let found = format!(
                "rank {} gets {} of {}",
                index + 1,
                warm[index],
                wanted[index]
            );
            reader.problem_at(
                "policy",
                message,
                found,
                "raise the budget, or ask for less",
            );
        }
    }

    fn candidate(&self, choice: &Choices<'_>, users: &Users, context: &Context<'_>) -> Candidate {
        let placement = &choice.backed.placements[0];
        let gpus = f64::from(placement.gpus);
        let price = match self.unit {
            Unit::Gpus => gpus,
            Unit::UsdPerHour => gpus * placement.usd_per_gpu_hour,
        };
        let [prompt, output] = users.mean_tokens();
        let service = |config| Service::of(config, context.links, prompt, output);
        Candidate {
            rate: choice.model.rate,
            price: millionths(price),
            most: choice.backed.scaling.max,
            warm: service(choice.backed),
            asleep: service(choice.rest),
        }
    }
}
