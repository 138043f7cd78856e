//! Policies in scenarios: who is kept warm under a budget, and what is said where that cannot be.

use crate::support::{plan, problems};
use thermocline::experiment::{Catalogue, Lot, Plan};
use thermocline::scenario::{self, Overrides};

/// A catalogue of two sizes under a policy.
fn scenario(policy: &str) -> String {
    format!(
        r#"
        time = {{ warm_up = "0s", horizon = "1m" }}
        benchmark = {{ requests = 0, discard = 0 }}
        [popularity]
        models = 40
        rate = "4/s"
        classes = {{ small = "75%", large = "25%" }}
        [providers.acme.catalogue]
        {policy}
        [providers.acme.catalogue.deployment]
        gpu = "a100-sxm-80"
        price = "2usd/h"
        cold_start.load_weights = "20s"
        scaling = {{ keep_alive = "1m", max = 9 }}
        service.slots = {{ slots = 4, prefill = "100ms", decode = "1s" }}
        [providers.acme.catalogue.classes.large]
        gpus = 4
        "#
    )
}

/// The same, where what is backed is served better.
fn treated(policy: &str) -> String {
    let better = "
        [providers.acme.catalogue.backed]
        gpu = \"h100-sxm\"
        scaling = { keep_alive = \"1h\", rule = \"fixed\" }
        [providers.acme.catalogue.rest]
        scaling.keep_alive = \"10s\"
    ";
    format!("{}{better}", scenario(policy))
}

fn catalogue(plan: &Plan) -> &Catalogue {
    plan.providers[0].catalogue.as_ref().expect("it is stated")
}

fn lots(plan: &Plan) -> Vec<Lot> {
    plan.providers[0].lots(plan.popularity.as_ref().expect("it is stated"))
}

const POLICIES: [&str; 7] = [
    "policy = \"curated\"",
    "policy = \"breadth-first\"\nhead = 4",
    "policy = \"uniform\"",
    "policy = \"proportional\"",
    "policy = \"square-root\"",
    "policy.table.rows = [{ models = 3, warm = 2 }, { models = 5, warm = 1 }]",
    "policy = \"optimised\"",
];

#[test]
fn every_policy_keeps_to_its_budget_and_says_who_got_it() {
    for policy in POLICIES {
        for (budget, limit) in [
            ("budget_gpus = 48", 48.0),
            ("budget_cost = \"75.5usd/h\"", 75.5),
        ] {
            let plan = plan(&scenario(&format!("{policy}\n{budget}")));
            let deployments = &plan.providers[0].fleet.deployments;
            let held: f64 = deployments
                .iter()
                .map(|one| {
                    let place = &one.placements[0];
                    let unit = if limit == 48.0 {
                        1.0
                    } else {
                        place.usd_per_gpu_hour
                    };
                    f64::from(one.scaling.min) * f64::from(place.gpus) * unit
                })
                .sum();
            let bet = catalogue(&plan).bet.as_ref().expect("a policy");
            assert!(held <= limit && held > 0.0, "{policy}: {held} of {limit}");
            assert!((bet.budget.spent() - held).abs() < 1e-9, "{policy}");
            let lots = lots(&plan);
            let models: usize = lots.iter().map(|lot| lot.ranks.len()).sum();
            let share: f64 = lots.iter().map(|lot| lot.share).sum();
            assert!(models == 40 && (share - 1.0).abs() < 1e-12, "{policy}");
            assert!(
                deployments
                    .iter()
                    .all(|one| one.scaling.initial == one.scaling.min)
            );
        }
    }
}

#[test]
fn what_a_policy_backs_is_served_in_its_own_way() {
    let text = treated("policy = \"proportional\"\nbudget_gpus = 20");
    let plan = plan(&text);
    let (backed, rest): (Vec<Lot>, Vec<Lot>) =
        lots(&plan).into_iter().partition(|lot| lot.warm > 0);
    assert!(!backed.is_empty() && !rest.is_empty());
    assert!(backed.iter().all(|lot| lot.gpu == "h100-sxm"), "{backed:?}");
    assert!(rest.iter().all(|lot| lot.gpu == "a100-sxm-80"), "{rest:?}");
    let load = |text: &str| scenario::load("test.toml", text, &Overrides::default());
    let (_, understood) = load(&text).expect("it is sound");
    let shown = understood.to_toml();
    assert!(shown.contains("# policy proportional: "), "{shown}");
    assert!(shown.contains("class large, backed"), "{shown}");
    let (_, again) = load(&shown).unwrap_or_else(|error| panic!("{error}\n{shown}"));
    assert_eq!(again.to_plain_toml(), understood.to_plain_toml());
}

#[test]
fn what_a_policy_cannot_do_is_said() {
    let with = |policy: &str, more: &str| format!("{}{more}", scenario(policy));
    let proportional = "policy = \"proportional\"\nbudget_gpus = 8";
    for (text, says) in [
        (
            scenario("policy = \"proportional\""),
            "`providers.acme.catalogue.budget_gpus` is missing",
        ),
        (
            scenario("budget_gpus = 8"),
            "a budget needs a policy that spends it",
        ),
        (
            scenario("policy = \"uniform\"\nbudget_gpus = 8\nbudget_cost = \"8usd/h\""),
            "a policy has one budget",
        ),
        (
            scenario("policy = \"curratet\"\nbudget_gpus = 8"),
            "did you mean `curated`?",
        ),
        (
            scenario("policy.table.rows = [{ models = 4, warm = 3 }]\nbudget_gpus = 8"),
            "the table asks for more than the budget",
        ),
        (
            scenario("policy.table.rows = [{ models = 4, warm = 10 }]"),
            "rank 1 gets 9 of 10",
        ),
        (
            scenario("policy.table.rows = [{ models = 41 }]"),
            "the table is longer than the catalogue",
        ),
        (
            with(proportional, "scaling.min = 2"),
            "`scaling.min` is for the policy to decide",
        ),
        (
            with(proportional, "traffic.users.arrivals = \"1/s\""),
            "`traffic.users` is for the popularity to say",
        ),
        (
            with("", "[providers.acme.catalogue.backed]\ngpus = 2\n"),
            "are for models that a policy chooses",
        ),
        (
            scenario("policy = \"uniform\"\nbudget_cost = \"8usd/h\"").replace("2usd/h", "0usd/h"),
            "a budget in money needs a price for every warm replica",
        ),
    ] {
        let problems = problems(&text);
        assert!(problems.contains(says), "{says}\n{problems}");
    }
}
