//! Replicas, one turn at a time.

use super::workload::{Continuous, Job, Nanos, Service};

/// A replica's work. Its owner lets it `turn` whenever it is `due`; a turn that is due now comes after everything else that
/// happens at this instant.
pub(super) trait Replica {
    /// Whether it would take `job` now.
    fn has_room(&self, job: &Job) -> bool;
    /// Whether it could take `job` if it had nothing else.
    fn can_ever_fit(&self, job: &Job) -> bool;
    fn push(&mut self, now: Nanos, job: Job);
    fn due(&self) -> Option<Nanos>;
    /// Does what is due; the keys of those that finish.
    fn turn(&mut self, now: Nanos) -> Vec<usize>;
    /// The client of `key` has gone.
    fn cancel(&mut self, now: Nanos, key: usize);
    /// Keys of all that it holds, not counting the cancelled.
    fn holds(&self) -> Vec<usize>;
    /// When the first token of `key`, which it holds or held, leaves it, if that is certain.
    fn first_token(&self, key: usize) -> Option<Nanos>;
}

pub(super) fn new(service: &Service) -> Box<dyn Replica> {
    match service {
        Service::Slots { slots, .. } => Box::new(Slots {
            slots: *slots as usize,
            all: Vec::new(),
        }),
        &Service::Static {
            batch_size,
            window,
            release_early,
            ..
        } => Box::new(Static {
            batch_size: batch_size as usize,
            window,
            release_early,
            waiting: Vec::new(),
            members: Vec::new(),
            end: None,
            fixed: 0,
            firsts: Vec::new(),
        }),
        Service::Continuous(config) => Box::new(Batch {
            config: *config,
            waiting: Vec::new(),
            running: Vec::new(),
            boundary: None,
            iteration: None,
            firsts: Vec::new(),
        }),
    }
}

/// The time listed for a key.
fn listed(list: &[(usize, Nanos)], key: usize) -> Option<Nanos> {
    list.iter().find(|one| one.0 == key).map(|one| one.1)
}

/// Independent places.
struct Slots {
    slots: usize,
    /// Everyone who ever came: key, first token, end, and whether it is there no more.
    all: Vec<(usize, Nanos, Nanos, bool)>,
}

impl Slots {
    fn busy(&self) -> impl Iterator<Item = &(usize, Nanos, Nanos, bool)> {
        self.all.iter().filter(|one| !one.3)
    }
}

impl Replica for Slots {
    fn has_room(&self, _: &Job) -> bool {
        self.busy().count() < self.slots
    }

    fn can_ever_fit(&self, _: &Job) -> bool {
        true
    }

    fn push(&mut self, now: Nanos, job: Job) {
        let first = now + job.prefill;
        self.all.push((job.key, first, first + job.decode, false));
    }

    fn due(&self) -> Option<Nanos> {
        self.busy().map(|one| one.2).min()
    }

    fn turn(&mut self, now: Nanos) -> Vec<usize> {
        let over = self.all.iter_mut().filter(|one| !one.3 && one.2 == now);
        over.map(|one| {
            one.3 = true;
            one.0
        })
        .collect()
    }

    fn cancel(&mut self, _: Nanos, key: usize) {
        for one in self.all.iter_mut().filter(|one| one.0 == key) {
            one.3 = true;
        }
    }

    fn holds(&self) -> Vec<usize> {
        self.busy().map(|one| one.0).collect()
    }

    fn first_token(&self, key: usize) -> Option<Nanos> {
        self.all.iter().find(|one| one.0 == key).map(|one| one.1)
    }
}

/// Batches that start together.
struct Static {
    batch_size: usize,
    window: Nanos,
    release_early: bool,
    /// Those who wait for the batch to start, and since when.
    waiting: Vec<(Nanos, Job)>,
    /// Unfinished members of the batch and when they finish.
    members: Vec<(usize, Nanos)>,
    /// When the batch under way ends.
    end: Option<Nanos>,
    /// When the last one joined those who wait, or left them.
    fixed: Nanos,
    firsts: Vec<(usize, Nanos)>,
}

impl Replica for Static {
    fn has_room(&self, _: &Job) -> bool {
        self.end.is_none() && self.waiting.len() < self.batch_size
    }

    fn can_ever_fit(&self, _: &Job) -> bool {
        true
    }

    fn push(&mut self, now: Nanos, job: Job) {
        self.waiting.push((now, job));
        self.fixed = now;
    }

    fn due(&self) -> Option<Nanos> {
        if let Some(end) = self.end {
            return Some(self.members.iter().map(|one| one.1).min().unwrap_or(end));
        }
        let oldest = self.waiting.iter().map(|one| one.0).min()?;
        Some(if self.waiting.len() == self.batch_size {
            self.fixed
        } else {
            self.fixed.max(oldest + self.window)
        })
    }

    fn turn(&mut self, now: Nanos) -> Vec<usize> {
        let Some(end) = self.end else {
            self.start(now);
            return Vec::new();
        };
        let over = self.members.iter().filter(|one| one.1 == now);
        let over = over.map(|one| one.0).collect();
        self.members.retain(|one| one.1 != now);
        if end == now || self.members.is_empty() {
            self.end = None;
        }
        over
    }

    fn cancel(&mut self, now: Nanos, key: usize) {
        if self.waiting.iter().any(|one| one.1.key == key) {
            self.waiting.retain(|one| one.1.key != key);
            self.fixed = now;
        }
        self.members.retain(|one| one.0 != key);
        if self.members.is_empty() {
            self.end = None;
        }
    }

    fn holds(&self) -> Vec<usize> {
        let waiting = self.waiting.iter().map(|one| one.1.key);
        waiting
            .chain(self.members.iter().map(|one| one.0))
            .collect()
    }

    fn first_token(&self, key: usize) -> Option<Nanos> {
        listed(&self.firsts, key)
    }
}

impl Static {
    /// The prompts take as long as the longest, and so do the answers.
    fn start(&mut self, now: Nanos) {
        let jobs: Vec<Job> = self.waiting.drain(..).map(|one| one.1).collect();
        let longest = |time: fn(&Job) -> Nanos| jobs.iter().map(time).max().unwrap_or(0);
        let first = now + longest(|job| job.prefill);
        let end = first + longest(|job| job.decode);
        for job in &jobs {
            let own = first + job.decode;
            self.members
                .push((job.key, if self.release_early { own } else { end }));
            self.firsts.push((job.key, first));
        }
        self.end = Some(end);
    }
}

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
struct Batch {
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
