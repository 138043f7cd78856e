//! The bars of the design for speed, from one run, each beside what was measured: `cargo bench --bench bars`.
//!
//! Whatever is compared is measured in turns, by CPU time, and the best turn counts, so that other processes move the ratios as
//! little as possible. `cargo bench --bench bars -- --long` adds a run of 10^8 requests.

#![expect(clippy::print_stdout, reason = "the ratios are the result")]

mod clock;
#[path = "../workloads/mod.rs"]
mod workloads;

use clock::{peak_memory_mb, timed, timed_children};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Instant;
use thermocline::experiment::Keep;
use thermocline::experiment::repeat::repeat;
use thermocline::stats::CvDefinition;
use workloads::stepping::{BATCH, Batches, OUTPUT};
use workloads::{BATCHING, Bare, Queue, SERVERS, catalogue, plan, queue, requests};

/// The workload on which inference-lab 1.0.0 serves at most 17,000 requests a CPU-second.
const STEPS: &str = include_str!("../peers/roofline.toml");

/// The model on which `SimFaaS` 0.2.2 serves 68,000 requests a CPU-second; 900,000 requests, whatever their rate.
fn functions(rate: &str, horizon: &str) -> String {
    include_str!("../peers/function.toml")
        .replace("0.9/s", rate)
        .replace("1000000s", horizon)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let is_known = |argument: &String| argument == "--bench" || argument == "--long";
    // Under `--test`, `--list` or another benchmark's filter nothing is timed.
    if !has("--bench") || !arguments.iter().all(is_known) {
        return assert_same_first_tokens(&Batches::new(BATCH));
    }
    queue_against_loop();
    catalogue_rate();
    stepping();
    processes();
    threads();
    progress();
    if has("--long") {
        long();
    }
}

/// Turns of what takes a fraction of a second: each side should once have the processor to itself.
const MANY: u32 = 20;

/// Prints a figure beside its bar.
fn line(what: &str, found: f64, bar: f64, unit: &str) {
    let verdict = if found >= bar { "holds" } else { "missed" };
    println!("{what:<72} {found:>9.2} {unit:<14} bar {bar:>6.2}  {verdict}");
}

/// The best rates of two pieces of work in turns [1/s].
fn in_turns(turns: u32, mut one: impl FnMut() -> u64, mut other: impl FnMut() -> u64) -> [f64; 2] {
    let mut best = [0.0_f64; 2];
    for _ in 0..turns {
        let works: [&mut dyn FnMut() -> u64; 2] = [&mut one, &mut other];
        for (best, work) in best.iter_mut().zip(works) {
            *best = best.max(rate(work));
        }
    }
    best
}

/// The rate of some work [1/s], over long enough a time: a thread's CPU time moves on by a tick of some milliseconds.
fn rate(work: &mut dyn FnMut() -> u64) -> f64 {
    const LONG_S: f64 = 0.2;
    let (mut span, mut done, mut repeats) = (0.0, 0, 1);
    while span < LONG_S {
        let (more, of_it) = timed(|| (0..repeats).map(|_| work()).sum::<u64>());
        (span, done, repeats) = (span + more, done + of_it, repeats * 2);
    }
    done as f64 / span
}

fn queue_against_loop() {
    let (mut bare, mut queue) = (Bare::new(), Queue::new());
    let [loop_rate, queue_rate] = in_turns(MANY, || bare.turn(), || queue.turn());
    println!(
        "bare calendar loop {:.1} M events/s, M/M/{SERVERS} through the fleet {:.1} M events/s",
        loop_rate / 1e6,
        queue_rate / 1e6
    );
    let what = format!("M/M/{SERVERS} through the fleet, events/s over the bare loop's");
    line(&what, queue_rate / loop_rate, 1.0 / 3.0, "");
}

fn catalogue_rate() {
    let (short, long) = (plan(&catalogue(50)), plan(&catalogue(500)));
    let [few, many] = in_turns(5, || requests(&short), || requests(&long));
    let what = "400 models, Zipf, continuous batching, shared GPUs, 10^6 requests";
    line(what, many / 1e6, 1.0, "M requests/s");
    let what = "400 models: requests/s at 10^6 requests over those at 10^5";
    line(what, many / few, 0.9, "");
}

