//! Closed forms of queueing theory and of keep-alive: what a simulation of a simple fleet must show.
//!
//! Rates are per second and times in seconds; a load is a rate times a time. All functions assume a stable system, which their
//! callers have checked. Sources: Kleinrock, *Queueing Systems* 1 (1975); Harchol-Balter, *Performance Modeling and Design of
//! Computer Systems* (2013); Welch, *Operations Research* 12 (1964) for set-up. The keep-alive forms follow from thinning a
//! Poisson process: requests whose service or keep-alive covers an instant are Poisson with mean `rate x (time + service)`.

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

/// Share of Poisson requests that find the model asleep: one replica with room for all, without set-up, kept for
/// `keep_alive` \[s\] after its last request. The law of the service does not matter.
pub fn cold_share(arrival_rate: f64, keep_alive: f64, mean_service: f64) -> f64 {
    (-arrival_rate * (keep_alive + mean_service)).exp()
}

/// One replica with room for all, a constant set-up during which requests wait, constant service, and a keep-alive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeptAlive {
    /// Arrivals [1/s].
    pub arrival_rate: f64,
    /// Keep-alive after the last request \[s\].
    pub keep_alive: f64,
    /// Set-up \[s\].
    pub setup: f64,
    /// Service \[s\].
    pub service: f64,
}

impl KeptAlive {
    /// Share of requests that start the replica.
    pub fn trigger_share(self) -> f64 {
        let during_setup = self.arrival_rate * self.setup;
        1.0 / (during_setup + (self.arrival_rate * (self.keep_alive + self.service)).exp())
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

/// Share of a Poisson law with this `mean` that is `count` or more.
pub fn poisson_tail(mean: f64, count: u32) -> f64 {
    let mut term = (-mean).exp();
    let mut below = 0.0;
    for k in 0..count {
        below += term;
        term *= mean / f64::from(k + 1);
    }
    1.0 - below
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Agrees to six digits with values computed elsewhere.
    fn near(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() <= 1e-6 * expected.abs(),
            "{value} for {expected}"
        );
    }

    #[test]
    fn forms_give_the_published_numbers() {
        near(erlang_b(8.0, 10), 0.121_661_064);
        let mm4 = Mmc {
            arrival_rate: 3.2,
            service_rate: 1.0,
            servers: 4,
        };
        near(mm4.wait_share(), 0.596_432_472);
        near(mm4.mean_wait(), 0.745_540_59);
        near(mm4.wait_quantile(0.95), 3.098_678_78);
        near(mm4.mean_time(), 1.745_540_59);
        near(mm4.utilisation(), 0.8);
        let mm1 = Mmc {
            arrival_rate: 0.8,
            servers: 1,
            ..mm4
        };
        near(mm1.mean_wait(), 4.0);
        near(mm1.wait_quantile(0.95), 13.862_943_6);
        near(mg1_mean_wait(0.5, 1.0, 2_f64.sqrt()), 1.5);
        near(
            mg1_wait_std(0.5, lognormal_moments(1.0, 2_f64.sqrt())),
            3.354_101_97,
        );
        let setup = Setup {
            arrival_rate: 0.6,
            service_rate: 1.0,
            mean_setup: 10.0,
        };
        near(setup.mean_wait(), 11.5);
        near(setup.trigger_share(), 0.057_142_857_1);
        near(setup.setup_share(), 0.342_857_143);
        near(setup.cold_share(), 0.4);
        near(cold_share(0.01, 60.0, 2.0), 0.537_944_438);
        let kept = KeptAlive {
            arrival_rate: 0.02,
            keep_alive: 60.0,
            setup: 20.0,
            service: 2.0,
        };
        near(kept.trigger_share(), 0.259_362_099);
        near(kept.wait_share(), 0.363_106_938);
        near(kept.mean_wait(), 6.224_690_37);
        near(kept.up_share(), 0.740_637_901);
        near(poisson_tail(10.0, 16), 0.048_740_403_3);
    }

    #[test]
    fn no_load_neither_waits_nor_loses() {
        assert_eq!((erlang_b(0.0, 3), erlang_c(0.0, 3)), (0.0, 0.0));
        assert_eq!(erlang_b(5.0, 0), 1.0);
    }
}
