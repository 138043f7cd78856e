//! Demand that was recorded: replays of files.

use std::fmt::Write as _;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use thermocline::experiment::{Keep, Plan, Run, RunResult, run};
use thermocline::fleet::Stage;
use thermocline::scenario::{self, Overrides};
use thermocline::time::Time;
use thermocline::trace::Broken;

use crate::support::{fleet, ledger, lives, moved, requests, run_plan};

/// A folder with a trace, for scenarios that stand beside it.
struct Beside(TempDir);

impl Beside {
    fn new(text: &str) -> Self {
        let folder = TempDir::new().expect("a folder for temporary files");
        fs::write(folder.path().join("trace.csv"), text).expect("it can be written");
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("trace.csv")
    }

    fn load(&self, scenario: &str) -> Result<Plan, String> {
        let name = self.0.path().join("scenario.toml");
        let loaded = scenario::load(&name.to_string_lossy(), scenario, &Overrides::default());
        loaded
            .map(|(plan, _)| plan)
            .map_err(|error| error.to_string())
    }

    fn plan(&self, scenario: &str) -> Plan {
        self.load(scenario)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    fn problems(&self, scenario: &str) -> String {
        match self.load(scenario) {
            Ok(_) => "nothing: it is accepted".to_owned(),
            Err(error) => error,
        }
    }
}

/// A deployment whose users come as in the trace.
fn replayed(horizon: &str, trace: &str) -> String {
    fleet(
        horizon,
        &format!(
            "[providers.p.deployments.m]
            scaling.min = 1
            traffic.users.arrivals.trace = {{ file = \"trace.csv\", time_column = \"at_s\", {trace} }}"
        ),
    )
}

/// When users' requests arrived \[s\].
fn arrivals(plan: &Plan) -> Vec<f64> {
    let result = run_plan(plan);
    let all = requests(&result, 0);
    all.iter().map(|trace| trace.arrived.as_secs()).collect()
}

/// A call of each of 150 models a minute, written down by the minute: at the minutes' starts all models start at once, spread
/// over the minute (the default) they hardly meet.
#[test]
fn c017_calls_counted_by_the_minute_are_no_herd() {
    let mut text = "minute_s,model\n".to_owned();
    for minute in 0..10 {
        for model in 0..150 {
            let _ = writeln!(text, "{},m{model}", 60 * minute);
        }
    }
    let beside = Beside::new(&text);
    let most_starting = |spread: &str| {
        let deployments: Vec<String> = (0..150)
            .map(|model| {
                format!(
                    "[providers.p.deployments.m{model}]
                    service.slots = {{ prefill = \"10ms\", decode = \"10ms\" }}
                    cold_start.load_weights = \"2s\"
                    scaling.keep_alive = \"none\"
                    traffic.calls.arrivals.trace = {{ file = \"trace.csv\", time_column = \"minute_s\", \
                    model_column = \"model\", model = \"m{model}\", at_end = \"stop\"{spread} }}\n"
                )
            })
            .collect();
        let result = run_plan(&beside.plan(&fleet("11min", &deployments.concat())));
        let calls: u64 = (0..150).map(|model| ledger(&result, model).arrived).sum();
        assert_eq!(calls, 1500, "{spread}");
        let lives = lives(&result.replicas);
        let starting = |now: Time| {
            let is_starting = |life: &&crate::support::Life| life.born <= now && now < life.ready;
            lives.iter().filter(is_starting).count()
        };
        lives.iter().map(|life| starting(life.born)).max()
    };
    assert_eq!(most_starting(", spread = \"none\""), Some(150));
    // Five on average; that Poisson exceeds twenty with probability 1e-7.
    assert!(most_starting("") <= Some(20));
}

/// A real trace whose silences are as long as keep-alives: which requests are cold hangs on the keep-alive alone.
#[test]
fn c062_silences_of_a_real_trace_meet_the_keep_alive() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let file = path.join("azure_llm_2023_code.csv");
    if crate::support::shared("azure_llm_2023_code.csv").is_none() {
        return;
    }
    for (keep_alive, cold) in [("120s", 13), ("180s", 12)] {
        let text = fleet(
            "195s",
            &format!(
                "[providers.p.deployments.m]
                service.slots = {{ slots = 100, prefill = \"100ms\", decode = \"100ms\" }}
                cold_start.load_weights = \"5s\"
                scaling = {{ keep_alive = \"{keep_alive}\", max = 1 }}
                traffic.users.arrivals.trace = {{ file = '{}', at_end = \"stop\" }}",
                file.display()
            ),
        );
        let beside = Beside::new("");
        let result = run_plan(&beside.plan(&text));
        let all = &requests(&result, 0)[..64];
        let at: Vec<f64> = all.iter().map(|trace| trace.arrived.as_secs()).collect();
        assert_eq!((at[0], at[63]), (0.0, 183.061_791));
        let mut gaps: Vec<(f64, usize)> = (1..64)
            .map(|row| (at[row] - at[row - 1], row + 1))
            .collect();
        gaps.sort_by(|a, b| b.0.total_cmp(&a.0));
        assert_eq!((gaps[0].1, gaps[1].1), (64, 13));
        assert!((gaps[0].0 - 143.734).abs() < 5e-4 && (gaps[1].0 - 28.080).abs() < 5e-4);
        let starts = moved(&result, 0, Stage::Provisioning).len();
        assert_eq!(starts, cold - 11, "one start for the first twelve");
        let is_cold: Vec<usize> = (0..64).filter(|&row| all[row].cold).collect();
        let mut expected: Vec<usize> = (0..12).collect();
        expected.extend((cold == 13).then_some(63));
        assert_eq!(is_cold, expected, "keep-alive {keep_alive}");
    }
}

/// Rows longer than the model's context are refused or cut, as the scenario says, and counted.
#[test]
fn c081_rows_longer_than_the_context() {
    let mut text = "at_s,in,out\n".to_owned();
    for row in 0..10 {
        let prompt = if row % 4 == 1 { 900 + row } else { 100 };
        let _ = writeln!(text, "{row},{prompt},200");
    }
    let beside = Beside::new(&text);
    let account = |choice: &str| {
        let text = fleet(
            "1h",
            &format!(
                "[providers.p.deployments.m]
                scaling.min = 1
                service.continuous = {{ max_context_tokens = 1000, step.base = \"10ms\" {choice} }}
                traffic.users.arrivals.trace = {{ file = \"trace.csv\", time_column = \"at_s\", \
                prompt_column = \"in\", output_column = \"out\", at_end = \"stop\" }}"
            ),
        );
        let result = run_plan(&beside.plan(&text));
        let ledger = ledger(&result, 0);
        let served = (ledger.succeeded, ledger.rejected_cannot_fit);
        (served, (ledger.truncated, ledger.truncated_tokens))
    };
    assert_eq!(account(""), ((7, 3), (0, 0)));
    assert_eq!(account(", over_context = \"reject\""), ((7, 3), (0, 0)));
    // What does not fit beside the answer: 901, 905 and 909 prompts in 800.
    let cut = account(", over_context = \"truncate\"");
    assert_eq!(cut, ((10, 0), (3, 101 + 105 + 109)));
}

/// A replay repeats, begins later, runs faster, or stops, to the nanosecond.
#[test]
fn a_replay_is_exact_in_time() {
    let beside = Beside::new("at_s\n5\n35\n65\n");
    for (trace, expected) in [
        ("", &[0.0, 30.0, 60.0, 90.0, 120.0][..]),
        ("at_end = \"stop\"", &[0.0, 30.0, 60.0]),
        ("skip = \"30s\"", &[0.0, 30.0, 60.0, 90.0, 120.0]),
        ("skip = \"20s\", at_end = \"stop\"", &[10.0, 40.0]),
        ("speed = 2, at_end = \"stop\"", &[0.0, 15.0, 30.0]),
        ("speed = 0.5", &[0.0, 60.0, 120.0]),
    ] {
        let plan = beside.plan(&replayed("140s", trace));
        assert_eq!(arrivals(&plan), expected, "{trace}");
    }
}

/// The file decides lengths unless the scenario does; failures of the recorded service do not come again.
#[test]
fn lengths_are_those_of_the_rows() {
    let beside = Beside::new(
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
         5,ChatGPT,472,18,490,Conversation log\n\
         45,ChatGPT,0,0,0,API log\n\
         60,GPT-4,20,30,50,API log\n",
    );
    let lengths = |more: &str| -> Vec<(u32, u32)> {
        let text = fleet(
            "1h",
            &format!(
                "[providers.p.deployments.m]
                scaling.min = 1
                traffic.users.arrivals.trace = {{ file = \"trace.csv\", at_end = \"stop\" }}\n{more}"
            ),
        );
        let result = run_plan(&beside.plan(&text));
        requests(&result, 0)
            .iter()
            .map(|trace| (trace.prompt_tokens, trace.output_tokens))
            .collect()
    };
    assert_eq!(lengths(""), [(472, 18), (20, 30)]);
    assert_eq!(
        lengths("traffic.users.prompt_tokens = 7"),
        [(7, 18), (7, 30)]
    );
    assert_eq!(
        lengths("traffic.users.output_tokens = 9\ntraffic.users.prompt_tokens = \"trace\""),
        [(472, 9), (20, 9)]
    );
}

/// A thousand requests at random on whole seconds.
fn whole_seconds() -> String {
    let mut state = 1_u64;
    let mut at = 0;
    let mut text = "at_s\n".to_owned();
    for _ in 0..1000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        at += (state >> 33) % 4;
        let _ = writeln!(text, "{at}");
    }
    text
}

/// Stamps of whole seconds are spread over their second, by the seed and nothing else.
#[test]
fn coarse_stamps_are_spread_over_their_step() {
    let beside = Beside::new(&whole_seconds());
    let at_once = arrivals(&beside.plan(&replayed("2h", "spread = \"none\", at_end = \"stop\"")));
    let spread = replayed("2h", "at_end = \"stop\"");
    let plan = beside.plan(&spread);
    let found = arrivals(&plan);
    assert_eq!((at_once.len(), found.len()), (1000, 1000));
    let offsets: Vec<f64> = found.iter().zip(&at_once).map(|(a, b)| a - b).collect();
    assert!(offsets.iter().all(|offset| (0.0..1.0).contains(offset)));
    let mean = offsets.iter().sum::<f64>() / 1000.0;
    // Uniform: standard deviation 0.289.
    assert!(
        (mean - 0.5).abs() < 3.29 * 0.289 / 1000_f64.sqrt(),
        "{mean}"
    );
    assert_eq!(arrivals(&plan), found);
    let mut other = plan;
    other.seed += 1;
    assert_ne!(arrivals(&other), found);
}

/// Lower rates thin the trace, higher ones superpose turned copies of it: the counts are right and the row's own stamps stay.
#[test]
fn rates_are_scaled_by_thinning_and_superposition() {
    let beside = Beside::new(&whole_seconds());
    let all = |more: &str| {
        let trace = format!("spread = \"none\", at_end = \"stop\" {more}");
        arrivals(&beside.plan(&replayed("4h", &trace)))
    };
    let once = all("");
    let half = all(", rate_factor = 0.5");
    // Binomial.
    let around = |count: f64, share: f64| 3.29 * (count * share * (1.0 - share)).sqrt();
    assert!((half.len() as f64 - 500.0).abs() < around(1000.0, 0.5));
    assert!(half.iter().all(|at| once.contains(at)));
    let thrice = all(", rate_factor = 3");
    assert_eq!(thrice.len(), 3000);
    assert!(once.iter().all(|at| thrice.contains(at)));
    let more = all(", rate_factor = 2.5");
    assert!((more.len() as f64 - 2500.0).abs() < around(3000.0, 2.5 / 3.0));
    // A stated rate is reached whatever the speed is: 2/s for as long as the trace lasts.
    let span = once.last().copied().expect("a thousand");
    for (speed, lasts) in [(1.0, span), (4.0, span / 4.0)] {
        let found = all(&format!(", rate = \"2/s\", speed = {speed}"));
        let copies = (2.0 / (1000.0 / span * speed)).ceil();
        let expected = 2.0 * lasts;
        let half_width = around(1000.0 * copies, (expected / (1000.0 * copies)).min(1.0)) + 5.0;
        assert!(
            (found.len() as f64 - expected).abs() < half_width,
            "speed {speed}: {} for {expected} ± {half_width}",
            found.len()
        );
    }
}

/// A trace that tells no models is dealt to them by their popularity: every request goes to one of them, whatever their number.
#[test]
fn shares_deal_a_trace_out() {
    let beside = Beside::new(&whole_seconds());
    let shares = [("a", 70, 0), ("b", 20, 70), ("c", 10, 90)];
    let deployments = shares.map(|(name, share, before)| {
        format!(
            "[providers.p.deployments.{name}]
            scaling.min = 1
            traffic.users.arrivals.trace = {{ file = \"trace.csv\", time_column = \"at_s\", spread = \"none\", \
            at_end = \"stop\", share = \"{share}%\", share_before = \"{before}%\" }}\n"
        )
    });
    let result = run_plan(&beside.plan(&fleet("2h", &deployments.concat())));
    let mut together: Vec<f64> = Vec::new();
    for (index, (name, share, _)) in (0_u32..).zip(shares) {
        let own = requests(&result, index);
        let (count, expected) = (own.len() as f64, 10.0 * f64::from(share));
        // Binomial.
        let half_width = 3.29 * (expected * (1.0 - expected / 1000.0)).sqrt();
        assert!((count - expected).abs() < half_width, "{name}: {count}");
        together.extend(own.iter().map(|trace| trace.arrived.as_secs()));
    }
    together.sort_by(f64::total_cmp);
    let all = arrivals(&beside.plan(&replayed("2h", "spread = \"none\", at_end = \"stop\"")));
    assert_eq!(together, all);
}

/// A popularity over the trace: `models` at `provider`, all of which have a replica.
fn shelf(provider: &str, models: u32) -> String {
    format!(
        "[providers.{provider}.catalogue]
        models = {models}
        [providers.{provider}.catalogue.deployment]
        scaling.min = 1
        service.slots = {{ slots = 1000, prefill = \"10ms\", decode = \"1s\" }}\n"
    )
}

fn popular(rate: &str, trace: &str) -> String {
    format!(
        "time = {{ warm_up = \"0s\", horizon = \"2h\" }}
        benchmark = {{ requests = 0, discard = 0 }}
        [popularity]
        models = 5
        law.shares.values = [\"40%\", \"30%\", \"20%\", \"9%\", \"1%\"]
        rate = \"{rate}\"
        arrivals.trace = {{ file = \"trace.csv\", time_column = \"at_s\", spread = \"none\", {trace} }}\n{}{}",
        shelf("p", 5),
        shelf("q", 2)
    )
}

/// Rows of a trace that names no models go each to one model, by its popularity; at every provider to the same one.
#[test]
fn a_popularity_deals_the_rows_of_a_trace() {
    let rows: Vec<String> = (0..1000).map(|row| format!("{}.5", 7 * row)).collect();
    let beside = Beside::new(&format!("at_s\n{}\n", rows.join("\n")));
    // A thousand rows 7 s apart: the trace lasts 7000 s, and comes whole.
    let whole = popular("0.142857142857142857/s", "at_end = \"stop\"");
    let plan = beside.plan(&whole);
    let run = |plan: &Plan, provider| {
        let which = Run {
            provider,
            session: 0,
            replication: 0,
        };
        let keep = Keep {
            everybody: true,
            replicas: false,
        };
        run(plan, which, keep)
    };
    let ats = |result: &RunResult, model| -> Vec<f64> {
        let own = requests(result, model);
        own.iter().map(|trace| trace.arrived.as_secs()).collect()
    };
    let result = run(&plan, 0);
    let mut together: Vec<f64> = Vec::new();
    for (model, share) in (0..).zip([400.0, 300.0, 200.0, 90.0, 10.0]) {
        let own = ats(&result, model);
        // Binomial.
        let half_width = 3.29 * f64::sqrt(share * (1.0 - share / 1000.0));
        let count = own.len() as f64;
        assert!((count - share).abs() < half_width, "{model}: {count}");
        together.extend(own);
    }
    together.sort_by(f64::total_cmp);
    let all: Vec<f64> = (0..1000).map(|row| 7.0 * f64::from(row)).collect();
    assert_eq!(together, all);
    // The other provider has two of the models: the same rows.
    let other = run(&plan, 1);
    assert_eq!(
        [0, 1].map(|model| ats(&other, model)),
        [0, 1].map(|model| ats(&result, model))
    );
    // Another seed deals otherwise, and half of the rate is half of the rows.
    let dealt = run(&beside.plan(&format!("seed = 9\n{whole}")), 0);
    assert_ne!(ats(&dealt, 0), ats(&result, 0));
    let half = beside.plan(&popular("0.0714285714285714/s", "at_end = \"stop\""));
    let kept: usize = (0..5).map(|model| ats(&run(&half, 0), model).len()).sum();
    let half_width = 3.29 * f64::sqrt(250.0);
    assert!((kept as f64 - 500.0).abs() < half_width, "{kept}");
}

#[test]
fn a_popularity_says_what_its_trace_may_not() {
    let beside = Beside::new("at_s\n0\n1\n2\n");
    for (trace, says) in [
        ("rate = \"1/s\"", "`rate` is for the popularity to say"),
        ("share = \"50%\"", "`share` is for the popularity to say"),
        ("speed = 0", "at least"),
    ] {
        let found = beside.problems(&popular("1/s", trace));
        assert!(found.contains(says), "{says}\n{found}");
    }
    let curve = popular("1/s", "").replace("rate =", "shift = \"2h\"\nrate =");
    let found = beside.problems(&curve);
    assert!(
        found.contains("a trace varies over the day and the week by itself"),
        "{found}"
    );
}

/// What cannot be replayed, and what is said of it.
#[test]
fn bad_replays_are_refused_with_the_place() {
    let beside = Beside::new("at_s,model\n0,a\n0,a\n2,b\n");
    for (trace, parts) in [
        ("rate = \"0/s\"", &["must be positive"][..]),
        (
            "rate = \"1/s\", rate_factor = 2",
            &["say the same in two ways"],
        ),
        ("rate_factor = 101", &["rate_factor", "at most 100"]),
        ("rate = \"1000/s\"", &["the rate is too high for the trace"]),
        ("speed = 0", &["speed", "at least"]),
        (
            "spread = \"3s\"",
            &["longer than the step between stamps", "are 2 s apart"],
        ),
        ("skip = \"3s\"", &["`skip` leaves nothing", "lasts 2 s"]),
        ("at_end = \"again\"", &["at_end", "repeat", "stop"]),
        (
            "share = \"60%\", share_before = \"50%\"",
            &["make more than the whole trace", "makes 110"],
        ),
        (
            "model_column = \"model\", model = \"c\"",
            &["has no request to `c`"],
        ),
        (
            "prompt_column = \"in\"",
            &["there is no column `in`", "it has at_s, model"],
        ),
    ] {
        let found = beside.problems(&replayed("1h", trace));
        for part in parts {
            assert!(
                found.contains(part),
                "`{part}` is missing for {trace}:\n{found}"
            );
        }
        assert!(found.contains("scenario.toml:"), "{found}");
    }
    let curve = replayed("1h", "") + "\ntraffic.users.daily = \"azure-2024-code\"";
    assert!(
        beside
            .problems(&curve)
            .contains("a trace varies over the day and the week by itself")
    );
    let own = replayed("1h", "") + "\ntraffic.users.prompt_tokens = \"trace\"";
    assert!(
        beside
            .problems(&own)
            .contains("the trace does not tell the lengths")
    );
    let bad = Beside::new("at_s\n0\nnoon\n-1\n");
    let found = bad.problems(&replayed("1h", ""));
    assert!(
        found.contains("trace.csv: line 3: field `at_s`: found `noon`"),
        "{found}"
    );
    assert!(
        found.contains("trace.csv: line 4: field `at_s`: found `-1`"),
        "{found}"
    );
    fs::remove_file(bad.file()).expect("it is there");
    assert!(
        bad.problems(&replayed("1h", ""))
            .contains("trace.csv: could not be read")
    );
}

/// A file that changes under a run ends it: a run without its arrivals would be a wrong answer.
#[test]
fn a_trace_that_changes_under_a_run_ends_it() {
    let beside = Beside::new("at_s\n0\n1\n2\n");
    let plan = beside.plan(&replayed("1h", ""));
    fs::write(beside.file(), "at_s\n0\n1\nx\n").expect("it can be written");
    let payload = catch_unwind(AssertUnwindSafe(|| run_plan(&plan))).expect_err("it is broken");
    let broken = payload.downcast::<Broken>().expect("and says so");
    assert!(
        broken.0.to_string().contains("trace.csv: line 4"),
        "{}",
        broken.0
    );
}
