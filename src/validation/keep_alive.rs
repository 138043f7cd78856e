//! Replicas that come and go: set-up, keep-alive, and what a benchmark's probes meet.

use super::observed::Observed;
use super::{Case, Evidence, Simulated, claim, fleet};
use crate::fleet::Activity;
use crate::theory::{
    ColdFleet, KeptAlive, Setup, SetupKeptAlive, SetupServers, StackedFleet, cold_share,
    gamma_cold_share,
};

pub(super) fn cases() -> Vec<Case> {
    vec![
        setup_exponential(),
        setup_kept_alive(),
        setup_two_servers(),
        setup_unlimited(),
        ample_without_setup(),
        ample_with_setup(),
        ample_exponential(),
        sparse_probes(),
        dense_probes(),
        smooth_arrivals(),
        evictions(),
        stacked(),
        cold_fleet(),
    ]
}

fn setup_exponential() -> Case {
    let law = Setup {
        arrival_rate: 0.6,
        service_rate: 1.0,
        mean_setup: 10.0,
    };
    let deployment = "service.slots = { prefill.exponential.mean = \"1s\", decode = \"0s\" }\n\
         cold_start.load_weights.exponential.mean = \"10s\"\nscaling = { max = 1, keep_alive = \"none\" }\n\
         traffic.t.arrivals = \"0.6/s\"";
    Case {
        id: "S01_mm1_setup_exp",
        title: "M/M/1 that goes off as soon as it is idle, exponential set-up",
        formula: "E[T] = 1/(mu - lam) + 1/alpha; P(trigger) = (1 - rho)/(1 + lam/alpha)",
        source: "Welch 1964",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("2000s", "45000s", deployment),
            replications: 32,
            claims: vec![
                claim("EW", law.mean_wait(), |run| run.waits().mean()),
                claim("ET", law.mean_time(), |run| run.times().mean()),
                claim("P_trigger_cold", law.trigger_share(), Observed::start_share),
                claim(
                    "P_arrive_off_or_setup",
                    law.cold_share(),
                    Observed::cold_share,
                ),
                claim("frac_time_off", law.trigger_share(), |run| {
                    1.0 - run.all_replicas()
                }),
                claim("frac_time_setup", law.setup_share(), |run| {
                    run.replicas(Activity::Starting)
                }),
            ],
        }),
    }
}

fn setup_kept_alive() -> Case {
    let law = SetupKeptAlive {
        arrival_rate: 0.05,
        mean_service: 4.0,
        service_cv: 1.0,
        setup: 20.0,
        keep_alive: 30.0,
    };
    let deployment = "service.slots = { prefill.lognormal = { mean = \"4s\", cv = 1 }, decode = \"0s\" }\n\
         cold_start.load_weights = \"20s\"\nscaling = { max = 1, keep_alive = \"30s\" }\n\
         traffic.t.arrivals = \"0.05/s\"";
    Case {
        id: "S02_mg1_setup_keepalive",
        title: "M/G/1 with constant set-up and keep-alive",
        formula: "q = e^-lam tau; E[W] = PK + (2qS + lam q S^2)/(2(1 + lam q S)); P(trigger) = q(1 - rho)/(1 + lam q S)",
        source: "Welch 1964, a set-up with probability q",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("2000s", "100000s", deployment),
            replications: 32,
            claims: vec![
                claim("EW", law.mean_wait(), |run| run.waits().mean()),
                claim("ET", law.mean_wait() + 4.0, |run| run.times().mean()),
                claim("P_trigger_cold", law.trigger_share(), Observed::start_share),
                claim(
                    "P_arrive_off_or_setup",
                    law.cold_share(),
                    Observed::cold_share,
                ),
                claim("frac_time_off", law.trigger_share(), |run| {
                    1.0 - run.all_replicas()
                }),
                claim("frac_time_setup", law.setup_share(), |run| {
                    run.replicas(Activity::Starting)
                }),
            ],
        }),
    }
}

