//! Queues: replicas that are always ready, each serving one request at a time.

use super::observed::Observed;
use super::{Case, Claim, Evidence, Simulated, claim, fleet};
use crate::fleet::Activity;
use crate::theory::{
    ClosedLoop, Dm1, Mmc, Mmpp1, erlang_b, exponential_quantile, lognormal_moments,
    md1_wait_quantile, mg1_mean_wait, mg1_wait_std, poisson_tail, priority_mean_waits,
};
use crate::time::Duration;

/// The half-width that tails and deviations may have: they rest on fewer values than means.
const TAIL: f64 = 0.08;

pub(super) fn cases() -> Vec<Case> {
    vec![
        mm1(),
        mmc(),
        mg1_lognormal(),
        mg1_hyperexponential(),
        md1(),
        dm1(),
        bursts(),
        loss(
            "Q09_erlangB_exp",
            "M/M/10/10: no queue, exponential service",
            "prefill.exponential.mean = \"1s\"",
        ),
        loss(
            "Q09_erlangB_det",
            "M/D/10/10: no queue, constant service",
            "prefill = \"1s\"",
        ),
        unlimited(),
        priorities(),
        closed_loop(),
    ]
}

/// Replicas that are always ready, with one slot each.
fn servers(count: u32, service: &str, arrivals: &str) -> String {
    format!(
        "service.slots = {{ {service}, decode = \"0s\" }}\nscaling = {{ min = {count}, max = {count} }}\n\
         traffic.t.arrivals = {arrivals}"
    )
}

fn mm1() -> Case {
    let law = Mmc {
        arrival_rate: 0.8,
        service_rate: 1.0,
        servers: 1,
    };
    let mut claims = waits(law);
    claims.extend([
        claim("EL", 0.8 * law.mean_time(), Observed::in_system),
        claim(
            "P95_T",
            exponential_quantile(law.mean_time(), 0.95),
            |run| run.time_quantile(0.95),
        )
        .within(TAIL),
        claim(
            "P99_T",
            exponential_quantile(law.mean_time(), 0.99),
            |run| run.time_quantile(0.99),
        )
        .within(TAIL),
        claim("sd_T", law.mean_time(), |run| {
            run.times().std().expect("many requests")
        })
        .within(TAIL),
    ]);
    Case {
        id: "Q01_mm1",
        title: "M/M/1",
        formula: "E[W] = rho/(mu - lam); E[T] = sd[T] = 1/(mu - lam); T is exponential",
        source: "Kleinrock 1975, vol. 1; Harchol-Balter 2013, ch. 13",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet(
                "2000s",
                "90000s",
                &servers(1, "prefill.exponential.mean = \"1s\"", "\"0.8/s\""),
            ),
            replications: 32,
            claims,
        }),
    }
}

/// What M/M/c says of waits.
fn waits(law: Mmc) -> Vec<Claim> {
    vec![
        claim("EW", law.mean_wait(), |run| run.waits().mean()),
        claim("ET", law.mean_time(), |run| run.times().mean()),
        claim(
            "ELq",
            law.arrival_rate * law.mean_wait(),
            Observed::queue_length,
        ),
        claim("P_wait", law.wait_share(), Observed::wait_share),
        claim("P95_W", law.wait_quantile(0.95), |run| {
            run.wait_quantile(0.95)
        })
        .within(TAIL),
        claim("utilisation", law.utilisation(), Observed::utilisation),
    ]
}

fn mmc() -> Case {
    let law = Mmc {
        arrival_rate: 3.2,
        service_rate: 1.0,
        servers: 4,
    };
    let mut claims = waits(law);
    claims.push(
        claim("P99_W", law.wait_quantile(0.99), |run| {
            run.wait_quantile(0.99)
        })
        .within(TAIL),
    );
    Case {
        id: "Q02_mmc",
        title: "M/M/4",
        formula: "P(wait) = C(4, rho), Erlang's delay formula; E[W] = C/(4 mu - lam); P(W > t) = C e^-(4 mu - lam)t",
        source: "Erlang 1917; Harchol-Balter 2013, ch. 14",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet(
                "1000s",
                "30000s",
                &servers(4, "prefill.exponential.mean = \"1s\"", "\"3.2/s\""),
            ),
            replications: 32,
            claims,
        }),
    }
}

fn mg1_lognormal() -> Case {
    let mean_wait = mg1_mean_wait(0.5, 1.0, 2_f64.sqrt());
    let service = format!(
        "prefill.lognormal = {{ mean = \"1s\", cv = {:?} }}",
        2_f64.sqrt()
    );
    Case {
        id: "Q03_mg1_lognormal",
        title: "M/G/1, lognormal service with squared CV 2",
        formula: "E[W] = lam E[X^2]/(2(1 - rho)); E[W^2] = 2 E[W]^2 + lam E[X^3]/(3(1 - rho))",
        source: "Pollaczek 1930, Khinchine 1932; Takács 1962",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("1000s", "150000s", &servers(1, &service, "\"0.5/s\"")),
            replications: 32,
            claims: vec![
                claim("EW", mean_wait, |run| run.waits().mean()),
                claim("ET", mean_wait + 1.0, |run| run.times().mean()),
                claim(
                    "sd_W",
                    mg1_wait_std(0.5, lognormal_moments(1.0, 2_f64.sqrt())),
                    |run| run.waits().std().expect("many requests"),
                )
                .within(0.1),
                claim("P_wait", 0.5, Observed::wait_share),
                claim("ELq", 0.5 * mean_wait, Observed::queue_length),
            ],
        }),
    }
}

