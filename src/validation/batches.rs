//! Requests that share a replica.

use super::observed::Observed;
use super::{Case, Computed, Evidence, Simulated, claim, computed, fleet};
use crate::batching::{
    Admission, Config, ContinuousConfig, Cost, Counters, Executor, Job, StatedCost, Step,
};
use crate::fleet::Activity;
use crate::theory::{BulkService, SharedSteps};
use crate::time::{Duration, Time};

pub(super) fn cases() -> Vec<Case> {
    vec![
        processor_sharing(),
        fluid(
            "B02_cb_fluid",
            "continuous batching in the fluid limit, exponential answers",
            "0.5/s",
            "{ exponential.mean = 20000 }",
            SharedSteps {
                arrival_rate: 0.5,
                ..STEPS
            },
        ),
        fluid(
            "B03_cb_fluid_det",
            "continuous batching in the fluid limit, constant answers",
            "2/s",
            "20000",
            SharedSteps {
                arrival_rate: 2.0,
                ..STEPS
            },
        ),
        bulk(),
        vector(),
        single(),
    ]
}

/// A hundred times the tokens of the reference at a hundredth of the step, so that steps are next to nothing.
const STEPS: SharedSteps = SharedSteps {
    arrival_rate: 0.0,
    tokens: 20_000.0,
    base: 0.0002,
    each: 0.00001,
};

/// One replica that batches without limit, for requests whose prompt is cached.
fn continuous(step: &str, arrivals: &str, output_tokens: &str) -> String {
    format!(
        "service.continuous = {{ max_sequences = 1000000, kv_tokens = 1000000000000, max_context_tokens = 100000000, \
         step = {{ {step}, prefill_per_token = \"0s\" }} }}\nscaling = {{ min = 1, max = 1 }}\n\
         traffic.t = {{ arrivals = \"{arrivals}\", prompt_tokens = 1, cached_share = \"100%\", output_tokens = {output_tokens} }}"
    )
}

/// Tokens of a request that takes a second alone, where processor sharing stands for a batch.
const TOKENS_PER_SECOND: u32 = 10_000;

fn processor_sharing() -> Case {
    let law = SharedSteps {
        arrival_rate: 0.7,
        tokens: f64::from(TOKENS_PER_SECOND),
        base: 0.0,
        each: 0.0001,
    };
    let tokens = "{ mixture.parts = [{ weight = 0.9, of.exponential.mean = 5000 }, { weight = 0.1, of.exponential.mean = 55000 }] }";
    Case {
        id: "B01_mg1ps",
        title: "M/G/1 with processor sharing: steps that take as long as the batch is large",
        formula: "E[T] = E[X]/(1 - rho); E[T | x] = x/(1 - rho); N is geometric; the law of the lengths does not matter",
        source: "Kleinrock 1967; Sakata, Noguchi and Oizumi 1969",
        note: "a step must take some time without any request: here a nanosecond, 1e-5 of one request's",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet(
                "2000s",
                "60000s",
                &continuous("base = \"1ns\", per_sequence = \"100us\"", "0.7/s", tokens),
            ),
            replications: 32,
            claims: vec![
                claim("ET", law.mean_time(), |run| run.times().mean()),
                claim("EN", law.mean_number(), Observed::in_system),
                claim("slowdown_large", law.mean_time(), |run| {
                    run.time_per_token(5 * TOKENS_PER_SECOND) * f64::from(TOKENS_PER_SECOND)
                }),
                claim("P_idle", law.idle_share(), |run| {
                    run.replicas(Activity::Idle)
                }),
            ],
        }),
    }
}

fn fluid(
    id: &'static str,
    title: &'static str,
    arrivals: &str,
    tokens: &str,
    law: SharedSteps,
) -> Case {
    let step = "base = \"200us\", per_sequence = \"10us\"";
    let mut claims = vec![
        claim("EN", law.mean_number(), Observed::in_system),
        claim("ET", law.mean_time(), |run| run.times().mean()),
    ];
    if id == "B02_cb_fluid" {
        claims.push(claim("P_idle", law.idle_share(), |run| {
            run.replicas(Activity::Idle)
        }));
    }
    Case {
        id,
        title,
        formula: "N is negative binomial (shape base/each + 1, x = lam K each); E[T] = K(base + each)/(1 - x)",
        source: "Cohen 1979; theory.md 1.2h",
        note: "the step is a hundredth and the answers are a hundred times those of the reference: a request joins at the end \
               of a step, half a step late in the mean",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("200s", "16000s", &continuous(step, arrivals, tokens)),
            replications: 32,
            claims,
        }),
    }
}

