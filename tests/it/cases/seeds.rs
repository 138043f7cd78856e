//! Randomness: what the seed decides, and what it must not share.

use crate::determinism::{on_threads, under_load};
use crate::journal::Digest;
use crate::support::{EVERYTHING, fleet, ledger, plan, requests, run_plan, simulate, waited};
use std::collections::{BTreeMap, BTreeSet};
use thermocline::experiment::repeat::repeat;
use thermocline::experiment::{Keep, Run, RunResult, run};
use thermocline::scenario::{self, Overrides};
use thermocline::stats::{CvDefinition, Sample};
use thermocline::time::{Duration, Time};

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
            Digest::of(&simulate(&poisson(seed))),
            Digest::of(&simulate(&poisson(seed)))
        );
        let overrides = Overrides {
            seed: Some(seed),
            ..Overrides::default()
        };
        let (overridden, _) =
            scenario::load("test.toml", &poisson(99), &overrides).expect("a valid scenario");
        assert_eq!(overridden.seed, seed);
        assert_eq!(
            Digest::of(&run_plan(&overridden)),
            Digest::of(&simulate(&poisson(seed)))
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

/// The same bytes five times, on any number of threads, and on a busy machine.
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
            Digest::of(&repeat(
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
        let busy = under_load(|| on_threads(8, once));
        assert_eq!(busy, first, "{router} on a busy machine");
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
        Digest::of(&outcome)
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

/// A model with a warm pool of `pool` replicas and never more, whose answers take `decode`.
fn pooled(pool: u32, decode: &str) -> String {
    fleet(
        "600s",
        &format!(
            "[providers.p.deployments.m]
            service.slots = {{ prefill.exponential.mean = \"2s\", decode = \"{decode}\" }}
            scaling = {{ min = {pool}, max = {pool} }}
            traffic.t.arrivals = \"1/s\""
        ),
    )
}

/// Settings of a sweep differ by what they are, not by luck: they meet the same requests, and a FIFO queue with one server
/// more makes nobody wait longer.
#[test]
fn c101_settings_of_a_sweep_meet_the_same_demand() {
    let with = |pool| {
        let result = simulate(&pooled(pool, "1s"));
        let waits: BTreeMap<(Time, u32, u32), Duration> = requests(&result, 0)
            .iter()
            .map(|trace| {
                let key = (trace.arrived, trace.prompt_tokens, trace.output_tokens);
                (key, waited(trace))
            })
            .collect();
        (ledger(&result, 0).arrived, waits)
    };
    let (arrived, mut fewer) = with(3);
    for pool in 4..=8 {
        let (met, more) = with(pool);
        assert_eq!(met, arrived);
        for (request, wait) in &fewer {
            assert!(
                more.get(request).is_some_and(|with| with <= wait),
                "{request:?} with {pool}"
            );
        }
        fewer = more;
    }
}

/// What common random numbers are for: over forty replications, the difference between two settings varies far less when both
/// meet the same demand than when each has its own.
#[test]
fn c101_paired_differences_vary_less() {
    let mean_waits = |decode: &str, from: u64| -> Vec<f64> {
        let plan = plan(&pooled(5, decode));
        let one = |replication| {
            let result = run(
                &plan,
                Run {
                    provider: 0,
                    session: 0,
                    replication,
                },
                EVERYTHING,
            );
            let waits = requests(&result, 0);
            waits
                .iter()
                .map(|trace| waited(trace).as_secs())
                .sum::<f64>()
                / waits.len() as f64
        };
        (from..from + 40).map(one).collect()
    };
    let variance_of_difference = |other: &[f64]| {
        let differences = mean_waits("1s", 0)
            .into_iter()
            .zip(other)
            .map(|(a, b)| a - b);
        let differences = Sample::new(differences.collect()).expect("differences");
        differences.variance().expect("forty of them")
    };
    let paired = variance_of_difference(&mean_waits("1100ms", 0));
    let independent = variance_of_difference(&mean_waits("1100ms", 1_000));
    // The quotient of two variances of forty normal values each exceeds 2.8 less than once in a thousand times if nothing is behind it.
    assert!(
        independent > 2.8 * paired,
        "{paired} s2 paired, {independent} s2 independent"
    );
}
