//! What one event of a streamed answer says, in the dialects that servers speak.
//!
//! A token can come on any channel: `content`, reasoning (`reasoning`, `reasoning_content`, `reasoning_details`), a tool call, or
//! the `text` of a completion. A role, an empty string, a usage record or a ping is no token. Errors come as a top-level
//! `error`, as an event of type `error`, as vLLM's `object: "error"` or as a `finish_reason: "error"`, all of them within an
//! HTTP 200.

use serde_json::Value;

use super::sse::Event;
use crate::timeline::Usage;

/// What ends a stream.
const DONE: &str = "[DONE]";

/// What an event says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    /// Nothing that concerns the answer: a ping, an empty event.
    Nothing,
    /// A piece of the answer.
    Chunk(Chunk),
    /// The server failed, in its words.
    Error(String),
    /// The answer is complete.
    Done,
}

/// A piece of an answer; empty texts are no tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Chunk {
    pub(super) names_role: bool,
    pub(super) content: String,
    pub(super) reasoning: String,
    /// A tool call, as JSON.
    pub(super) tool_call: String,
    pub(super) finish_reason: Option<String>,
    pub(super) usage: Option<Usage>,
}

impl Chunk {
    /// The bytes of its tokens.
    pub(super) fn token_bytes(&self) -> usize {
        self.content.len() + self.reasoning.len() + self.tool_call.len()
    }
}

/// What an event says, or why it cannot be read.
pub(super) fn read_event(event: &Event) -> Result<Said, String> {
    let data = event.data.trim();
    if data == DONE {
        return Ok(Said::Done);
    }
    if event.kind == "error" {
        let message =
            serde_json::from_str(data).map_or_else(|_| data.to_owned(), |value| error_text(&value));
        return Ok(Said::Error(message));
    }
    if data.is_empty() {
        return Ok(Said::Nothing);
    }
    serde_json::from_str(data)
        .map(|value| read_value(&value))
        .map_err(|error| format!("an event is not JSON: {error}"))
}

/// What a JSON value says, in a stream or as a whole answer.
pub(super) fn read_value(value: &Value) -> Said {
    let is_error = value["object"] == "error" || !value["error"].is_null();
    if is_error {
        return Said::Error(error_text(value));
    }
    let usage = read_usage(&value["usage"]);
    let Some(choices) = value["choices"].as_array() else {
        return match usage {
            Some(_) => Said::Chunk(Chunk {
                usage,
                ..Chunk::default()
            }),
            None => Said::Nothing,
        };
    };
    let mut chunk = Chunk {
        usage,
        ..Chunk::default()
    };
    for choice in choices {
        if !choice["error"].is_null() {
            return Said::Error(error_text(choice));
        }
        read_choice(choice, &mut chunk);
    }
    if chunk.finish_reason.as_deref() == Some("error") {
        return Said::Error(String::from("finish_reason is `error`"));
    }
    Said::Chunk(chunk)
}

fn read_choice(choice: &Value, chunk: &mut Chunk) {
    for part in [&choice["delta"], &choice["message"]] {
        chunk.names_role |= part["role"].is_string();
        read_content(&part["content"], chunk);
        chunk.content.push_str(text(&part["refusal"]));
        // Servers that send two of these repeat the same text.
        let reasoning = [&part["reasoning"], &part["reasoning_content"]]
            .into_iter()
            .map(text)
            .find(|text| !text.is_empty());
        match reasoning {
            Some(reasoning) => chunk.reasoning.push_str(reasoning),
            None => read_details(&part["reasoning_details"], &mut chunk.reasoning),
        }
        for call in [&part["tool_calls"], &part["function_call"]] {
            let is_empty = call.is_null()
                || call.as_array().is_some_and(Vec::is_empty)
                || call.as_object().is_some_and(serde_json::Map::is_empty);
            if !is_empty {
                chunk.tool_call.push_str(&call.to_string());
            }
        }
    }
    chunk.content.push_str(text(&choice["text"]));
    let reason = Some(text(&choice["finish_reason"])).filter(|reason| !reason.is_empty());
    chunk.finish_reason = reason.map(str::to_owned).or(chunk.finish_reason.take());
    // Moonshot counts within the choice.
    chunk.usage = chunk.usage.or(read_usage(&choice["usage"]));
}

/// Content as text, or as the typed parts that Mistral sends when a model thinks.
fn read_content(content: &Value, chunk: &mut Chunk) {
    chunk.content.push_str(text(content));
    for part in content.as_array().into_iter().flatten() {
        chunk.content.push_str(text(&part["text"]));
        read_details(&part["thinking"], &mut chunk.reasoning);
    }
}

/// Reasoning as parts: in clear, summed up, or encrypted.
fn read_details(details: &Value, reasoning: &mut String) {
    for detail in details.as_array().into_iter().flatten() {
        for field in ["text", "summary", "data"] {
            reasoning.push_str(text(&detail[field]));
        }
    }
}

fn read_usage(usage: &Value) -> Option<Usage> {
    let count = |value: &Value| value.as_u64().and_then(|count| u32::try_from(count).ok());
    let usage = usage.as_object().map(|_| usage)?;
    let cached = &usage["prompt_tokens_details"]["cached_tokens"];
    Some(Usage {
        prompt_tokens: count(&usage["prompt_tokens"]),
        // DeepSeek's name is the second.
        cached_tokens: count(cached).or_else(|| count(&usage["prompt_cache_hit_tokens"])),
        completion_tokens: count(&usage["completion_tokens"]),
    })
}

