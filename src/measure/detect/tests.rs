use super::*;
use crate::observation::{Observation, Outcome};
use crate::request::{EndpointId, RequestId};
use crate::time::Time;

fn ms(ms: u64) -> Duration {
    Duration::from_nanos(ms * 1_000_000)
}

/// A request sent at `at` \[s\], its first token after `ttft` and its end after `total` \[ms\].
fn row(at: u64, ttft: u64, total: u64, signs: Signs) -> Row {
    let sent = Time::ZERO + ms(1000 * at);
    let (first, end) = (sent + ms(ttft), sent + ms(total));
    let (id, endpoint, outcome) = (RequestId(at), EndpointId(0), Outcome::Succeeded);
    Row {
        seen: Observation::new(id, endpoint, sent, sent, Some(first), end, 5, outcome),
        cold: None,
        hour: None,
        is_timed: true,
        signs,
    }
}

fn rows(count: u64, ttft: u64, total: u64, signs: Signs) -> Vec<Row> {
    (0..count).map(|at| row(at, ttft, total, signs)).collect()
}

fn names(rows: &[Row]) -> Vec<&'static str> {
    detect(rows).iter().map(Detection::name).collect()
}

#[test]
fn ordinary_requests_show_nothing() {
    let signs = Signs {
        dns: Some(ms(2)),
        connect: Some(ms(20)),
        reused: Some(false),
        first_gap: Some(ms(21)),
        gap_median: Some(ms(20)),
        first_chunk_tokens: Some(1),
        cached_tokens: Some(0),
        prompt_tokens: Some(12),
        ..Signs::default()
    };
    assert_eq!(names(&rows(20, 200, 300, signs)), [""; 0]);
    assert_eq!(names(&rows(20, 200, 300, Signs::default())), [""; 0]);
    assert_eq!(names(&[]), [""; 0]);
}

#[test]
fn each_sign_has_its_detector() {
    let none = Signs::default();
    for (signs, total, name) in [
        (
            Signs {
                gap_median: Some(ms(1)),
                ..none
            },
            210,
            "buffered-stream",
        ),
        (
            Signs {
                first_gap: Some(ms(150)),
                gap_median: Some(ms(20)),
                ..none
            },
            500,
            "role-chunk-counted",
        ),
        (
            Signs {
                role_chunk: Some(ms(50)),
                ..none
            },
            300,
            "role-chunk-gap",
        ),
        (
            Signs {
                first_chunk_tokens: Some(4),
                ..none
            },
            300,
            "bundled-first-chunk",
        ),
        (
            Signs {
                cached_tokens: Some(1000),
                prompt_tokens: Some(1024),
                ..none
            },
            300,
            "cached-prefix",
        ),
        (
            Signs {
                near_client_fault: true,
                ..none
            },
            300,
            "near-client-fault",
        ),
    ] {
        let found = rows(20, 200, total, signs);
        assert_eq!(names(&found), [name]);
    }
}

#[test]
fn to_the_second_piece_is_told_where_the_first_is_the_role() {
    let signs = Signs {
        first_gap: Some(ms(150)),
        gap_median: Some(ms(20)),
        ..Signs::default()
    };
    let found = detect(&rows(9, 51, 300, signs));
    let [
        Detection::RoleChunkCounted {
            requests,
            of,
            ttft_median_s,
        },
    ] = found[..]
    else {
        panic!("not told: {found:?}");
    };
    assert_eq!((requests, of), (9, 9));
    assert!((ttft_median_s - 0.201).abs() < 1e-12, "{ttft_median_s}");
    assert!(
        found[0].to_string().contains("the median is 0.201 s"),
        "{}",
        found[0]
    );
}

#[test]
fn slow_look_ups_and_connections_stand_out() {
    let usual = Signs {
        dns: Some(ms(2)),
        connect: Some(ms(20)),
        ..Signs::default()
    };
    let slow = Signs {
        dns: Some(ms(5002)),
        ..usual
    };
    let found = [rows(30, 200, 300, usual), rows(2, 200, 300, slow)].concat();
    assert_eq!(names(&found), ["dns-outliers"]);
    let late = Signs {
        connect: Some(ms(3020)),
        ..usual
    };
    let found = detect(&[rows(30, 200, 300, usual), rows(1, 200, 300, late)].concat());
    let expected = Detection::SetUpOutliers {
        part: SetUpPart::Connect,
        requests: 1,
        median_s: 0.02,
        max_s: 3.02,
    };
    assert_eq!(found, [expected]);
}

#[test]
fn a_server_that_closes_idle_connections_is_found() {
    let with = |reused: bool, connection_lost: bool| Signs {
        reused: Some(reused),
        connection_lost,
        ..Signs::default()
    };
    // Gaps of 3 s are outlived, gaps of 9 s are not; one request is lost in between.
    let found = [
        row(0, 200, 1000, with(false, false)),
        row(4, 200, 1000, with(true, false)),
        row(14, 200, 1000, with(false, false)),
        row(18, 200, 1000, with(true, false)),
        row(28, 200, 1000, with(false, true)),
    ];
    let expected = Detection::KeepAliveCliff {
        outlived_s: Some(3.0),
        closed_s: 9.0,
        lost: 1,
    };
    assert_eq!(detect(&found), [expected]);
    // A client that opens a connection for every request shows nothing.
    let fresh = [0, 10, 20].map(|at| row(at, 200, 1000, with(false, false)));
    assert_eq!(names(&fresh), [""; 0]);
}

#[test]
fn what_is_near_a_fault_is_told_with_the_cv_of_the_rest() {
    let near = Signs {
        near_client_fault: true,
        ..Signs::default()
    };
    let mut found: Vec<Row> = (0..20)
        .map(|at| row(at, 400 + at, 900, Signs::default()))
        .collect();
    found.push(row(21, 7000, 7500, near));
    let [
        Detection::NearClientFault {
            requests,
            max_s,
            cv_without_percent,
        },
    ] = detect(&found)[..]
    else {
        panic!("not told");
    };
    assert_eq!((requests, max_s), (1, 7.0));
    // Population deviation of 0..20 is sqrt(399 / 12): over 409.5, times sqrt(20 / 19).
    let expected = 100.0 * (399.0_f64 / 12.0).sqrt() / 409.5 * (20.0_f64 / 19.0).sqrt();
    let cv = cv_without_percent.expect("twenty values");
    assert!((cv - expected).abs() < 1e-9, "{cv}");
}
