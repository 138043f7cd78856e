//! Time to first token against concurrency, as Oracle publishes it for Llama 3.3 70B on a dedicated cluster.
//!
//! Source: docs.oracle.com, `benchmark-meta-llama-3-3-70b-instruct`, "Random Length", one Large Generic unit. Prompts are normal
//! with mean 480 and deviation 240 tokens, answers with mean 300 and deviation 150; the tool is `LLMPerf`, whose users send their
//! next request as soon as one has ended, all beginning at once, until a number of requests is through; it redraws lengths
//! until they are positive and reports means.
//!
//! **How many requests.** The page does not say, but it says enough: by Little's law throughput times latency is the mean
//! number in the system, which [`PUBLISHED`] gives as 0.99 of the users at 8, 0.88 at 64, 0.79 at 128 and 0.64 at 256. Users
//! are missing while the last answers run out, which costs the same part of one answer's time at every concurrency, so the
//! share is `k / (k + x)` with `k` requests a user. A fixed total of 256 requests (`k` = 32, 4, 2, 1) with `x` = 0.57 gives
//! 0.98, 0.88, 0.78 and 0.64. So at 256 users there was one wave, and its TTFT is the time to compute 256 prompts that came at
//! once; nothing queued for a place.
//!
//! **The deployment.** Four H100 at 16 bits, which alone give the figures at one user (see the catalogue's own tests), vLLM with
//! the catalogue's defaults: 256 sequences, 8192 tokens an iteration; in front the catalogue's API gateway, and no round trip,
//! as the client's place is unknown. Nothing here is fitted to the table. Without the gateway the model is 10 to 20 ms below
//! the table up to 16 users, and equally near above.

use crate::support::plan;
use rand_distr::{Distribution, Normal};
use std::fmt::Write as _;
use thermocline::experiment::Plan;
use thermocline::fleet::Fleet;
use thermocline::request::{EndpointId, Request, RequestId};
use thermocline::streams::{Stream, Streams};
use thermocline::target::Target;
use thermocline::time::Time;

/// Users, TTFT \[s\], latency \[s\], requests per second.
const PUBLISHED: [(u32, f64, f64, f64); 9] = [
    (1, 0.05, 5.19, 0.19),
    (2, 0.06, 5.34, 0.37),
    (4, 0.06, 5.29, 0.75),
    (8, 0.07, 5.44, 1.44),
    (16, 0.09, 5.94, 2.59),
    (32, 0.16, 6.59, 4.53),
    (64, 0.40, 8.52, 6.58),
    (128, 1.29, 11.93, 8.49),
    (256, 4.09, 20.16, 8.09),
];

/// Requests of one benchmark, whatever the concurrency.
const REQUESTS: u32 = 256;

/// Benchmarks averaged over.
const REPEATS: u64 = 20;

const DEPLOYMENT: &str = r#"
    providers.oci.network.gateway.lognormal = { median = "15ms", sigma = 0.5 }
    [providers.oci.deployments."llama-3.3-70b"]
    gpu = "h100-sxm"
    gpus = 4
    engine.format = "bf16"
    scaling = { min = 1, max = 1, rule = "fixed" }
"#;

/// What one benchmark reports.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    /// \[s\]
    ttft_mean: f64,
    /// \[s\]
    ttft_median: f64,
    /// \[s\]
    latency: f64,
    /// [1/s]
    rate: f64,
}

/// Draws a length until it is positive.
fn length(law: Normal<f64>, stream: &mut Stream) -> u32 {
    loop {
        let drawn = law.sample(stream).round();
        if drawn >= 1.0 {
            return drawn as u32;
        }
    }
}

/// `users` send [`REQUESTS`] requests between them, each its next one as soon as one has ended.
fn closed_loop(plan: &Plan, users: u32, seed: u64) -> Figures {
    let provider = &plan.providers[0];
    let streams = Streams::new(seed, 0);
    let mut fleet = Fleet::new(provider.fleet.clone(), &provider.name, streams, ());
    let mut lengths = streams.stream("lengths");
    let prompts = Normal::new(480.0, 240.0).expect("a valid law");
    let answers = Normal::new(300.0, 150.0).expect("a valid law");
    let mut sent = 0;
    let mut send = |fleet: &mut Fleet| {
        if sent < REQUESTS {
            fleet.submit(Request {
                id: RequestId(u64::from(sent)),
                endpoint: EndpointId(0),
                due: fleet.now(),
                prompt_tokens: length(prompts, &mut lengths),
                output_tokens: length(answers, &mut lengths),
                timeout: None,
            });
            sent += 1;
        }
    };
    for _ in 0..users {
        send(&mut fleet);
    }
    let (mut ttfts, mut latency) = (Vec::new(), 0.0);
    while ttfts.len() < REQUESTS as usize {
        let seen = fleet.advance(Time::MAX).expect("every request ends");
        ttfts.push(seen.ttft().expect("every request is answered").as_secs());
        latency += seen.latency().as_secs();
        send(&mut fleet);
    }
    ttfts.sort_by(f64::total_cmp);
    let count = f64::from(REQUESTS);
    Figures {
        ttft_mean: ttfts.iter().sum::<f64>() / count,
        ttft_median: ttfts[ttfts.len() / 2],
        latency: latency / count,
        rate: count / fleet.now().as_secs(),
    }
}

/// The mean of several benchmarks.
fn averaged(plan: &Plan, users: u32) -> Figures {
    let mut mean = Figures::default();
    for seed in 0..REPEATS {
        let one = closed_loop(plan, users, seed);
        mean.ttft_mean += one.ttft_mean / REPEATS as f64;
        mean.ttft_median += one.ttft_median / REPEATS as f64;
        mean.latency += one.latency / REPEATS as f64;
        mean.rate += one.rate / REPEATS as f64;
    }
    mean
}

#[test]
fn ttft_rises_with_concurrency_as_published() {
    let text = format!("time = {{ warm_up = \"0s\" }}\n{DEPLOYMENT}");
    let plan = plan(&text);
    let mut table = String::from(
        "users  TTFT published  mean  error  median | latency published  model | in system published  model\n",
    );
    let mut off = Vec::new();
    for (users, ttft_s, latency_s, requests_per_s) in PUBLISHED {
        let model = averaged(&plan, users);
        let error = model.ttft_mean / ttft_s - 1.0;
        let share = |latency_s: f64, rate: f64| latency_s * rate / f64::from(users);
        let shares = [
            share(latency_s, requests_per_s),
            share(model.latency, model.rate),
        ];
        let _ = writeln!(
            table,
            "{users:5} {ttft_s:15.2} {:5.2} {:+5.0}% {:7.2} | {latency_s:17.2} {:6.2} | {:19.2} {:6.2}",
            model.ttft_mean,
            error * 100.0,
            model.ttft_median,
            model.latency,
            shares[0],
            shares[1],
        );
        if error.abs() > 0.35 {
            off.push(users);
        }
        if (latency_s / model.latency).ln().abs() > 0.3 || (shares[0] - shares[1]).abs() > 0.06 {
            off.push(users);
        }
    }
    assert!(off.is_empty(), "off at {off:?} users:\n{table}");
}
