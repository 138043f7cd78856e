//! Servers that go off and need a set-up to come back.
//!
//! Sources: Welch, *Operations Research* 12 (1964): a queue whose first service after idling is exceptional; Gandhi,
//! Harchol-Balter and Adan, *Performance Evaluation* 67 (2010), and Gandhi, Doroudi, Harchol-Balter and Scheller-Wolf,
//! SIGMETRICS 2013: several servers.

use super::{Move, mg1_mean_wait, stationary};

/// One server that goes off as soon as it is idle and takes an exponential set-up to come back, under Poisson arrivals and
/// exponential service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// Arrivals [1/s].
    pub arrival_rate: f64,
    /// Services [1/s].
    pub service_rate: f64,
    /// Mean set-up \[s\].
    pub mean_setup: f64,
}

impl Setup {
    /// Mean time in the system \[s\]: that of M/M/1, and a whole set-up on top (Welch 1964).
    pub fn mean_time(self) -> f64 {
        1.0 / (self.service_rate - self.arrival_rate) + self.mean_setup
    }

    /// Mean wait \[s\].
    pub fn mean_wait(self) -> f64 {
        self.mean_time() - 1.0 / self.service_rate
    }

    fn idle(self) -> f64 {
        1.0 - self.arrival_rate / self.service_rate
    }

    /// Share of requests that start the server.
    pub fn trigger_share(self) -> f64 {
        self.idle() / (1.0 + self.arrival_rate * self.mean_setup)
    }

    /// Share of requests that find the server off or in set-up.
    pub fn cold_share(self) -> f64 {
        self.idle()
    }

    /// Share of the time in set-up.
    pub fn setup_share(self) -> f64 {
        self.idle() - self.trigger_share()
    }
}

/// One server with a constant set-up that goes off when it has been idle for a keep-alive; Poisson arrivals, general service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetupKeptAlive {
    /// Arrivals [1/s].
    pub arrival_rate: f64,
    /// Mean service \[s\].
    pub mean_service: f64,
    /// Coefficient of variation of the service.
    pub service_cv: f64,
    /// Set-up \[s\].
    pub setup: f64,
    /// Keep-alive after the last request \[s\].
    pub keep_alive: f64,
}

impl SetupKeptAlive {
    /// Share of the busy periods that begin with a set-up, times requests in a set-up.
    fn during_setup(self) -> f64 {
        self.arrival_rate * self.goes_off() * self.setup
    }

    /// Share of the idle periods that outlast the keep-alive.
    fn goes_off(self) -> f64 {
        (-self.arrival_rate * self.keep_alive).exp()
    }

    /// Share of requests that start the server.
    pub fn trigger_share(self) -> f64 {
        let idle = 1.0 - self.arrival_rate * self.mean_service;
        self.goes_off() * idle / (1.0 + self.during_setup())
    }

    /// Share of requests that find the server off or in set-up.
    pub fn cold_share(self) -> f64 {
        (1.0 + self.arrival_rate * self.setup) * self.trigger_share()
    }

    /// Share of the time in set-up.
    pub fn setup_share(self) -> f64 {
        self.arrival_rate * self.setup * self.trigger_share()
    }

    /// Mean wait \[s\].
    pub fn mean_wait(self) -> f64 {
        let twice = self.goes_off() * self.setup * (2.0 + self.arrival_rate * self.setup);
        let queue = mg1_mean_wait(self.arrival_rate, self.mean_service, self.service_cv);
        queue + twice / (2.0 * (1.0 + self.during_setup()))
    }
}

/// Several exponential servers with exponential set-ups: off as soon as idle, a set-up under way for each waiting request
/// while servers are left, and set-ups given up when fewer wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetupServers {
    /// Arrivals [1/s].
    pub arrival_rate: f64,
    /// Services of one server [1/s].
    pub service_rate: f64,
    /// Mean set-up \[s\].
    pub mean_setup: f64,
    /// Servers.
    pub servers: u32,
}

/// Means over time of a system of servers with set-ups.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SetupMeans {
    /// Requests in the system.
    pub requests: f64,
    /// Servers that are on.
    pub on: f64,
    /// Servers in set-up.
    pub in_setup: f64,
}

impl SetupServers {
    /// Requests in the system from here on are left out.
    const MOST: usize = 400;

    /// Means over time, by the chain of (requests, servers on).
    pub fn means(self) -> SetupMeans {
        let servers = self.servers as usize;
        let at = |requests: usize, on: usize| requests * (servers + 1) + on;
        let setups = |requests: usize, on: usize| (requests - on).min(servers - on) as f64;
        let mut moves: Vec<Move> = Vec::new();
        for requests in 0..=Self::MOST {
            for on in 0..=servers.min(requests) {
                let here = at(requests, on);
                if requests < Self::MOST {
                    moves.push((here, at(requests + 1, on), self.arrival_rate));
                }
                if on > 0 {
                    let left = requests - 1;
                    let rate = on as f64 * self.service_rate;
                    moves.push((here, at(left, on.min(left)), rate));
                }
                if setups(requests, on) > 0.0 {
                    moves.push((
                        here,
                        at(requests, on + 1),
                        setups(requests, on) / self.mean_setup,
                    ));
                }
            }
        }
        let law = stationary(at(Self::MOST, servers) + 1, &moves);
        let mut means = SetupMeans::default();
        for requests in 0..=Self::MOST {
            for on in 0..=servers.min(requests) {
                let share = law[at(requests, on)];
                means.requests += share * requests as f64;
                means.on += share * on as f64;
                means.in_setup += share * setups(requests, on);
            }
        }
        means
    }

    /// Means over time where servers never run out: those on are Poisson, those in set-up independent of them.
    pub fn means_unlimited(self) -> SetupMeans {
        let (mut weight, mut total, mut sum) = (1.0, 1.0, 0.0);
        for count in 1..1000 {
            let count = f64::from(count);
            weight *= self.arrival_rate / (self.arrival_rate + count / self.mean_setup);
            total += weight;
            sum += count * weight;
        }
        let (on, in_setup) = (self.arrival_rate / self.service_rate, sum / total);
        SetupMeans {
            requests: on + in_setup,
            on,
            in_setup,
        }
    }
}
