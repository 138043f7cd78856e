//! Connections: used once or again, encrypted, by HTTP/2, through a proxy; and what is sent over them.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

use hyper::body::{Body, Bytes, Frame};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use thermocline::http::scripted::{Script, ScriptedServer};
use thermocline::http::{ApiKind, Clock, ConnectionPolicy, OutputLimit};
use thermocline::observation::Outcome;
use thermocline::time::{Duration, Time};
use thermocline::timeline::Phase;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::rig::{
    DONE, STOP, ask, ask_often, content, endpoint, in_millis, millis, only, quick, serving,
};

/// A certificate for `localhost`: the server's side, and a file for the client.
fn certified(folder: &Path, protocols: &[&[u8]]) -> (Arc<ServerConfig>, std::path::PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
    let made = made.expect("a certificate");
    let file = folder.join("root.pem");
    std::fs::write(&file, made.cert.pem()).expect("a writable folder");
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions that ring knows")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key);
    let mut config = config.expect("a key that fits");
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    (Arc::new(config), file)
}

#[test]
fn an_encrypted_answer_is_timed_apart_from_its_set_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, file) = certified(folder.path(), &[]);
    let scripts = vec![("test".to_owned(), quick(50))];
    let server = ScriptedServer::start(scripts, Clock::starting_at(Time::ZERO), Some(config));
    let server = server.expect("a free port");
    let mut trusting = endpoint(&server);
    trusting.roots = Some(file);
    let exchange = ask(trusting.clone(), None);
    assert_eq!(exchange.reason, None);
    let t = exchange.timeline;
    let set_up = [t.dns, t.connected, t.tls, t.written, t.headers];
    assert!(
        set_up.iter().all(Option::is_some) && set_up.is_sorted(),
        "{t:?}"
    );
    assert!(in_millis(t.ttft()) >= Some(49));
    // Another certificate is not trusted, and that says nothing of the server.
    let other = tempfile::tempdir().expect("a folder");
    trusting.roots = Some(certified(other.path(), &[]).1);
    let exchange = ask(trusting.clone(), None);
    assert_eq!(exchange.observation.outcome(), Outcome::ClientFault);
    assert_eq!(
        exchange.reason.and_then(|reason| reason.phase()),
        Some(Phase::Tls)
    );
    // HTTP/2 is asked for and not offered.
    trusting.http2 = true;
    let reason = ask(trusting, None).reason.expect("it fails");
    assert_eq!(reason.phase(), Some(Phase::Tls));
}

/// A body whose pieces come one every so often.
struct Slow {
    pieces: VecDeque<Bytes>,
    wait: Pin<Box<tokio::time::Sleep>>,
}

const PACE: std::time::Duration = std::time::Duration::from_millis(40);

impl Body for Slow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.wait.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.wait = Box::pin(tokio::time::sleep(PACE));
        Poll::Ready(self.pieces.pop_front().map(|piece| Ok(Frame::data(piece))))
    }
}

/// A server of HTTP/2 that answers with slow tokens; its port.
fn http2_server(runtime: &tokio::runtime::Runtime, tls: Option<Arc<ServerConfig>>) -> u16 {
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
    let listener = listener.expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let answer = |_: Request<hyper::body::Incoming>| async {
        let pieces = [content("a"), content("b"), STOP.to_owned() + DONE];
        let body = Slow {
            pieces: pieces.map(Bytes::from).into(),
            wait: Box::pin(tokio::time::sleep(PACE)),
        };
        let response = Response::builder().header("content-type", "text/event-stream");
        response.body(body)
    };
    runtime.spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let tls = tls.clone().map(TlsAcceptor::from);
            tokio::spawn(async move {
                let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                match tls {
                    None => server
                        .serve_connection(TokioIo::new(tcp), service_fn(answer))
                        .await
                        .ok(),
                    Some(tls) => {
                        let stream = TokioIo::new(tls.accept(tcp).await.ok()?);
                        server
                            .serve_connection(stream, service_fn(answer))
                            .await
                            .ok()
                    }
                }
            });
        }
    });
    port
}

#[test]
fn http2_is_spoken_when_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, file) = certified(folder.path(), &[b"h2"]);
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let (_server, mut endpoint) = serving(quick(0));
    endpoint.http2 = true;
    endpoint.connection = ConnectionPolicy::Reuse {
        idle: ConnectionPolicy::SHORT_IDLE,
    };
    let (plain, encrypted) = (
        http2_server(&runtime, None),
        http2_server(&runtime, Some(config)),
    );
    endpoint.roots = Some(file);
    for url in [
        format!("http://127.0.0.1:{plain}/v1"),
        format!("https://localhost:{encrypted}/v1"),
    ] {
        endpoint.base_url = url;
        let all = ask_often(endpoint.clone(), 2, millis(20), None);
        for (exchange, is_reused) in all.iter().zip([false, true]) {
            assert_eq!((&exchange.reason, exchange.content.as_str()), (&None, "ab"));
            assert_eq!(
                (exchange.http_version, exchange.is_reused),
                (Some("2"), is_reused)
            );
            let t = exchange.timeline;
            assert!(
                in_millis(t.ttft()) >= Some(39) && t.written < t.first_token,
                "{t:?}"
            );
            assert!(exchange.chunks.gap_median >= Some(millis(30)));
        }
    }
    runtime.shutdown_background();
}

