//! Planning: how many replicas a load needs, and which mix of GPUs is cheapest.

use crate::support::{fleet, ledger, simulate};
use thermocline::theory::{Piece, cheapest_mix, replicas_for};

/// 5000 requests a second of 80 ms are 400 in flight; 50 to a replica at 70 % makes 12. Twice the time doubles both.
#[test]
fn c103_back_of_envelope_sizing() {
    let (in_flight, replicas) = replicas_for(5000.0, 0.08, 50, 0.7);
    assert!((in_flight - 400.0).abs() < 1e-9);
    assert_eq!(replicas, 12);
    let (twice, doubled) = replicas_for(5000.0, 0.16, 50, 0.7);
    assert!((twice - 800.0).abs() < 1e-9);
    // 22.86 rounded up: twice 11.43, not twice 12.
    assert_eq!(doubled, 23);
    let body = "[providers.p.deployments.m]
        scaling = { min = 12, max = 12, rule = \"fixed\" }
        service.slots = { slots = 50, prefill = \"30ms\", decode = \"50ms\" }
        traffic.t.arrivals = \"5000/s\"";
    let result = simulate(&fleet("4s", body));
    let ledger = ledger(&result, 0);
    let met = ledger.request_time as f64 / ledger.window.as_nanos() as f64;
    // The case's 2 %: of 20000 requests in 4 s chance leaves 0.7 % and the empty start 1 %.
    assert!((met / in_flight - 1.0).abs() < 0.02, "{met} in flight");
}

#[test]
fn c106_the_cheapest_mix_is_not_the_most_efficient_type() {
    let types = |stock| {
        let a = Piece {
            cost: 10.0,
            capacity: 200.0,
            stock,
        };
        let b = Piece {
            cost: 6.0,
            capacity: 100.0,
            stock: u32::MAX,
        };
        [a, b]
    };
    let cases = [
        (u32::MAX, 100.0, [0, 1]),
        (u32::MAX, 200.0, [1, 0]),
        (u32::MAX, 250.0, [1, 1]),
        (u32::MAX, 0.0, [0, 0]),
        (0, 250.0, [0, 3]),
    ];
    for (stock, need, expected) in cases {
        let mix = cheapest_mix(&types(stock), need).expect("there is enough");
        assert_eq!(mix, expected, "{need} with {stock} of A");
    }
    let scarce = types(1).map(|one| Piece { stock: 1, ..one });
    assert_eq!(cheapest_mix(&scarce, 301.0), None);
}
