//! The oracle: continuous batching one iteration at a time, in real-valued seconds, without any shortcut. The fast model is
//! compared with it in tests, for its results, and in `benches/`, for its speed.

use super::{Admission, ContinuousConfig, Job, PromptChunk, Time};

/// What happens to a replica.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Arrive(Job),
    Cancel(u32),
}

/// What the oracle says of a job: instants in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Expected {
    pub(super) joined: Option<f64>,
    pub(super) first_token: Option<f64>,
    pub(super) prefill: f64,
    pub(super) finished: Option<f64>,
    pub(super) dropped: bool,
}

struct Sequence {
    job: Job,
    generated: u32,
    computed: u32,
    prefill: f64,
    blocks: u32,
    admitted: u64,
    cancelled: bool,
}

pub(super) struct Oracle<'a> {
    config: &'a ContinuousConfig,
    now: f64,
    waiting: Vec<Sequence>,
    running: Vec<Sequence>,
    /// By key.
    pub(super) expected: Vec<Expected>,
    pub(super) iterations: u64,
    /// Iterations that differ from the one before in their sequences or that compute prompts, or follow one that does.
    pub(super) changes: u64,
    batch: Vec<u64>,
    pub(super) tokens: u64,
    pub(super) preemptions: u64,
    admissions: u64,
}

/// Runs `trace` (sorted by time, keys from zero) to its end.
pub(super) fn simulate<'a>(config: &'a ContinuousConfig, trace: &[(Time, Event)]) -> Oracle<'a> {
    let mut oracle = Oracle {
        config,
        now: 0.0,
        waiting: Vec::new(),
        running: Vec::new(),
        expected: vec![Expected::default(); trace.len()],
        iterations: 0,
        changes: 0,
        batch: Vec::new(),
        tokens: 0,
        preemptions: 0,
        admissions: 0,
    };
    let mut trace = trace.iter().peekable();
    loop {
        if oracle.running.is_empty() && oracle.waiting.is_empty() {
            let Some((at, _)) = trace.peek() else {
                return oracle;
            };
            oracle.now = at.as_secs();
        }
        while let Some((_, event)) = trace.next_if(|(at, _)| at.as_secs() <= oracle.now) {
            match event {
                Event::Arrive(job) => oracle.arrive(*job),
                Event::Cancel(key) => oracle.cancel(*key),
            }
        }
        oracle.leave();
        if !(oracle.running.is_empty() && oracle.waiting.is_empty()) {
            oracle.iterate();
        }
    }
}

