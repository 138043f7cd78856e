//! Keys are sent and never shown.

use thermocline::http::scripted::Script;
use thermocline::http::{Clock, Secret, Target};
use thermocline::time::Time;

use super::rig::{ask, content, only, quick, serving};

const KEY: &str = "sk-very-secret-0123456789";
const HEADER: &str = "another-secret-value";

#[test]
fn a_key_is_sent_and_shows_nowhere() {
    let echo = format!("bad key {KEY} or {HEADER}");
    let json = format!("{{\"error\":{{\"message\":\"{echo}\"}}}}");
    let scripts = [
        quick(0),
        Script::answer(
            "401 Unauthorized",
            "Content-Type: application/json\r\n",
            &json,
        )
        .end(),
        Script::answer("401 Unauthorized", "", &echo).end(),
        Script::stream().body(format!("data: {json}\n\n")).end(),
        Script::stream()
            .body(content(&echo))
            .body(format!("data: {KEY}\n\n"))
            .end(),
        Script::answer("200 OK", "Content-Type: application/json\r\n", &echo).end(),
        Script::default().raw(format!("{KEY} {HEADER}\r\n\r\n")),
    ];
    for script in scripts {
        let (server, mut endpoint) = serving(script);
        endpoint.key = Some(Secret::new(KEY));
        endpoint
            .headers
            .push(("x-api-key".to_owned(), Secret::new(HEADER)));
        let endpoint_shown = format!("{endpoint:?}");
        let exchange = ask(endpoint, None);
        let request = only(&server).request.to_lowercase();
        assert!(
            request.contains(&format!("authorization: bearer {KEY}")),
            "{request}"
        );
        assert!(
            request.contains(&format!("x-api-key: {HEADER}")),
            "{request}"
        );
        let reason = exchange.reason.as_ref().map(ToString::to_string);
        let shown = format!("{endpoint_shown} {exchange:?} {reason:?}");
        assert!(!shown.contains(KEY) && !shown.contains(HEADER), "{shown}");
    }
}

#[test]
fn a_key_is_in_no_error_of_set_up() {
    let (_server, mut endpoint) = serving(quick(0));
    endpoint
        .headers
        .push(("x-api-key".to_owned(), Secret::new(format!("{KEY}\n"))));
    let clock = Clock::starting_at(Time::ZERO);
    let error =
        Target::new(vec![endpoint], clock, Box::new(|_| ())).expect_err("a line end in a header");
    let shown = format!("{error} {error:?}");
    assert!(
        shown.contains("x-api-key") && !shown.contains(KEY),
        "{shown}"
    );
}