/// The fast model and the oracle agree on every first token to the rounding of an instant, with room for the oracle's own.
fn assert_same_first_tokens(batches: &Batches) {
    let slow = batches.step_by_step();
    for (slow, fast) in slow.into_iter().zip(batches.change_by_change()) {
        assert!((slow - fast).abs() < 2e-9, "{slow} s and {fast} s");
    }
}

fn stepping() {
    let batches = Batches::new(20 * BATCH);
    assert_same_first_tokens(&batches);
    let count = |first_tokens: Vec<f64>| first_tokens.len() as u64;
    let [slow, fast] = in_turns(
        MANY,
        || count(batches.step_by_step()),
        || count(batches.change_by_change()),
    );
    let what = format!("batch of {BATCH}, {OUTPUT} tokens: requests/s over the oracle's");
    line(&what, fast / slow, 50.0, "");
}

/// The whole program, from its start to its last line.
fn process(scenario: &str) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_thermocline"))
        .args([
            "simulate",
            "/dev/stdin",
            "--quiet",
            "--format",
            "json",
            "--threads",
            "1",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input
        .write_all(scenario.as_bytes())
        .expect("the program reads");
    drop(input);
    assert!(child.wait().expect("the program ends").success());
}

/// The best requests a CPU-second of the whole program, for each of some scenarios in turns of so many runs.
fn process_rates<const N: usize>(scenarios: [(&str, u32); N]) -> [f64; N] {
    let served = scenarios.map(|(scenario, runs)| requests(&plan(scenario)) * u64::from(runs));
    let mut best = [0.0_f64; N];
    for _ in 0..5 {
        for (index, (scenario, runs)) in scenarios.into_iter().enumerate() {
            let (span, ()) = timed_children(|| (0..runs).for_each(|_| process(scenario)));
            best[index] = best[index].max(served[index] as f64 / span);
        }
    }
    best
}

fn processes() {
    let (few, many) = (functions("0.9/s", "1000000s"), functions("100/s", "9000s"));
    let [steps, few, many] = process_rates([(STEPS, 40), (&few, 3), (&many, 3)]);
    let what = "whole process, 8 replicas, 512/512 tokens, 40/s: 30 times inference-lab";
    line(what, steps / 1e6, 0.51, "M requests/s");
    let what = "whole process, 0.9/s on 8 instances: 50 times SimFaaS";
    line(what, few / 1e6, 3.4, "M requests/s");
    let what = "the same at 100/s on 250 instances, over that on 8";
    line(what, many / few, 0.8, "");
}

fn threads() {
    let plan = plan(BATCHING);
    let wall = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let begun = Instant::now();
        pool.expect("threads").install(|| {
            repeat(&plan, 64, CvDefinition::default(), Keep::default(), &|| ());
        });
        begun.elapsed().as_secs_f64()
    };
    let mut best = [f64::MAX; 2];
    for _ in 0..5 {
        for (best, threads) in best.iter_mut().zip([1, 2]) {
            *best = best.min(wall(threads));
        }
    }
    let what = "--repeat on 2 threads over 1, wall-clock time";
    line(what, best[0] / best[1], 1.9, "");
}

/// What a progress bar costs of a run of the shortest kind that lasts long enough to show one.
fn progress() {
    let bar = indicatif::ProgressBar::hidden();
    let (step, ()) = timed(|| (0..10_000_000).for_each(|_| bar.inc(1)));
    let short = plan(&queue(1));
    let (run, _) = timed(|| (0..1000).map(|_| requests(&short)).sum::<u64>());
    let share = (step / 1e7) / (run / 1e3) * 100.0;
    line(
        "percent of a run of 800 requests left beside its progress step",
        100.0 - share,
        99.0,
        "%",
    );
}

fn long() {
    let million = plan(&queue(1250));
    let (span, done) = timed(|| requests(&million));
    let short_rate = done as f64 / span;
    let plan = plan(&queue(125_000));
    let (span, done) = timed(|| requests(&plan));
    println!("{done} requests in {span:.1} CPU-s");
    let rate = done as f64 / span;
    line(
        "10^8 requests in one run: requests/s over those at 10^6",
        rate / short_rate,
        0.9,
        "",
    );
    if let Some(peak) = peak_memory_mb() {
        line(
            "10^8 requests in one run: MB below 200",
            200.0 - peak,
            0.0,
            "MB",
        );
    }
}