impl Oracle<'_> {
    fn rank(&self, job: &Job) -> u8 {
        if self.config.admission == Admission::Priority {
            job.priority
        } else {
            0
        }
    }

    fn blocks(&self, tokens: u32) -> u32 {
        tokens.div_ceil(self.config.block_tokens)
    }

    fn free(&self) -> u32 {
        self.config.kv_blocks - self.running.iter().map(|s| s.blocks).sum::<u32>()
    }

    fn arrive(&mut self, job: Job) {
        let total = job.prompt_tokens + job.output_tokens;
        if total > self.config.max_context_tokens || self.blocks(total) > self.config.kv_blocks {
            self.expected[job.key as usize].dropped = true;
            return;
        }
        let rank = self.rank(&job);
        let place = self
            .waiting
            .iter()
            .position(|s| self.rank(&s.job) < rank)
            .unwrap_or(self.waiting.len());
        let sequence = Sequence {
            job,
            generated: 0,
            computed: 0,
            prefill: 0.0,
            blocks: 0,
            admitted: 0,
            cancelled: false,
        };
        self.waiting.insert(place, sequence);
    }

    fn cancel(&mut self, key: u32) {
        self.waiting.retain(|s| s.job.key != key);
        for sequence in &mut self.running {
            sequence.cancelled |= sequence.job.key == key;
        }
    }

    fn preempt_until_decoding_fits(&mut self) {
        loop {
            let need = |s: &Sequence| {
                if decodes(s) {
                    self.blocks(s.job.prompt_tokens + s.generated) - s.blocks
                } else {
                    0
                }
            };
            if self.running.iter().map(need).sum::<u32>() <= self.free() {
                break;
            }
            let order = |s: &Sequence| (self.rank(&s.job), u64::MAX - s.admitted);
            let victim = (0..self.running.len())
                .min_by_key(|i| order(&self.running[*i]))
                .expect("somebody holds blocks");
            let mut victim = self.running.remove(victim);
            (victim.blocks, victim.computed) = (0, 0);
            let rank = self.rank(&victim.job);
            let place = self
                .waiting
                .iter()
                .position(|s| self.rank(&s.job) <= rank)
                .unwrap_or(self.waiting.len());
            self.waiting.insert(place, victim);
            self.preemptions += 1;
        }
        for i in 0..self.running.len() {
            if decodes(&self.running[i]) {
                self.running[i].blocks =
                    self.blocks(self.running[i].job.prompt_tokens + self.running[i].generated);
            }
        }
    }

    /// Puts the next iteration together: chunk sizes by position in `running`.
    fn compose(&mut self) -> Vec<u32> {
        self.preempt_until_decoding_fits();
        let decoding = self.running.iter().filter(|s| decodes(s)).count() as u32;
        let mut budget = self.config.max_batched_tokens - decoding;
        let mut chunks = Vec::new();
        for sequence in &self.running {
            let chunk = missing(sequence).min(budget);
            budget -= chunk;
            chunks.push(chunk);
        }
        while budget > 0
            && !self.waiting.is_empty()
            && self.running.len() < self.config.max_sequences as usize
        {
            let blocks = self.blocks(self.waiting[0].job.prompt_tokens + self.waiting[0].generated);
            if blocks > self.free() {
                break;
            }
            let mut sequence = self.waiting.remove(0);
            self.admissions += 1;
            (sequence.blocks, sequence.admitted, sequence.computed) =
                (blocks, self.admissions, sequence.job.cached_tokens);
            self.expected[sequence.job.key as usize]
                .joined
                .get_or_insert(self.now);
            let chunk = missing(&sequence).min(budget);
            budget -= chunk.max(1);
            chunks.push(chunk);
            self.running.push(sequence);
        }
        chunks
    }

    /// One iteration; the jobs stay in the batch until `leave`.
    fn iterate(&mut self) {
        let chunks = self.compose();
        self.count_change(&chunks);
        let (mut sequences, mut context, mut pass) = (0, 0, Vec::new());
        for (sequence, chunk) in self.running.iter_mut().zip(&chunks) {
            if decodes(sequence) {
                sequences += 1;
                context += sequence.job.prompt_tokens + sequence.generated;
            } else if *chunk > 0 {
                let chunk = PromptChunk {
                    tokens: *chunk,
                    before: sequence.computed,
                };
                sequence.prefill += self.config.cost.prefill(chunk);
                pass.push(chunk);
            }
        }
        let step = self.config.cost.step(sequences);
        self.now +=
            self.config.cost.pass(sequences, &pass) + step.per_context_token_s * f64::from(context);
        self.iterations += 1;
        for (sequence, chunk) in self.running.iter_mut().zip(&chunks) {
            let decoded = decodes(sequence);
            sequence.computed += chunk;
            if decoded || (*chunk > 0 && decodes(sequence)) {
                sequence.generated += 1;
                self.tokens += 1;
                // A decoding sequence's newest token is computed with the next one.
                sequence.computed += 1;
                let expected = &mut self.expected[sequence.job.key as usize];
                if expected.first_token.is_none() {
                    (expected.first_token, expected.prefill) = (Some(self.now), sequence.prefill);
                }
            }
        }
    }

    fn count_change(&mut self, chunks: &[u32]) {
        let batch: Vec<u64> = self.running.iter().map(|s| s.admitted).collect();
        let pure = chunks.iter().all(|chunk| *chunk == 0);
        self.changes += u64::from(!pure || batch != self.batch);
        self.batch = if pure { batch } else { Vec::new() };
    }

    fn leave(&mut self) {
        for sequence in &self.running {
            if sequence.generated == sequence.job.output_tokens && !sequence.cancelled {
                self.expected[sequence.job.key as usize].finished = Some(self.now);
            }
        }
        self.running
            .retain(|s| !s.cancelled && s.generated < s.job.output_tokens);
    }
}

/// Whether prompt and answer so far are in the cache, but for the token to compute next.
fn decodes(sequence: &Sequence) -> bool {
    missing(sequence) == 0
}

fn missing(sequence: &Sequence) -> u32 {
    sequence.job.prompt_tokens + sequence.generated - sequence.computed
}
