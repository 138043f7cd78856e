//! Cases of the catalogue of known errors that concern a client: C033, C035 to C040 and C047.

use thermocline::http::scripted::Script;
use thermocline::measure::summary::Summary;
use thermocline::observation::{Observation, Outcome};
use thermocline::request::{EndpointId, RequestId};
use thermocline::stats::PercentileMethod;
use thermocline::time::{Duration, Time};
use thermocline::timeline::{Phase, Reason};

use super::rig::{DONE, STOP, ask, content, in_millis, millis, seen, serving};

fn delta(field: &str, text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"{field}\":\"{text}\"}}}}]}}\n\n")
}

fn usage(tokens: u32) -> String {
    format!("data: {{\"choices\":[],\"usage\":{{\"completion_tokens\":{tokens}}}}}\n\n")
}

/// `count` events of `text`, one every `step` ms from `from` on.
fn events(from: u64, step: u64, count: u64, text: &str) -> Script {
    let script = Script::stream();
    (0..count).fold(script, |script, index| {
        script.until(from + index * step).body(content(text))
    })
}

#[test]
fn c033_reasoning_is_the_first_token_and_content_stands_beside_it() {
    // A tenth of the case's 300 and 4200 ms.
    for field in ["reasoning", "reasoning_content"] {
        let script = Script::stream().until(30).body(delta(field, "Hm"));
        let exchange = seen(
            script
                .until(420)
                .body(content("Yes"))
                .body(STOP)
                .body(DONE)
                .end(),
        );
        let timeline = exchange.timeline;
        let [first, later] = [timeline.ttft(), timeline.ttft_content()].map(in_millis);
        assert!(first >= Some(30) && first < Some(400), "{first:?}");
        assert!(later >= Some(420), "{later:?}");
        let capped = Script::stream().until(30).body(delta(field, "Hm"));
        let length = STOP.replace("stop", "length");
        let exchange = seen(capped.body(length).body(DONE).end());
        assert_eq!(exchange.observation.outcome(), Outcome::Succeeded);
        assert_eq!(exchange.timeline.first_content, None);
        assert!(exchange.observation.ttft() >= Some(millis(30)));
    }
}

#[test]
fn c035_an_error_in_the_stream_is_a_failure_with_its_message() {
    let error = "data: {\"error\":{\"message\":\"out of memory\"}}\n\n";
    for tokens in [0, 3] {
        let exchange = seen(
            events(0, 1, u64::from(tokens), "a")
                .body(error)
                .body(DONE)
                .end(),
        );
        assert_eq!(exchange.observation.outcome(), Outcome::Failed);
        let message = "out of memory".to_owned();
        assert_eq!(
            exchange.reason,
            Some(Reason::StreamError { tokens, message })
        );
        let summary = Summary::of(&[(exchange.observation, None)], PercentileMethod::Linear);
        assert_eq!((summary.failed, summary.ttft), (1, None));
    }
}

#[test]
fn c036_an_answer_without_its_end_is_no_success() {
    let five = || events(0, 1, 5, "a");
    let exchange = seen(five());
    assert_eq!(exchange.reason, Some(Reason::Truncated { tokens: 5 }));
    assert_eq!(exchange.observation.outcome(), Outcome::Failed);
    assert!(
        exchange.timeline.first_token.is_some(),
        "the TTFT is kept beside the failure"
    );
    for complete in [five().body(STOP), five().body(STOP).body(DONE).end()] {
        assert_eq!(seen(complete).reason, None);
    }
}

#[test]
fn c037_events_do_not_match_reads() {
    let first = content("你").replace('\n', "\r\n");
    let cut = first.find('你').expect("it is there") + 1;
    let bytes = first.as_bytes();
    let five = ["a", "b", "c", "d", "e"].map(content).concat();
    let script = Script::stream()
        .body(&bytes[..20])
        .until(50)
        .body(&bytes[20..cut]);
    let script = script.until(100).body(&bytes[cut..]).until(110).body(five);
    let exchange = seen(script.body(STOP).body(DONE).end());
    assert_eq!(
        (exchange.content.as_str(), exchange.reason),
        ("你abcde", None)
    );
    assert_eq!(exchange.chunks.count, 6);
    let ttft = in_millis(exchange.timeline.ttft());
    assert!(
        ttft >= Some(99),
        "the third write completes the first event: {ttft:?}"
    );
}

