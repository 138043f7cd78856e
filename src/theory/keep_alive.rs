//! Models that fall asleep: keep-alive, fleets that start a replica for each request, and pools that evict.
//!
//! The forms for one replica follow from thinning a Poisson process: requests whose service or keep-alive covers an instant are
//! Poisson with mean `rate x (time + service)`. Those for fleets are first passages of a birth-death chain.

use super::{Move, integral, stationary};

/// Share of Poisson requests that find the model asleep: one replica with room for all, without set-up, kept for
/// `keep_alive` \[s\] after its last request. The law of the service does not matter.
pub fn cold_share(arrival_rate: f64, keep_alive: f64, mean_service: f64) -> f64 {
    (-arrival_rate * (keep_alive + mean_service)).exp()
}

/// One replica with room for all, a constant set-up during which requests wait, and a keep-alive, seen from start to start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeptAlive {
    arrival_rate: f64,
    setup: f64,
    /// Mean time from a start to the next \[s\].
    cycle: f64,
}

impl KeptAlive {
    /// With constant service. Times in seconds, the rate per second.
    pub fn constant(arrival_rate: f64, keep_alive: f64, setup: f64, service: f64) -> Self {
        let kept = (arrival_rate * (keep_alive + service)).exp() / arrival_rate;
        Self {
            arrival_rate,
            setup,
            cycle: setup + kept,
        }
    }

    /// With exponential service: the busy period of M/G/inf that opens with the requests of the set-up, then idle periods until
    /// one outlasts the keep-alive.
    pub fn exponential(arrival_rate: f64, keep_alive: f64, setup: f64, mean_service: f64) -> Self {
        let load = arrival_rate * mean_service;
        let in_setup = arrival_rate * setup;
        // Over u = e^(-t / mean), the share of services that outlast t.
        let busy = load.exp()
            * mean_service
            * integral(0.0, 1.0, |u| {
                let unfinished = if u == 0.0 {
                    1.0 + in_setup
                } else {
                    (1.0 - (1.0 - u) * (-in_setup * u).exp()) / u
                };
                unfinished * (-load * (1.0 - u)).exp()
            });
        let again = (arrival_rate * keep_alive).exp_m1() * load.exp() / arrival_rate;
        Self {
            arrival_rate,
            setup,
            cycle: 1.0 / arrival_rate + setup + busy + again,
        }
    }

    /// Share of requests that start the replica.
    pub fn trigger_share(self) -> f64 {
        1.0 / (self.arrival_rate * self.cycle)
    }

    /// Share of requests that wait for a set-up.
    pub fn wait_share(self) -> f64 {
        (1.0 + self.arrival_rate * self.setup) * self.trigger_share()
    }

    /// Mean wait \[s\].
    pub fn mean_wait(self) -> f64 {
        (self.setup + self.arrival_rate * self.setup * self.setup / 2.0) * self.trigger_share()
    }

    /// Share of the time in which the replica is up or starting.
    pub fn up_share(self) -> f64 {
        1.0 - self.trigger_share()
    }
}

/// Share of requests of a renewal process with gamma gaps that find the model asleep: gaps longer than `awake` \[s\]. `shape` is
/// a whole number, so the gap is that many exponential stages.
pub fn gamma_cold_share(mean_gap: f64, shape: u32, awake: f64) -> f64 {
    let stages = awake * f64::from(shape) / mean_gap;
    1.0 - super::poisson_tail(stages, shape)
}

/// A fleet that starts a replica for each request that finds none idle, without set-up; the replica idle for the shortest time
/// takes the next request, and one idle for the keep-alive goes. Poisson arrivals, exponential service.
///
/// Idle replicas form a stack: the request that lifts the number of busy ones from `k - 1` to `k` takes the replica that became
/// idle when that number last fell from `k` to `k - 1`. So it is cold if the way up from `k - 1` to `k` took longer than the
/// keep-alive (theory.md 1.2e).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StackedFleet {
    /// Arrivals [1/s].
    pub arrival_rate: f64,
    /// Mean service \[s\].
    pub mean_service: f64,
    /// Keep-alive \[s\].
    pub keep_alive: f64,
}

impl StackedFleet {
    /// Levels above this are left out: the number of busy replicas is Poisson with mean `rate x service`, which is small here.
    const LEVELS: u32 = 30;

    /// Share of cold requests.
    pub fn cold_share(self) -> f64 {
        let levels = 1..=Self::LEVELS;
        levels
            .map(|level| self.share_below(level) * self.passage(level).0)
            .sum()
    }

    /// Mean number of idle replicas.
    pub fn mean_idle(self) -> f64 {
        let levels = 1..=Self::LEVELS;
        let kept = |level| self.share_below(level) * self.passage(level).1;
        self.arrival_rate * levels.map(kept).sum::<f64>()
    }

