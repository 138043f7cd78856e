//! Executors against exact vectors and closed forms (`reference/theory.md`, §1.2 h and §1.4), and against known failures of
//! other simulators.

use super::drive::{Outcome, Seen, drive};
use super::oracle::Event;
use super::{Admission, BatchTime, Config, ContinuousConfig, Cost, Job, StatedCost, StaticConfig};
use crate::streams::{Stream, Streams};
use crate::time::{Duration, Time};
use rand::Rng;

/// U01's coefficients: 20 ms a pass, 1 ms a sequence, 1 us a token of context, prompts for nothing.
const STEP: StatedCost = StatedCost {
    base_s: 0.02,
    per_sequence_s: 0.001,
    per_context_token_s: 1e-6,
    prefill_per_token_s: 0.0,
    prefill_per_pair_s: 0.0,
};

fn continuous(max_sequences: u32, kv_blocks: u32, cost: StatedCost) -> ContinuousConfig {
    ContinuousConfig {
        max_sequences,
        max_batched_tokens: max_sequences.max(8192),
        kv_blocks,
        block_tokens: 16,
        max_context_tokens: u32::MAX,
        admission: Admission::Fcfs,
        cost: Cost::Stated(cost),
    }
}

fn job(key: u32, prompt_tokens: u32, output_tokens: u32) -> Job {
    let (prefill, decode) = (Duration::ZERO, Duration::ZERO);
    Job {
        key,
        prompt_tokens,
        cached_tokens: 0,
        output_tokens,
        priority: 0,
        prefill,
        decode,
    }
}

/// A job whose prompt is in the prefix cache.
fn cached(key: u32, prompt_tokens: u32, output_tokens: u32) -> Job {
    Job {
        cached_tokens: prompt_tokens,
        ..job(key, prompt_tokens, output_tokens)
    }
}

fn arrivals(jobs: &[(f64, Job)]) -> Vec<(Time, Event)> {
    jobs.iter()
        .map(|(at, job)| (Time::from_secs(*at), Event::Arrive(*job)))
        .collect()
}

fn first_and_finish(outcome: &Outcome, key: usize) -> (u64, u64) {
    let seen = &outcome.jobs[key];
    (
        seen.first_token_at().as_nanos(),
        seen.finished_at().as_nanos(),
    )
}

#[test]
fn u01_four_requests_in_a_batch_of_three_to_the_nanosecond() {
    let jobs = [
        (0.0, cached(0, 1000, 100)),
        (0.5, cached(1, 500, 50)),
        (1.0, cached(2, 2000, 200)),
        (1.2, cached(3, 100, 10)),
    ];
    let config = Config::Continuous(continuous(3, 1000, STEP));
    for late_binding in [false, true] {
        let outcome = drive(&config, &arrivals(&jobs), late_binding);
        assert_eq!(first_and_finish(&outcome, 0), (22_000_000, 2_461_760_000));
        assert_eq!(first_and_finish(&outcome, 1), (529_776_000, 1_772_259_000));
        assert_eq!(
            first_and_finish(&outcome, 2),
            (1_027_221_000, 5_792_120_000)
        );
        assert_eq!(
            first_and_finish(&outcome, 3),
            (1_798_461_000, 2_034_414_000)
        );
        assert_eq!(
            (outcome.counters.iterations, outcome.counters.segments),
            (244, 6)
        );
    }
}

#[test]
fn u02_a_single_request_to_the_nanosecond() {
    let config = Config::Continuous(continuous(3, 1000, STEP));
    let outcome = drive(&config, &arrivals(&[(0.0, cached(0, 8000, 500))]), false);
    assert_eq!(first_and_finish(&outcome, 0), (29_000_000, 14_624_750_000));
    assert_eq!(
        (outcome.counters.iterations, outcome.counters.segments),
        (500, 1)
    );
}

