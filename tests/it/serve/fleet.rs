//! What the fleet does shows at the door: cold starts, refusals, losses, clients that leave.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{CHAT, STREAM, chat, sleepy};
use crate::endpoint::{Endpoint, begin, exchange};

#[test]
fn a_model_that_sleeps_is_refused_or_waited_for() {
    let refuses = sleepy("queue.hold_while_cold = false\n");
    let endpoint = Endpoint::start(&refuses, 1, &[]);
    let reply = endpoint.send("POST", CHAT, &chat("niche", STREAM));
    assert_eq!(
        (reply.status, reply.header("retry-after")),
        (503, Some("20"))
    );
    assert_eq!(reply.json()["error"]["code"], "model_loading");
    assert_eq!(reply.json()["estimated_time"], 20.0);
    // The refused request has woken it.
    let since = Instant::now();
    while endpoint.send("POST", CHAT, &chat("niche", "")).status == 503 {
        assert!(since.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(
        endpoint.figure("thermocline:requests_lost_total{model_name=\"niche\",reason=\"503\"}")
            >= 1.0
    );

    let endpoint = Endpoint::start(&sleepy(""), 1, &[]);
    let reply = endpoint.send("POST", CHAT, &chat("niche", STREAM));
    let first = reply.after(" the").expect("a token");
    assert!(first >= Duration::from_millis(500), "{first:?}");
    assert_eq!(
        endpoint.figure("thermocline:cold_requests_total{model_name=\"niche\"}"),
        1.0
    );
}

#[test]
fn a_full_queue_and_a_lost_replica_have_their_errors() {
    let endpoint = Endpoint::start(
        &sleepy("queue.limit = 0\nscaling.max = 1\nscaling.min = 1"),
        1,
        &[],
    );
    let address = endpoint.address();
    let busy = std::thread::spawn(move || exchange(address, "POST", CHAT, &chat("niche", "")));
    let refused = loop {
        let reply = endpoint.send("POST", CHAT, &chat("niche", STREAM));
        if reply.status != 200 || busy.is_finished() {
            break reply;
        }
    };
    // Whichever of the two came first, the other found the place taken.
    let other = busy.join().expect("it ends");
    let lost = if refused.status == 200 {
        other
    } else {
        refused
    };
    assert_eq!((lost.status, lost.header("retry-after")), (429, Some("1")));
    assert_eq!(lost.json()["error"]["code"], "queue_full");

    let dies = "scaling.min = 1\nlosses.failures_at = [\"5s\"]\n";
    let text = sleepy(dies)
        .replace("\"200ms\"", "\"1h\"")
        .replace("\"400ms\"", "\"1h\"");
    let endpoint = Endpoint::start(&text, 1, &["--speed", "10"]);
    let reply = endpoint.send("POST", CHAT, &chat("niche", STREAM));
    let events = reply.events();
    let [.., error, done] = events.as_slice() else {
        panic!("too short: {events:?}");
    };
    assert_eq!((reply.status, done), (200, &json!("[DONE]")));
    assert_eq!(error["error"]["type"], "server_error");
}

#[test]
fn a_client_that_hangs_up_frees_its_place() {
    let text = sleepy("scaling.min = 1\nscaling.max = 1\n").replace("\"100ms\"", "\"1h\"");
    let endpoint = Endpoint::start(&text, 1, &[]);
    let running = "vllm:num_requests_running{model_name=\"niche\"}";
    for _ in 0..2 {
        let stream = begin(endpoint.address(), CHAT, &chat("niche", STREAM));
        let until = |wanted: f64| {
            let since = Instant::now();
            while endpoint.figure(running) != wanted {
                assert!(
                    since.elapsed() < Duration::from_secs(30),
                    "never {wanted} running"
                );
                std::thread::sleep(Duration::from_millis(10));
            }
        };
        until(1.0);
        drop(stream);
        until(0.0);
    }
    assert_eq!(
        endpoint
            .figure("thermocline:requests_lost_total{model_name=\"niche\",reason=\"timed-out\"}"),
        2.0
    );
}
