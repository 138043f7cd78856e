//! Continuous batching, one iteration at a time.

use super::replica::{Replica, listed};
use super::workload::{Continuous, Job, Nanos};

/// A sequence of a continuous batch.
#[derive(Clone, Copy)]
struct Sequence {
    job: Job,
    /// Tokens of the answer so far.
    generated: u32,
    /// Tokens of prompt and answer that are in the cache.
    cached: u32,
    blocks: u32,
    /// Tokens of its prompt in the iteration under way.
    chunk: u32,
    /// Whether it gets a token in every iteration.
    decodes: bool,
    is_cancelled: bool,
}

impl Sequence {
    /// Tokens that must be in the cache, or enter it, before the next one.
    fn context(&self) -> u32 {
        self.job.prompt_tokens + self.generated
    }

    /// Whether the next iteration, or the one under way, gives it a token.
    fn gives(&self) -> bool {
        self.decodes || (self.chunk > 0 && self.cached + self.chunk == self.context())
    }
}

/// A batch that sequences join and leave between iterations.
pub(super) struct Batch {
    config: Continuous,
    /// In the order in which they will join.
    waiting: Vec<Sequence>,
    /// In the order in which they joined.
    running: Vec<Sequence>,
    /// The instant at which the next iteration begins.
    boundary: Option<Nanos>,
    /// The end of the iteration under way.
    iteration: Option<Nanos>,
    firsts: Vec<(usize, Nanos)>,
}

impl Replica for Batch {
    fn has_room(&self, job: &Job) -> bool {
        let places = self.running.len() + self.waiting.len();
        let waiting: u32 = self
            .waiting
            .iter()
            .map(|one| self.blocks(one.context()))
            .sum();
        places < self.config.max_sequences as usize
            && self.blocks(job.prompt_tokens) + waiting <= self.free()
            || !self.can_ever_fit(job)
    }

    fn can_ever_fit(&self, job: &Job) -> bool {
        let tokens = job.prompt_tokens + job.output_tokens;
        tokens <= self.config.max_context_tokens && self.blocks(tokens) <= self.total()
    }

    fn push(&mut self, now: Nanos, job: Job) {
        let fresh = Sequence {
            job,
            generated: 0,
            cached: 0,
            blocks: 0,
            chunk: 0,
            decodes: false,
            is_cancelled: false,
        };
        let place = self
            .waiting
            .iter()
            .position(|one| self.rank(one) < self.rank(&fresh));
        self.waiting
            .insert(place.unwrap_or(self.waiting.len()), fresh);
        if self.iteration.is_none() {
            self.boundary = Some(now);
        }
    }

    fn due(&self) -> Option<Nanos> {
        self.iteration.or(self.boundary)
    }

    fn turn(&mut self, now: Nanos) -> Vec<usize> {
        if self.iteration.take().is_none() {
            self.begin(now);
            return Vec::new();
        }
        for one in &mut self.running {
            if one.gives() {
                one.cached = one.context();
                one.generated += 1;
                one.decodes = true;
            } else {
                one.cached += one.chunk;
            }
            one.chunk = 0;
        }
        let is_over = |one: &Sequence| one.generated == one.job.output_tokens;
        let over = self
            .running
            .iter()
            .filter(|one| is_over(one) && !one.is_cancelled);
        let over = over.map(|one| one.job.key).collect();
        self.running
            .retain(|one| !is_over(one) && !one.is_cancelled);
        self.wait_for_the_rest(now);
        over
    }

    fn cancel(&mut self, now: Nanos, key: usize) {
        self.waiting.retain(|one| one.job.key != key);
        for one in self.running.iter_mut().filter(|one| one.job.key == key) {
            one.is_cancelled = true;
        }
        if self.iteration.is_none() {
            self.running.retain(|one| !one.is_cancelled);
            self.wait_for_the_rest(now);
        }
    }

    fn holds(&self) -> Vec<usize> {
        let all = self.waiting.iter().chain(&self.running);
        all.filter(|one| !one.is_cancelled)
            .map(|one| one.job.key)
            .collect()
    }

    fn first_token(&self, key: usize) -> Option<Nanos> {
        listed(&self.firsts, key)
    }
}

