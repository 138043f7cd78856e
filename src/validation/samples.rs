//! What the statistics module makes of times to first token.

use super::{Case, Computed, Evidence, Simulated, claim, computed};
use crate::measure::feasible::Constraints;
use crate::stats::{
    CvDefinition, PercentileMethod, Sample, mser, needed_for_quantile, rank_interval,
};
use crate::theory::{TwoLognormals, TwoPoints};

/// How far arithmetic in double precision may move a figure, as a share of it.
const ARITHMETIC: f64 = 1e-9;

pub(super) fn cases() -> Vec<Case> {
    vec![
        two_points(),
        two_lognormals(),
        p95_of(
            "T03_sample_p95_n75",
            "p95 and CV of 75 requests, 5 % of which are cold",
            || toss(75),
        ),
        p95_of(
            "T03_sample_p95_n100",
            "p95 and CV of 100 requests, 5 % of which are cold",
            || toss(100),
        ),
        seventy_five(),
        truncation(),
        ranks(),
        feasibility(),
    ]
}

/// A case of figures without chance.
fn exact(
    id: &'static str,
    title: &'static str,
    formula: &'static str,
    source: &'static str,
    compute: fn() -> Vec<Computed>,
) -> Case {
    Case {
        id,
        title,
        formula,
        source,
        note: "",
        evidence: Evidence::Computed(compute),
    }
}

/// The same up to rounding of double precision.
fn rounded(metric: &'static str, theory: f64, found: f64) -> Computed {
    computed(metric, theory, found, ARITHMETIC * theory.abs())
}

/// Warm requests of 0.43 s and cold ones of 20 s.
fn points(p: f64) -> TwoPoints {
    TwoPoints {
        warm: 0.43,
        cold: 20.0,
        p,
    }
}

/// `n` requests of which `cold` are cold.
fn sample(n: u32, cold: u32) -> Sample {
    let value = |index: u32| if index < n - cold { 0.43 } else { 20.0 };
    Sample::new((0..n).map(value).collect()).expect("finite values")
}

/// Standard deviation with divisor `n`, as closed forms of a law have it.
fn population_std(sample: &Sample) -> f64 {
    let n = sample.len() as f64;
    sample.std().expect("several values") * ((n - 1.0) / n).sqrt()
}

fn population_cv(sample: &Sample) -> f64 {
    population_std(sample) / sample.mean()
}

fn two_points() -> Case {
    exact(
        "T01_two_point",
        "times to first token of two kinds, 4 % of them cold",
        "mean (1 - p)a + pb; CV (b - a) sqrt(p(1 - p))/mean; largest (b - a)/(2 sqrt(ab)) at p = a/(a + b)",
        "elementary",
        || {
            let law = points(0.04);
            let found = sample(10_000, 400);
            let (largest_cv, at) = law.largest_cv();
            let most = |cold: &u32| population_cv(&sample(10_000, *cold));
            let hump = (200..=221).max_by(|a, b| most(a).total_cmp(&most(b)));
            let hump = hump.expect("a range");
            vec![
                rounded("mean", law.mean(), found.mean()),
                rounded("sd", law.std(), population_std(&found)),
                rounded("CV", law.cv(), population_cv(&found)),
                rounded(
                    "sd_over_median",
                    law.std() / law.warm,
                    population_std(&found) / found.median(),
                ),
                // The nearest share that 10 000 requests can have, and a CV that is flat there.
                computed("CV_max", largest_cv, most(&hump), 1e-5),
                computed("p_at_CV_max", at, f64::from(hump) / 1e4, 5e-5),
            ]
        },
    )
}

