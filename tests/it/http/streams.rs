//! Every row of the table of answers, and how an answer's instants relate.

use thermocline::http::conformance;
use thermocline::http::scripted::Script;

use super::rig::{DONE, STOP, content, millis, quick, seen};

#[test]
fn the_table_has_every_scenario() {
    let rows = conformance::rows();
    assert_eq!(rows.len(), 50);
    let mut names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 50, "each has a name of its own");
}

#[test]
fn instants_of_an_answer_are_in_order() {
    let role = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n";
    let script = Script::stream()
        .until(5)
        .body(": wait\n\n")
        .until(10)
        .body(role);
    let script = script
        .until(20)
        .body(content("\n"))
        .until(30)
        .body(content("Hi"));
    let exchange = seen(script.until(40).body(STOP).until(50).body(DONE).end());
    let t = exchange.timeline;
    let instants = [
        t.due,
        t.started,
        t.dns,
        t.connected,
        t.written,
        t.headers,
        t.first_byte,
        t.role_chunk,
        t.first_token,
        t.first_visible,
        t.end,
    ];
    assert!(instants.iter().all(Option::is_some), "{t:?}");
    assert!(instants.is_sorted(), "{t:?}");
    assert_eq!(
        (t.first_comment, t.first_content),
        (t.first_byte, t.first_token)
    );
    assert_eq!((t.last_token, t.tls), (t.first_visible, None));
    assert!(t.ttft_visible() >= Some(millis(29)));
    assert!(t.ttft_with_connect() >= t.ttft() && t.ttft_from_due() >= t.ttft_with_connect());
}

#[test]
fn what_a_server_says_of_itself_is_kept() {
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1,\
                 \"prompt_tokens_details\":{\"cached_tokens\":8}}}\n\n";
    let script = Script::stream()
        .body(content("Hi"))
        .body(STOP)
        .body(usage)
        .body(DONE)
        .end();
    let exchange = seen(script);
    assert_eq!(exchange.usage.cached_tokens, Some(8));
    assert_eq!(exchange.finish_reason.as_deref(), Some("stop"));
    assert_eq!(
        (exchange.status, exchange.http_version),
        (Some(200), Some("1.1"))
    );
    assert!(
        exchange
            .remote_address
            .is_some_and(|address| address.starts_with("127.0.0.1:"))
    );
    assert!(exchange.wall_drift_s.abs() < 60.0 && exchange.sent_at > 0);
}

#[test]
fn silence_between_two_events_of_one_read_is_not_seen() {
    let exchange = seen(quick(0));
    assert_eq!(exchange.timeline.first_token, exchange.timeline.last_token);
    assert_eq!(exchange.chunks.gap_median, None);
}
