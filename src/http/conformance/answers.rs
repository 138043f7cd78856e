//! The rows themselves.

use super::pieces::{
    CONTENT, DONE, LATE_CONTENT, REASONING, ROLE, ROLE_DELTA, STEP, TEXT, TOKENS, answer, content,
    ended, event, stop, tokens, usage, with_role,
};
use super::{Expected, Row};
use crate::http::endpoint::ApiKind;
use crate::http::scripted::Script;

/// The rows, by what they are about.
pub(super) fn groups() -> [Vec<Row>; 11] {
    [
        plain(),
        reasoning(),
        comments(),
        line_ends(),
        splits(),
        errors(),
        endings(),
        first_chunks(),
        oddities(),
        statuses(),
        whole(),
    ]
}

const GOOD: Expected = Expected {
    outcome: "ok",
    first_token: Some(CONTENT),
    first_content: Some(CONTENT),
    first_visible: Some(CONTENT),
    content: TEXT,
    tokens: 4,
};

const NOTHING: Expected = Expected {
    outcome: "",
    first_token: None,
    first_content: None,
    first_visible: None,
    content: "",
    tokens: 0,
};

fn row(name: &'static str, script: Script, expected: Expected) -> Row {
    Row {
        name,
        script,
        api: ApiKind::Chat,
        expected,
    }
}

fn plain() -> Vec<Row> {
    let one = with_role().until(CONTENT).body(content(TEXT));
    let together = tokens_together();
    let single = Expected { tokens: 1, ..GOOD };
    vec![
        row("baseline", answer(&str::to_owned), GOOD),
        row(
            "one token",
            one.body(stop()).body(usage(1)).body(DONE).end(),
            single,
        ),
        row(
            "all in one segment",
            Script::stream().until(CONTENT).body(together).end(),
            GOOD,
        ),
        Row {
            api: ApiKind::Completions,
            ..row("text completion", text_completion(), GOOD)
        },
    ]
}

/// The usual answer by the other interface.
fn text_completion() -> Script {
    let text =
        |token: &str| format!("data: {{\"choices\":[{{\"index\":0,\"text\":\"{token}\"}}]}}\n\n");
    let stop = "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\"}]}\n\n";
    tokens(Script::stream(), CONTENT, &text)
        .body(stop)
        .body(DONE)
        .end()
}

fn tokens_together() -> String {
    let texts = TOKENS.map(content).concat();
    [
        event(ROLE_DELTA, None),
        texts,
        stop(),
        usage(4),
        DONE.to_owned(),
    ]
    .concat()
}

