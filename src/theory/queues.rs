//! Queues: Poisson and other arrivals, one service at a time, first come first served.
//!
//! Sources: Kleinrock, *Queueing Systems* 1 (1975); Harchol-Balter, *Performance Modeling and Design of Computer Systems*
//! (2013); Erlang 1909 and 1917; Takács, *Introduction to the Theory of Queues* (1962); Neuts, *Matrix-Geometric Solutions*
//! (1981).

use super::{Move, bisect, stationary};

/// Erlang's loss formula: the share of Poisson arrivals that find all `servers` busy and leave; `load` is rate times mean
/// service. The law of the service does not matter (Sevastyanov 1957).
pub fn erlang_b(load: f64, servers: u32) -> f64 {
    (1..=servers).fold(1.0, |blocked, server| {
        load * blocked / (f64::from(server) + load * blocked)
    })
}

/// Erlang's delay formula: the share of arrivals that wait in M/M/c.
///
/// # Panics
/// If the load is not below the number of servers.
pub fn erlang_c(load: f64, servers: u32) -> f64 {
    let share = load / f64::from(servers);
    assert!(share < 1.0, "a load of {load} on {servers} servers");
    let blocked = erlang_b(load, servers);
    blocked / (1.0 - share * (1.0 - blocked))
}

/// A queue with Poisson arrivals, exponential service and one or more servers, first come first served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mmc {
    /// Arrivals [1/s].
    pub arrival_rate: f64,
    /// Services of one server [1/s].
    pub service_rate: f64,
    /// Servers.
    pub servers: u32,
}

impl Mmc {
    fn load(self) -> f64 {
        self.arrival_rate / self.service_rate
    }

    /// How much faster the servers work than requests come [1/s].
    fn slack(self) -> f64 {
        f64::from(self.servers) * self.service_rate - self.arrival_rate
    }

    /// Share of the servers' time that is work.
    pub fn utilisation(self) -> f64 {
        self.load() / f64::from(self.servers)
    }

    /// Share of requests that wait.
    pub fn wait_share(self) -> f64 {
        erlang_c(self.load(), self.servers)
    }

    /// Mean wait \[s\].
    pub fn mean_wait(self) -> f64 {
        self.wait_share() / self.slack()
    }

    /// The `p` quantile of the wait \[s\].
    pub fn wait_quantile(self, p: f64) -> f64 {
        ((self.wait_share() / (1.0 - p)).ln() / self.slack()).max(0.0)
    }

    /// Mean time in the system \[s\].
    pub fn mean_time(self) -> f64 {
        self.mean_wait() + 1.0 / self.service_rate
    }
}

/// Mean wait in M/G/1 \[s\], from the mean and the coefficient of variation of the service (Pollaczek and Khinchine).
pub fn mg1_mean_wait(arrival_rate: f64, mean_service: f64, service_cv: f64) -> f64 {
    let load = arrival_rate * mean_service;
    load * mean_service * (1.0 + service_cv * service_cv) / (2.0 * (1.0 - load))
}

/// Standard deviation of the wait in M/G/1 \[s\], from the first three moments of the service (Takács).
pub fn mg1_wait_std(arrival_rate: f64, moments: [f64; 3]) -> f64 {
    let [first, second, third] = moments;
    let spare = 1.0 - arrival_rate * first;
    let mean = arrival_rate * second / (2.0 * spare);
    (mean * mean + arrival_rate * third / (3.0 * spare)).sqrt()
}

/// The first three moments of a lognormal law \[s, s², s³\].
pub fn lognormal_moments(mean: f64, cv: f64) -> [f64; 3] {
    let factor = 1.0 + cv * cv;
    [mean, mean * mean * factor, (mean * factor).powi(3)]
}

/// The `p` quantile of the wait in M/D/1 \[s\] (Erlang 1909).
pub fn md1_wait_quantile(arrival_rate: f64, service: f64, p: f64) -> f64 {
    let below = |time: f64| {
        let terms = 0..=(time / service).floor() as u32;
        let term = |k: u32| {
            let x = arrival_rate * (f64::from(k) * service - time);
            (1..=k).map(|k| x / f64::from(k)).product::<f64>() * (-x).exp()
        };
        (1.0 - arrival_rate * service) * terms.map(term).sum::<f64>()
    };
    // The terms cancel, and lose all digits far out: look no further than needed.
    let mut most = service;
    while below(most) < p {
        most *= 2.0;
    }
    bisect(0.0, most, |time| below(time) < p)
}

