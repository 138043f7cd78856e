//! Numbers out of range: refused at their place, or accepted with a meaning, and never a run without end.

use crate::support::{EVERYTHING, plan, problems};
use thermocline::experiment::{Run, run};
use thermocline::fleet::config::KeepAlive;
use thermocline::workload::Pattern;

/// A small scenario with one line of a deployment, of its traffic and of the benchmark replaced.
fn with(table: &str, line: &str) -> String {
    let line_of = |own: &str| if own == table { line } else { "" };
    format!(
        "time = {{ warm_up = \"1m\", horizon = \"10m\" }}
[benchmark]
requests = 3
discard = 0
{}
[providers.p.deployments.m]
{}
[providers.p.deployments.m.traffic.t]
{}
",
        line_of("benchmark"),
        line_of("m"),
        line_of("t"),
    )
}

/// Where the value stands and how it is written; part of the message that refuses it.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "t",
        "arrivals = \"-1/s\"",
        "`arrivals` must not be negative",
    ),
    ("t", "arrivals = -1", "arrivals"),
    ("t", "arrivals = \"1e308/s\"", "`arrivals` must be at most"),
    ("t", "arrivals = \"inf/s\"", "arrivals"),
    (
        "t",
        "arrivals.gamma = { rate = \"1/s\", cv = 0 }",
        "`cv` must be at least",
    ),
    (
        "t",
        "arrivals.gamma = { rate = \"1/s\", cv = -1 }",
        "`cv` must be at least",
    ),
    (
        "t",
        "arrivals.weibull = { rate = \"1/s\", cv = nan }",
        "`cv`",
    ),
    (
        "t",
        "arrivals.mmpp = { calm_rate = \"0/s\", burst_rate = \"0/s\", calm_mean = \"1ms\", burst_mean = \"1h\" }",
        "`calm_mean` must be at least",
    ),
    ("t", "timeout = -1", "timeout"),
    ("t", "timeout = \"-1s\"", "timeout"),
    (
        "t",
        "prompt_tokens = 0",
        "`prompt_tokens` must be at least 1",
    ),
    (
        "t",
        "output_tokens = 1e308",
        "`output_tokens` must be at most",
    ),
    (
        "t",
        "cached_share = \"150%\"",
        "`cached_share` must be at most 100%",
    ),
    ("t", "priority = 256", "`priority` must be at most 255"),
    ("t", "daily = [0, 0]", "24 numbers"),
    ("m", "service.slots = { slots = 0 }", "slots"),
    ("m", "service.slots = { slots = -1 }", "slots"),
    ("m", "service.slots = { slots = 1.5 }", "slots"),
    ("m", "service.slots = { decode = \"1e308s\" }", "decode"),
    ("m", "service.slots = { prefill = -1 }", "prefill"),
    ("m", "service.slots = { prefill = 1 }", "prefill"),
    (
        "m",
        "service.slots.prefill.exponential.mean = \"0s\"",
        "`mean` must be positive",
    ),
    (
        "m",
        "service.slots.prefill.lognormal = { median = \"2s\", p95 = \"1s\" }",
        "`p95` must not be below `median`",
    ),
    ("m", "scaling.keep_alive = -5", "keep_alive"),
    ("m", "scaling.keep_alive = \"-5s\"", "keep_alive"),
    ("m", "scaling.keep_alive = \"inf\"", "keep_alive"),
    ("m", "scaling.max = 0", "max"),
    (
        "m",
        "scaling = { min = 3, max = 2 }",
        "`max` must not be below `min`",
    ),
    (
        "m",
        "scaling.rule.arrival.target = 0",
        "`target` must be positive",
    ),
    (
        "m",
        "scaling.rule.poll.interval = \"0s\"",
        "`interval` must be at least",
    ),
    (
        "m",
        "scaling.rule.concurrency.utilisation = \"150%\"",
        "`utilisation` must be at most 100%",
    ),
    (
        "m",
        "scaling.rule.concurrency.tick = \"0s\"",
        "`tick` must be at least",
    ),
    (
        "m",
        "scaling.rule = \"fixed\"",
        "keeps only the warm pool, and that is 0",
    ),
    ("m", "price = \"-1usd/h\"", "`price` must not be negative"),
    ("m", "price = -1", "price"),
    ("m", "price = \"1e308usd/h\"", "`price` must be at most"),
    ("m", "queue.limit = -1", "limit"),
    ("m", "queue.timeout = -1", "timeout"),
    (
        "m",
        "losses.failure = \"-1/h\"",
        "`failure` must not be negative",
    ),
    ("m", "cold_start.load_weights = \"1000d\"", "load_weights"),
    ("benchmark", "timeout = \"-1s\"", "timeout"),
    ("benchmark", "timeout = \"0s\"", "positive"),
    ("benchmark", "gaps = 5", "gaps"),
    ("benchmark", "gaps = \"-5s\"", "gaps"),
    (
        "benchmark",
        "output_tokens = 0",
        "`output_tokens` must be at least 1",
    ),
    ("benchmark", "prompt_tokens = -1", "`prompt_tokens`"),
    ("benchmark", "gaps.bursts.size = 0", "size"),
];