#[test]
fn a_boundary_that_is_slept_through_is_where_it_was() {
    let begun = Time::from_secs(0.02);
    let mut executor = super::Executor::new(&Config::Continuous(continuous(4, 10, STEP)));
    let mut steps = Vec::new();
    executor.push(Time::ZERO, &job(0, 16, 100), &mut steps);
    executor.run(Time::ZERO, &mut steps);
    assert!(
        executor.wake_at() > Some(Time::from_secs(2.0)),
        "the end of the answer"
    );
    // The first token after the prompt's opens a block: nine are free up to then. One iteration has 21 ms and 17 tokens.
    let next = begun + Duration::from_secs(0.021_017);
    for (at, has_room, boundary, tokens) in [
        (Time::from_nanos(19_999_999), true, begun, 0),
        (begun, true, begun, 1),
        (Time::from_nanos(20_000_001), false, next, 1),
    ] {
        assert_eq!(executor.has_room(at, &job(1, 144, 1)), has_room, "at {at}");
        let mut joined = executor.clone();
        joined.push(at, &job(1, 16, 1), &mut steps);
        assert_eq!(joined.wake_at(), Some(boundary), "at {at}");
        let mut left = executor.clone();
        left.cancel(at, 0, &mut steps);
        assert_eq!(left.wake_at(), Some(boundary), "at {at}");
        let mut failed = executor.clone();
        assert_eq!(failed.fail(at), [0]);
        assert_eq!(failed.counters().abandoned_tokens, tokens, "at {at}");
    }
}

#[test]
fn a_prompt_is_computed_in_chunks_that_ride_along_with_decoding() {
    let cost = StatedCost {
        base_s: 0.01,
        prefill_per_token_s: 1e-4,
        ..StatedCost::default()
    };
    let config = ContinuousConfig {
        max_batched_tokens: 257,
        ..continuous(4, 1000, cost)
    };
    let jobs = [(0.0, cached(0, 16, 100)), (0.105, job(1, 600, 2))];
    let outcome = drive(&Config::Continuous(config), &arrivals(&jobs), false);
    // Boundaries every 10 ms; from 110 ms on chunks of 256, 256 and 88 tokens, the last shorter than reading the weights.
    assert_eq!(outcome.jobs[1].joined_at(), Time::from_secs(0.11));
    assert_eq!(first_and_finish(&outcome, 1), (171_200_000, 181_200_000));
    assert_eq!(outcome.jobs[1].prefill, Duration::from_secs(0.06));
    // The first job lost nothing but time: eleven tokens before, three with the chunks, and the rest after.
    assert_eq!(
        first_and_finish(&outcome, 0),
        (10_000_000, 171_200_000 + 86 * 10_000_000)
    );
}

#[test]
fn a_job_larger_than_memory_is_dropped_and_the_others_finish() {
    // C067: a cache of 1000 tokens, nine jobs of 500 and one of 5000.
    for late_binding in [false, true] {
        let jobs: Vec<_> = (0..10)
            .map(|key| (0.0, job(key, if key == 4 { 4900 } else { 400 }, 100)))
            .collect();
        let config = Config::Continuous(continuous(16, 1000 / 16, STEP));
        let outcome = drive(&config, &arrivals(&jobs), late_binding);
        assert_eq!(outcome.counters.finished, 9);
        assert!(outcome.jobs[4].dropped);
        let all_too_large: Vec<_> = (0..10).map(|key| (0.0, job(key, 4900, 100))).collect();
        assert_eq!(
            drive(&config, &arrivals(&all_too_large), late_binding)
                .counters
                .finished,
            0
        );
    }
}

#[test]
fn memory_pressure_never_credits_work_that_is_not_done() {
    // C080: offered far more than memory holds, decoding all the time. Tokens are bounded by the pass time and by memory.
    let config = continuous(
        64,
        100,
        StatedCost {
            prefill_per_token_s: 1e-4,
            ..STEP
        },
    );
    let jobs: Vec<_> = (0..300)
        .map(|key| (0.01 * f64::from(key), job(key, 100, 300)))
        .collect();
    let outcome = drive(&Config::Continuous(config), &arrivals(&jobs), false);
    assert_eq!(outcome.counters.finished, 300);
    assert!(outcome.counters.preemptions > 100, "{:?}", outcome.counters);
    let end = outcome
        .jobs
        .iter()
        .map(Seen::finished_at)
        .max()
        .expect("jobs");
    // At most 100 blocks / 7 blocks of the shortest context sequences at once, each pass at least 20 ms.
    let bound = 100.0 / 7.0 / 0.02 * end.as_secs();
    assert!(90_000.0 <= bound, "90000 tokens in {end}");
    assert!(outcome.counters.iterations as f64 * 0.02 <= end.as_secs());
}

#[test]
fn cost_does_not_grow_with_the_length_of_answers() {
    let runs = |output_tokens| {
        let jobs: Vec<_> = (0..50)
            .map(|key| (0.1 * f64::from(key), job(key, 100, output_tokens + key)))
            .collect();
        drive(
            &Config::Continuous(continuous(64, 4_000_000, STEP)),
            &arrivals(&jobs),
            false,
        )
        .runs
    };
    let (short, long) = (runs(1_000), runs(1_000_000));
    assert!(
        long <= short,
        "{short} events, {long} when answers are a thousand times longer"
    );
    assert!(long <= 50 * 6, "{long}");
}