/// A queue with constant gaps between arrivals and one exponential server (GI/M/1, Kendall 1953).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dm1 {
    /// Between arrivals \[s\].
    pub gap: f64,
    /// Services [1/s].
    pub service_rate: f64,
}

impl Dm1 {
    /// Share of arrivals that wait: the root below 1 of `x = e^(-mu gap (1 - x))`.
    pub fn wait_share(self) -> f64 {
        let offered = self.gap * self.service_rate;
        bisect(0.0, 1.0 - 1e-9, |x| x < (-offered * (1.0 - x)).exp())
    }

    /// Mean of the time in the system, which is exponential \[s\].
    pub fn mean_time(self) -> f64 {
        1.0 / (self.service_rate * (1.0 - self.wait_share()))
    }

    /// Mean wait \[s\].
    pub fn mean_wait(self) -> f64 {
        self.wait_share() * self.mean_time()
    }

    /// The `p` quantile of the wait \[s\].
    pub fn wait_quantile(self, p: f64) -> f64 {
        ((self.wait_share() / (1.0 - p)).ln() * self.mean_time()).max(0.0)
    }
}

/// A queue with Poisson arrivals whose rate switches between two values, and one exponential server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mmpp1 {
    /// Arrivals in each state [1/s].
    pub rates: [f64; 2],
    /// Mean length of each state \[s\].
    pub sojourns: [f64; 2],
    /// Services [1/s].
    pub service_rate: f64,
}

impl Mmpp1 {
    /// Requests in the system from here on are left out: they carry less than 1e-10 where the load is below 0.9 or so.
    const MOST: usize = 1500;

    /// Mean time in the system \[s\] and share of arrivals that wait, by the chain of (number, state).
    pub fn mean_time_and_wait_share(self) -> (f64, f64) {
        let mut moves: Vec<Move> = Vec::new();
        for number in 0..=Self::MOST {
            for state in 0..2 {
                let here = 2 * number + state;
                moves.push((here, 2 * number + 1 - state, 1.0 / self.sojourns[state]));
                if number < Self::MOST {
                    moves.push((here, here + 2, self.rates[state]));
                    moves.push((here + 2, here, self.service_rate));
                }
            }
        }
        let law = stationary(2 * (Self::MOST + 1), &moves);
        let (mut arrivals, mut waiting, mut mean) = (0.0, 0.0, 0.0);
        for (here, share) in law.iter().enumerate() {
            let coming = share * self.rates[here % 2];
            arrivals += coming;
            waiting += if here < 2 { 0.0 } else { coming };
            mean += share * (here / 2) as f64;
        }
        (mean / arrivals, waiting / arrivals)
    }
}

/// Mean waits in M/G/1 with non-preemptive priorities, highest first \[s\]; each class by its rate and the first two moments of
/// its service (Cobham 1954).
pub fn priority_mean_waits(classes: &[(f64, [f64; 2])]) -> Vec<f64> {
    let residual: f64 = classes
        .iter()
        .map(|(rate, [_, second])| rate * second / 2.0)
        .sum();
    let mut load = 0.0;
    let wait = |&(rate, [first, _]): &(f64, [f64; 2])| {
        let above = 1.0 - load;
        load += rate * first;
        residual / (above * (1.0 - load))
    };
    classes.iter().map(wait).collect()
}

/// Clients that think, send a request, wait for the answer and think again, at one exponential server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosedLoop {
    /// How many clients.
    pub clients: u32,
    /// Mean thinking time \[s\].
    pub think: f64,
    /// Mean service \[s\].
    pub service: f64,
}

impl ClosedLoop {
    /// Mean time in the system \[s\], by mean-value analysis (Reiser and Lavenberg 1980).
    pub fn mean_time(self) -> f64 {
        let (mut time, mut waiting) = (0.0, 0.0);
        for clients in 1..=self.clients {
            time = self.service * (1.0 + waiting);
            waiting = f64::from(clients) * time / (self.think + time);
        }
        time
    }

    /// Requests answered [1/s].
    pub fn throughput(self) -> f64 {
        f64::from(self.clients) / (self.think + self.mean_time())
    }
}
