//! What can go wrong on the way: names, connections, certificates, silence, resets and peers that send too much.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use thermocline::http::scripted::Script;
use thermocline::http::{Clock, Endpoint, Target};
use thermocline::observation::Outcome;
use thermocline::time::{Duration, Time};
use thermocline::timeline::{Phase, Reason};

use super::rig::{DONE, STOP, ask, content, millis, only, seen, serving};

fn at(base_url: &str) -> Endpoint {
    Endpoint::new("test", base_url, "m", "Say hello.")
}

/// An address that accepts connections and never says a word.
fn silent() -> (TcpListener, Endpoint) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    (listener, at(&format!("http://127.0.0.1:{port}/v1")))
}

#[test]
fn faults_of_the_clients_own_network_are_its_own() {
    let (_silent, mut deaf) = silent();
    deaf.base_url = deaf
        .base_url
        .replace("http", "https")
        .replace("127.0.0.1", "localhost");
    deaf.limits.connect = millis(200);
    let cases = [
        (at("http://nowhere.invalid/v1"), Phase::Dns),
        (deaf, Phase::Tls),
    ];
    for (endpoint, phase) in cases {
        let exchange = ask(endpoint, None);
        assert_eq!(
            exchange.observation.outcome(),
            Outcome::ClientFault,
            "{exchange:?}"
        );
        assert_eq!(exchange.outcome_name(), "client-fault");
        assert_eq!(
            exchange.reason.and_then(|reason| reason.phase()),
            Some(phase)
        );
        assert_eq!(exchange.timeline.written, None);
    }
}

#[test]
fn a_connection_that_the_host_refuses_or_ends_is_its_failure() {
    let (listener, closed) = silent();
    drop(listener);
    let (listener, mut hangs_up) = silent();
    hangs_up.base_url = hangs_up.base_url.replace("http", "https");
    let hanging_up = std::thread::spawn(move || drop(listener.accept()));
    for (endpoint, phase) in [(closed, Phase::Connect), (hangs_up, Phase::Tls)] {
        let exchange = ask(endpoint, None);
        let reason = exchange.reason.clone().expect("it fails");
        assert!(
            matches!(&reason, Reason::Refused { phase: found, .. } if *found == phase),
            "{reason:?}"
        );
        assert_eq!(exchange.observation.outcome(), Outcome::Failed);
        assert_eq!(exchange.outcome_name(), "connection-fault");
        assert_eq!(exchange.timeline.written, None);
    }
    hanging_up.join().expect("it has hung up");
}

/// A proxy belongs to the client: that it cannot be reached says nothing about the server behind it.
#[test]
fn a_proxy_that_refuses_is_the_clients_fault() {
    let (_listener, mut endpoint) = silent();
    let (proxy, closed) = silent();
    drop(proxy);
    endpoint.proxy = Some(closed.base_url.replace("/v1", ""));
    let exchange = ask(endpoint, None);
    assert_eq!(
        exchange.observation.outcome(),
        Outcome::ClientFault,
        "{exchange:?}"
    );
}

#[test]
fn a_server_without_encryption_is_a_fault_of_encryption() {
    let (listener, mut endpoint) = silent();
    let refuses = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        // What stays unread would reset the connection.
        let _ = client.read(&mut [0; 4096]).expect("it says hello");
        client
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .expect("it listens");
    });
    endpoint.base_url = endpoint.base_url.replace("http", "https");
    let reason = ask(endpoint, None).reason.expect("it fails");
    assert!(
        matches!(
            reason,
            Reason::Connection {
                phase: Phase::Tls,
                ..
            }
        ),
        "{reason:?}"
    );
    refuses.join().expect("it has answered");
}

#[test]
fn giving_up_names_the_phase_and_censors() {
    let (_listener, silent) = silent();
    let (_server, mut waits) = serving(Script::stream().until(60_000));
    waits.limits.stall = millis(1);
    for (endpoint, phase) in [(silent, Phase::Headers), (waits, Phase::FirstToken)] {
        let exchange = ask(endpoint, Some(millis(150)));
        assert_eq!(exchange.reason, Some(Reason::TimedOut { phase }));
        let seen = exchange.observation;
        assert_eq!(
            (seen.outcome(), seen.first_token()),
            (Outcome::TimedOut, None)
        );
        assert!(seen.end().since(seen.sent()) >= millis(150));
    }
}

#[test]
fn a_token_in_time_is_not_timed_out_by_the_rest() {
    let script = Script::stream()
        .until(50)
        .body(content("Hi"))
        .until(400)
        .body(STOP)
        .body(DONE)
        .end();
    let (_server, endpoint) = serving(script);
    assert_eq!(ask(endpoint, Some(millis(300))).reason, None);
}