fn mg1_hyperexponential() -> Case {
    // A tenth of the requests is eleven times as long as the others; an exponential law's moments are k! mean^k.
    let moment =
        |k: i32, factorial: f64| factorial * (0.9 * 0.5_f64.powi(k) + 0.1 * 5.5_f64.powi(k));
    let moments = [moment(1, 1.0), moment(2, 2.0), moment(3, 6.0)];
    let mean_wait = mg1_mean_wait(0.6, 1.0, (moments[1] - 1.0).sqrt());
    Case {
        id: "Q04_mg1_h2",
        title: "M/G/1, hyper-exponential service: short chats and long jobs",
        formula: "E[W] = lam E[X^2]/(2(1 - rho))",
        source: "Pollaczek 1930, Khinchine 1932; Takács 1962",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet(
                "2000s",
                "150000s",
                &servers(1, &format!("prefill = {TWO_EXPONENTIALS}"), "\"0.6/s\""),
            ),
            replications: 32,
            claims: vec![
                claim("EW", mean_wait, |run| run.waits().mean()),
                claim("ET", mean_wait + 1.0, |run| run.times().mean()),
                claim("sd_W", mg1_wait_std(0.6, moments), |run| {
                    run.waits().std().expect("many requests")
                })
                .within(TAIL),
                claim("P_wait", 0.6, Observed::wait_share),
                claim("ELq", 0.6 * mean_wait, Observed::queue_length),
            ],
        }),
    }
}

/// Exponential with mean 0.5 s, and one time in ten 5.5 s.
const TWO_EXPONENTIALS: &str = "{ mixture.parts = [{ weight = 0.9, of.exponential.mean = \"500ms\" }, \
     { weight = 0.1, of.exponential.mean = \"5.5s\" }] }";

fn md1() -> Case {
    let quantile = |p| md1_wait_quantile(0.8, 1.0, p);
    Case {
        id: "Q05_md1",
        title: "M/D/1",
        formula: "E[W] = rho D/(2(1 - rho)); P(W <= t) = (1 - rho) sum over k <= t/D of x^k/k! e^-x, x = lam(kD - t)",
        source: "Erlang 1909",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet(
                "1000s",
                "50000s",
                &servers(1, "prefill = \"1s\"", "\"0.8/s\""),
            ),
            replications: 32,
            claims: vec![
                claim("EW", mg1_mean_wait(0.8, 1.0, 0.0), |run| run.waits().mean()),
                claim("ET", mg1_mean_wait(0.8, 1.0, 0.0) + 1.0, |run| {
                    run.times().mean()
                }),
                claim("P_wait", 0.8, Observed::wait_share),
                claim("P95_W", quantile(0.95), |run| run.wait_quantile(0.95)).within(TAIL),
                claim("P99_W", quantile(0.99), |run| run.wait_quantile(0.99)).within(TAIL),
            ],
        }),
    }
}

fn dm1() -> Case {
    let law = Dm1 {
        gap: 1.25,
        service_rate: 1.0,
    };
    Case {
        id: "Q06_dm1",
        title: "D/M/1: requests by the clock",
        formula: "P(wait) = x with x = e^-mu gap(1 - x); E[W] = x/(mu(1 - x)); T is exponential",
        source: "Kendall 1953",
        note: "`sigma` and `P_wait` are one number under two names",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet(
                "1000s",
                "70000s",
                &servers(
                    1,
                    "prefill.exponential.mean = \"1s\"",
                    "{ deterministic.rate = \"0.8/s\" }",
                ),
            ),
            replications: 32,
            claims: vec![
                claim("sigma", law.wait_share(), Observed::wait_share),
                claim("P_wait", law.wait_share(), Observed::wait_share),
                claim("EW", law.mean_wait(), |run| run.waits().mean()),
                claim("ET", law.mean_time(), |run| run.times().mean()),
                claim("P95_W", law.wait_quantile(0.95), |run| {
                    run.wait_quantile(0.95)
                })
                .within(TAIL),
                claim(
                    "P95_T",
                    exponential_quantile(law.mean_time(), 0.95),
                    |run| run.time_quantile(0.95),
                )
                .within(TAIL),
            ],
        }),
    }
}

