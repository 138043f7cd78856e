//! `serve` as clients meet it: every path, every error, every quirk and every limit, over real sockets.

mod answers;
mod fleet;
mod process;
mod streams;

use serde_json::Value;

use crate::endpoint::Reply;

/// Two models that are always warm: one with stated times, one with continuous batching and a short context.
const WARM: &str = r#"
[time]
warm_up = "1s"
[benchmark]
output_tokens = 7
[providers.acme.deployments.stated]
scaling.min = 1
service.slots = { slots = 4, prefill = "60ms", decode = "100ms" }
[providers.acme.deployments.batched]
scaling.min = 1
cached_share = "50%"
service.continuous = { max_context_tokens = 100, step.base = "10ms" }
"#;

/// One model that sleeps; `{more}` says what else.
fn sleepy(more: &str) -> String {
    format!(
        "[time]\nwarm_up = \"1s\"\n[providers.acme.deployments.niche]\nscaling.keep_alive = \"1h\"\n\
         service.slots = {{ slots = 1, prefill = \"100ms\", decode = \"200ms\" }}\n\
         cold_start.load_weights = \"400ms\"\n{more}"
    )
}

/// A chat with a prompt of three tokens; `more` goes into the body.
fn chat(model: &str, more: &str) -> String {
    format!(
        r#"{{"model":"{model}","messages":[{{"role":"user","content":"hi!"}}],"unknown":[1]{more}}}"#
    )
}

const CHAT: &str = "/v1/chat/completions";
const TEXT: &str = "/v1/completions";
const STREAM: &str = r#","stream":true"#;
const STREAM_USAGE: &str =
    r#","stream":true,"stream_options":{"include_usage":true},"max_tokens":null"#;

/// The text of the answer in a stream, from one field.
fn joined(reply: &Reply, pointer: &str) -> String {
    let events = reply.events();
    let texts = events.iter().filter_map(|event| event.pointer(pointer));
    texts.filter_map(Value::as_str).collect()
}