fn two_lognormals() -> Case {
    let law = TwoLognormals {
        warm: (0.4, 0.25),
        cold: (20.0, 0.3),
        p: 0.04,
    };
    let scenario = "time.warm_up = \"0s\"\nbenchmark = { requests = 10000, discard = 0, gaps = \"0s\" }\n\n\
         [providers.p.deployments.m]\nscaling = { min = 1, max = 1 }\n\
         service.slots.decode = \"0s\"\nservice.slots.prefill.mixture.parts = [\n\
         \x20   { weight = 0.96, of.lognormal = { median = \"400ms\", sigma = 0.25 } },\n\
         \x20   { weight = 0.04, of.lognormal = { median = \"20s\", sigma = 0.3 } },\n]\n";
    Case {
        id: "T02_lognormal_mix",
        title: "lognormal times to first token, 4 % of them cold",
        formula: "moments of the mixture; quantiles by the root of its distribution function",
        source: "elementary",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: scenario.to_owned(),
            replications: 40,
            claims: vec![
                claim("mean", law.mean(), |run| run.ttft().mean_s),
                claim("sd", law.std(), |run| {
                    run.ttft().std_s.expect("many requests")
                }),
                claim("CV", law.std() / law.mean(), |run| {
                    run.ttft().cv_percent.expect("many requests") / 100.0
                }),
                claim("sd_over_median", law.std() / law.quantile(0.5), |run| {
                    run.ttft().std_over_median_percent.expect("many requests") / 100.0
                }),
                claim("median", law.quantile(0.5), |run| run.ttft().median_s),
                claim("P95", law.quantile(0.95), |run| run.ttft().p95_s),
                claim("P99", law.quantile(0.99), |run| run.ttft_quantile(0.99)),
            ],
        }),
    }
}

fn p95_of(id: &'static str, title: &'static str, compute: fn() -> Vec<Computed>) -> Case {
    exact(
        id,
        title,
        "p95 is warm if at most n - lo - 2 of n are cold, cold if at least n - lo, else between; lo = floor(0.95(n - 1))",
        "binomial order statistics (theory.md 1.2j)",
        compute,
    )
}

/// The p95 of `n` requests is a toss of a coin. Weights by the binomial law on both sides; the figures of each sample come from
/// the closed form on one and from the statistics module on the other.
fn toss(n: u32) -> Vec<Computed> {
    let law = points(0.05);
    let samples: Vec<Sample> = (0..=n).map(|cold| sample(n, cold)).collect();
    let p95 = |cold: u32| samples[cold as usize].quantile(0.95, PercentileMethod::Linear);
    let cv = |cold: u32| population_cv(&samples[cold as usize]);
    let share =
        |is: &dyn Fn(u32) -> bool| law.over_samples(n, |cold| f64::from(u8::from(is(cold))));
    let deviation = |cv: &dyn Fn(u32) -> f64| {
        let mean = law.over_samples(n, cv);
        (law.over_samples(n, |cold| cv(cold).powi(2)) - mean * mean).sqrt()
    };
    let is_between = |p95: f64| p95 > law.warm && p95 < law.cold;
    let coldest = |cold: u32, rank: u32| samples[cold as usize].values()[(n - rank) as usize];
    vec![
        rounded(
            "P_p95_warm",
            share(&|cold| law.p95(n, cold) == law.warm),
            share(&|cold| p95(cold) == law.warm),
        ),
        rounded(
            "P_p95_cold",
            share(&|cold| law.p95(n, cold) == law.cold),
            share(&|cold| p95(cold) == law.cold),
        ),
        rounded(
            "P_p95_interp",
            share(&|cold| is_between(law.p95(n, cold))),
            share(&|cold| is_between(p95(cold))),
        ),
        rounded(
            "E_p95",
            law.over_samples(n, |cold| law.p95(n, cold)),
            law.over_samples(n, p95),
        ),
        rounded(
            "E_CV",
            law.over_samples(n, |cold| law.sample_cv(n, cold)),
            law.over_samples(n, cv),
        ),
        rounded(
            "sd_CV",
            deviation(&|cold| law.sample_cv(n, cold)),
            deviation(&cv),
        ),
        rounded(
            "P_no_cold",
            0.95_f64.powf(f64::from(n)),
            share(&|cold| coldest(cold, 1) == law.warm),
        ),
        rounded(
            "P_ge4",
            share(&|cold| cold >= 4),
            share(&|cold| coldest(cold, 4) == law.cold),
        ),
    ]
}

