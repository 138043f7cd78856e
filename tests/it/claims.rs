//! The article's claims, out of shipped scenarios, each beside a setting in which it does not hold and is reported so.

use crate::questions::told;
use serde_json::Value;

/// What a command says as JSON when it succeeds.
fn json(command: &str, arguments: &[&str]) -> Value {
    let (code, text) = told(command, &[arguments, &["--format=json"]].concat());
    assert_eq!(code, Some(0), "{command} {arguments:?}: {text}");
    serde_json::from_str(&text).expect("strict JSON")
}

fn number(value: &Value, key: &str) -> f64 {
    value[key]
        .as_f64()
        .unwrap_or_else(|| panic!("no {key} in {value}"))
}

fn said(value: &Value) -> &str {
    value["conclusion"].as_str().expect("a sentence")
}

const BETS: [&str; 4] = [
    "two-bets",
    "--repeat=6",
    "--benchmarks=20",
    "--set=time.horizon=6h",
];

/// The settings that give both models everything.
const EVERYTHING: [&str; 6] = [
    "--set=providers.*.deployments.*.scaling.min=2",
    "--set=providers.*.deployments.*.scaling.keep_alive=30m",
    "--set=providers.*.deployments.*.gpu=h200-sxm",
    "--set=providers.*.deployments.*.engine.format=fp8",
    "--set=providers.*.deployments.*.engine.name=vllm",
    "--set=providers.*.deployments.*.cold_start.storage=nvme-optimised",
];

#[test]
fn no_provider_is_best_for_all_unless_none_differs() {
    let found = json("compare", &BETS);
    assert!(
        said(&found)
            .contains("north is surely best for 1 of 2 rows and south for 1: none is best for all"),
        "{}",
        said(&found)
    );
    let routing = &found["routing"][0];
    assert!(number(routing, "ttft_p95_change_high_s") < 0.0, "{routing}");
    let alike = json("compare", &[BETS.as_slice(), &EVERYTHING].concat());
    assert!(
        said(&alike).contains("the sides are the same"),
        "{}",
        said(&alike)
    );
}

#[test]
fn the_model_nobody_bet_on_pays_every_decision_at_once() {
    let quick = ["--repeat=4", "--set=benchmark.requests=10"];
    let found = json(
        "explain",
        &[&["two-bets", "north/qwen3-30b-a3b"], quick.as_slice()].concat(),
    );
    let decisions = found["decisions"].as_array().expect("a list");
    let names: Vec<&str> = decisions
        .iter()
        .filter_map(|one| one["decision"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "warm pool",
            "keep-alive",
            "GPU tier",
            "format",
            "engine",
            "cold start"
        ]
    );
    for (name, unit) in [("ttft_p50", "_s"), ("ttft_p95", "_s"), ("cv", "_percent")] {
        let gap = number(&found["gaps"], &format!("{name}{unit}"));
        let key = format!("{name}_share{unit}");
        let sum: f64 = decisions.iter().map(|one| number(one, &key)).sum();
        assert!(
            (sum - gap).abs() <= 1e-9 * gap.abs().max(1.0),
            "{name}: {sum}, not {gap}"
        );
    }
    assert!(
        number(&found["gaps"], "ttft_p95_low_s") > 0.0,
        "{}",
        found["gaps"]
    );
    // The provider's flagship, held against the best of the catalogue, has next to no gap.
    let flagship = json(
        "explain",
        &[&["two-bets", "north/qwen3-32b"], quick.as_slice()].concat(),
    );
    let gap = |found: &Value| number(&found["gaps"], "ttft_p95_s");
    assert!(
        gap(&flagship) < 0.01 * gap(&found),
        "{} {}",
        gap(&flagship),
        gap(&found)
    );
}

#[test]
fn off_peak_is_worse_than_peak_unless_the_model_is_kept_warm() {
    let quick = [
        "peak-and-off-peak",
        "--repeat=10",
        "--metric=cold",
        "--benchmarks=20",
    ];
    let found = json("compare", &quick);
    let sessions = &found["sessions"][0];
    assert_eq!(sessions["session"], "off_peak");
    assert!(
        number(sessions, "cold_requests_above_first_low_percent") > 0.0,
        "{sessions}"
    );
    assert!(said(&found).contains("above the"), "{}", said(&found));
    let kept = [
        "--set=providers.*.deployments.*.scaling.min=1",
        "--set=providers.*.deployments.*.losses.eviction=0/s",
    ];
    let kept = json("compare", &[quick.as_slice(), &kept].concat());
    assert!(
        said(&kept).contains("not surely other than"),
        "{}",
        said(&kept)
    );
}

#[test]
fn a_reserved_gpu_removes_cold_starts_and_pays_from_its_volume_on() {
    let free = "--free=providers.*.deployments.*.scaling.min=0,1";
    let asked = [
        "dedicated",
        "--objective=cold_requests < 0.1%",
        free,
        "--repeat=8",
        "--serverless=0.9",
    ];
    let found = json("plan", &asked);
    let pool = "providers.*.deployments.*.scaling.min";
    assert_eq!(found["answer"][pool], 1, "{}", said(&found));
    assert!(said(&found).contains("does not pay"), "{}", said(&found));
    let busy = ["--set=providers.*.deployments.*.traffic.own.arrivals=4000/h"];
    let found = json("plan", &[asked.as_slice(), &busy].concat());
    assert!(said(&found).contains("it pays"), "{}", said(&found));
    // Without a reserved replica in the range there is no such thing.
    let none = [
        &[
            "dedicated",
            "--objective=cold_requests < 0.1%",
            "--repeat=8",
        ],
        ["--free=providers.*.deployments.*.scaling.min=0"].as_slice(),
    ]
    .concat();
    let (code, text) = told("plan", &none);
    assert_eq!(code, Some(1), "{text}");
}

