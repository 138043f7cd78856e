//! Streams: what is in them, when it comes, and what quirks make of them.

use std::time::Duration;

use serde_json::json;

use super::{CHAT, STREAM, STREAM_USAGE, TEXT, WARM, chat, joined, sleepy};
use crate::endpoint::Endpoint;

#[test]
fn a_stream_has_every_token_in_its_time() {
    let endpoint = Endpoint::start(WARM, 1, &[]);
    for (path, model, delta) in [
        (CHAT, "stated", "/choices/0/delta/content"),
        (CHAT, "batched", "/choices/0/delta/content"),
        (TEXT, "batched", "/choices/0/text"),
    ] {
        let body = match path {
            CHAT => chat(model, STREAM_USAGE),
            _ => format!(r#"{{"model":"{model}","prompt":"hi!"{STREAM_USAGE}}}"#),
        };
        let reply = endpoint.send("POST", path, &body);
        assert_eq!(
            reply.header("content-type"),
            Some("text/event-stream; charset=utf-8")
        );
        assert_eq!(reply.header("cache-control"), Some("no-cache"));
        assert_eq!(reply.header("x-accel-buffering"), Some("no"));
        assert!(reply.is_whole);
        let text = joined(&reply, delta);
        assert_eq!(text, " the warm layer lies over cold water");
        let events = reply.events();
        let [.., finish, usage, done] = events.as_slice() else {
            panic!("too short: {events:?}");
        };
        assert_eq!(finish["choices"][0]["finish_reason"], "length");
        assert_eq!(usage["choices"], json!([]));
        assert_eq!(usage["usage"]["completion_tokens"], 7);
        let cached = u64::from(model == "batched");
        assert_eq!(
            usage["usage"]["prompt_tokens_details"]["cached_tokens"],
            cached
        );
        assert_eq!(done, "[DONE]");
        // A token never comes before its virtual time, which runs as the wall clock does here.
        let at = |text: &str| reply.after(text).expect("it came");
        let (first, last) = (at(" the"), at("[DONE]"));
        let (prefill, decode) = match model {
            "stated" => (60, 100),
            _ => (10, 60),
        };
        let no_sooner = Duration::from_millis(prefill);
        assert!(first >= no_sooner, "{model}: first token after {first:?}");
        assert!(
            last >= no_sooner + Duration::from_millis(decode),
            "{model}: {last:?}"
        );
    }
    let bare = endpoint.send("POST", CHAT, &chat("stated", STREAM)).text();
    assert!(
        !bare.contains("usage"),
        "token counts only when asked for: {bare}"
    );
    let options = r#","stream":true,"stream_options":{"continuous_usage_stats":true}"#;
    let counted = endpoint
        .send("POST", CHAT, &chat("stated", options))
        .events();
    assert_eq!(counted[1]["usage"]["completion_tokens"], 1);
}

#[test]
fn every_quirk_shows_in_the_bytes() {
    let chunk = |field: &str| format!(r#""delta":{{"{field}":" the"}}"#);
    let (reasoning, thinking) = (chunk("reasoning"), chunk("reasoning_content"));
    // Flags; what is in the stream, and whether it comes before the first token is due.
    let cases: &[(&[&str], &str, bool)] = &[
        (&[], "\n\n", false),
        (
            &["--comments", "openrouter"],
            ": OPENROUTER PROCESSING\n\n",
            true,
        ),
        (&["--comments", "bare"], ":\n\n", true),
        (
            &["--comments", "json-ping"],
            "data: {\"type\":\"ping\"}\n\n",
            true,
        ),
        (&["--early-role"], "\"role\":\"assistant\"", true),
        (&["--crlf"], "data: [DONE]\r\n\r\n", false),
        (&["--reasoning", "reasoning"], &reasoning, false),
        (&["--reasoning", "reasoning_content"], &thinking, false),
    ];
    for (flags, text, comes_early) in cases {
        let often: &[&str] = match flags.first() {
            Some(&"--comments") => &["--comment-every", "100ms"],
            _ => &[],
        };
        let endpoint = Endpoint::start(&sleepy(""), 1, &[*flags, often].concat());
        let reply = endpoint.send("POST", CHAT, &chat("niche", STREAM));
        let came = reply
            .after(text)
            .unwrap_or_else(|| panic!("{text}: {}", reply.text()));
        let is_early = came < Duration::from_millis(500);
        assert_eq!(is_early, *comes_early, "{flags:?}: {text} after {came:?}");
        let first = reply.after(" the").expect("a token");
        assert!(first >= Duration::from_millis(500), "{flags:?}: {first:?}");
        let spoken = joined(&reply, "/choices/0/delta/content");
        let halves = flags.first() == Some(&"--reasoning");
        let words = spoken.split_whitespace().count();
        assert_eq!(words, if halves { 32 } else { 64 }, "{flags:?}");
    }
}

#[test]
fn a_buffered_stream_comes_at_its_end() {
    let endpoint = Endpoint::start(WARM, 1, &["--buffered"]);
    let reply = endpoint.send("POST", CHAT, &chat("stated", STREAM));
    let (first, last) = (reply.after(" the"), reply.after("[DONE]"));
    assert!(first >= Some(Duration::from_millis(160)), "{first:?}");
    // One write, which may take two reads.
    assert!(
        last.zip(first)
            .is_some_and(|(last, first)| last < first + Duration::from_millis(80))
    );
    assert!(reply.text().contains("\"role\":\"assistant\""));
}
