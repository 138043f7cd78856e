//! What policies promise, held against random catalogues, and small ones whose answer is known by hand.

use super::*;
use crate::workload::popularity::Law;
use proptest::prelude::*;

const SERVICE: Service = Service {
    places: 4,
    mean_s: 2.0,
    first_token_s: 0.3,
    start_s: 30.0,
    keep_alive_s: 300.0,
};

/// Models that differ only in their popularity.
fn alike(models: usize, rate: f64, exponent: f64, price: u64) -> Vec<Candidate> {
    let shares = Law::Zipf {
        exponent,
        offset: 0.0,
    };
    let shares = shares.shares(models).into_iter();
    shares
        .map(|share| Candidate {
            rate: share * rate,
            price,
            most: 1000,
            warm: SERVICE,
            asleep: SERVICE,
        })
        .collect()
}

fn all(models: usize) -> Vec<Policy> {
    vec![
        Policy::Curated,
        Policy::BreadthFirst {
            head: models.div_ceil(20),
        },
        Policy::Uniform,
        Policy::Proportional,
        Policy::SquareRoot,
        Policy::Table((0..models as u32).rev().collect()),
        Policy::Optimised,
    ]
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn no_policy_exceeds_its_budget_or_a_limit(
        models in prop::collection::vec((0.0..5.0_f64, 1_u64..20_000_000, 0_u32..40, 0.01..20.0_f64), 1..60),
        budget in 0_u64..500_000_000,
    ) {
        let mut candidates: Vec<Candidate> = models
            .into_iter()
            .map(|(rate, price, most, mean_s)| Candidate { rate, price, most, warm: Service { mean_s, ..SERVICE }, asleep: SERVICE })
            .collect();
        candidates.sort_by(|a, b| b.rate.total_cmp(&a.rate));
        for policy in all(candidates.len()) {
            let warm = policy.allocate(&candidates, budget);
            prop_assert_eq!(warm.len(), candidates.len());
            prop_assert!(spent(&candidates, &warm) <= budget, "{:?}", policy);
            let within = warm.iter().zip(&candidates).all(|(count, candidate)| *count <= candidate.most);
            prop_assert!(within, "{:?}", policy);
        }
    }

    #[test]
    fn of_models_alike_the_more_popular_never_gets_less(
        models in 1_usize..80,
        rate in 0.1..100.0_f64,
        exponent in 0.0..2.5_f64,
        replicas in 0_u64..300,
    ) {
        let candidates = alike(models, rate, exponent, 1_000_000);
        for policy in all(models) {
            let warm = policy.allocate(&candidates, replicas * 1_000_000);
            // The optimised rule may give a model fewer once its p95 cannot fall any more, but never a sleeping one more.
            let falls = warm.windows(2).all(|pair| pair[0] >= pair[1]);
            prop_assert!(falls || policy == Policy::Optimised, "{:?}: {:?}", policy, warm);
        }
    }

    #[test]
    fn quotas_are_met_to_within_one_replica(
        models in 1_usize..80,
        exponent in 0.0..2.5_f64,
        replicas in 0_u32..300,
    ) {
        let candidates = alike(models, 10.0, exponent, 1_000_000);
        for (policy, power) in [
            (Policy::Uniform, 0.0),
            (Policy::Proportional, 1.0),
            (Policy::SquareRoot, 0.5),
        ] {
            let weight = |candidate: &Candidate| candidate.rate.powf(power);
            let total: f64 = candidates.iter().map(weight).sum();
            let warm = policy.allocate(&candidates, u64::from(replicas) * 1_000_000);
            prop_assert_eq!(warm.iter().sum::<u32>(), replicas, "{:?} spends all", policy);
            for (count, candidate) in warm.iter().zip(&candidates) {
                let quota = f64::from(replicas) * weight(candidate) / total;
                prop_assert!((f64::from(*count) - quota).abs() < 1.0 + 1e-6);
            }
        }
    }
}

#[test]
fn largest_remainders_are_those_of_the_textbook() {
    // Hamilton's method: quotas 4.7, 3.0, 1.5, 0.8 of ten seats give 5, 3, 1, 1.
    let candidates: Vec<Candidate> = [47.0, 30.0, 15.0, 8.0]
        .map(|rate| Candidate {
            rate,
            price: 1,
            most: 100,
            warm: SERVICE,
            asleep: SERVICE,
        })
        .to_vec();
    assert_eq!(Policy::Proportional.allocate(&candidates, 10), [5, 3, 1, 1]);
}

#[test]
fn each_policy_makes_its_own_bet() {
    let candidates = alike(40, 4.0, 1.0, 1_000_000);
    let of = |policy: Policy| policy.allocate(&candidates, 60_000_000);
    let curated = of(Policy::Curated);
    assert!(curated.iter().all(|&warm| warm >= 1), "{curated:?}");
    assert_eq!(curated.iter().sum::<u32>(), 60);
    let breadth = of(Policy::BreadthFirst { head: 2 });
    // Rank 1 has 0.935 requests a second, so 1.87 places busy: one replica of four places. Nobody else gets any.
    assert_eq!(
        (&breadth[..2], breadth[2..].iter().sum::<u32>()),
        (&[1, 1][..], 0)
    );
    assert_eq!(
        of(Policy::Uniform)[..21],
        [[2; 20].as_slice(), &[1]].concat()
    );
    let proportional = of(Policy::Proportional);
    let root = of(Policy::SquareRoot);
    assert!(proportional[0] > root[0] && root[39] >= proportional[39]);
    let table = of(Policy::Table(vec![3, 0, 1]));
    assert_eq!(
        (&table[..3], table[3..].iter().sum::<u32>()),
        (&[3, 0, 1][..], 0)
    );
}

#[test]
fn the_optimised_rule_wakes_those_whose_p95_falls_most() {
    // Asleep after five minutes. A request every ten seconds keeps a model awake; one every ten minutes does not, nor one a day.
    let rates = [0.1, 1.0 / 600.0, 1.0 / 86_400.0];
    let candidates = rates.map(|rate| Candidate {
        rate,
        price: 1,
        most: 9,
        warm: SERVICE,
        asleep: SERVICE,
    });
    assert_eq!(SERVICE.ttft_p95_asleep_s(rates[0]), 0.3);
    assert_eq!(SERVICE.ttft_p95_asleep_s(rates[1]), 30.3);
    assert_eq!(Policy::Optimised.allocate(&candidates, 1), [0, 1, 0]);
    // A replica too many is not bought.
    assert_eq!(Policy::Optimised.allocate(&candidates, 9), [0, 1, 1]);
}

#[test]
fn the_estimate_follows_the_closed_forms() {
    // Loss formula: two places and a load of 2 turn 40 % away; each then waits a place's mean time over no spare at all.
    let two = Service {
        places: 2,
        ..SERVICE
    };
    assert_eq!(two.ttft_p95_warm_s(1.0, 1), 30.3);
    // Four places and a load of 2: 9.52 % find all taken; ln(0.0952 / 0.05) x 2 s / 2 = 0.645 s.
    assert!((two.ttft_p95_warm_s(1.0, 2) - 0.945).abs() < 1e-3);
    assert_eq!(two.ttft_p95_warm_s(1.0, 4), 0.3);
    let falls: Vec<f64> = (1..6).map(|warm| two.ttft_p95_warm_s(1.0, warm)).collect();
    assert!(falls.windows(2).all(|pair| pair[0] >= pair[1]));
}