fn bulk() -> Case {
    let means = BulkService {
        arrival_rate: 3.0,
        service: 1.0,
        most: 5,
    }
    .means();
    let deployment = "service.static = { batch_size = 5, window = \"0s\", prefill = \"1s\", decode = \"0s\" }\n\
         scaling = { min = 1, max = 1 }\ntraffic.t.arrivals = \"3/s\"";
    Case {
        id: "B05_bulk",
        title: "M/D/1 in batches of up to five, without waiting for more",
        formula: "E[Lq] = (sum of pi (q - 5)^+ D + lam D^2/2)/(D + pi_0/lam), pi of what waits when a batch ends",
        source: "Bailey 1954, Neuts 1967",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("100s", "1500s", deployment),
            replications: 32,
            claims: vec![
                claim("EW", means.wait, |run| run.waits().mean()),
                claim("ET", means.wait + 1.0, |run| run.times().mean()),
                claim("E_batch", means.batch, Observed::batch_size),
                claim("frac_busy", means.busy, |run| run.replicas(Activity::Busy)),
            ],
        }),
    }
}

/// How far rounding to a nanosecond in each run of steps may move an end \[s\].
const ROUNDING: f64 = 5e-9;

fn vector() -> Case {
    Case {
        id: "U01_fastforward_vector",
        title: "four requests in a batch of three",
        formula: "k steps take k(a + bB + cC) + cB k(k - 1)/2",
        source: "exact arithmetic, step by step (theory.md 3.6)",
        note: "",
        evidence: Evidence::Computed(|| {
            let jobs = [
                (0.0, cached(0, 1000, 100)),
                (0.5, cached(1, 500, 50)),
                (1.0, cached(2, 2000, 200)),
                (1.2, cached(3, 100, 10)),
            ];
            let (seen, counters) = executed(3, &jobs);
            let expected = [
                ("first_token_1", "finish_1", 0.022, 2.461_76),
                ("first_token_2", "finish_2", 0.529_776, 1.772_259),
                ("first_token_3", "finish_3", 1.027_221, 5.792_12),
                ("first_token_4", "finish_4", 1.798_461, 2.034_414),
            ];
            let mut figures: Vec<Computed> = Vec::new();
            for ((first, finish, first_at, finish_at), seen) in expected.into_iter().zip(seen) {
                figures.push(computed(first, first_at, seen[0].as_secs(), ROUNDING));
                figures.push(computed(finish, finish_at, seen[1].as_secs(), ROUNDING));
            }
            figures.push(computed(
                "iterations",
                244.0,
                counters.iterations as f64,
                0.0,
            ));
            figures.push(computed("segments", 6.0, counters.segments as f64, 0.0));
            figures
        }),
    }
}

fn single() -> Case {
    Case {
        id: "U02_single_request",
        title: "one request of 500 tokens behind a context of 8000",
        formula: "N(a + b + cC) + c N(N - 1)/2",
        source: "theory.md 3.6",
        note: "",
        evidence: Evidence::Computed(|| {
            let (seen, _) = executed(3, &[(0.0, cached(0, 8000, 500))]);
            let finish = 500.0 * (0.02 + 0.001 + 1e-6 * 8000.0) + 1e-6 * 500.0 * 499.0 / 2.0;
            vec![computed("finish", finish, seen[0][1].as_secs(), ROUNDING)]
        }),
    }
}

/// A request whose prompt is in the prefix cache.
fn cached(key: u32, prompt_tokens: u32, output_tokens: u32) -> Job {
    Job {
        key,
        prompt_tokens,
        cached_tokens: prompt_tokens,
        output_tokens,
        priority: 0,
        prefill: Duration::ZERO,
        decode: Duration::ZERO,
    }
}

/// First token and end of each job on one replica, and what the replica did. Jobs come with their arrivals, in order, and with
/// keys from zero.
fn executed(max_sequences: u32, jobs: &[(f64, Job)]) -> (Vec<[Time; 2]>, Counters) {
    let mut executor = Executor::new(&Config::Continuous(ContinuousConfig {
        max_sequences,
        max_batched_tokens: 8192,
        kv_blocks: 1000,
        block_tokens: 16,
        max_context_tokens: u32::MAX,
        admission: Admission::Fcfs,
        cost: Cost::Stated(StatedCost {
            base_s: 0.02,
            per_sequence_s: 0.001,
            per_context_token_s: 1e-6,
            prefill_per_token_s: 0.0,
            prefill_per_pair_s: 0.0,
        }),
    }));
    let mut seen = vec![[Time::ZERO; 2]; jobs.len()];
    let (mut steps, mut coming) = (Vec::new(), jobs.iter().peekable());
    loop {
        let due = executor.wake_at();
        let arrival = coming.peek().map(|(at, _)| Time::from_secs(*at));
        match (due, arrival) {
            (None, None) => return (seen, executor.counters()),
            (Some(due), arrival) if arrival.is_none_or(|at| due < at) => {
                executor.run(due, &mut steps);
            }
            (_, arrival) => {
                if let (Some(at), Some((_, job))) = (arrival, coming.next()) {
                    executor.push(at, job, &mut steps);
                }
            }
        }
        for step in steps.drain(..) {
            match step {
                Step::FirstToken { key, at, .. } => seen[key as usize][0] = at,
                Step::Finished { key, at } => seen[key as usize][1] = at,
                _ => {}
            }
        }
    }
}
