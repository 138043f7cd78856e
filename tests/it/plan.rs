//! Plans: the number of servers that Erlang C says, nothing called an answer that is none, and races that find the same.

use crate::questions::told;
use crate::support::plan as read;
use serde_json::Value;
use thermocline::experiment::Plan;
use thermocline::experiment::plan::{Aim, Found, Objective, plan};
use thermocline::experiment::users::Figure;
use thermocline::theory::Mmc;

/// 3.2 requests a second of a second each, exponential, at so many servers.
fn servers(count: u32) -> Plan {
    read(&format!(
        "time = {{ warm_up = \"5m\", horizon = \"40m\" }}
        benchmark = {{ requests = 0, discard = 0 }}
        [providers.acme.deployments.model]
        price = \"1usd/h\"
        scaling = {{ min = {count}, rule = \"fixed\" }}
        service.slots = {{ slots = 1, prefill = \"1ms\", decode.exponential.mean = \"1s\" }}
        traffic.others.arrivals = \"3.2/s\""
    ))
}

fn aim(limit: f64, budget: u64) -> Aim {
    Aim {
        objectives: vec![Objective {
            figure: Figure::TtftP95,
            limit,
        }],
        asked: 1,
        models: Vec::new(),
        share: 1.0,
        confidence: 0.95,
        replications: 8,
        budget,
    }
}

/// The 95 % quantile of the wait in M/M/c, by Erlang C.
fn erlang(servers: u32) -> f64 {
    let queue = Mmc {
        arrival_rate: 3.2,
        service_rate: 1.0,
        servers,
    };
    queue.wait_quantile(0.95)
}

/// Between the quantiles of four and of five servers the answer is five, whichever way it is searched. The limit is the
/// geometric mean of 3.1 s and 0.9 s, far from both against an error of some 5 % (60 000 requests, correlated).
#[test]
fn as_many_servers_as_erlang_c_says() {
    let limit = (erlang(4) * erlang(5)).sqrt();
    let counts = [3, 4, 5, 6, 8, 12];
    let plans: Vec<Plan> = counts.map(servers).to_vec();
    let found = |budget| plan(&plans, &aim(limit, budget), &|| ());
    let answer = |found: &Found| {
        let answer = found.answer().expect("five do it");
        assert!((answer.usd_per_hour - f64::from(counts[answer.setting])).abs() < 1e-9);
        counts[answer.setting]
    };
    let full = found(1000);
    assert_eq!((answer(&full), full.dropped, full.runs), (5, 0, 48));
    let met: Vec<u32> = full
        .candidates
        .iter()
        .filter(|one| one.is_met())
        .map(|one| counts[one.setting])
        .collect();
    assert_eq!(met, [5, 6, 8, 12]);
    // Four replications of each, then four more of the better half.
    let race = found(40);
    assert_eq!((answer(&race), race.dropped, race.runs), (5, 3, 36));
    assert_eq!(race, found(40));
}

/// A scenario file in a folder that lasts as long as it.
struct Written(tempfile::TempDir);

impl Written {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("s.toml"), text).expect("a file");
        Self(folder)
    }

    fn asked(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let path = self.0.path().join("s.toml").display().to_string();
        told("plan", &[&[path.as_str()], arguments].concat())
    }
}

/// Two models, one asked for all the time and one now and then; both sleep after a minute and take 20 s to wake.
const TWO: &str = "
time = { warm_up = \"10m\", horizon = \"2h\" }
benchmark = { requests = 0, discard = 0 }
[providers.acme.deployments.popular]
price = \"2usd/h\"
service.slots = { slots = 8, prefill = \"300ms\", decode = \"2s\" }
cold_start.load_weights = \"20s\"
scaling.keep_alive = \"1m\"
traffic.others = { arrivals = \"0.5/s\", prompt_tokens = 600, output_tokens = 400 }
[providers.acme.deployments.niche]
price = \"2usd/h\"
service.slots = { slots = 8, prefill = \"300ms\", decode = \"2s\" }
cold_start.load_weights = \"20s\"
scaling.keep_alive = \"1m\"
traffic.others = { arrivals.deterministic.rate = \"20/h\", prompt_tokens = 600, output_tokens = 400 }
";

const POOLS: &str = "--free=providers.acme.deployments.niche.scaling.min=0,1";

#[test]
fn a_share_of_the_traffic_may_be_left_cold() {
    let written = Written::new(TWO);
    let answer = |extra: &[&str]| {
        let arguments = [
            &[
                "--objective=ttft_p95 < 2s",
                POOLS,
                "--repeat=8",
                "--format=json",
            ],
            extra,
        ]
        .concat();
        let (code, json) = written.asked(&arguments);
        assert_eq!(code, Some(0), "{json}");
        let json: Value = serde_json::from_str(&json).expect("strict JSON");
        json["answer"]["providers.acme.deployments.niche.scaling.min"].clone()
    };
    assert_eq!(answer(&[]), 1);
    // 20 of 1820 requests an hour are the niche model's.
    assert_eq!(answer(&["--share=95%"]), 0);
    assert_eq!(answer(&["--model=popular"]), 0);
    assert_eq!(answer(&["--model=niche"]), 1);
}

#[test]
fn what_is_not_reachable_is_no_answer() {
    let written = Written::new(TWO);
    let arguments = ["--objective=ttft_p95 < 200ms", POOLS, "--repeat=8"];
    let (code, text) = written.asked(&arguments);
    assert_eq!(code, Some(1), "{text}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "Not reachable: no setting has ttft_p95 < 0.20 s.",
        "The nearest is scaling.min = 1",
        "niche.scaling.min = 1 is the highest that was allowed: beyond it nothing was tried.",
        "misses it",
    ] {
        assert!(flat.contains(expected), "no `{expected}` in {text}");
    }
    assert!(!text.contains("the answer"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let (_, json) = written.asked(&[arguments.as_slice(), &["--format=json"]].concat());
    let json: Value = serde_json::from_str(&json).expect("strict JSON");
    assert_eq!(
        (&json["reachable"], &json["answer"]),
        (&Value::Bool(false), &Value::Null)
    );
}

/// A model that refuses whoever comes while it is cold answers the others at once: that is no way to meet a limit on TTFT.
#[test]
fn refusing_requests_is_no_answer() {
    let written = Written::new(TWO);
    let free = "--free=providers.acme.deployments.niche.queue.hold_while_cold=true,false";
    let arguments = [
        "--objective=ttft_p95 < 2s",
        "--model=niche",
        free,
        "--repeat=3",
    ];
    let (code, text) = written.asked(&arguments);
    assert_eq!(code, Some(1), "{text}");
    let lax = ["--objective=unanswered < 100%"];
    let (code, text) = written.asked(&[arguments.as_slice(), &lax].concat());
    assert_eq!(
        code,
        Some(1),
        "all are refused, so no one has a TTFT: {text}"
    );
}

/// Twenty requests an hour for two hours are 40 trials: eight replications bound a share of nothing by 1 - 0.05^(1/320) = 0.93 %.
#[test]
fn nothing_seen_is_not_nothing() {
    let written = Written::new(TWO);
    let asked = |limit: &str, repeat: &str, more: &[&str]| {
        let objective = format!("--objective=cold_requests < {limit}");
        let free = "--free=providers.acme.deployments.niche.scaling.min=1,2";
        let arguments = [objective.as_str(), free, "--model=niche", repeat];
        let (code, text) = written.asked(&[&arguments[..], more].concat());
        (code, text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (code, text) = asked("1%", "--repeat=8", &[]);
    assert_eq!(code, Some(0), "{text}");
    let stands = "its share of cold requests is 0 %, at most 0.93 % with 95.0 % confidence";
    assert!(text.contains(stands), "{text}");
    let (code, text) = asked("0.5%", "--repeat=8", &[]);
    assert_eq!(code, Some(1), "{text}");
    // ln 0.05 / ln 0.995 = 597.6 trials, 40 in each.
    let needed = "Its share of cold requests was 0 in 8 replications, too few to show that it is below 0.50 %: --repeat 15 could.";
    assert!(text.contains(needed), "{text}");
    let (code, text) = asked("0.5%", "--repeat=15", &[]);
    assert_eq!(code, Some(0), "{text}");
    let (_, text) = asked("0.001%", "--repeat=2", &[]);
    assert!(text.contains("cold_requests < 0.001 %"), "{text}");
}

#[test]
fn settings_that_are_not_listed_are_counted() {
    let written = Written::new(TWO);
    let free = "--free=providers.acme.deployments.niche.scaling.min=0..9";
    let (_, text) = written.asked(&["--objective=ttft_p95 < 1ms", free, "--repeat=2"]);
    assert!(
        text.contains("\n3 of 10 settings; --format csv has all\n"),
        "{text}"
    );
    let (_, text) = written.asked(&["--objective=ttft_p95 < 1ms", POOLS, "--repeat=2"]);
    assert!(!text.contains("settings; --format"), "{text}");
}

/// A warm pool for the popular model costs 2 USD an hour; a request of 1000 tokens costs 0.001 USD where a million cost one.
#[test]
fn dedicated_pays_from_its_volume_on() {
    let written = Written::new(TWO);
    let free = "--free=providers.acme.deployments.*.scaling.min=1,2";
    let arguments = [
        "--objective=ttft_p95 < 2s",
        free,
        "--repeat=8",
        "--serverless=1",
        "--format=json",
    ];
    let (code, json) = written.asked(&arguments);
    assert_eq!(code, Some(0), "{json}");
    let json: Value = serde_json::from_str(&json).expect("strict JSON");
    let usd = json["answer"]["cost_usd_per_hour"]
        .as_f64()
        .expect("a number");
    assert!(usd > 4.0 - 1e-9, "two warm replicas: {usd}");
    let volume = json["break_even_requests_per_hour"]
        .as_f64()
        .expect("a number");
    assert!(
        (volume - usd / 0.001).abs() < 1e-6 * volume,
        "{volume} for {usd}"
    );
    let said = json["conclusion"].as_str().expect("a sentence");
    assert!(
        said.contains("does not pay"),
        "1820 requests an hour: {said}"
    );
}

#[test]
fn settings_that_cannot_be_are_counted_and_not_hidden() {
    let text = "
        benchmark = { requests = 2, discard = 0 }
        [providers.acme.deployments.qwen3-32b]
        gpu = \"h100-sxm\"
        engine = {}
        scaling.min = 1
        traffic.others.arrivals = \"30/h\"";
    let written = Written::new(text);
    let gpus = |list: &str| format!("--free=providers.*.deployments.*.gpu={list}");
    let lax = "--objective=unanswered < 90%";
    let arguments = ["--objective=ttft_p95 < 5s", lax, "--repeat=20"];
    let of = |list: &str| written.asked(&[&arguments[..], &[&gpus(list)]].concat());
    let (code, text) = of("h100-sxm,b200,h101");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("1 setting cannot be"), "{text}");
    let (code, text) = of("h101");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("h101"), "{text}");
}

#[test]
fn what_cannot_be_planned_is_said() {
    let free = "--free=providers.*.deployments.*.scaling.min=0,1";
    let cases: [(&[&str], &str); 5] = [
        (&["lesson", free], "--objective <FIGURE < LIMIT>"),
        (
            &["lesson", "--objective=ttft_p95 < 2s"],
            "--free <PATH=VALUES>",
        ),
        (
            &["lesson", "--objective=p95 < 2s", free],
            "none of ttft_p50",
        ),
        (
            &["lesson", "--objective=cv < 1%", free, "--share=0%"],
            "`--share` must be above 0 %",
        ),
        (
            &["lesson", "--objective=cv < 1%", free, "--model=nich"],
            "did you mean `niche`?",
        ),
    ];
    for (arguments, expected) in cases {
        let (code, text) = told("plan", arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
}