fn seventy_five() -> Case {
    exact(
        "U03_sample_stats_75",
        "statistics of 75 given numbers",
        "type-7 quantiles, h = (n - 1)p; deviations with divisor n and n - 1",
        "exact arithmetic",
        || {
            let warm = (0..71).map(|index| 0.4 + f64::from(index) / 1000.0);
            let values = warm.chain([12.0, 18.5, 27.0, 44.25]).collect();
            let found = Sample::new(values).expect("finite values");
            let std = found.std().expect("75 values");
            let at = |p: f64, method: PercentileMethod| found.quantile(p, method);
            let place = PercentileMethod::Linear.position(found.len(), 0.95);
            vec![
                rounded("median", 0.437, found.median()),
                rounded("p95_linear", 3.929, at(0.95, PercentileMethod::Linear)),
                rounded(
                    "p95_nearest_rank",
                    12.0,
                    at(0.95, PercentileMethod::NearestRank),
                ),
                rounded("p95_higher", 12.0, found.values()[place.index + 1]),
                rounded("p99_linear", 31.485, at(0.99, PercentileMethod::Linear)),
                rounded("mean", 1.768_466_666_666_667, found.mean()),
                rounded("std_pop", 6.273_985_143_608_663, population_std(&found)),
                rounded("std_sample", 6.316_234_679_183_677, std),
                rounded(
                    "cv_pop_over_mean",
                    3.547_697_710_036_188,
                    population_cv(&found),
                ),
                rounded(
                    "cv_sample_over_mean",
                    3.571_588_200_239_573,
                    found.cv().expect("75 values"),
                ),
                rounded(
                    "std_sample_over_median",
                    14.453_626_268_154_867,
                    found.std_over_median().expect("75 values"),
                ),
            ]
        },
    )
}

fn truncation() -> Case {
    exact(
        "U04_mser5",
        "where the start of a decaying series ceases to matter (MSER-5)",
        "the cut that minimises sum (z - mean)^2/(batches left)^2, batches of five",
        "White, Cobb and Spratt 2000; exact arithmetic",
        || {
            let value = |index: u32| {
                10.0 * (-f64::from(index) / 15.0).exp() + f64::from((7919 * index) % 101) / 101.0
            };
            let series: Vec<f64> = (0..200).map(value).collect();
            let cut = mser(&series, 5).expect("40 batches");
            vec![
                computed("truncated_observations", 65.0, cut.observations as f64, 0.0),
                rounded("truncated_mean", 0.510_341_051_906_707_4, cut.mean),
                rounded("statistic_min", 0.000_104_423_250_175_353_8, cut.statistic),
            ]
        },
    )
}

fn ranks() -> Case {
    exact(
        "U05_orderstat_ci",
        "ranks that hold p95 with 95 % confidence, and how many values that needs",
        "the least u - l with P(l <= K <= u - 1) >= 0.95 for K ~ Binomial(n, 0.95)",
        "David and Nagaraja 2003, 7.1",
        || {
            let expected = [
                (75, ("n75_l", 67), ("n75_u", 75)),
                (100, ("n100_l", 91), ("n100_u", 100)),
                (200, ("n200_l", 184), ("n200_u", 197)),
                (500, ("n500_l", 465), ("n500_u", 485)),
                (1000, ("n1000_l", 937), ("n1000_u", 964)),
            ];
            let rank = |(metric, theory): (&'static str, u32), found: usize| {
                computed(metric, f64::from(theory), found as f64, 0.0)
            };
            let mut figures = Vec::new();
            for (n, lower, upper) in expected {
                let (low, high) = rank_interval(n, 0.95, 0.95).expect("enough values");
                figures.extend([rank(lower, low), rank(upper, high)]);
            }
            let [p95, p99] = [0.95, 0.99].map(|p| needed_for_quantile(p, 0.95));
            figures.extend([
                rank(("n_one_sided_p95", 59), p95.one_sided),
                rank(("n_one_sided_p99", 299), p99.one_sided),
                rank(("n_two_sided_p95", 72), p95.two_sided),
                rank(("n_two_sided_p99", 368), p99.two_sided),
            ]);
            figures
        },
    )
}

