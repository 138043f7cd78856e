//! The client's own error, on loopback.

use thermocline::http::selftest;

#[test]
fn every_answer_is_understood_and_the_bias_is_below_a_millisecond() {
    let result = selftest::run(20).expect("loopback works");
    let wrong: Vec<_> = result
        .answers
        .iter()
        .filter(|answer| !answer.wrong.is_empty())
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    // No stamp of a token precedes its sending, on one clock.
    assert!(
        result
            .delays
            .iter()
            .all(|delay| delay.first_token.median_s > 0.0)
    );
    assert!(result.passes(), "{:#?}", result.delays);
}