    /// Probability of `level - 1` busy replicas.
    fn share_below(self, level: u32) -> f64 {
        let load = self.arrival_rate * self.mean_service;
        super::poisson_share(load, level - 1)
    }

    /// Of the first passage from `level - 1` busy replicas to `level`: the probability that it outlasts the keep-alive, and the
    /// mean of the shorter of the two \[s\]. By uniformisation.
    fn passage(self, level: u32) -> (f64, f64) {
        let top = level as usize - 1;
        let death = |busy: usize| busy as f64 / self.mean_service;
        let fastest = self.arrival_rate + death(top);
        let jumps = fastest * self.keep_alive;
        // Probability of not having reached the level after so many jumps, from each number of busy replicas.
        let mut below = vec![1.0; top + 1];
        let (mut weight, mut so_far) = ((-jumps).exp(), 0.0);
        let (mut outlasts, mut spent) = (0.0, 0.0);
        let most = (jumps + 12.0 * jumps.sqrt() + 30.0) as u32;
        for jump in 0..most {
            so_far += weight;
            outlasts += weight * below[top];
            spent += (1.0 - so_far).max(0.0) * below[top] / fastest;
            weight *= jumps / f64::from(jump + 1);
            let after = |busy: usize| {
                let up = below.get(busy + 1).copied().unwrap_or(0.0);
                let down = if busy > 0 {
                    death(busy) * below[busy - 1]
                } else {
                    0.0
                };
                let stays = fastest - self.arrival_rate - death(busy);
                (self.arrival_rate * up + down + stays * below[busy]) / fastest
            };
            below = (0..=top).map(after).collect();
        }
        (outlasts, spent)
    }
}

/// A fleet that starts a replica for each request that finds none idle; an idle one goes after an exponential time. The first
/// request of a replica takes another time than the later ones. All exponential, so which idle replica serves does not matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColdFleet {
    /// Arrivals [1/s].
    pub arrival_rate: f64,
    /// Mean service of a replica's first request \[s\].
    pub cold_service: f64,
    /// Mean service of its later ones \[s\].
    pub warm_service: f64,
    /// Mean keep-alive \[s\].
    pub keep_alive: f64,
}

/// Means over time of a [`ColdFleet`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ColdFleetMeans {
    /// Share of requests that start a replica.
    pub cold_share: f64,
    /// Idle replicas.
    pub idle: f64,
    /// Replicas busy with a later request.
    pub warm: f64,
    /// Replicas busy with their first request.
    pub cold: f64,
}

impl ColdFleet {
    /// Means over time, by the chain of (idle, warm, cold) up to `most` of each: beyond must be next to nothing.
    pub fn means(self, most: [usize; 3]) -> ColdFleetMeans {
        let [idle_most, warm_most, cold_most] = most;
        let at = |idle: usize, warm: usize, cold: usize| {
            (idle * (warm_most + 1) + warm) * (cold_most + 1) + cold
        };
        let states = || {
            let pairs =
                (0..=idle_most).flat_map(|idle| (0..=warm_most).map(move |warm| (idle, warm)));
            pairs.flat_map(|(idle, warm)| (0..=cold_most).map(move |cold| (idle, warm, cold)))
        };
        let mut moves: Vec<Move> = Vec::new();
        for (idle, warm, cold) in states() {
            let here = at(idle, warm, cold);
            if idle > 0 {
                moves.push((
                    here,
                    at(idle - 1, warm, cold),
                    idle as f64 / self.keep_alive,
                ));
                if warm < warm_most {
                    moves.push((here, at(idle - 1, warm + 1, cold), self.arrival_rate));
                }
            } else if cold < cold_most {
                moves.push((here, at(idle, warm, cold + 1), self.arrival_rate));
            }
            if warm > 0 && idle < idle_most {
                moves.push((
                    here,
                    at(idle + 1, warm - 1, cold),
                    warm as f64 / self.warm_service,
                ));
            }
            if cold > 0 && idle < idle_most {
                moves.push((
                    here,
                    at(idle + 1, warm, cold - 1),
                    cold as f64 / self.cold_service,
                ));
            }
        }
        let law = stationary(at(idle_most, warm_most, cold_most) + 1, &moves);
        let mut means = ColdFleetMeans::default();
        for (idle, warm, cold) in states() {
            let share = law[at(idle, warm, cold)];
            means.cold_share += if idle == 0 { share } else { 0.0 };
            means.idle += share * idle as f64;
            means.warm += share * warm as f64;
            means.cold += share * cold as f64;
        }
        means
    }
}