/// Servers that go off as soon as they are idle; a set-up that no request waits for any more is given up.
fn setup_servers(max: u32, arrivals: &str, setup: &str) -> String {
    format!(
        "service.slots = {{ prefill.exponential.mean = \"1s\", decode = \"0s\" }}\n\
         cold_start.load_weights.exponential.mean = \"{setup}\"\n\
         scaling = {{ max = {max}, keep_alive = \"none\", cancel_surplus_starts = true }}\n\
         traffic.t.arrivals = \"{arrivals}\""
    )
}

fn setup_two_servers() -> Case {
    let law = SetupServers {
        arrival_rate: 1.0,
        service_rate: 1.0,
        mean_setup: 10.0,
        servers: 2,
    };
    let means = law.means();
    Case {
        id: "S03_mmk_setup_k2",
        title: "M/M/2 with exponential set-ups, off at once, surplus set-ups given up",
        formula: "the chain of (requests, servers on), up to 400 requests",
        source: "Gandhi, Doroudi, Harchol-Balter and Scheller-Wolf, SIGMETRICS 2013",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("2000s", "20000s", &setup_servers(2, "1/s", "10s")),
            replications: 32,
            claims: vec![
                claim("EN", means.requests, Observed::in_system),
                claim("ET", means.requests, |run| run.times().mean()),
                claim("EW", means.requests - 1.0, |run| run.waits().mean()),
                claim("E_on", means.on, |run| run.replicas(Activity::Busy)),
                claim("E_setup", means.in_setup, |run| {
                    run.replicas(Activity::Starting)
                }),
            ],
        }),
    }
}

fn setup_unlimited() -> Case {
    let law = SetupServers {
        arrival_rate: 2.0,
        service_rate: 1.0,
        mean_setup: 2.0,
        servers: 60,
    };
    let means = law.means_unlimited();
    Case {
        id: "S04_mminf_setup",
        title: "M/M/inf with exponential set-ups, off at once, surplus set-ups given up",
        formula: "on is Poisson with mean lam/mu; P(j in set-up) ~ product over l <= j of lam/(lam + l alpha); independent",
        source: "Gandhi, Harchol-Balter and Adan 2010",
        note: "60 servers stand for endlessly many",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("200s", "3000s", &setup_servers(60, "2/s", "2s")),
            replications: 32,
            claims: vec![
                claim("E_on", means.on, |run| run.replicas(Activity::Busy)),
                claim("E_setup", means.in_setup, |run| {
                    run.replicas(Activity::Starting)
                }),
                claim("ET", means.requests / law.arrival_rate, |run| {
                    run.times().mean()
                }),
            ],
        }),
    }
}

/// One replica with room for all.
fn ample(service: &str, rest: &str) -> String {
    format!(
        "service.slots = {{ slots = \"unlimited\", {service}, decode = \"0s\" }}\n\
         scaling = {{ max = 1, keep_alive = \"60s\" }}\n{rest}"
    )
}

fn ample_without_setup() -> Case {
    let cold = cold_share(0.01, 60.0, 2.0);
    let service = "prefill.lognormal = { mean = \"2s\", cv = 1 }";
    Case {
        id: "K01_ample_nosetup",
        title: "one replica with room for all, keep-alive, no set-up",
        formula: "P(cold) = e^-lam(tau + E[X]) for any law of the service",
        source: "thinning a Poisson process (theory.md 1.2a)",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet(
                "1000s",
                "400000s",
                &ample(service, "traffic.t.arrivals = \"0.01/s\""),
            ),
            replications: 32,
            claims: vec![
                claim("P_trigger_cold", cold, Observed::cold_share),
                claim("frac_time_up", 1.0 - cold, Observed::all_replicas),
            ],
        }),
    }
}

