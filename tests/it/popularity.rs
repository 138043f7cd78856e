//! Catalogues: many models from one table, the same users at every provider, and what is said where that cannot be.

use crate::support::{plan, problems, simulate, summary};
use thermocline::experiment::sweep::sweep;
use thermocline::experiment::users::Figure;
use thermocline::experiment::{Keep, Plan, Run, RunResult, run};
use thermocline::fleet::Origin;
use thermocline::scenario::{self, Overrides};
use thermocline::time::Time;

/// Models of two sizes, one of them with a name and served in its own way.
const CATALOGUE: &str = r#"
time = { warm_up = "0s", horizon = "20m" }
benchmark = { requests = 3, ranks = [1, 12] }
[popularity]
models = 20
rate = "2/s"
law = 1.0
classes = { small = "75%", large = "25%" }
pinned = { niche = { rank = 12, class = "large" } }
daily = "azure-2024-code"
shift = "6h"
[providers.acme.catalogue.deployment]
cold_start.load_weights = "5s"
scaling = { keep_alive = "1m", rule.arrival = {} }
service.slots = { slots = 4, prefill = "100ms", decode = "1s" }
[providers.acme.catalogue.classes.large]
gpus = 4
scaling.keep_alive = "2m"
[providers.acme.catalogue.exceptions.niche]
scaling = { min = 1, rule = "fixed" }
"#;

fn of_provider(plan: &Plan, provider: usize) -> RunResult {
    let keep = Keep {
        everybody: true,
        replicas: false,
    };
    let which = Run {
        provider,
        session: 0,
        replication: 0,
    };
    run(plan, which, keep)
}

/// Whatever was asked before has ended when the run is over.
const AT_LAST: Time = Time::from_nanos(900_000_000_000);

/// What the users of a model did, whatever came of it.
fn asked(plan: &Plan, provider: usize, model: &str) -> Vec<(Time, u32, u32)> {
    let deployments = &plan.providers[provider].fleet.deployments;
    let index = deployments.iter().position(|one| one.name == model);
    let index = index.expect("it is on offer") as u32;
    let result = of_provider(plan, provider);
    let own = result
        .everybody
        .iter()
        .filter(|one| one.deployment == index && one.origin == Origin::Traffic(0))
        .filter(|one| one.sent < AT_LAST);
    let mut asked: Vec<_> = own
        .map(|one| (one.sent, one.prompt_tokens, one.output_tokens))
        .collect();
    asked.sort_unstable();
    asked
}

#[test]
fn a_table_becomes_a_deployment_for_each_model() {
    let plan = plan(CATALOGUE);
    let acme = &plan.providers[0];
    let names: Vec<&str> = (acme.fleet.deployments.iter())
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(
        (names.len(), names[0], names[11], names[19]),
        (20, "rank-1", "niche", "rank-20")
    );
    let popularity = plan.popularity.as_ref().expect("it is stated");
    let harmonic: f64 = (1..=20).map(|rank| 1.0 / f64::from(rank)).sum();
    for (rank, (model, deployment)) in
        (1..).zip(popularity.models.iter().zip(&acme.fleet.deployments))
    {
        let rate = deployment.traffic[0].arrivals.mean_rate();
        assert!((rate - 2.0 / harmonic / f64::from(rank)).abs() < 1e-12);
        let gpus = if model.class == "large" { 4 } else { 1 };
        assert_eq!(deployment.placements[0].gpus, gpus, "{}", model.name);
        let min = u32::from(model.name == "niche");
        assert_eq!(deployment.scaling.min, min, "{}", model.name);
    }
    let large = popularity.models.iter().filter(|one| one.class == "large");
    assert_eq!(
        large.count(),
        6,
        "a quarter, and the one that was put there"
    );
    assert_eq!(acme.benchmarked, [0, 11]);
}