fn uniform(random: &mut Stream) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// A Poisson trace of `count` jobs; `length` draws the answers.
fn poisson(
    random: &mut Stream,
    rate: f64,
    count: u32,
    length: impl Fn(&mut Stream) -> u32,
) -> Vec<(Time, Event)> {
    let mut at = 0.0;
    let trace = (0..count).map(|key| {
        at -= uniform(random).ln() / rate;
        (
            Time::from_secs(at),
            Event::Arrive(cached(key, 0, length(random))),
        )
    });
    trace.collect()
}

/// Mean over jobs past the first tenth.
fn steady_mean(outcome: &Outcome, value: impl Fn(&Seen) -> Time) -> f64 {
    let jobs = &outcome.jobs[outcome.jobs.len() / 10..];
    let total: f64 = jobs
        .iter()
        .map(|seen| value(seen).since(seen.arrived).as_secs())
        .sum();
    total / jobs.len() as f64
}

/// Mean of 20 replications and the half-width of its 99.9 % interval (Student's t, 19 degrees of freedom).
fn replicate(name: &str, run: impl Fn(&mut Stream) -> f64) -> (f64, f64) {
    let means: Vec<f64> = (0..20)
        .map(|replication| run(&mut Streams::new(1, replication).stream(name)))
        .collect();
    let mean = means.iter().sum::<f64>() / 20.0;
    let variance = means
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / 19.0;
    (mean, 3.883 * (variance / 20.0).sqrt())
}

#[test]
fn b02_b03_time_in_system_follows_the_fluid_limit_whatever_the_lengths() {
    // E[T] = K (a + b) / (1 - lambda K b), and about half an iteration more because jobs join at boundaries only: theory.md
    // measured 0.44 to 0.49 iterations, so the half is good to a tenth.
    let geometric: fn(&mut Stream) -> u32 =
        |random| 1 + (uniform(random).ln() / (1.0 - 1.0 / 200.0f64).ln()) as u32;
    let constant: fn(&mut Stream) -> u32 = |_| 200;
    for (rate, length, fluid) in [(0.5, geometric, 4.666_666_67), (2.0, constant, 7.0)] {
        let cost = StatedCost {
            per_context_token_s: 0.0,
            ..STEP
        };
        let config = Config::Continuous(continuous(100_000, u32::MAX, cost));
        let (mean, half_width) = replicate("fluid", |random| {
            let outcome = drive(&config, &poisson(random, rate, 10_000, length), false);
            steady_mean(&outcome, Seen::finished_at)
        });
        let iteration = 0.02 + 0.001 * rate * fluid;
        let error = (mean - fluid - iteration / 2.0).abs();
        assert!(
            error < half_width + iteration / 10.0,
            "{mean} +- {half_width}, fluid limit {fluid} + {iteration} / 2"
        );
        assert!(half_width < 0.02 * fluid, "{half_width} shows nothing");
    }
}

fn static_batches(batch_size: u32, window: f64, time: BatchTime) -> StaticConfig {
    StaticConfig {
        batch_size,
        window: Duration::from_secs(window),
        release_early: false,
        time,
    }
}

#[test]
fn b05_static_batches_wait_as_in_the_bulk_queue() {
    let config = Config::Static(static_batches(5, 0.0, BatchTime::Stated));
    for late_binding in [true, false] {
        let (mean, half_width) = replicate("bulk", |random| {
            let mut trace = poisson(random, 3.0, 20_000, |_| 1);
            for (_, event) in &mut trace {
                if let Event::Arrive(job) = event {
                    job.decode = Duration::from_secs(1.0);
                }
            }
            steady_mean(&drive(&config, &trace, late_binding), |seen| {
                seen.joined_at()
            })
        });
        assert!(
            (mean - 0.557_839_05).abs() < half_width,
            "{mean} +- {half_width}"
        );
        assert!(half_width < 0.02, "{half_width} shows nothing");
    }
}