#[test]
fn twenty_requests_usually_miss_what_seventy_five_catch() {
    let unseen = |extra: &[&str]| {
        let found = json(
            "simulate",
            &[&["twenty-or-seventy-five", "--repeat=80"], extra].concat(),
        );
        let rows = found["benchmarks"].as_array().expect("a list");
        let of = |session: &str| {
            let row = rows
                .iter()
                .find(|row| row["session"] == session)
                .expect(session);
            number(&row["reported"], "no_cold_share")
        };
        [of("twenty"), of("seventy-five")]
    };
    // The scenario's own 0.5 and 0.125; three standard errors of 80 benchmarks are 0.17 and 0.11.
    let [twenty, seventy_five] = unseen(&[]);
    assert!(
        twenty > 0.33 && seventy_five < 0.24,
        "{twenty} {seventy_five}"
    );
    // Where nothing evicts the model there is nothing to catch, and where it is always cold twenty catch it too.
    assert_eq!(
        unseen(&["--set=providers.*.deployments.*.losses.eviction=0/s"]),
        [1.0, 1.0]
    );
    assert_eq!(
        unseen(&["--set=providers.*.deployments.*.scaling.keep_alive=1m"]),
        [0.0, 0.0]
    );
}

/// What a comparison says of one part of a tier at one side.
fn tier<'a>(found: &'a Value, first_rank: u64, side: &str) -> &'a Value {
    let rows = found["tiers"].as_array().expect("a list");
    let is_meant = |row: &&Value| row["first_rank"] == first_rank && row["side"] == side;
    rows.iter().find(is_meant).expect("the side offers it")
}

#[test]
fn a_curated_catalogue_is_steady_where_a_broad_one_is_not_unless_all_is_warm() {
    let quick = [
        "bets",
        "--repeat=3",
        "--benchmarks=75",
        "--set=time.warm_up=30m",
        "--set=popularity.rate=1/s",
        "--set=benchmark.gaps.even.over=6h",
    ];
    let found = json("compare", &quick);
    let cv = |row: &Value| number(row, "benchmark_cv_percent");
    let broad = |first_rank| tier(&found, first_rank, "breadth-first");
    // In the middle that both offer: surely above, and many times; the head of both is well supported.
    assert!(
        number(broad(21), "benchmark_cv_above_first_low_percent") > 0.0,
        "{}",
        broad(21)
    );
    let curated = |first_rank| tier(&found, first_rank, "curated");
    assert!(cv(broad(21)) > 3.0 * cv(curated(21)), "{}", broad(21));
    for row in [curated(1), curated(21), broad(1)] {
        assert!(cv(row) < 40.0, "{row}");
        assert_eq!(row["cold_requests_percent"], 0.0, "{row}");
    }
    // From tier to tier more of the requests are cold.
    let cold = [1, 21, 41, 201].map(|rank| number(broad(rank), "cold_requests_percent"));
    assert!(cold.is_sorted() && cold[3] > 50.0, "{cold:?}");
    // With a replica of every model the middle and the tail are as steady as the head.
    let warm = [
        "--set=providers.breadth-first.catalogue.policy=uniform",
        "--set=providers.breadth-first.catalogue.budget_gpus=2000",
    ];
    let found = json("compare", &[quick.as_slice(), &warm].concat());
    for rank in [1, 21, 41, 201] {
        let row = tier(&found, rank, "breadth-first");
        assert!(cv(row) < 60.0, "{row}");
        assert_eq!(row["cold_requests_percent"], 0.0, "{row}");
    }
}

#[test]
fn a_large_catalogue_has_less_depth_unless_there_are_gpus_for_all() {
    let quick = ["size-or-depth", "--repeat=6", "--benchmarks=75"].as_slice();
    let above = |found: &Value, first_rank| {
        let row = tier(found, first_rank, "four-hundred");
        let end = |end| number(row, &format!("benchmark_cv_above_first_{end}_percent"));
        [end("low"), end("high")]
    };
    let found = json("compare", quick);
    let offers = found["offers"].as_array().expect("a list");
    let offered = [0, 1].map(|side| number(&offers[side], "models"));
    assert_eq!(offered, [40.0, 400.0]);
    assert!(above(&found, 21)[0] > 0.0, "{:?}", above(&found, 21));
    assert!(above(&found, 1)[0] <= 0.0, "the head is alike");
    let cold = |found: &Value, side| number(tier(found, 21, side), "cold_requests_percent");
    assert!(cold(&found, "four-hundred") > 10.0 * cold(&found, "forty"));
    let told_at_80 = |arguments: &[&str]| {
        let (_, text) = told("compare", arguments);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        text.split_whitespace().collect::<Vec<&str>>().join(" ")
    };
    let worse =
        "the CV of a benchmark is surely higher in middle 21-40, not surely other in head 1-20.";
    assert!(told_at_80(quick).contains(worse));
    // With GPUs for all there is no such difference, and it says so.
    let enough = ["--set=providers.*.gpus.h100-sxm=600"];
    let enough = [quick, &enough].concat();
    let found = json("compare", &enough);
    assert!(above(&found, 21)[0] <= 0.0, "{:?}", above(&found, 21));
    let alike = "the CV of a benchmark is not surely other in head 1-20, middle 21-40.";
    assert!(told_at_80(&enough).contains(alike));
}