/// Each is refused where it stands, with its name, what it is and what is allowed.
#[test]
fn c083_numbers_out_of_range_are_refused_at_their_place() {
    let mut wrong = Vec::new();
    for &(table, line, message) in REFUSED {
        let text = with(table, line);
        let problems = problems(&text);
        let row = text
            .lines()
            .position(|other| other == line)
            .expect("it is in the text")
            + 1;
        if !problems.contains(message) || !problems.contains(&format!("test.toml:{row}:")) {
            wrong.push(format!("{line} (line {row}) gives\n{problems}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Each is taken, and its run ends.
const ACCEPTED: &[(&str, &str)] = &[
    ("t", "arrivals = \"0/s\""),
    ("t", "arrivals = \"1e-300/s\""),
    ("t", "arrivals.deterministic.rate = \"0/s\""),
    ("t", "arrivals.gamma = { rate = \"1/s\", cv = 20 }"),
    ("t", "arrivals.weibull = { rate = \"1/s\", cv = 0.02 }"),
    (
        "t",
        "arrivals.mmpp = { calm_rate = \"0/s\", burst_rate = \"0/s\", calm_mean = \"1s\", burst_mean = \"1s\" }",
    ),
    (
        "t",
        "arrivals.mmpp = { calm_rate = \"0/s\", burst_rate = \"1/s\", calm_mean = \"364d\", burst_mean = \"1s\" }",
    ),
    ("m", "service.slots = { prefill = \"0s\", decode = \"0s\" }"),
    ("m", "service.slots = { slots = \"unlimited\" }"),
    ("m", "service.slots = { prefill = \"5m\" }"),
    ("m", "scaling.keep_alive = \"none\""),
    ("m", "scaling.keep_alive = \"infinite\""),
    ("m", "scaling.keep_alive = \"0s\""),
    (
        "m",
        "scaling.rule.concurrency = { tick = \"10ms\", stable_window = \"10ms\" }",
    ),
    ("m", "queue.limit = 0"),
    ("m", "queue.timeout = \"none\""),
    ("m", "cold_start.load_weights = \"364d\""),
    (
        "m",
        "losses = { failure = \"1000/s\", eviction = \"1000/s\" }",
    ),
    ("benchmark", "timeout = \"none\""),
    ("benchmark", "gaps = \"0s\""),
];

/// The extreme values that are allowed run to their end, in few enough events to be counted.
#[test]
fn c083_extreme_numbers_run_to_an_end() {
    for &(table, line) in ACCEPTED {
        let plan = plan(&with(table, line));
        let result = run(
            &plan,
            Run {
                provider: 0,
                session: 0,
                replication: 0,
            },
            EVERYTHING,
        );
        let seen = &result.lanes[0];
        assert_eq!(seen.requests.len(), 3, "{line}");
        assert!(
            result.replicas.len() < 1_000_000,
            "{line} moved replicas {} times",
            result.replicas.len()
        );
    }
}

/// What some of them mean: no rate is no arrival, no keep-alive is none at all, and minutes are minutes.
#[test]
fn c083_extreme_numbers_mean_what_is_documented() {
    let config = |table: &str, line: &str| {
        plan(&with(table, line)).providers[0].fleet.deployments[0].clone()
    };
    let rate = &config("t", "arrivals = \"0/s\"").traffic[0]
        .arrivals
        .pattern;
    assert!(matches!(rate, Pattern::Renewal { rate, .. } if *rate == 0.0));
    let none = config("m", "scaling.keep_alive = \"none\"")
        .scaling
        .keep_alive;
    assert_eq!(
        none,
        config("m", "scaling.keep_alive = \"0s\"")
            .scaling
            .keep_alive
    );
    assert_eq!(
        config("m", "scaling.keep_alive = \"infinite\"")
            .scaling
            .keep_alive,
        KeepAlive::Infinite
    );
    assert_eq!(
        config("m", "service.slots = { prefill = \"5m\" }")
            .prefill
            .mean(),
        300.0
    );
}