/// A published row: `n`, median, p95 and floor, and for std/mean and std/median the largest and the smallest spread.
type Row = (usize, [f64; 3], [[(&'static str, f64); 2]; 2]);

const ROWS: [Row; 5] = [
    (
        75,
        [0.43, 1.7, 0.0],
        [
            [
                ("cvmax_mean_n75_m0.43_q1.7_M90_L0", 6.958_626_093),
                ("cvmin_mean_n75_m0.43_q1.7", 0.484_728),
            ],
            [
                ("cvmax_median_n75_m0.43_q1.7_M90_L0", 40.912_818_11),
                ("cvmin_median_n75_m0.43_q1.7", 0.716_881),
            ],
        ],
    ),
    (
        100,
        [0.35, 5.98, 0.0],
        [
            [
                ("cvmax_mean_n100_m0.35_q5.98_M90_L0", 6.634_846_735),
                ("cvmin_mean_n100_m0.35_q5.98", 0.885_071),
            ],
            [
                ("cvmax_median_n100_m0.35_q5.98_M90_L0", 55.933_030_55),
                ("cvmin_median_n100_m0.35_q5.98", 3.727_04),
            ],
        ],
    ),
    (
        500,
        [0.35, 5.98, 0.175],
        [
            [
                ("cvmax_mean_n500_m0.35_q5.98_M90_L0.175", 6.618_406_752),
                ("cvmin_mean_n500_m0.35_q5.98", 0.869_819),
            ],
            [
                ("cvmax_median_n500_m0.35_q5.98_M90_L0.175", 55.881_357_58),
                ("cvmin_median_n500_m0.35_q5.98", 3.491_72),
            ],
        ],
    ),
    (
        1000,
        [0.73, 6.9, 0.0],
        [
            [
                ("cvmax_mean_n1000_m0.73_q6.9_M90_L0", 6.006_131_061),
                ("cvmin_mean_n1000_m0.73_q6.9", 0.751_489),
            ],
            [
                ("cvmax_median_n1000_m0.73_q6.9_M90_L0", 26.770_480_15),
                ("cvmin_median_n1000_m0.73_q6.9", 1.818_43),
            ],
        ],
    ),
    (
        75,
        [0.55, 6.3, 0.275],
        [
            [
                ("cvmax_mean_n75_m0.55_q6.3_M90_L0.275", 5.395_894_001),
                ("cvmin_mean_n75_m0.55_q6.3", 0.814_718),
            ],
            [
                ("cvmax_median_n75_m0.55_q6.3_M90_L0.275", 32.080_125_63),
                ("cvmin_median_n75_m0.55_q6.3", 2.537_56),
            ],
        ],
    ),
];

fn feasibility() -> Case {
    exact(
        "U06_cv_feasibility",
        "the largest and the smallest CV that n values with this median and p95 can have",
        "vertices of the polytope for the largest, filling up for the smallest; no value above 90 s",
        "a numerical search (theory.md 2.1), to 1e-6 and 1e-4",
        || {
            let mut figures = Vec::new();
            for (n, [median, p95, floor], spreads) in ROWS {
                let row = Constraints {
                    n,
                    median,
                    p95,
                    floor,
                    cap: 90.0,
                };
                for (definition, [most, least]) in CvDefinition::ALL.into_iter().zip(spreads) {
                    let largest = row.max_cv(definition).expect("possible");
                    let smallest = row.min_cv(definition).expect("possible");
                    figures.push(computed(most.0, most.1, largest, 1e-6 * most.1));
                    figures.push(computed(least.0, least.1, smallest, 1e-4 * least.1));
                }
            }
            figures
        },
    )
}
