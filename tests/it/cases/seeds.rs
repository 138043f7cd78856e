//! Randomness: what the seed decides, and what it must not share.

use crate::determinism::{digest, on_threads};
use crate::support::{EVERYTHING, fleet, ledger, plan, requests, run_plan, simulate};
use std::collections::BTreeSet;
use thermocline::experiment::repeat::repeat;
use thermocline::experiment::{Keep, RunResult};
use thermocline::scenario::{self, Overrides};
use thermocline::stats::CvDefinition;
use thermocline::time::Time;

fn poisson(seed: u64) -> String {
    let body = "[providers.p.deployments.m]\nscaling.min = 1\ntraffic.t.arrivals = \"1/s\"";
    format!("seed = {seed}\n{}", fleet("200s", body))
}

fn arrivals(result: &RunResult, deployment: u32) -> Vec<(Time, u32, u32)> {
    let all = requests(result, deployment);
    all.iter()
        .map(|trace| (trace.arrived, trace.prompt_tokens, trace.output_tokens))
        .collect()
}

/// Every seed is another run, zero and 2^32 too, each repeats exactly, and a seed from outside wins over the file's.
#[test]
fn c070_the_seed_controls_everything() {
    let seeds = [0, 1, 2, 1 << 32];
    let lists: BTreeSet<Vec<(Time, u32, u32)>> = seeds
        .iter()
        .map(|&seed| arrivals(&simulate(&poisson(seed)), 0))
        .collect();
    assert_eq!(lists.len(), seeds.len());
    for seed in seeds {
        assert_eq!(plan(&poisson(seed)).seed, seed);
        assert_eq!(
            digest(&simulate(&poisson(seed))),
            digest(&simulate(&poisson(seed)))
        );
        let overrides = Overrides {
            seed: Some(seed),
            ..Overrides::default()
        };
        let (overridden, _) =
            scenario::load("test.toml", &poisson(99), &overrides).expect("a valid scenario");
        assert_eq!(overridden.seed, seed);
        assert_eq!(
            digest(&run_plan(&overridden)),
            digest(&simulate(&poisson(seed)))
        );
    }
}

fn models(names: &[&str], keep_alive_of_b: &str) -> String {
    let model = |name: &&str| {
        let keep_alive = if *name == "b" { keep_alive_of_b } else { "5m" };
        format!(
            "[providers.p.deployments.{name}]
            service.slots = {{ slots = 8 }}
            cold_start.load_weights = \"10s\"
            scaling.keep_alive = \"{keep_alive}\"
            traffic.t.arrivals = \"5/s\"\n"
        )
    };
    fleet("2000s", &names.iter().map(model).collect::<String>())
}

/// Two models with the same settings have nothing in common, and neither notices the other's settings or a third one.
#[test]
fn c071_models_do_not_share_randomness() {
    let two = simulate(&models(&["a", "b"], "5m"));
    let gaps = |deployment| {
        let arrivals = arrivals(&two, deployment);
        arrivals
            .windows(2)
            .map(|pair| pair[1].0.since(pair[0].0).as_secs())
            .take(9_500)
            .collect::<Vec<f64>>()
    };
    let correlation = correlation(&gaps(0), &gaps(1));
    assert!(correlation.abs() < 0.05, "gaps correlate by {correlation}");
    for other in [models(&["c", "a", "b"], "5m"), models(&["a", "b"], "1s")] {
        let result = simulate(&other);
        let a = u32::from(result.fleet.len() == 3);
        assert_eq!(arrivals(&result, a), arrivals(&two, 0));
        assert_eq!(ledger(&result, a as usize), ledger(&two, 0));
    }
}

fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len().min(y.len());
    assert!(n > 9_000, "{n} gaps");
    let mean = |values: &[f64]| values[..n].iter().sum::<f64>() / n as f64;
    let (mx, my) = (mean(x), mean(y));
    let sum = |a: &[f64], ma: f64, b: &[f64], mb: f64| {
        (0..n).map(|i| (a[i] - ma) * (b[i] - mb)).sum::<f64>()
    };
    sum(x, mx, y, my) / (sum(x, mx, x, mx) * sum(y, my, y, my)).sqrt()
}

/// Many events at equal instants, equally loaded replicas, every router.
fn ties(router: &str) -> String {
    let model = |name: &str| {
        format!(
            "[providers.p.deployments.{name}]
            router = \"{router}\"
            service.slots = {{ slots = 2, prefill = \"1s\", decode = \"3s\" }}
            cold_start.load_weights = \"4s\"
            scaling = {{ keep_alive = \"4s\", max = 12 }}
            queue = {{ limit = 10, timeout = \"8s\" }}
            losses.failures_at = [\"50s\", \"100s\"]
            traffic.x.arrivals.deterministic = {{ rate = \"1/s\" }}
            traffic.y.arrivals.deterministic = {{ rate = \"2/s\" }}
            traffic.z = {{ arrivals.deterministic = {{ rate = \"1/s\" }}, priority = 1, timeout = \"4s\" }}\n"
        )
    };
    format!(
        "time = {{ warm_up = \"20s\", horizon = \"200s\" }}
        benchmark = {{ requests = 20, discard = 1, gaps = \"4s\", timeout = \"8s\" }}
        {}{}",
        model("a"),
        model("b")
    )
}

/// The same bytes five times and on any number of threads.
#[test]
fn c072_equal_instants_are_served_in_one_order() {
    for router in [
        "shared-queue",
        "round-robin",
        "random",
        "least-outstanding",
        "two-choices",
    ] {
        let plan = plan(&ties(router));
        let once = || {
            digest(&repeat(
                &plan,
                4,
                CvDefinition::StdOverMean,
                EVERYTHING,
                &|| (),
            ))
        };
        let first = on_threads(1, once);
        for threads in [1, 1, 2, 3, 8] {
            assert_eq!(
                on_threads(threads, once),
                first,
                "{router} on {threads} threads"
            );
        }
    }
}

/// Asking for more output changes nothing but the output.
#[test]
fn c073_watching_changes_nothing() {
    let plan = plan(&ties("random"));
    let with = |keep: Keep, progress: &(dyn Fn() + Sync)| {
        let mut outcome = repeat(&plan, 2, CvDefinition::StdOverMean, keep, progress);
        for run in &mut outcome.runs {
            assert_eq!(run.everybody.is_empty(), !keep.everybody);
            assert_eq!(run.replicas.is_empty(), !keep.replicas);
            run.everybody.clear();
            run.replicas.clear();
        }
        digest(&outcome)
    };
    let plain = with(Keep::default(), &|| ());
    let heard = std::sync::atomic::AtomicU32::new(0);
    let listening = || {
        heard.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    assert_eq!(with(EVERYTHING, &listening), plain);
    assert_eq!(
        with(
            Keep {
                everybody: false,
                replicas: true
            },
            &|| ()
        ),
        plain
    );
    assert_eq!(heard.into_inner(), 2);
}