fn ample_with_setup() -> Case {
    let law = KeptAlive::constant(0.02, 60.0, 20.0, 2.0);
    let rest = "cold_start.load_weights = \"20s\"\ntraffic.t.arrivals = \"0.02/s\"";
    Case {
        id: "K02_ample_setup_det",
        title: "one replica with room for all, constant set-up and service",
        formula: "P(trigger) = 1/(lam S + e^lam(tau + D)); P(wait) = (1 + lam S) P; E[W] = (S + lam S^2/2) P; up 1 - P",
        source: "regeneration at each start (theory.md 1.2b)",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("1000s", "300000s", &ample("prefill = \"2s\"", rest)),
            replications: 32,
            claims: vec![
                claim("P_trigger_cold", law.trigger_share(), Observed::start_share),
                claim("P_wait", law.wait_share(), Observed::cold_share),
                claim("EW", law.mean_wait(), |run| run.waits().mean()),
                claim("frac_time_up", law.up_share(), Observed::all_replicas),
            ],
        }),
    }
}

fn ample_exponential() -> Case {
    let law = KeptAlive::exponential(0.05, 40.0, 30.0, 8.0);
    let deployment = "service.slots = { slots = \"unlimited\", prefill.exponential.mean = \"8s\", decode = \"0s\" }\n\
         cold_start.load_weights = \"30s\"\nscaling = { max = 1, keep_alive = \"40s\" }\n\
         traffic.t.arrivals = \"0.05/s\"";
    Case {
        id: "K03_ample_setup_exp",
        title: "one replica with room for all, constant set-up, exponential service",
        formula: "P(trigger) = 1/(lam E[cycle]); E[cycle] from the busy period of M/G/inf that opens with the set-up's requests",
        source: "regeneration at each start (theory.md 1.2b)",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("2000s", "120000s", deployment),
            replications: 32,
            claims: vec![
                claim("P_trigger_cold", law.trigger_share(), Observed::start_share),
                claim("P_wait", law.wait_share(), Observed::cold_share),
                claim("EW", law.mean_wait(), |run| run.waits().mean()),
                claim("frac_time_up", law.up_share(), Observed::all_replicas),
            ],
        }),
    }
}

/// A benchmark on top of a few other users; its first request is thrown away.
fn probed(gaps: &str, service: &str, others: &str) -> String {
    format!(
        "time.warm_up = \"1000s\"\n\n[benchmark]\nrequests = 75\ndiscard = 1\ngaps = {gaps}\n\n\
         [providers.p.deployments.m]\n{}\n",
        ample(
            service,
            &format!("traffic.t = {{ arrivals = \"0.005/s\"{others} }}")
        )
    )
}

fn sparse_probes() -> Case {
    let times: Vec<String> = (0..76).map(|index| format!("{}s", 90 * index)).collect();
    let cold = cold_share(0.005, 60.0, 2.0);
    Case {
        id: "K04_probe_sparse",
        title: "probes further apart than the keep-alive, over other users",
        formula: "P(cold) = e^-lam(tau + E[X]); the windows of two probes do not meet, so their number is binomial",
        source: "thinning a Poisson process (theory.md 1.2d)",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: probed(
                &format!("{{ at.times = {times:?} }}"),
                "prefill = \"2s\"",
                ", prefill.lognormal = { mean = \"2s\", cv = 1 }",
            ),
            replications: 4000,
            claims: vec![
                claim("P_probe_cold", cold, |run| run.cold_probes() / run.probes()),
                claim("E_K", 75.0 * cold, Observed::cold_probes),
                claim("Var_K", 75.0 * cold * (1.0 - cold), |run| {
                    let cold = cold_share(0.005, 60.0, 2.0);
                    (run.cold_probes() - run.probes() * cold).powi(2)
                })
                .within(0.1),
            ],
        }),
    }
}

fn dense_probes() -> Case {
    Case {
        id: "K05_probe_dense",
        title: "probes closer together than the keep-alive",
        formula: "P(cold) = 0 after the first: a benchmark keeps the model warm for itself",
        source: "theory.md 1.2d",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: probed("\"3s\"", "prefill = \"500ms\"", ""),
            replications: 32,
            claims: vec![claim("P_probe_cold", 0.0, |run| {
                run.cold_probes() / run.probes()
            })],
        }),
    }
}