fn bursts() -> Case {
    let law = Mmpp1 {
        rates: [0.3, 1.5],
        sojourns: [50.0, 20.0],
        service_rate: 1.0,
    };
    let (time, waiting) = law.mean_time_and_wait_share();
    let arrivals = "{ mmpp = { calm_rate = \"0.3/s\", burst_rate = \"1.5/s\", calm_mean = \"50s\", burst_mean = \"20s\" } }";
    Case {
        id: "Q08_mmpp_m1",
        title: "MMPP/M/1: calm and bursts that exceed the server",
        formula: "the chain of (number, state), up to 1500 requests",
        source: "Neuts 1981",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet(
                "10000s",
                "160000s",
                &servers(1, "prefill.exponential.mean = \"1s\"", arrivals),
            ),
            replications: 32,
            claims: vec![
                claim("ET", time, |run| run.times().mean()).within(TAIL),
                claim("P_wait", waiting, Observed::wait_share),
            ],
        }),
    }
}

fn priorities() -> Case {
    let waits = priority_mean_waits(&[(0.4, [0.5, 0.25]), (0.3, [1.5, 4.5])]);
    let deployment = "service.slots = { prefill = \"500ms\", decode = \"0s\" }\nscaling = { min = 1, max = 1 }\n\
         traffic.interactive = { arrivals = \"0.4/s\", priority = 1 }\n\
         traffic.batch = { arrivals = \"0.3/s\", prefill.exponential.mean = \"1.5s\" }";
    Case {
        id: "Q11_cobham",
        title: "M/G/1 with two priorities, none of which interrupts the other",
        formula: "E[W_k] = W0/((1 - s_(k-1))(1 - s_k)), W0 = sum of lam E[X^2]/2, s_k the load of the first k classes",
        source: "Cobham 1954",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("1000s", "70000s", deployment),
            replications: 32,
            claims: vec![
                claim("EW_class1", waits[0], |run| run.mean_wait_of(0)),
                claim("EW_class2", waits[1], |run| run.mean_wait_of(1)),
            ],
        }),
    }
}

fn closed_loop() -> Case {
    let law = ClosedLoop {
        clients: 8,
        think: 10.0,
        service: 1.0,
    };
    let arrivals = "{ closed = { clients = 8, think.exponential.mean = \"10s\" } }";
    Case {
        id: "Q13_closed",
        title: "eight clients that wait for their answers, one server",
        formula: "mean-value analysis: R_n = S(1 + L_(n-1)), X_n = n/(Z + R_n), L_n = X_n R_n",
        source: "Reiser and Lavenberg 1980",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet(
                "500s",
                "8000s",
                &servers(1, "prefill.exponential.mean = \"1s\"", arrivals),
            ),
            replications: 32,
            claims: vec![
                claim("throughput", law.throughput(), Observed::throughput),
                claim("ER", law.mean_time(), |run| run.times().mean()),
                claim("utilisation", law.throughput(), Observed::utilisation),
                claim(
                    "EN",
                    law.throughput() * law.mean_time(),
                    Observed::in_system,
                ),
            ],
        }),
    }
}

fn loss(id: &'static str, title: &'static str, service: &str) -> Case {
    let blocked = erlang_b(8.0, 10);
    let deployment = format!("{}\nqueue.limit = 0", servers(10, service, "\"8/s\""));
    Case {
        id,
        title,
        formula: "B(a, c) = a B(a, c - 1)/(c + a B(a, c - 1)); the law of the service does not matter",
        source: "Erlang 1917; Sevastyanov 1957",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("100s", "2500s", &deployment),
            replications: 32,
            claims: vec![
                claim("P_reject", blocked, |run| run.refused_share(0)),
                claim("E_busy", 8.0 * (1.0 - blocked), |run| {
                    run.replicas(Activity::Busy)
                }),
            ],
        }),
    }
}

/// A request served longer than this in M/G/inf would be one in 10^12.
const LONGEST: f64 = 200.0;

fn unlimited() -> Case {
    let deployment = format!(
        "service.slots = {{ prefill.gamma = {{ mean = \"2s\", cv = {:?} }}, decode = \"0s\" }}\n\
         scaling.keep_alive = \"none\"\ntraffic.t.arrivals = \"5/s\"",
        1.5_f64.sqrt()
    );
    Case {
        id: "Q10_mginf",
        title: "M/G/inf: a replica for each request, at once",
        formula: "the number in the system is Poisson with mean lam E[X]; the law of the service does not matter",
        source: "Harchol-Balter 2013, ch. 15",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: fleet("100s", "8000s", &deployment),
            replications: 32,
            claims: vec![
                claim("EN", 10.0, Observed::in_system),
                claim("VarN", 10.0, |run| {
                    let off_mean = |number: u32| (f64::from(number) - 10.0).powi(2);
                    run.mean_over_time(Duration::from_secs(LONGEST), off_mean)
                }),
                claim("P_N_ge_16", poisson_tail(10.0, 16), |run| {
                    let is_many = |number: u32| f64::from(u8::from(number >= 16));
                    run.mean_over_time(Duration::from_secs(LONGEST), is_many)
                })
                .within(TAIL),
            ],
        }),
    }
}