impl Batch {
    pub(super) fn new(config: Continuous) -> Self {
        Self {
            config,
            waiting: Vec::new(),
            running: Vec::new(),
            boundary: None,
            iteration: None,
            firsts: Vec::new(),
        }
    }

    fn rank(&self, one: &Sequence) -> u8 {
        if self.config.is_by_priority {
            one.job.priority
        } else {
            0
        }
    }

    fn total(&self) -> u32 {
        (self.config.kv_tokens / self.config.block_tokens).max(1)
    }

    fn blocks(&self, tokens: u32) -> u32 {
        tokens.div_ceil(self.config.block_tokens)
    }

    fn free(&self) -> u32 {
        self.total() - self.running.iter().map(|one| one.blocks).sum::<u32>()
    }

    /// Between iterations: the next one begins at this instant, if there is anybody for it.
    fn wait_for_the_rest(&mut self, now: Nanos) {
        let is_empty = self.running.is_empty() && self.waiting.is_empty();
        self.boundary = (!is_empty).then_some(now);
    }

    /// Puts an iteration together, and starts it.
    fn begin(&mut self, now: Nanos) {
        self.boundary = None;
        self.make_room();
        let decoding = self.running.iter().filter(|one| one.decodes).count() as u32;
        let budget = self
            .config
            .max_batched_tokens
            .max(self.config.max_sequences);
        let mut budget = budget - decoding;
        for one in self.running.iter_mut().filter(|one| !one.decodes) {
            one.chunk = (one.context() - one.cached).min(budget);
            budget -= one.chunk;
        }
        while budget > 0 && self.may_join() {
            let mut one = self.waiting.remove(0);
            one.blocks = self.blocks(one.context());
            one.cached = one.job.cached_tokens;
            one.decodes = one.cached == one.context();
            one.chunk = (one.context() - one.cached).min(budget);
            budget -= one.chunk.max(1);
            self.running.push(one);
        }
        let end = now + self.length();
        let firsts = self
            .running
            .iter()
            .filter(|one| one.generated == 0 && one.gives());
        let firsts = firsts.map(|one| (one.job.key, end));
        self.firsts.extend(firsts.collect::<Vec<_>>());
        self.iteration = Some(end);
    }

    fn may_join(&self) -> bool {
        self.running.len() < self.config.max_sequences as usize
            && self
                .waiting
                .first()
                .is_some_and(|one| self.blocks(one.context()) <= self.free())
    }

    /// Gives those who decode the blocks for one more token; while there are too few, the one of lowest priority, and among
    /// equals the one that joined last, loses all it has and waits first among its equals.
    fn make_room(&mut self) {
        let need = |one: &Sequence| {
            if one.decodes {
                self.blocks(one.context())
            } else {
                one.blocks
            }
        };
        let needs: Vec<u32> = self.running.iter().map(need).collect();
        if needs.iter().sum::<u32>() <= self.total() {
            for (one, blocks) in self.running.iter_mut().zip(needs) {
                one.blocks = blocks;
            }
            return;
        }
        let lowest = self.running.iter().map(|one| self.rank(one)).min();
        let last = self
            .running
            .iter()
            .rposition(|one| Some(self.rank(one)) == lowest);
        let mut victim = self.running.remove(last.expect("somebody needs blocks"));
        (victim.cached, victim.blocks, victim.decodes) = (0, 0, false);
        let place = self
            .waiting
            .iter()
            .position(|one| self.rank(one) <= self.rank(&victim));
        self.waiting
            .insert(place.unwrap_or(self.waiting.len()), victim);
        self.make_room();
    }

    /// How long the iteration takes: the weights or the prompts, whichever is longer, and the context.
    fn length(&self) -> Nanos {
        let decoding: Vec<&Sequence> = self.running.iter().filter(|one| one.decodes).collect();
        let context: u32 = decoding.iter().map(|one| one.context()).sum();
        let weights = self.config.base + self.config.per_sequence * decoding.len() as Nanos;
        let prompt = |one: &Sequence| {
            let (new, before) = (Nanos::from(one.chunk), Nanos::from(one.cached));
            self.config.per_prompt_token * new + self.config.per_pair / 2 * new * (2 * before + new)
        };
        let prompts: Nanos = self.running.iter().map(prompt).sum();
        weights.max(prompts) + self.config.per_context_token * Nanos::from(context)
    }
}
