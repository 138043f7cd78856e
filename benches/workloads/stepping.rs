//! A replica with continuous batching, one iteration at a time, and the same by the fast model.
//!
//! The loop does what an engine's scheduler does at each step: blocks for the next token of every sequence, chunks of prompts,
//! admissions, one token each. It shares nothing with the fast model but the costs.

use thermocline::batching::{Admission, Config, ContinuousConfig, Cost, Executor, Job, StatedCost};
use thermocline::batching::{IterationCost as _, PromptChunk, Step};
use thermocline::time::{Duration, Time};

/// Sequences at once.
pub(crate) const BATCH: u32 = 32;
/// Tokens of an answer.
pub(crate) const OUTPUT: u32 = 300;

const PROMPT: u32 = 200;
const BLOCK: u32 = 16;
const BLOCKS: u32 = 4000;
const BUDGET: u32 = 8192;
const COST: StatedCost = StatedCost {
    base_s: 8e-3,
    per_sequence_s: 50e-6,
    per_context_token_s: 40e-9,
    prefill_per_token_s: 20e-6,
    prefill_per_pair_s: 0.0,
};

struct Sequence {
    job: usize,
    computed: u32,
    generated: u32,
    blocks: u32,
}

/// When each job of a queue gives its first token, iteration by iteration \[s\].
pub(crate) fn step_by_step(jobs: usize) -> Vec<f64> {
    let mut first_tokens = vec![0.0; jobs];
    let (mut now, mut next, mut used) = (0.0, 0, 0);
    let mut running: Vec<Sequence> = Vec::new();
    while next < jobs || !running.is_empty() {
        let mut budget = BUDGET;
        let (mut decoding, mut context, mut chunks) = (0, 0, Vec::new());
        for sequence in &mut running {
            let tokens = PROMPT + sequence.generated;
            let missing = tokens.div_ceil(BLOCK) - sequence.blocks;
            assert!(used + missing <= BLOCKS, "no preemption here");
            (used, sequence.blocks) = (used + missing, sequence.blocks + missing);
            (decoding, context) = (decoding + 1, context + tokens);
            budget -= 1;
        }
        let prompt_blocks = PROMPT.div_ceil(BLOCK);
        while next < jobs && running.len() < BATCH as usize && budget >= PROMPT {
            if used + prompt_blocks > BLOCKS {
                break;
            }
            (used, budget) = (used + prompt_blocks, budget - PROMPT);
            chunks.push(PromptChunk {
                tokens: PROMPT,
                before: 0,
            });
            running.push(Sequence {
                job: next,
                computed: 0,
                generated: 0,
                blocks: prompt_blocks,
            });
            next += 1;
        }
        let step = COST.step(decoding);
        let pass = COST.pass(decoding, &chunks);
        now += if chunks.is_empty() { step.base_s } else { pass }
            + step.per_context_token_s * f64::from(context);
        for sequence in &mut running {
            if sequence.computed == 0 {
                sequence.computed = PROMPT;
                first_tokens[sequence.job] = now;
            }
            sequence.generated += 1;
        }
        let freed = running.iter().filter(|one| one.generated == OUTPUT);
        used -= freed.map(|one| one.blocks).sum::<u32>();
        running.retain(|one| one.generated < OUTPUT);
    }
    first_tokens
}

/// The same by the fast model.
pub(crate) fn change_by_change(jobs: usize) -> Vec<f64> {
    let config = Config::Continuous(ContinuousConfig {
        max_sequences: BATCH,
        max_batched_tokens: BUDGET,
        kv_blocks: BLOCKS,
        block_tokens: BLOCK,
        max_context_tokens: 4096,
        admission: Admission::Fcfs,
        cost: Cost::Stated(COST),
    });
    let mut executor = Executor::new(&config);
    let (mut first_tokens, mut steps, mut next) = (vec![0.0; jobs], Vec::new(), 0);
    let mut now = Some(Time::ZERO);
    while let Some(at) = now {
        while next < jobs && executor.has_room(&job(next)) {
            executor.push(at, job(next), &mut steps);
            next += 1;
        }
        if executor.wake_at() == Some(at) {
            executor.run(at, &mut steps);
        }
        for step in steps.drain(..) {
            if let Step::FirstToken { key, at, .. } = step {
                first_tokens[key as usize] = at.as_secs();
            }
        }
        // An idle replica takes the rest of the queue at once.
        now = executor.wake_at().or((next < jobs).then_some(at));
    }
    first_tokens
}

fn job(number: usize) -> Job {
    Job {
        key: number as u32,
        prompt_tokens: PROMPT,
        cached_tokens: 0,
        output_tokens: OUTPUT,
        priority: 0,
        prefill: Duration::ZERO,
        decode: Duration::ZERO,
    }
}
