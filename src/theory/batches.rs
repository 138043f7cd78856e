//! Requests that share a replica: processor sharing, continuous batching in its fluid limit, and batches of fixed membership.
//!
//! Sources: Kleinrock 1967 and Sakata, Noguchi and Oizumi 1969 for processor sharing; Cohen, *Acta Informatica* 12 (1979) for a
//! speed that depends on the number of requests; Bailey 1954 and Neuts 1967 for bulk service.

use super::{Move, poisson_share, stationary};

/// Continuous batching in the fluid limit: a step of a batch of `n` takes `base + each n`, prompts cost nothing, and a request
/// needs a step for each of its tokens. The law of the number of tokens does not matter.
///
/// With no base this is processor sharing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedSteps {
    /// Arrivals [1/s].
    pub arrival_rate: f64,
    /// Mean number of tokens.
    pub tokens: f64,
    /// Time of every step \[s\].
    pub base: f64,
    /// Time for each request in the batch \[s\].
    pub each: f64,
}

impl SharedSteps {
    /// The load that grows with the batch.
    fn load(self) -> f64 {
        self.arrival_rate * self.tokens * self.each
    }

    /// Mean time in the system \[s\].
    pub fn mean_time(self) -> f64 {
        self.tokens * (self.base + self.each) / (1.0 - self.load())
    }

    /// Mean number of requests.
    pub fn mean_number(self) -> f64 {
        self.arrival_rate * self.mean_time()
    }

    /// Share of the time in which there is none: the number is negative binomial with `base / each + 1` as its shape.
    pub fn idle_share(self) -> f64 {
        (1.0 - self.load()).powf(self.base / self.each + 1.0)
    }
}

/// Bulk service: a free server takes as many as wait, at most `most`, for a constant time, and waits for one when none waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BulkService {
    /// Arrivals [1/s].
    pub arrival_rate: f64,
    /// Service of a batch \[s\].
    pub service: f64,
    /// Most in a batch.
    pub most: usize,
}

/// What bulk service gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BulkMeans {
    /// Mean wait \[s\].
    pub wait: f64,
    /// Mean size of a batch.
    pub batch: f64,
    /// Share of the time in which the server works.
    pub busy: f64,
}

impl BulkService {
    /// Requests waiting from here on are left out.
    const MOST_WAITING: usize = 200;

    /// Means, by the chain of the number that waits when a batch ends, and the cycle from batch to batch.
    pub fn means(self) -> BulkMeans {
        let during = self.arrival_rate * self.service;
        let mut moves: Vec<Move> = Vec::new();
        for waiting in 0..=Self::MOST_WAITING {
            let left = waiting.saturating_sub(self.most);
            for arriving in 0..=Self::MOST_WAITING - left {
                moves.push((
                    waiting,
                    left + arriving,
                    poisson_share(during, arriving as u32),
                ));
            }
        }
        let law = stationary(Self::MOST_WAITING + 1, &moves);
        let mean = |of: &dyn Fn(usize) -> usize| {
            let weighted = law
                .iter()
                .enumerate()
                .map(|(waiting, share)| share * of(waiting) as f64);
            weighted.sum::<f64>()
        };
        let left = mean(&|waiting| waiting.saturating_sub(self.most));
        let cycle = self.service + law[0] / self.arrival_rate;
        let waiting_time = left * self.service + during * self.service / 2.0;
        BulkMeans {
            wait: waiting_time / cycle / self.arrival_rate,
            batch: mean(&|waiting| waiting.clamp(1, self.most)),
            busy: self.service / cycle,
        }
    }
}