#[test]
fn c038_comments_are_signs_of_life_and_no_tokens() {
    // A tenth of the case's times; the limit on stalls is shorter than the wait for the first token.
    let waits = (0..6).fold(Script::stream(), |script, index| {
        script.until(index * 50).body(": wait\n\n")
    });
    let script = waits
        .until(300)
        .body(content("Hi"))
        .body(STOP)
        .body(DONE)
        .end();
    let (_server, mut endpoint) = serving(script);
    endpoint.limits.stall = millis(200);
    let exchange = ask(endpoint, Some(Duration::from_secs(30.0)));
    assert_eq!((exchange.reason, exchange.chunks.count), (None, 1));
    let timeline = exchange.timeline;
    assert!(timeline.ttft() >= Some(millis(299)));
    assert!(timeline.first_byte < timeline.first_token);
    assert_eq!(timeline.first_comment, timeline.first_byte);
}

#[test]
fn c039_chunks_are_not_tokens() {
    let bundled = || events(10, 10, 25, "four tokens each");
    let counted = seen(bundled().body(STOP).body(usage(100)).body(DONE).end());
    assert_eq!(
        (counted.observation.output_tokens(), counted.counts_chunks()),
        (100, false)
    );
    assert_eq!(counted.chunks_per_token(), Some(0.25));
    assert_eq!(counted.chunks.first_tokens, Some(4));
    let span = counted
        .timeline
        .last_token
        .zip(counted.timeline.first_token);
    let span = span.map(|(last, first)| last.since(first).as_secs());
    assert_eq!(counted.tpot_s(), span.map(|span| span / 99.0));
    let estimated = seen(bundled().body(STOP).body(DONE).end());
    assert_eq!(
        (
            estimated.observation.output_tokens(),
            estimated.counts_chunks()
        ),
        (25, true)
    );
    assert_eq!(estimated.chunks_per_token(), None);
}

#[test]
fn c040_an_answer_that_comes_all_at_once_is_no_stream() {
    let together = content("a").repeat(100);
    let whole = seen(
        Script::stream()
            .until(300)
            .body(together)
            .body(STOP)
            .body(DONE)
            .end(),
    );
    assert!(in_millis(whole.timeline.ttft()) >= Some(299));
    assert!(whole.is_not_incremental());
    let stream = seen(events(20, 20, 5, "a").body(STOP).body(DONE).end());
    assert!(!stream.is_not_incremental());
}

#[test]
fn c047_one_cold_wave_owns_p95_and_leaves_the_median() {
    let warm = (0..90).map(|i| 0.60 + 0.78 * f64::from(i) / 89.0);
    let cold = (0..10).map(|i| 40.1 + 17.5 * f64::from(i) / 9.0);
    let row = |seconds: f64| {
        let first = Time::from_secs(seconds);
        let (id, endpoint) = (RequestId(0), EndpointId(0));
        (
            Observation::new(
                id,
                endpoint,
                Time::ZERO,
                Time::ZERO,
                Some(first),
                first,
                1,
                Outcome::Succeeded,
            ),
            None,
        )
    };
    let rows: Vec<_> = warm.chain(cold).map(row).collect();
    let figures = |method| {
        Summary::of(&rows, method)
            .ttft
            .expect("a hundred successes")
    };
    let [nearest, linear] = [PercentileMethod::NearestRank, PercentileMethod::Linear].map(figures);
    let close = |is: f64, should: f64| assert!((is - should).abs() < 5e-4, "{is} is not {should}");
    // The case's p50 of 1.03 is rounded: between the 50th and 51st values.
    close(linear.median_s, 1.0338);
    close(nearest.p95_s, 47.8778);
    close(linear.p95_s, 47.975);
    close(linear.mean_s, 5.776);
}

#[test]
fn a_phase_is_named_where_a_stream_stalls() {
    let (_server, mut endpoint) = serving(events(0, 1, 2, "a").until(60_000));
    endpoint.limits.stall = millis(100);
    let exchange = ask(endpoint, None);
    let phase = Phase::Stream;
    assert_eq!(exchange.reason, Some(Reason::TimedOut { phase }));
    // The first token has come, so nothing is censored: the answer failed.
    assert_eq!(exchange.observation.outcome(), Outcome::Failed);
}
