//! The client's own error, on loopback.

use thermocline::http::conformance::{self, Row};
use thermocline::http::selftest::{self, AnswerResult};

/// What was misunderstood.
fn wrong(answers: &[AnswerResult]) -> Vec<&AnswerResult> {
    answers
        .iter()
        .filter(|answer| !answer.wrong.is_empty())
        .collect()
}

#[test]
fn every_answer_is_understood_and_the_bias_is_below_a_millisecond() {
    let result = selftest::run(20).expect("loopback works");
    assert!(
        wrong(&result.answers).is_empty(),
        "{:#?}",
        wrong(&result.answers)
    );
    // No stamp of a token precedes its sending, on one clock.
    assert!(
        result
            .delays
            .iter()
            .all(|delay| delay.first_token.median_s > 0.0)
    );
    assert!(result.passes(), "{:#?}", result.delays);
}

#[test]
fn every_answer_is_understood_however_its_bytes_are_cut() {
    for size in [1, 2, 3, 7, 64] {
        let cut = |row: Row| Row {
            script: row.script.cut(size),
            ..row
        };
        let rows: Vec<Row> = conformance::rows().into_iter().map(cut).collect();
        let answers = selftest::answers(&rows).expect("loopback works");
        assert!(
            wrong(&answers).is_empty(),
            "writes of {size} bytes: {:#?}",
            wrong(&answers)
        );
    }
}
