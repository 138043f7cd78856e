//! Other simulators' figures, met by the scenarios that `benches/peers/compare` runs beside them.

use thermocline::experiment::{Keep, Plan, Run, run};
use thermocline::scenario::{self, Overrides};

const FUNCTION: &str = include_str!("../../benches/peers/function.toml");

/// What `SimFaaS` 0.2.2 says of a keep-alive, as a mean over runs of a million seconds.
struct Recorded {
    keep_alive: &'static str,
    cold_share: f64,
    /// Half the 95 % interval of that mean.
    half_width: f64,
    runs: f64,
    /// Student's t for so many runs, at 95 % and at 99.9 %.
    t95: f64,
    t999: f64,
}

const SIMFAAS: [Recorded; 3] = [
    Recorded {
        keep_alive: "600s",
        cold_share: 0.001_334_7,
        half_width: 0.000_018_2,
        runs: 20.0,
        t95: 2.093,
        t999: 3.883,
    },
    Recorded {
        keep_alive: "60s",
        cold_share: 0.015_999_2,
        half_width: 0.000_068_9,
        runs: 10.0,
        t95: 2.262,
        t999: 4.781,
    },
    Recorded {
        keep_alive: "10s",
        cold_share: 0.099_286_3,
        half_width: 0.000_167,
        runs: 10.0,
        t95: 2.262,
        t999: 4.781,
    },
];

/// The function with a keep-alive, for so many million seconds.
fn function(keep_alive: &str, millions: f64) -> Plan {
    let place = "providers.faas.deployments.function.scaling.keep_alive";
    let overrides = Overrides {
        set: vec![
            format!("{place}={keep_alive}"),
            format!("time.horizon={}s", 1e6 * millions),
        ],
        ..Overrides::default()
    };
    match scenario::load("function.toml", FUNCTION, &overrides) {
        Ok((plan, _)) => plan,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_function_without_a_queue_starts_cold_as_often_as_in_simfaas() {
    for (recorded, millions) in SIMFAAS.iter().zip([1.0, 0.2, 0.1]) {
        let which = Run {
            provider: 0,
            session: 0,
            replication: 0,
        };
        let plan = function(recorded.keep_alive, millions);
        let ledger = &run(&plan, which, Keep::default()).fleet[0].ledger;
        // The limit on instances, and with it what becomes of a request beyond it, plays no part.
        assert_eq!((ledger.rejected_queue, ledger.failed), (0, 0));
        assert!(ledger.peak_replicas < 1000);

        let share = ledger.cold_requests as f64 / ledger.arrived as f64;
        let error = recorded.half_width / recorded.t95;
        let own = error * (recorded.runs / millions).sqrt();
        let bound = recorded.t999 * error.hypot(own);
        assert!(
            (share - recorded.cold_share).abs() <= bound,
            "keep-alive {}: {share} against {} +- {bound}",
            recorded.keep_alive,
            recorded.cold_share
        );
    }
}