#[test]
fn a_static_batch_waits_for_its_window_or_until_it_is_full() {
    let stated = |key, prefill, decode| Job {
        prefill: Duration::from_secs(prefill),
        decode: Duration::from_secs(decode),
        ..job(key, 10, 5)
    };
    let config = Config::Static(static_batches(2, 0.5, BatchTime::Stated));
    let jobs = [
        (0.0, stated(0, 0.1, 1.0)),
        (1.0, stated(1, 0.1, 1.0)),
        (1.2, stated(2, 0.3, 0.4)),
        (4.0, stated(3, 0.1, 1.0)),
    ];
    let outcome = drive(&config, &arrivals(&jobs), true);
    let seconds = |key: usize| {
        let seen = &outcome.jobs[key];
        [seen.joined_at(), seen.first_token_at(), seen.finished_at()]
    };
    assert_eq!(seconds(0), [0.5, 0.6, 1.6].map(Time::from_secs));
    assert_eq!(seconds(1), [1.6, 1.9, 2.9].map(Time::from_secs));
    assert_eq!(seconds(2), seconds(1));
    assert_eq!(seconds(3), [4.5, 4.6, 5.6].map(Time::from_secs));
}

#[test]
fn a_static_batch_is_padded_to_its_longest_member() {
    let cost = StatedCost {
        prefill_per_token_s: 1e-3,
        ..STEP
    };
    let mut config = static_batches(2, 0.0, BatchTime::Modelled(Cost::Stated(cost)));
    let jobs = arrivals(&[(0.0, job(0, 100, 11)), (0.0, job(1, 50, 2))]);
    let outcome = drive(&Config::Static(config.clone()), &jobs, false);
    // 200 padded tokens; then ten iterations of 22 ms and 2 x 101 tokens of context, two more each time.
    let (first, end) = (200_000_000, 200_000_000 + 10 * 22_202_000 + 2_000 * 45);
    assert_eq!(first_and_finish(&outcome, 0), (first, end));
    assert_eq!(first_and_finish(&outcome, 1), (first, end));
    assert_eq!(outcome.jobs[1].prefill, Duration::from_secs(0.05));
    config.release_early = true;
    let outcome = drive(&Config::Static(config), &jobs, false);
    assert_eq!(first_and_finish(&outcome, 1), (first, first + 22_202_000));
    assert_eq!(first_and_finish(&outcome, 0), (first, end));
}

#[test]
fn cancelling_every_member_ends_a_static_batch() {
    let config = Config::Static(static_batches(2, 0.0, BatchTime::Stated));
    let long = |key| Job {
        decode: Duration::from_secs(100.0),
        ..job(key, 10, 5)
    };
    let mut trace = arrivals(&[(0.0, long(0)), (0.0, long(1)), (1.0, long(2))]);
    trace.push((Time::from_secs(2.0), Event::Cancel(0)));
    trace.push((Time::from_secs(3.0), Event::Cancel(1)));
    let outcome = drive(&config, &trace, false);
    assert_eq!(outcome.jobs[2].joined_at(), Time::from_secs(3.0));
}

#[test]
fn a_static_batch_is_over_when_its_last_member_is() {
    let config = Config::Static(StaticConfig {
        release_early: true,
        ..static_batches(2, 0.0, BatchTime::Stated)
    });
    let stated = |key, decode| Job {
        prefill: Duration::from_secs(0.1),
        decode: Duration::from_secs(decode),
        ..job(key, 10, 5)
    };
    let mut trace = arrivals(&[(0.0, stated(0, 100.0)), (0.0, stated(1, 1.0))]);
    trace.push((Time::from_secs(0.05), Event::Cancel(0)));
    trace.extend(arrivals(&[(0.5, stated(2, 1.0))]));
    let outcome = drive(&config, &trace, false);
    assert_eq!(outcome.jobs[2].joined_at(), Time::from_secs(1.1));
}

#[test]
fn a_failed_replica_names_all_it_held_and_starts_afresh() {
    let configs = [
        Config::Slots { slots: 2 },
        Config::Continuous(continuous(2, 1000, STEP)),
        Config::Static(static_batches(2, 0.0, BatchTime::Stated)),
    ];
    for config in configs {
        let mut executor = super::Executor::new(&config);
        let mut steps = Vec::new();
        let work = |key| Job {
            decode: Duration::from_secs(1.0),
            ..job(key, 100, 50)
        };
        for key in [5, 3, 8] {
            executor.push(Time::ZERO, &work(key), &mut steps);
        }
        if executor.wake_at() == Some(Time::ZERO) {
            executor.run(Time::ZERO, &mut steps);
        }
        assert_eq!(executor.fail(Time::ZERO), [5, 3, 8]);
        assert!(
            executor.is_idle()
                && executor.wake_at().is_none()
                && executor.has_room(Time::ZERO, &work(1))
        );
    }
}