/// Which connection each of three requests went over, and whether the client says it was an old one.
fn connections(script: Script, policy: ConnectionPolicy, gap: Duration) -> Vec<(usize, bool)> {
    let (server, mut endpoint) = serving(script);
    endpoint.connection = policy;
    let seen = ask_often(endpoint, 3, gap, None);
    assert!(
        seen.iter().all(|exchange| exchange.reason.is_none()),
        "{seen:?}"
    );
    let set_up = seen
        .iter()
        .all(|exchange| exchange.timeline.dns.is_none() == exchange.is_reused);
    assert!(set_up, "an old connection has no set-up");
    let served = server.served();
    served
        .iter()
        .zip(&seen)
        .map(|(served, seen)| (served.connection, seen.is_reused))
        .collect()
}

#[test]
fn a_connection_is_used_again_only_when_asked_and_while_it_is_young() {
    let reuse = |limit| ConnectionPolicy::Reuse {
        idle: millis(limit),
    };
    let fresh = [(0, false), (1, false), (2, false)];
    let gap = millis(100);
    assert_eq!(connections(quick(0), ConnectionPolicy::Fresh, gap), fresh);
    assert_eq!(
        connections(quick(0), reuse(20_000), gap),
        [(0, false), (0, true), (0, true)]
    );
    assert_eq!(connections(quick(0), reuse(50), gap), fresh);
    // The server closes after each answer: that is noticed before the next request, not by its failure.
    let closing = Script::answer(
        "200 OK",
        "Content-Type: text/event-stream\r\n",
        &format!("{}{STOP}{DONE}", content("a")),
    );
    assert_eq!(connections(closing, reuse(20_000), gap), fresh);
}

/// A proxy for one connection; gives its port and what it was asked.
fn proxy(to: std::net::SocketAddr, status: &'static str) -> (u16, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let asked = thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let mut reader = BufReader::new(client.try_clone().expect("a second handle"));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            reader.read_line(&mut head).expect("a head");
        }
        client
            .write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes())
            .expect("it listens");
        let mut server = TcpStream::connect(to).expect("the server is up");
        let mut back = server.try_clone().expect("a second handle");
        let up = thread::spawn(move || std::io::copy(&mut reader, &mut server));
        let _ = std::io::copy(&mut back, &mut client);
        let _ = client.shutdown(std::net::Shutdown::Both);
        drop(up.join());
        head
    });
    (port, asked)
}

#[test]
fn a_proxy_is_used_when_named() {
    let (server, mut endpoint) = serving(Script::stream().body(content("a")).body(STOP).body(DONE));
    endpoint.base_url = format!("http://model.invalid:{}/test", server.address().port());
    let (port, asked) = proxy(server.address(), "200 Connection established");
    endpoint.proxy = Some(format!("http://127.0.0.1:{port}"));
    let exchange = ask(endpoint.clone(), None);
    assert_eq!(exchange.reason, None);
    let head = asked.join().expect("the proxy is done");
    assert!(head.starts_with("CONNECT model.invalid:"), "{head}");
    let (port, _asked) = proxy(server.address(), "407 Proxy Authentication Required");
    endpoint.proxy = Some(format!("http://127.0.0.1:{port}"));
    let reason = ask(endpoint, None).reason.expect("it is refused");
    assert_eq!(reason.phase(), Some(Phase::Connect));
    let said = reason.message().expect("it says why");
    assert!(said.contains("407 Proxy Authentication Required"), "{said}");
}

#[test]
fn a_request_asks_as_the_protocol_says() {
    let (server, mut endpoint) = serving(quick(0));
    ask(endpoint.clone(), None);
    let request = only(&server).request;
    let (head, body) = request.split_once("\r\n\r\n").expect("a head and a body");
    assert!(
        head.starts_with("POST /test/chat/completions HTTP/1.1\r\n"),
        "{head}"
    );
    let head = head.to_lowercase();
    for line in [
        "accept: text/event-stream",
        "accept-encoding: identity",
        "content-type: application/json",
        "host: 127.0.0.1:",
    ] {
        assert!(
            head.contains(&format!("\r\n{line}")),
            "{line} is not in {head}"
        );
    }
    let expected = json!({
        "model": "m",
        "messages": [{"role": "user", "content": "Say hello."}],
        "max_tokens": 8,
        "temperature": 0.0,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(body).expect("JSON"),
        expected
    );

    endpoint.api = ApiKind::Completions;
    endpoint.output_limit = OutputLimit::MaxCompletionTokens;
    endpoint.temperature = None;
    endpoint.usage = false;
    endpoint.body = serde_json::from_str(r#"{"top_k":1,"model":null}"#).expect("an object");
    ask(endpoint.clone(), None);
    let request = server.served().pop().expect("two requests").request;
    let (_, body) = request.split_once("\r\n\r\n").expect("a head and a body");
    let expected = r#"{"prompt":"Say hello.","max_completion_tokens":8,"stream":true,"top_k":1}"#;
    assert_eq!(body, expected);

    endpoint.nonce = true;
    ask_often(endpoint, 2, Duration::ZERO, None);
    let prompts: Vec<String> = server.served()[2..]
        .iter()
        .map(|served| served.request.clone())
        .collect();
    assert!(
        prompts.iter().all(|prompt| prompt.contains("] Say hello.")),
        "{prompts:?}"
    );
    assert_ne!(
        prompts[0], prompts[1],
        "each prompt has a beginning of its own"
    );
}