#[test]
fn an_answer_without_end_is_cut_off() {
    let stream = (0..200).fold(Script::stream().body(content("a")), |script, index| {
        script.until(index * 10).body(": alive\n\n")
    });
    let (_server, mut endpoint) = serving(stream);
    endpoint.limits.answer = millis(200);
    let exchange = ask(endpoint, None);
    assert_eq!(
        exchange.reason,
        Some(Reason::TimedOut {
            phase: Phase::Stream
        })
    );
}

#[test]
fn a_reset_is_named_by_its_phase() {
    let before = seen(Script::default().reset());
    let within = seen(Script::stream().body(content("a")).until(50).reset());
    for (exchange, phase) in [(before, Phase::Headers), (within, Phase::Stream)] {
        let reason = exchange.reason.clone().expect("it fails");
        assert!(
            matches!(&reason, Reason::Connection { phase: found, .. } if *found == phase),
            "{reason:?}"
        );
        assert_eq!(exchange.observation.outcome(), Outcome::Failed);
        assert_eq!(exchange.outcome_name(), "connection-fault");
    }
    let closed = seen(Script::default()).reason.expect("it fails");
    assert_eq!(closed.message(), Some("closed before the answer"));
}

#[test]
fn what_is_no_http_is_unreadable() {
    let exchange = seen(Script::default().raw("220 mail.example ESMTP\r\n\r\n"));
    assert_eq!(exchange.outcome_name(), "parse-error");
}

#[test]
fn a_peer_cannot_send_more_than_is_allowed() {
    let long = "x".repeat(20_000);
    let head = Script::answer("200 OK", &format!("X-Long: {long}\r\n"), "").end();
    let event = Script::stream().body(format!("data: {long}")).until(60_000);
    let bodies = (0..40).fold(Script::stream(), |script, _| {
        script.body(format!(": {}\n\n", &long[..1000]))
    });
    let whole = Script::answer("200 OK", "Content-Type: application/json\r\n", &long).end();
    for script in [head, event, bodies.until(60_000), whole] {
        let (_server, mut endpoint) = serving(script);
        endpoint.limits.header_bytes = 10_000;
        endpoint.limits.event_bytes = 10_000;
        endpoint.limits.body_bytes = 15_000;
        let exchange = ask(endpoint, Some(Duration::from_secs(30.0)));
        assert_eq!(exchange.outcome_name(), "parse-error", "{exchange:?}");
    }
}

#[test]
fn a_status_comes_with_its_message_and_how_long_to_wait() {
    let body = "{\"error\":{\"message\":\"slow\\n down\"}}";
    let script = Script::answer("429 Too Many Requests", "Retry-After: 7\r\n", body).end();
    let (server, endpoint) = serving(script);
    let exchange = ask(endpoint, None);
    let expected = Reason::HttpStatus {
        status: 429,
        retry_after: Some(Duration::from_secs(7.0)),
        message: "slow down".to_owned(),
    };
    assert_eq!(exchange.reason, Some(expected));
    assert_eq!(
        exchange.observation.outcome(),
        Outcome::Rejected { status: 429 }
    );
    // Asked once: nothing is repeated behind the user's back.
    only(&server);
}

#[test]
fn a_refusal_that_does_not_end_is_still_a_refusal() {
    let script = Script::default()
        .raw("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 100\r\n\r\nload")
        .until(60_000);
    let (_server, mut endpoint) = serving(script);
    endpoint.limits.stall = millis(100);
    let exchange = ask(endpoint, None);
    assert_eq!(
        exchange.observation.outcome(),
        Outcome::Rejected { status: 503 }
    );
}

#[test]
fn everything_wrong_with_endpoints_is_said_at_once() {
    let mut bad = at("ftp://example.com");
    bad.headers
        .push(("no name".to_owned(), thermocline::http::Secret::new("x")));
    let mut secure = at("https://example.com");
    secure.name = "other".to_owned();
    secure.roots = Some("no/such/file.pem".into());
    let clock = Clock::starting_at(Time::ZERO);
    let error =
        Target::new(vec![bad, secure], clock, Box::new(|_| ())).expect_err("nothing is right");
    let problems = error.problems();
    assert_eq!(problems.len(), 3, "{error}");
    assert!(problems[0].starts_with("target `test`: base_url `ftp://example.com`: its scheme"));
    assert!(problems[1].starts_with("target `test`: header `no name`"));
    assert!(problems[2].starts_with("target `other`: roots `no/such/file.pem`"));
}
