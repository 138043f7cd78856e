//! Closed forms: what a simulation of a simple fleet must show.
//!
//! Rates are per second and times in seconds; a load is a rate times a time. All functions assume a stable system, which their
//! callers have checked. Each part names its sources; what is called theory.md is the project's own derivation there, checked
//! against an independent Monte Carlo. [`crate::validation`] holds the simulator against these.

mod batches;
mod keep_alive;
mod mathematics;
mod pools;
mod queues;
mod samples;
mod setup;
mod sizing;

pub use batches::{BulkMeans, BulkService, SharedSteps};
pub use keep_alive::{
    ColdFleet, ColdFleetMeans, KeptAlive, StackedFleet, cold_share, gamma_cold_share,
};
pub use mathematics::{exponential_quantile, poisson_tail};
pub use pools::{kaufman_roberts, lru_miss_shares, time_to_live, zipf};
pub use queues::{
    ClosedLoop, Dm1, Mmc, Mmpp1, erlang_b, erlang_c, lognormal_moments, md1_wait_quantile,
    mg1_mean_wait, mg1_wait_std, priority_mean_waits,
};
pub use samples::{TwoLognormals, TwoPoints};
pub use setup::{Setup, SetupKeptAlive, SetupMeans, SetupServers};
pub use sizing::{Piece, break_even, cheapest_mix, replicas_for};