fn smooth_arrivals() -> Case {
    let rest = "traffic.t.arrivals.gamma = { rate = \"0.025/s\", cv = 0.5 }";
    Case {
        id: "K07_gamma_smooth",
        title: "renewal arrivals, smoother than Poisson",
        formula: "P(cold) = P(gap > tau + D) for constant service",
        source: "renewal theory",
        note: "the reference says `as K06`, a case that it does not have",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("1000s", "250000s", &ample("prefill = \"2s\"", rest)),
            replications: 32,
            claims: vec![claim(
                "P_cold",
                gamma_cold_share(40.0, 4, 62.0),
                Observed::cold_share,
            )],
        }),
    }
}

fn evictions() -> Case {
    let evicted = -(-0.01_f64 * 5.0).exp_m1();
    let scenario = "time.warm_up = \"0s\"\nbenchmark = { requests = 18000, discard = 1, gaps = \"5s\" }\n\n\
         [providers.p.deployments.m]\n\
         service.slots = { slots = \"unlimited\", prefill = \"100ms\", decode = \"0s\" }\n\
         scaling = { max = 1, keep_alive = \"infinite\" }\nlosses.eviction = \"0.01/s\"\n";
    Case {
        id: "K09_eviction_hazard",
        title: "a benchmark alone against evictions by other tenants",
        formula: "P(cold) = 1 - e^-(hazard x gap)",
        source: "an exponential hazard",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: scenario.to_owned(),
            replications: 32,
            claims: vec![claim("P_probe_cold", evicted, |run| {
                run.cold_probes() / run.probes()
            })],
        }),
    }
}

fn stacked() -> Case {
    let law = StackedFleet {
        arrival_rate: 0.1,
        mean_service: 4.0,
        keep_alive: 20.0,
    };
    let deployment = "service.slots = { prefill.exponential.mean = \"4s\", decode = \"0s\" }\n\
         scaling = { rule = \"per-request\", keep_alive = \"20s\" }\nidle_order = \"most-recently-idle\"\n\
         traffic.t.arrivals = \"0.1/s\"";
    let idle = law.mean_idle();
    Case {
        id: "F01_mru_fleet",
        title: "a replica for each request that finds none idle; the one idle for the shortest time goes first",
        formula: "P(cold) = sum of pi_(k-1) P(first passage from k - 1 busy to k > tau)",
        source: "level crossings (theory.md 1.2e)",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("1000s", "20000s", deployment),
            replications: 32,
            claims: vec![
                claim("P_cold", law.cold_share(), Observed::cold_share),
                claim("E_busy", 0.4, |run| run.replicas(Activity::Busy)),
                claim("E_idle", idle, |run| run.replicas(Activity::Idle)),
                claim("E_instances", 0.4 + idle, Observed::all_replicas),
            ],
        }),
    }
}

fn cold_fleet() -> Case {
    let law = ColdFleet {
        arrival_rate: 1.0,
        cold_service: 5.0,
        warm_service: 2.0,
        keep_alive: 20.0,
    };
    let means = law.means([14, 14, 15]);
    let deployment = "service.slots = { prefill.exponential.mean = \"2s\", decode = \"0s\", \
         cold.prefill.exponential.mean = \"5s\" }\n\
         scaling = { rule = \"per-request\", keep_alive.exponential.mean = \"20s\" }\n\
         traffic.t.arrivals = \"1/s\"";
    Case {
        id: "F04_exp_keepalive_fleet",
        title: "a replica for each request that finds none idle, exponential keep-alive, a slower first request",
        formula: "the chain of (idle, warm, cold) replicas",
        source: "solved here (theory.md 1.4)",
        note: "the reference leaves out states of weight 3.5e-8, which moves its seventh digit",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("500s", "8000s", deployment),
            replications: 32,
            claims: vec![
                claim("P_cold", means.cold_share, Observed::cold_share),
                claim("E_idle", means.idle, |run| run.replicas(Activity::Idle)),
                claim("E_busy_warm", means.warm, |run| run.in_system_by(false)),
                claim("E_busy_cold", means.cold, |run| run.in_system_by(true)).within(0.05),
            ],
        }),
    }
}
