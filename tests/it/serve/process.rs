//! The process: limits, ports, and how it stops.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{CHAT, STREAM, WARM, chat, sleepy};
use crate::endpoint::{Endpoint, begin, connect, exchange, raw, read};

#[test]
fn what_a_client_may_take_has_limits() {
    let flags = [
        "--read-timeout",
        "400ms",
        "--idle-timeout",
        "300ms",
        "--request-timeout",
        "700ms",
        "--write-timeout",
        "500ms",
        "--max-connections",
        "1",
        "--speed",
        "1000",
    ];
    let text = format!(
        "{WARM}[providers.acme.deployments.slow]\nscaling.min = 1\nservice.slots.prefill = \"1h\"\n"
    );
    let endpoint = Endpoint::start(&text, 1, &flags);
    let address = endpoint.address();

    // A connection that idles is closed without a word; the same when its head does not come.
    for start in ["", "GET /health HTT"] {
        let mut stream = connect(address);
        stream
            .write_all(start.as_bytes())
            .expect("it can be written");
        let since = Instant::now();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("it is closed");
        let took = since.elapsed();
        assert!(
            took >= Duration::from_millis(250),
            "{start:?}: closed after {took:?}"
        );
        assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
    }
    // A body that does not come, a request that takes too long, a head that is too large.
    let stalled = raw(
        address,
        format!("POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{{").as_bytes(),
    );
    assert_eq!(stalled.status, 408, "{}", stalled.text());
    let slow = endpoint.send("POST", CHAT, &chat("slow", STREAM));
    assert_eq!(slow.status, 504, "{}", slow.text());
    let head = format!(
        "GET /health HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n",
        "y".repeat(100_000)
    );
    assert_eq!(raw(address, head.as_bytes()).status, 431);
    let fields = "x: y\r\n".repeat(200);
    assert_eq!(
        raw(
            address,
            format!("GET /health HTTP/1.1\r\nhost: x\r\n{fields}\r\n").as_bytes()
        )
        .status,
        431
    );

    // The only connection is taken: another one waits until it is free.
    let first = connect(address);
    let since = Instant::now();
    assert_eq!(endpoint.send("GET", "/health", "").status, 200);
    assert!(
        since.elapsed() >= Duration::from_millis(250),
        "{:?}",
        since.elapsed()
    );
    drop(first);

    // A client that does not read is cut off, and its place is free again.
    let mut lazy = begin(address, CHAT, &chat("stated", r#","max_tokens":1000000"#));
    assert_eq!(endpoint.send("GET", "/health", "").status, 200);
    let cut = read(&mut lazy, Instant::now(), false);
    assert!(!cut.is_whole, "{} bytes came", cut.body.len());
}

#[test]
fn every_provider_has_a_port() {
    let text = "[time]\nwarm_up = \"1s\"\n[providers.one.deployments.m]\nscaling.min = 1\n\
                [providers.two.deployments.m]\nscaling.min = 1\n[providers.two.deployments.n]\n";
    let endpoint = Endpoint::start(text, 2, &["--speed", "100"]);
    for ((address, provider, models), expected) in
        endpoint.doors.iter().zip([("one", "m"), ("two", "m,n")])
    {
        assert_eq!((provider.as_str(), models.as_str()), expected);
        let listed = exchange(*address, "GET", "/v1/models", "").json();
        assert_eq!(listed["data"][0]["owned_by"], provider.as_str());
        assert_eq!(exchange(*address, "POST", CHAT, &chat("m", "")).status, 200);
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address").to_string();
    let port = |address: &str| ["serve", "--listen", address].map(str::to_owned);
    for (arguments, message) in [
        (
            port(&taken),
            format!("could not listen on {taken} for the provider breadth-first"),
        ),
        (port("127.0.0.1:65536"), "invalid".to_owned()),
        (
            ["serve", "--session", "onec"].map(str::to_owned),
            "did you mean `once`?".to_owned(),
        ),
        (
            ["serve", "--speed", "0"].map(str::to_owned),
            "from 0.001 to 1000000".to_owned(),
        ),
        (
            ["serve", "--for", "5"].map(str::to_owned),
            "must be a duration".to_owned(),
        ),
    ] {
        let output = Command::new(assert_cmd::cargo::cargo_bin!("thermocline"))
            .args(&arguments)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(&message), "{arguments:?}: {said}");
    }
}

#[test]
fn it_stops_when_asked_and_by_itself() {
    for signal in ["-INT", "-TERM"] {
        let endpoint = Endpoint::start(WARM, 1, &[]);
        let address = endpoint.address();
        let under_way =
            std::thread::spawn(move || exchange(address, "POST", CHAT, &chat("stated", STREAM)));
        while endpoint.figure("vllm:num_requests_running{model_name=\"stated\"}") < 1.0
            && !under_way.is_finished()
        {}
        endpoint.signal(signal);
        let (status, rest) = endpoint.wait();
        assert_eq!((status.code(), rest.as_str()), (Some(0), ""), "{signal}");
        let reply = under_way.join().expect("it ends");
        assert!(
            reply.is_whole,
            "what was under way is finished: {}",
            reply.text()
        );
    }
    let since = Instant::now();
    let (status, _) = Endpoint::start(WARM, 1, &["--for", "300ms"]).wait();
    assert_eq!(status.code(), Some(0));
    assert!(since.elapsed() >= Duration::from_millis(300));
    // What takes too long is cut off.
    let endpoint = Endpoint::start(
        &sleepy("").replace("\"400ms\"", "\"1h\""),
        1,
        &["--for", "300ms"],
    );
    let address = endpoint.address();
    let _under_way = begin(address, CHAT, &chat("niche", STREAM));
    let (status, _) = endpoint.wait();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn an_open_address_is_warned_of() {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("thermocline"))
        .args(["serve", "--listen", "0.0.0.0:0", "--for", "10ms"])
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    assert!(output.status.success());
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("warning: anyone who reaches this machine")
    );
}