use mathematics::{
    Move, binomial_share, bisect, integral, normal_below, poisson_share, stationary,
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Agrees to six digits with values computed elsewhere.
    fn near(value: f64, expected: f64) {
        near_to(value, expected, 1e-6);
    }

    fn near_to(value: f64, expected: f64, share: f64) {
        assert!(
            (value - expected).abs() <= share * expected.abs(),
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
        near(exponential_quantile(mm1.mean_time(), 0.95), 14.978_661_4);
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
        let kept = KeptAlive::constant(0.02, 60.0, 20.0, 2.0);
        near(kept.trigger_share(), 0.259_362_099);
        near(kept.wait_share(), 0.363_106_938);
        near(kept.mean_wait(), 6.224_690_37);
        near(kept.up_share(), 0.740_637_901);
        near(poisson_tail(10.0, 16), 0.048_740_403_3);
    }

    #[test]
    fn queues_give_the_published_numbers() {
        near(md1_wait_quantile(0.8, 1.0, 0.95), 6.620_325);
        near(md1_wait_quantile(0.8, 1.0, 0.99), 10.355_886_8);
        let dm1 = Dm1 {
            gap: 1.25,
            service_rate: 1.0,
        };
        near(dm1.wait_share(), 0.628_629_796);
        near(dm1.mean_wait(), 1.692_730_84);
        near(dm1.wait_quantile(0.95), 6.816_700_68);
        near(exponential_quantile(dm1.mean_time(), 0.95), 8.066_700_68);
        let bursts = Mmpp1 {
            rates: [0.3, 1.5],
            sojourns: [50.0, 20.0],
            service_rate: 1.0,
        };
        let (time, waiting) = bursts.mean_time_and_wait_share();
        near(time, 14.496_998_3);
        near(waiting, 0.807_575_042);
        let waits = priority_mean_waits(&[(0.4, [0.5, 0.25]), (0.3, [1.5, 4.5])]);
        near(waits[0], 0.906_25);
        near(waits[1], 2.589_285_71);
        let closed = ClosedLoop {
            clients: 8,
            think: 10.0,
            service: 1.0,
        };
        near(closed.mean_time(), 2.090_407_83);
        near(closed.throughput(), 0.661_681_567);
    }

    #[test]
    fn fleets_give_the_published_numbers() {
        let kept = SetupKeptAlive {
            arrival_rate: 0.05,
            mean_service: 4.0,
            service_cv: 1.0,
            setup: 20.0,
            keep_alive: 30.0,
        };
        near(kept.mean_wait(), 6.472_765_71);
        near(kept.trigger_share(), 0.145_940_419);
        near(kept.cold_share(), 0.291_880_838);
        let servers = SetupServers {
            arrival_rate: 1.0,
            service_rate: 1.0,
            mean_setup: 10.0,
            servers: 2,
        };
        near(servers.means().requests, 7.117_806_51);
        near(servers.means().in_setup, 0.829_141_553);
        let unlimited = SetupServers {
            arrival_rate: 2.0,
            mean_setup: 2.0,
            servers: 60,
            ..servers
        };
        near(unlimited.means_unlimited().in_setup, 1.379_392_84);
        let kept = KeptAlive::exponential(0.05, 40.0, 30.0, 8.0);
        near(kept.trigger_share(), 0.078_156_220_8);
        near(kept.mean_wait(), 4.103_201_59);
        near(gamma_cold_share(40.0, 4, 62.0), 0.134_229_248);
        let stacked = StackedFleet {
            arrival_rate: 0.1,
            mean_service: 4.0,
            keep_alive: 20.0,
        };
        near(stacked.cold_share(), 0.273_625_084);
        near(stacked.mean_idle(), 1.038_421_3);
        let cold = ColdFleet {
            arrival_rate: 1.0,
            cold_service: 5.0,
            warm_service: 2.0,
            keep_alive: 20.0,
        };
        let means = cold.means([24, 16, 11]);
        // What lies beyond 24 idle replicas weighs some hundred-thousandths; the suite itself goes further.
        near_to(means.cold_share, 0.118_989_069, 5e-5);
        near_to(means.idle, 2.379_780_81, 5e-5);
        near_to(means.warm, 1.762_021_86, 5e-5);
        near_to(means.cold, 0.594_945_203, 5e-5);
    }

    #[test]
    fn pools_and_batches_give_the_published_numbers() {
        let (refused, held) = kaufman_roberts(16, &[(4.0, 1), (1.5, 2), (0.5, 4), (0.125, 8)]);
        near(refused[0], 0.034_313_003_7);
        near(refused[3], 0.508_297_828);
        near(held, 8.756_517_37);
        let shares = zipf(40, 0.9);
        let missed = lru_miss_shares(&shares, 8);
        near(missed[0], 0.123_355_739);
        let total = shares.iter().zip(&missed).map(|(share, miss)| share * miss);
        near(total.sum(), 0.573_638_001);
        let (missed, awake) = time_to_live(&shares, 60.0);
        near(missed, 0.195_809_117);
        near(awake, 24.091_815_6);
        let steps = SharedSteps {
            arrival_rate: 0.5,
            tokens: 200.0,
            base: 0.02,
            each: 0.001,
        };
        near(steps.mean_time(), 4.666_666_67);
        near(steps.idle_share(), 0.109_418_989);
        let bulk = BulkService {
            arrival_rate: 3.0,
            service: 1.0,
            most: 5,
        };
        near(bulk.means().wait, 0.557_839_05);
        near(bulk.means().batch, 3.044_255_87);
        near(bulk.means().busy, 0.985_462_501);
    }

    #[test]
    fn samples_give_the_published_numbers() {
        let points = TwoPoints {
            warm: 0.43,
            cold: 20.0,
            p: 0.04,
        };
        near(points.cv(), 3.162_039_2);
        near(points.largest_cv().0, 3.336_657_31);
        near(points.largest_cv().1, 0.021_047_479_2);
        let toss = TwoPoints { p: 0.05, ..points };
        near(
            toss.over_samples(75, |cold| toss.p95(75, cold)),
            7.883_579_18,
        );
        near(
            toss.over_samples(75, |cold| toss.sample_cv(75, cold)),
            2.935_578_19,
        );
        let spread = TwoLognormals {
            warm: (0.4, 0.25),
            cold: (20.0, 0.3),
            p: 0.04,
        };
        near(spread.mean(), 1.233_011_76);
        near(spread.std(), 4.220_096_14);
        near(spread.quantile(0.5), 0.405_258_787);
        near(spread.quantile(0.95), 0.712_808_201);
        near(spread.quantile(0.99), 24.485_453_3);
    }

    #[test]
    fn no_load_neither_waits_nor_loses() {
        assert_eq!((erlang_b(0.0, 3), erlang_c(0.0, 3)), (0.0, 0.0));
        assert_eq!(erlang_b(5.0, 0), 1.0);
    }
}