#[test]
fn a_scenario_as_understood_means_the_same() {
    let load = |text: &str| scenario::load("test.toml", text, &Overrides::default());
    let (_, understood) = load(CATALOGUE).expect("it is sound");
    let shown = understood.to_toml();
    assert!(
        shown.lines().count() < 200,
        "it does not list every model:\n{shown}"
    );
    for text in [shown, understood.to_plain_toml()] {
        let (_, again) = load(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again.to_plain_toml(), understood.to_plain_toml());
    }
}

#[test]
fn no_provider_and_no_setting_changes_what_users_ask() {
    let with = |more: &str| plan(&format!("{CATALOGUE}{more}"));
    let other = "
        [providers.zeta.catalogue]
        models = 12
        [providers.zeta.catalogue.deployment]
        service.slots = { prefill = \"3s\", decode = \"9s\" }
        [providers.zeta.deployments.own]
        traffic.others.arrivals = \"1/s\"
    ";
    let (alone, together) = (with(""), with(other));
    for model in ["rank-1", "rank-7", "niche"] {
        let users = asked(&alone, 0, model);
        assert!(users.len() > 10, "{model} is asked for");
        let same = |plan: &Plan, provider| users == asked(plan, provider, model);
        assert!(same(&together, 0), "{model} beside another provider");
        assert!(same(&together, 1), "{model} at another provider");
    }
    assert!(asked(&alone, 0, "rank-1") != asked(&alone, 0, "rank-2"));
}

#[test]
fn each_model_has_its_own_shift_and_the_same_one_always() {
    let peak = |plan: &Plan, model: usize| {
        let process = &plan.providers[0].fleet.deployments[model].traffic[0].arrivals;
        let at = |hour: usize| process.curve.at(hour as f64 * 3600.0).0;
        (0..24).max_by(|&a, &b| at(a).total_cmp(&at(b)))
    };
    let plans = [
        CATALOGUE.to_owned(),
        CATALOGUE.replace("rate = \"2/s\"", "rate = \"9/s\""),
    ];
    let [once, again] = plans.map(|text| plan(&text));
    let peaks: Vec<_> = (0..20).map(|model| peak(&once, model)).collect();
    assert_eq!(
        peaks,
        (0..20).map(|model| peak(&again, model)).collect::<Vec<_>>()
    );
    // The profile's own peak is at 19:00; 20 of 13 values are not all alike, and none is further than 6 hours.
    let distinct: std::collections::BTreeSet<_> = peaks.iter().collect();
    assert!(distinct.len() > 3, "{peaks:?}");
    assert!(
        peaks
            .iter()
            .all(|peak| peak.is_some_and(|hour| hour >= 13 || hour <= 1))
    );
}

#[test]
fn bursts_leave_the_mean_rate() {
    for arrivals in [
        "\"poisson\"",
        "{ gamma = { cv = 3 } }",
        "{ mmpp = { burst_factor = 4, calm_mean = \"20m\", burst_mean = \"5m\" } }",
        "{ mmpp = { burst_factor = 5, calm_mean = \"20m\", burst_mean = \"5m\" } }",
    ] {
        let text = CATALOGUE.replace("shift", &format!("arrivals = {arrivals}\nshift"));
        let plan = plan(&text);
        let total: f64 = (plan.providers[0].fleet.deployments.iter())
            .map(|one| one.traffic[0].arrivals.mean_rate())
            .sum();
        assert!((total - 2.0).abs() < 1e-9, "{arrivals}: {total}");
    }
}

#[test]
fn the_benchmark_goes_through_the_ranks_that_it_names() {
    let result = simulate(CATALOGUE);
    let measured: Vec<u32> = result.lanes.iter().map(|lane| lane.deployment).collect();
    assert_eq!(measured, [0, 11]);
    assert_eq!(summary(&result).succeeded, 3);
    let named = plan(&CATALOGUE.replace(", ranks = [1, 12]", ""));
    assert_eq!(named.providers[0].benchmarked, [11], "what has a name");
}

#[test]
fn what_cannot_be_is_said() {
    let set = |change: &str, to: &str| CATALOGUE.replace(change, to);
    for (text, says) in [
        (set("models = 20", "models = 0"), "must be at least 1"),
        (set("law = 1.0", "law = -1"), "must not be negative"),
        (
            set("law = 1.0", "law = \"marktplace\""),
            "did you mean `marketplace`?",
        ),
        (
            set("law = 1.0", "law.shares.values = [0.5, 0.3]"),
            "must have a share for each model",
        ),
        (
            set("law = 1.0", "law.shares.values = [0.1, 0.3]"),
            "must not rise",
        ),
        (
            set(
                "law = 1.0",
                "law.groups.rows = [{ models = 19, share = 0.1 }, { models = 1, share = 0.9 }]",
            ),
            "must go from popular to unpopular",
        ),
        (
            set("75%", "70%"),
            "the shares of the classes must add up to 100 %",
        ),
        (set("rank = 12", "rank = 21"), "must be at most 20"),
        (
            set("class = \"large\"", "class = \"lagre\""),
            "did you mean `large`?",
        ),
        (
            set("niche = {", "rank-3 = {"),
            "a rank has this name already",
        ),
        (
            set("classes.large]", "classes.huge]"),
            "there is no class called `huge`",
        ),
        (
            set("exceptions.niche", "exceptions.nice"),
            "did you mean `niche`?",
        ),
        (set("gpus = 4", "gpsu = 4"), "unknown key `gpsu`"),
        (set("gpus = 4", "gpus = 0"), "must be at least 1"),
        (
            set("ranks = [1, 12]", "ranks = [1, 21]"),
            "has rank 21, which no catalogue has",
        ),
        (
            CATALOGUE
                .split("[providers")
                .next()
                .unwrap_or_default()
                .to_owned()
                + "[providers.acme.deployments.own]",
            "no provider has its models",
        ),
        (
            set("[popularity]", "[unpopular]"),
            "there is no `popularity` table",
        ),
        (
            set(
                "shift",
                "arrivals.mmpp = { burst_factor = 6, calm_mean = \"20m\", burst_mean = \"5m\" }\nshift",
            ),
            "bursts must not bring more than all requests",
        ),
        (
            format!("{CATALOGUE}[providers.acme.deployments.rank-2]\n"),
            "the model `rank-2` is deployed twice",
        ),
        (
            set(", ranks = [1, 12]", "")
                .replace("pinned = { niche = { rank = 12, class = \"large\" } }", "")
                .replace("exceptions.niche", "exceptions.rank-12"),
            "must say which models of the catalogues it measures",
        ),
    ] {
        let problems = problems(&text);
        assert!(problems.contains(says), "{says}\n{problems}\n{text}");
    }
}

/// A mistake in a table that many models are made of is one problem.
#[test]
fn a_problem_of_a_template_is_said_once() {
    let text = CATALOGUE.replace("keep_alive = \"1m\"", "keep_alive = \"1 minuet\"");
    assert_eq!(
        problems(&text).matches("error").count(),
        1,
        "{}",
        problems(&text)
    );
}

#[test]
fn a_sweep_has_rows_of_tiers_that_add_up_to_all() {
    let plan = plan(CATALOGUE);
    let points = sweep(std::slice::from_ref(&plan), 2, &|| ());
    let rows = &points[0].rows;
    let names: Vec<String> = (rows.iter())
        .map(|row| plan.part_name(row.provider, row.part))
        .collect();
    assert_eq!(
        names,
        ["rank-1", "niche", "head 1", "middle 9", "tail 10", "all 20"]
    );
    let hours: Vec<f64> = (rows[2..].iter())
        .filter_map(|row| row.users.point(Figure::GpuHours))
        .collect();
    assert!(
        (hours[..3].iter().sum::<f64>() - hours[3]).abs() < 1e-9,
        "{hours:?}"
    );
    let head = |figure| [0, 2].map(|row: usize| rows[row].users.point(figure));
    for figure in [Figure::TtftP95, Figure::Cv, Figure::ColdRequests] {
        let [model, tier] = head(figure);
        assert_eq!(model, tier, "the head is one model");
    }
}
