//! What answers are made of: texts, instants, events.

use crate::http::scripted::Script;

/// The answer that most rows give.
pub(super) const TEXT: &str = "Hello world again.";
/// Its tokens, of which the second has a character of three bytes in the row that splits it.
pub(super) const TOKENS: [&str; 4] = ["Hello", " world", " again", "."];
pub(super) const ROLE: u64 = 50;
pub(super) const REASONING: u64 = 100;
pub(super) const CONTENT: u64 = 200;
pub(super) const LATE_CONTENT: u64 = 300;
/// From one token to the next \[ms\].
pub(super) const STEP: u64 = 10;

pub(super) const ROLE_DELTA: &str = r#"{"role":"assistant","content":""}"#;
pub(super) const DONE: &str = "data: [DONE]\n\n";

/// An event of one choice.
pub(super) fn event(delta: &str, finish: Option<&str>) -> String {
    let finish = finish.map_or("null".to_owned(), |finish| format!("\"{finish}\""));
    format!(
        "data: {{\"id\":\"c-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
         \"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
    )
}

pub(super) fn content(text: &str) -> String {
    event(&serde_json::json!({ "content": text }).to_string(), None)
}

pub(super) fn usage(tokens: u32) -> String {
    format!(
        "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":12,\"completion_tokens\":{tokens},\
         \"prompt_tokens_details\":{{\"cached_tokens\":8}}}}}}\n\n"
    )
}

pub(super) fn stop() -> String {
    event("{}", Some("stop"))
}

/// A stream that has named the role.
pub(super) fn with_role() -> Script {
    Script::stream().until(ROLE).body(event(ROLE_DELTA, None))
}

/// A stream that goes on with the answer's tokens from `from` on, in whatever form.
pub(super) fn tokens(script: Script, from: u64, form: &dyn Fn(&str) -> String) -> Script {
    let mut script = script;
    for (index, token) in (0..).zip(TOKENS) {
        script = script.until(from + index * STEP).body(form(token));
    }
    script
}

/// The usual end.
pub(super) fn ended(script: Script) -> Script {
    script.body(stop()).body(usage(4)).body(DONE).end()
}

/// The usual answer, in whatever form its events come.
pub(super) fn answer(form: &dyn Fn(&str) -> String) -> Script {
    let script = Script::stream()
        .until(ROLE)
        .body(form(&event(ROLE_DELTA, None)));
    let script = tokens(script, CONTENT, &|token| form(&content(token)));
    let end = [stop(), usage(4), DONE.to_owned()];
    end.iter()
        .fold(script, |script, event| script.body(form(event)))
        .end()
}