/// The message of an error, wherever it is, else the whole as JSON.
pub(super) fn error_text(value: &Value) -> String {
    let inner = &value["error"];
    let places = [
        &inner["message"],
        inner,
        &value["message"],
        &value["detail"],
    ];
    match places.into_iter().find_map(Value::as_str) {
        Some(message) => message.to_owned(),
        None => value.to_string(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(data: &str) -> Said {
        let event = Event {
            data: data.into(),
            ..Event::default()
        };
        read_event(&event).expect("readable")
    }

    fn chunk(data: &str) -> Chunk {
        match said(data) {
            Said::Chunk(chunk) => chunk,
            other => panic!("{data}: {other:?}"),
        }
    }

    #[test]
    fn tokens_come_on_many_channels() {
        // Content, reasoning, whether there is a tool call.
        let cases = [
            (
                r#"{"choices":[{"delta":{"role":"assistant"}}]}"#,
                "",
                "",
                false,
            ),
            (
                r#"{"choices":[{"delta":{"role":"assistant","content":null}}]}"#,
                "",
                "",
                false,
            ),
            (r#"{"choices":[{"delta":{"content":"a"}}]}"#, "a", "", false),
            (
                r#"{"choices":[{"delta":{"reasoning":"b"}}]}"#,
                "",
                "b",
                false,
            ),
            (
                r#"{"choices":[{"delta":{"reasoning_content":"b","reasoning":"b"}}]}"#,
                "",
                "b",
                false,
            ),
            (
                r#"{"choices":[{"delta":{"reasoning":null,"reasoning_details":[{"type":"reasoning.text","text":"b"},{"summary":"c"}]}}]}"#,
                "",
                "bc",
                false,
            ),
            (
                r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"text":"b"}]},{"type":"text","text":"a"}]}}]}"#,
                "a",
                "b",
                false,
            ),
            (
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}}]}"#,
                "",
                "",
                true,
            ),
            (
                r#"{"choices":[{"delta":{"function_call":{"name":"f"}}}]}"#,
                "",
                "",
                true,
            ),
            (
                r#"{"choices":[{"delta":{"tool_calls":[],"function_call":{},"content":"a"}}]}"#,
                "a",
                "",
                false,
            ),
            (r#"{"choices":[{"text":"a"}]}"#, "a", "", false),
            (
                r#"{"choices":[{"message":{"role":"assistant","content":"a"}}]}"#,
                "a",
                "",
                false,
            ),
            (
                r#"{"choices":[{"delta":{"refusal":"no"}}]}"#,
                "no",
                "",
                false,
            ),
            (r#"{"choices":[]}"#, "", "", false),
        ];
        for (data, content, reasoning, calls) in cases {
            let chunk = chunk(data);
            let read = (
                chunk.content.as_str(),
                chunk.reasoning.as_str(),
                !chunk.tool_call.is_empty(),
            );
            assert_eq!(read, (content, reasoning, calls), "{data}");
        }
    }

    #[test]
    fn errors_wear_many_clothes() {
        let cases = [
            (
                r#"{"error":{"message":"overloaded","code":502}}"#,
                "overloaded",
            ),
            (r#"{"error":"overloaded"}"#, "overloaded"),
            (r#"{"object":"error","message":"overloaded"}"#, "overloaded"),
            (
                r#"{"error":{"message":"overloaded"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}"#,
                "overloaded",
            ),
            (
                r#"{"choices":[{"error":{"message":"overloaded"}}]}"#,
                "overloaded",
            ),
            (
                r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#,
                "finish_reason is `error`",
            ),
            (r#"{"error":{"code":502}}"#, r#"{"error":{"code":502}}"#),
        ];
        for (data, message) in cases {
            assert_eq!(said(data), Said::Error(message.into()), "{data}");
        }
        let event = Event {
            kind: "error".into(),
            data: "out of memory".into(),
            ..Event::default()
        };
        assert_eq!(read_event(&event), Ok(Said::Error("out of memory".into())));
    }

    #[test]
    fn pings_and_ends_are_no_chunks() {
        assert_eq!(said(" [DONE]"), Said::Done);
        for nothing in ["", r#"{"type":"ping"}"#, "7", "null", r#"{"error":null}"#] {
            assert_eq!(said(nothing), Said::Nothing, "{nothing}");
        }
        let event = Event {
            data: "{oops".into(),
            ..Event::default()
        };
        assert!(
            read_event(&event)
                .expect_err("no JSON")
                .starts_with("an event is not JSON: key must be")
        );
    }

    #[test]
    fn usage_counts_where_servers_put_it() {
        let full = Usage {
            prompt_tokens: Some(12),
            cached_tokens: Some(8),
            completion_tokens: Some(5),
        };
        let places = [
            r#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8}}}"#,
            r#"{"usage":{"prompt_tokens":12,"completion_tokens":5,"prompt_cache_hit_tokens":8}}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":12,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":8}}}],"usage":null}"#,
        ];
        for data in places {
            assert_eq!(chunk(data).usage, Some(full), "{data}");
        }
        let odd = chunk(r#"{"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":"5"}}"#);
        assert_eq!(odd.usage, Some(Usage::default()));
    }

    #[test]
    fn an_empty_reason_to_finish_is_none() {
        assert_eq!(
            chunk(r#"{"choices":[{"delta":{},"finish_reason":""}]}"#).finish_reason,
            None
        );
        let stop = chunk(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#);
        assert_eq!(stop.finish_reason.as_deref(), Some("stop"));
    }
}