fn reasoning() -> Vec<Row> {
    let thought = |field: &str, text: &str| event(&format!("{{\"{field}\":{text}}}"), None);
    let thinks = |field: &str, text: &str| {
        let script = with_role().until(REASONING).body(thought(field, text));
        let script = tokens(script, LATE_CONTENT, &content);
        script.body(stop()).body(usage(5)).body(DONE).end()
    };
    let seen = Expected {
        first_token: Some(REASONING),
        first_content: Some(LATE_CONTENT),
        first_visible: Some(LATE_CONTENT),
        tokens: 5,
        ..GOOD
    };
    let only = with_role()
        .until(REASONING)
        .body(thought("reasoning", "\"Hm\""));
    let only = only
        .body(event("{}", Some("length")))
        .body(usage(1))
        .body(DONE)
        .end();
    let spent = Expected {
        outcome: "ok",
        first_token: Some(REASONING),
        tokens: 1,
        ..NOTHING
    };
    vec![
        row(
            "reasoning_content",
            thinks("reasoning_content", "\"Hm\""),
            seen,
        ),
        row("reasoning", thinks("reasoning", "\"Hm\""), seen),
        row(
            "reasoning_details",
            thinks("reasoning_details", r#"[{"text":"Hm"}]"#),
            seen,
        ),
        row("reasoning only", only, spent),
    ]
}

fn comments() -> Vec<Row> {
    let waits = |comment: &str| {
        let script = Script::stream()
            .until(20)
            .body(comment)
            .until(ROLE)
            .body(comment);
        ended(tokens(script, CONTENT, &content))
    };
    let glued = ended(tokens(Script::stream(), CONTENT, &|token| {
        format!(": wait\n{}", content(token))
    }));
    vec![
        row(
            "comment `: OPENROUTER PROCESSING`",
            waits(": OPENROUTER PROCESSING\n\n"),
            GOOD,
        ),
        row("bare comment", waits(":\n\n"), GOOD),
        row("comment and a single line end before data", glued, GOOD),
    ]
}

fn line_ends() -> Vec<Row> {
    let form = |from: &'static str, to: &'static str| answer(&move |event| event.replace(from, to));
    let separated = |token: &str| content(token).replace("Hello", "He\u{2028}l\u{85}lo");
    let separated = ended(tokens(with_role(), CONTENT, &separated));
    let marked = Script::stream().body("\u{feff}");
    let marked = ended(tokens(marked, CONTENT, &content));
    let other = Expected {
        content: "He\u{2028}l\u{85}lo world again.",
        ..GOOD
    };
    vec![
        row("CRLF", form("\n", "\r\n"), GOOD),
        row("bare CR", form("\n", "\r"), GOOD),
        row("`data:` without a space", form("data: ", "data:"), GOOD),
        row(
            "`event:` and `id:` lines",
            form("data: ", "event: message\nid: 7\ndata: "),
            GOOD,
        ),
        row("data over several lines", form(",", ",\ndata: "), GOOD),
        row("other line separators in content", separated, other),
        row("byte-order mark", marked, GOOD),
    ]
}

fn splits() -> Vec<Row> {
    // The first event of content comes in two writes, and is there with the second.
    let cut = |first: &str, at: usize| {
        let script = with_role().until(CONTENT).body(&first.as_bytes()[..at]);
        let script = script
            .until(CONTENT + 2 * STEP)
            .body(&first.as_bytes()[at..]);
        let rest = TOKENS[1..]
            .iter()
            .map(|token| content(token))
            .collect::<String>();
        ended(script.until(CONTENT + 3 * STEP).body(rest))
    };
    let hello = content(TOKENS[0]);
    let foreign = content("你好");
    let character = foreign.find('你').unwrap_or_default();
    let late = Some(CONTENT + 2 * STEP);
    let seen = Expected {
        first_token: late,
        first_content: late,
        first_visible: late,
        ..GOOD
    };
    let foreign_seen = Expected {
        content: "你好 world again.",
        ..seen
    };
    vec![
        row(
            "event split in the middle",
            cut(&hello, hello.len() / 2),
            seen,
        ),
        row("split after `data:`", cut(&hello, "data:".len()), seen),
        row(
            "split between the two line ends",
            cut(&hello, hello.len() - 1),
            seen,
        ),
        row(
            "split inside a character",
            cut(&foreign, character + 1),
            foreign_seen,
        ),
    ]
}

fn errors() -> Vec<Row> {
    let error = "data: {\"error\":{\"message\":\"overloaded\",\"code\":502}}\n\n";
    let typed = "event: error\ndata: {\"message\":\"overloaded\"}\n\n";
    let chunk = "data: {\"error\":{\"message\":\"overloaded\",\"code\":502},\
                 \"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}\n\n";
    let first = |error: &str| Script::stream().until(ROLE).body(error).body(DONE).end();
    let after_two = |error: &str| {
        let script = with_role()
            .until(CONTENT)
            .body(content(TOKENS[0]) + &content(TOKENS[1]));
        script.until(CONTENT + STEP).body(error).body(DONE).end()
    };
    let failed = Expected {
        outcome: "stream-error",
        ..NOTHING
    };
    let failed_late = Expected {
        outcome: "stream-error",
        content: "Hello world",
        tokens: 2,
        ..GOOD
    };
    vec![
        row("error event first", first(error), failed),
        row("error after two tokens", after_two(error), failed_late),
        row("`event: error`", first(typed), failed),
        row("OpenRouter's error chunk", after_two(chunk), failed_late),
        row(
            "event that is no JSON",
            first("data: oops\n\n"),
            Expected {
                outcome: "parse-error",
                ..NOTHING
            },
        ),
    ]
}

fn endings() -> Vec<Row> {
    let empty = Expected {
        outcome: "empty",
        ..NOTHING
    };
    let two = || {
        with_role()
            .until(CONTENT)
            .body(content(TOKENS[0]) + &content(TOKENS[1]))
    };
    let cut = Expected {
        outcome: "truncated",
        content: "Hello world",
        tokens: 2,
        ..GOOD
    };
    let reset = Expected {
        outcome: "connection-fault",
        ..cut
    };
    let unmarked = tokens(with_role(), CONTENT, &content).body(stop());
    let silent = tokens(
        Script::chunked("Content-Type: text/event-stream\r\n"),
        CONTENT,
        &content,
    );
    vec![
        row("empty: role, stop, usage", ended_empty(), empty),
        row(
            "usage only",
            Script::stream().until(ROLE).body(usage(0)).body(DONE).end(),
            empty,
        ),
        row("no [DONE]", unmarked.clone().end(), GOOD),
        row("finish_reason, then the connection closes", unmarked, GOOD),
        row("no finish_reason", silent.body(DONE).end(), GOOD),
        row("connection closes in the middle", two(), cut),
        row("body ends in the middle", two().end(), cut),
        row(
            "connection reset in the middle",
            two().until(CONTENT + 50 * STEP).reset(),
            reset,
        ),
    ]
}

fn ended_empty() -> Script {
    with_role()
        .until(CONTENT)
        .body(stop())
        .body(usage(0))
        .body(DONE)
        .end()
}

fn first_chunks() -> Vec<Row> {
    let before = |millis: u64, first: String| {
        ended(tokens(
            Script::stream().until(millis).body(first),
            CONTENT,
            &content,
        ))
    };
    let azure = "data: {\"choices\":[],\"prompt_filter_results\":[{\"prompt_index\":0}]}\n\n";
    let blank = Expected {
        first_token: Some(REASONING),
        first_content: Some(REASONING),
        content: "\n\nHello world again.",
        ..GOOD
    };
    let null = event(r#"{"role":"assistant","content":null}"#, None);
    vec![
        row(
            "blank lines first",
            before(REASONING, content("\n\n")),
            blank,
        ),
        row(
            "empty content without a role",
            before(ROLE, content("")),
            GOOD,
        ),
        row("role with null content", before(ROLE, null), GOOD),
        row(
            "empty choices first (Azure)",
            before(ROLE, azure.to_owned()),
            GOOD,
        ),
        row(
            "empty `data:` event",
            before(ROLE, "data:\n\n".to_owned()),
            GOOD,
        ),
        row(
            "ping as JSON",
            before(
                ROLE,
                "event: ping\ndata: {\"type\":\"ping\"}\n\n".to_owned(),
            ),
            GOOD,
        ),
    ]
}

fn oddities() -> Vec<Row> {
    let call = r#"{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let calls = with_role().until(CONTENT).body(event(call, None));
    let calls = calls
        .body(event("{}", Some("tool_calls")))
        .body(usage(1))
        .body(DONE)
        .end();
    let called = Expected {
        outcome: "ok",
        first_token: Some(CONTENT),
        tokens: 1,
        ..NOTHING
    };
    let counted =
        |token: &str| content(token).replace("}]}", "}],\"usage\":{\"completion_tokens\":4}}");
    vec![
        row("tool calls only", calls, called),
        row(
            "usage in every chunk",
            ended(tokens(with_role(), CONTENT, &counted)),
            GOOD,
        ),
    ]
}

fn statuses() -> Vec<Row> {
    let refused = Expected {
        outcome: "http-error",
        ..NOTHING
    };
    let body = "{\"error\":{\"message\":\"no\"}}";
    let json = "Content-Type: application/json\r\n";
    let status = |status: &str, headers: &str| Script::answer(status, headers, body).end();
    let waiting = format!("{json}Retry-After: 7\r\n");
    vec![
        row(
            "HTTP 429",
            status("429 Too Many Requests", &waiting),
            refused,
        ),
        row("HTTP 503", status("503 Service Unavailable", json), refused),
        row("HTTP 400", status("400 Bad Request", json), refused),
        row(
            "HTTP 307",
            status("307 Temporary Redirect", "Location: /elsewhere\r\n"),
            refused,
        ),
        row(
            "HTTP 200 with an error as JSON",
            status("200 OK", json),
            Expected {
                outcome: "stream-error",
                ..NOTHING
            },
        ),
    ]
}

fn whole() -> Vec<Row> {
    let body = format!(
        "{{\"choices\":[{{\"message\":{{\"role\":\"assistant\",\"content\":\"{TEXT}\"}},\
                        \"finish_reason\":\"stop\"}}],\"usage\":{{\"completion_tokens\":4}}}}"
    );
    let json = Script::chunked("Content-Type: application/json\r\n")
        .until(CONTENT)
        .body(body)
        .end();
    let page = Script::answer("200 OK", "Content-Type: text/html\r\n", "<html></html>").end();
    vec![
        row("HTTP 200 with the whole answer as JSON", json, GOOD),
        row(
            "HTTP 200 with a page of HTML",
            page,
            Expected {
                outcome: "parse-error",
                ..NOTHING
            },
        ),
    ]
}
