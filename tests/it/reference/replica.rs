//! Replicas, one turn at a time.

use super::batch::Batch;
use super::workload::{Job, Nanos, Service};

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
        Service::Continuous(config) => Box::new(Batch::new(*config)),
    }
}

/// The time listed for a key.
pub(super) fn listed(list: &[(usize, Nanos)], key: usize) -> Option<Nanos> {
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
