//! The program's `serve` in a process of its own, and a client of the barest kind: one request a connection, every read stamped.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running `serve`; ends with the value.
pub(crate) struct Endpoint {
    child: Child,
    output: BufReader<ChildStdout>,
    /// Address, provider and models of each door.
    pub(crate) doors: Vec<(SocketAddr, String, String)>,
}

impl Endpoint {
    /// Serves `scenario` at ports that the system chooses, and waits until all `providers` are ready.
    pub(crate) fn start(scenario: &str, providers: usize, arguments: &[&str]) -> Self {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("thermocline"))
            .args(["--quiet", "serve", "-", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut input = child.stdin.take().expect("it is piped");
        input
            .write_all(scenario.as_bytes())
            .expect("it reads the scenario");
        drop(input);
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let door = |_| {
            let mut line = String::new();
            output.read_line(&mut line).expect("it prints text");
            let mut parts = line.trim_end().split('\t').map(str::to_owned);
            let mut part = || parts.next().unwrap_or_else(|| panic!("no door: {line:?}"));
            let address = part().replace("http://", "").parse().expect("an address");
            (address, part(), part())
        };
        let doors = (0..providers).map(door).collect();
        Self {
            child,
            output,
            doors,
        }
    }

    /// The first provider's address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.doors[0].0
    }

    /// A request to the first provider.
    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> Reply {
        exchange(self.address(), method, path, body)
    }

    /// Sends the process a signal.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status();
        assert!(sent.expect("`kill` is there").success());
    }

    /// Waits until the process has ended by itself; how, and what it printed after its doors.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.output
            .read_to_string(&mut rest)
            .expect("it prints text");
        (self.child.wait().expect("it ends"), rest)
    }

    /// The figure of `/metrics` whose line begins with `name`.
    pub(crate) fn figure(&self, name: &str) -> f64 {
        let text = self.send("GET", "/metrics", "").text();
        let line = text.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in\n{text}"));
        let value = line.rsplit(' ').next().expect("a value");
        value.parse().expect("a number")
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What came back for a request.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Head without the status line, in lower case.
    pub(crate) head: String,
    /// The body as it came, without chunk sizes.
    pub(crate) body: Vec<u8>,
    /// When writing the request began: the server cannot have had it before.
    sent: Instant,
    /// When each read came, and how much of the body there was after it.
    reads: Vec<(Instant, usize)>,
    /// Whether the body came to its end.
    pub(crate) is_whole: bool,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines();
        let mut values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        values.next()
    }

    /// How long after the request `text` was there for the first time.
    pub(crate) fn after(&self, text: &str) -> Option<Duration> {
        let mut windows = self.body.windows(text.len());
        let end = windows.position(|window| window == text.as_bytes())? + text.len();
        let read = self.reads.iter().find(|(_, length)| *length >= end);
        read.map(|(at, _)| *at - self.sent)
    }

    /// The data of the stream's events, `[DONE]` included.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = self.text();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let parse = |data| serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
        data.map(parse).collect()
    }
}

/// One request on a connection of its own, read to the end.
pub(crate) fn exchange(address: SocketAddr, method: &str, path: &str, body: &str) -> Reply {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    raw(address, request.as_bytes())
}

/// Writes `request` and reads until the server closes the connection.
pub(crate) fn raw(address: SocketAddr, request: &[u8]) -> Reply {
    let mut stream = connect(address);
    let sent = Instant::now();
    stream.write_all(request).expect("it can be written");
    read(&mut stream, sent, request.starts_with(b"HEAD"))
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_nodelay(true).expect("it can be set");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("it can be set");
    stream
}

/// Reads a response to the end of its connection.
pub(crate) fn read(stream: &mut TcpStream, sent: Instant, is_head: bool) -> Reply {
    let mut bytes = Vec::new();
    let mut stamps = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                bytes.extend_from_slice(&buffer[..count]);
                stamps.push((Instant::now(), bytes.len()));
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error}; so far: {}", String::from_utf8_lossy(&bytes)),
        }
    }
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no head: {}", String::from_utf8_lossy(&bytes)));
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let (first, head) = head.split_once("\r\n").unwrap_or((&head, ""));
    let status = first.split(' ').nth(1).expect("a status");
    let mut reply = Reply {
        status: status.parse().expect("a number"),
        head: head.replace("\r\n", "\n"),
        body: Vec::new(),
        sent,
        reads: Vec::new(),
        is_whole: false,
    };
    let body = &bytes[end + 4..];
    let lengths: Vec<(Instant, usize)> = stamps
        .into_iter()
        .map(|(at, length)| (at, length.saturating_sub(end + 4)))
        .collect();
    if reply.header("transfer-encoding") == Some("chunked") {
        unchunk(body, &lengths, &mut reply);
    } else {
        let stated = reply.header("content-length").map(str::parse::<usize>);
        reply.is_whole = is_head || stated == Some(Ok(body.len()));
        reply.body = body.to_vec();
        reply.reads = lengths;
    }
    reply
}

/// Takes the chunks out of a body; each piece came when its end did.
fn unchunk(mut sent: &[u8], lengths: &[(Instant, usize)], reply: &mut Reply) {
    let total = sent.len();
    while let Some(line) = sent.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&sent[..line]).expect("a size");
        let size = usize::from_str_radix(size, 16).expect("a size");
        let Some(piece) = sent.get(line + 2..line + 2 + size) else {
            return;
        };
        sent = sent.get(line + 4 + size..).unwrap_or_default();
        if size == 0 {
            reply.is_whole = true;
            return;
        }
        reply.body.extend_from_slice(piece);
        let came = lengths
            .iter()
            .find(|(_, length)| *length >= total - sent.len());
        let at = came.or(lengths.last()).map_or(reply.sent, |(at, _)| *at);
        reply.reads.push((at, reply.body.len()));
    }
}

/// Sends a request and leaves its answer where it is.
pub(crate) fn begin(address: SocketAddr, path: &str, body: &str) -> TcpStream {
    let mut stream = connect(address);
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream
        .write_all(request.as_bytes())
        .expect("it can be written");
    stream
}
