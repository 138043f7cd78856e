//! What these tests share: a server that plays one script, and requests to it.

use std::cell::RefCell;

use thermocline::http::scripted::{Script, ScriptedServer, Served};
use thermocline::http::{Clock, Endpoint, Target};
use thermocline::request::{EndpointId, Request, RequestId};
use thermocline::target::Target as _;
use thermocline::time::{Duration, Time};
use thermocline::timeline::Exchange;

/// Longer than any test lasts.
pub(crate) const PATIENCE: f64 = 60.0;

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_nanos(millis * 1_000_000)
}

/// A span in whole milliseconds, rounded down.
pub(crate) fn in_millis(span: Option<Duration>) -> Option<u64> {
    span.map(|span| span.as_nanos() / 1_000_000)
}

/// A server of one script and its endpoint.
pub(crate) fn serving(script: Script) -> (ScriptedServer, Endpoint) {
    let scripts = vec![("test".to_owned(), script)];
    let server = ScriptedServer::start(scripts, Clock::starting_at(Time::ZERO), None);
    let server = server.expect("a free port");
    let endpoint = endpoint(&server);
    (server, endpoint)
}

/// The endpoint of a server of one script.
pub(crate) fn endpoint(server: &ScriptedServer) -> Endpoint {
    Endpoint::new("test", server.base_url("test"), "m", "Say hello.")
}

/// What one request to `script` sees.
pub(crate) fn seen(script: Script) -> Exchange {
    let (_server, endpoint) = serving(script);
    ask(endpoint, None)
}

/// What one request sees.
pub(crate) fn ask(endpoint: Endpoint, timeout: Option<Duration>) -> Exchange {
    let mut all = ask_often(endpoint, 1, Duration::ZERO, timeout);
    all.pop().expect("one request")
}

/// What `count` requests see, each so long after the end of the one before.
pub(crate) fn ask_often(
    endpoint: Endpoint,
    count: u64,
    gap: Duration,
    timeout: Option<Duration>,
) -> Vec<Exchange> {
    let clock = Clock::starting_at(Time::ZERO);
    let seen = RefCell::new(Vec::new());
    let sink = Box::new(|exchange: &Exchange| seen.borrow_mut().push(exchange.clone()));
    let mut target = Target::new(vec![endpoint], clock, sink).expect("a good endpoint");
    for id in 0..count {
        if id > 0 {
            target.advance(clock.now() + gap);
        }
        target.submit(request(id, clock.now(), timeout));
        let ended = target.advance(clock.now() + Duration::from_secs(PATIENCE));
        assert!(ended.is_some(), "request {id} never ended");
    }
    drop(target);
    seen.into_inner()
}

pub(crate) fn request(id: u64, due: Time, timeout: Option<Duration>) -> Request {
    Request {
        id: RequestId(id),
        endpoint: EndpointId(0),
        due,
        prompt_tokens: 3,
        output_tokens: 8,
        timeout,
    }
}

/// The request that a server has read, alone.
pub(crate) fn only(server: &ScriptedServer) -> Served {
    let mut served = server.served();
    assert_eq!(served.len(), 1, "{served:?}");
    served.remove(0)
}

/// An event of content.
pub(crate) fn content(text: &str) -> String {
    let content = serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    format!("data: {content}\n\n")
}

/// An event of the reason to finish.
pub(crate) const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
/// The end marker.
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// A short good answer, the first token after `millis`.
pub(crate) fn quick(millis: u64) -> Script {
    let rest = format!("{STOP}{DONE}");
    Script::stream()
        .until(millis)
        .body(content("Hi"))
        .body(rest)
        .end()
}
