//! What must follow when a scenario is changed in a known way. No closed form is needed, only a second run with the same
//! random numbers.

use crate::support::{fleet, ledger, plan, requests, simulate};
use std::collections::BTreeSet;
use thermocline::experiment::{Keep, Run, RunResult, run};
use thermocline::stats::{Estimate, Sample};
use thermocline::theory::cold_share;
use thermocline::time::Time;

/// Arrivals of the requests that met a cold start.
fn cold(result: &RunResult) -> BTreeSet<Time> {
    let all = requests(result, 0);
    let cold = all.iter().filter(|trace| trace.cold);
    cold.map(|trace| trace.arrived).collect()
}

#[test]
fn times_scale() {
    // Every time in the scenario is `tens` times as long, and every rate a tenth or a hundredth.
    let scaled = |tens: &str, rate: &str| {
        simulate(&fleet(
            &format!("2000{tens}s"),
            &format!(
                "[providers.p.deployments.m]\n\
                 service.slots = {{ slots = 2, prefill.exponential.mean = \"1{tens}s\", decode.lognormal = {{ mean = \"3{tens}s\", cv = 1 }} }}\n\
                 cold_start.load_weights.exponential.mean = \"5{tens}s\"\n\
                 scaling = {{ max = 2, keep_alive = \"4{tens}s\" }}\n\
                 traffic.t.arrivals = \"{rate}/s\""
            ),
        ))
    };
    let (short, long) = (scaled("", "0.4"), scaled("0", "0.04"));
    let (short, long) = (requests(&short, 0), requests(&long, 0));
    assert!(short.len() > 700 && short.len() == long.len());
    for (index, (short, long)) in short.iter().zip(&long).enumerate() {
        // An instant is rounded to the nanosecond once it is scheduled, and follows from others at most four a request.
        let allowed = 4 * 11 * (index as u64 + 1);
        for (short, long) in [(short.arrived, long.arrived), (short.end, long.end)] {
            let off = (short.as_nanos() * 10).abs_diff(long.as_nanos());
            assert!(off <= allowed, "request {index}: {off} ns off");
        }
        assert_eq!(short.cold, long.cold, "request {index}");
    }
}

#[test]
fn a_longer_keep_alive_only_spares_cold_starts() {
    let kept = |keep_alive: &str| {
        cold(&simulate(&fleet(
            "200000s",
            &format!(
                "[providers.p.deployments.m]\n\
                 service.slots = {{ slots = \"unlimited\", prefill.exponential.mean = \"2s\", decode = \"0s\" }}\n\
                 scaling = {{ max = 1, keep_alive = \"{keep_alive}\" }}\ntraffic.t.arrivals = \"0.01/s\""
            ),
        )))
    };
    let sets = ["0s", "30s", "60s", "90s", "5m"].map(kept);
    for pair in sets.windows(2) {
        assert!(pair[1].is_subset(&pair[0]));
        assert!(pair[1].len() < pair[0].len());
    }
}

#[test]
fn a_larger_warm_pool_only_spares_cold_starts() {
    let pool = |min: u32| {
        cold(&simulate(&fleet(
            "50000s",
            &format!(
                "[providers.p.deployments.m]\n\
                 service.slots = {{ prefill.exponential.mean = \"4s\", decode = \"0s\" }}\n\
                 scaling = {{ rule = \"per-request\", min = {min}, keep_alive = \"20s\" }}\ntraffic.t.arrivals = \"0.1/s\""
            ),
        )))
    };
    let sets = [0, 1, 2, 3].map(pool);
    for pair in sets.windows(2) {
        assert!(pair[1].is_subset(&pair[0]));
        assert!(pair[1].len() < pair[0].len());
    }
}

/// Two models of half the demand each keep themselves awake half as well.
#[test]
fn a_model_that_is_split_in_two_is_colder() {
    let half = "service.slots = { slots = \"unlimited\", prefill = \"2s\", decode = \"0s\" }\n\
         scaling = { max = 1, keep_alive = \"60s\" }\ntraffic.t.arrivals = \"0.005/s\"\n";
    let plan = plan(&fleet(
        "400000s",
        &format!("[providers.p.deployments.a]\n{half}[providers.p.deployments.b]\n{half}"),
    ));
    let share = |replication| {
        let (provider, session) = (0, 0);
        let which = Run {
            provider,
            session,
            replication,
        };
        let result = run(&plan, which, Keep::default());
        let both = [0, 1].map(|deployment| ledger(&result, deployment));
        let cold: u64 = both.iter().map(|ledger| ledger.cold_requests).sum();
        cold as f64 / both.iter().map(|ledger| ledger.arrived).sum::<u64>() as f64
    };
    let shares = Sample::new((0..16).map(share).collect()).expect("finite shares");
    let interval = Estimate::of_mean(&shares, 0.999).interval.expect("16 runs");
    assert!(
        interval.contains(cold_share(0.005, 60.0, 2.0)),
        "{interval:?}"
    );
    assert!(interval.low > cold_share(0.01, 60.0, 2.0), "{interval:?}");
}
