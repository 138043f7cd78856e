//! One request and its answer over HTTP: sent once, never repeated, never redirected, given up by phase.

mod fault;
mod record;

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use hyper::{Method, Request as HttpRequest, Response, Version};
use tokio::time::{Instant, timeout_at};

use crate::http::answer::Answer;
use crate::http::chunk;
use crate::http::clock::Clock;
use crate::http::connect::Connection;
use crate::http::retry_after;
use crate::http::route::Route;
use crate::http::sse::Parser;
use crate::http::stamped::{Outgoing, Stamps};
use crate::request::Request;
use crate::time::Time;
use crate::timeline::{Exchange, Phase, Reason, Timeline};
use fault::{is_cut, is_of_peer, said};

/// How much of an error's body is read \[bytes\].
const ERROR_BODY: usize = 64 << 10;
/// How long the end of a body is awaited once the answer is over, so that the connection closes cleanly or serves again.
const DRAIN: std::time::Duration = std::time::Duration::from_millis(100);

/// A request under way.
pub(in crate::http) struct Attempt<'a> {
    route: &'a Route,
    request: Request,
    clock: Clock,
    timeline: Timeline,
    /// From when on the server is waited for, until the request is known to be written.
    asked: Time,
    stamps: Option<Arc<Stamps>>,
    answer: Answer,
    status: Option<u16>,
    http_version: Option<&'static str>,
    is_reused: bool,
    remote_address: Option<String>,
    sent_at: i64,
    wall_drift_s: f64,
}

/// How a body went on.
enum Piece {
    Data(Bytes),
    End,
}

impl<'a> Attempt<'a> {
    pub(in crate::http) fn new(route: &'a Route, request: Request, clock: Clock) -> Self {
        let started = clock.now();
        let (sent_at, wall_drift_s) = clock.wall();
        Self {
            route,
            request,
            clock,
            timeline: Timeline {
                due: Some(request.due),
                started: Some(started),
                ..Timeline::default()
            },
            asked: started,
            stamps: None,
            answer: Answer::default(),
            status: None,
            http_version: None,
            is_reused: false,
            remote_address: None,
            sent_at,
            wall_drift_s,
        }
    }

    /// Makes the request, over `open` if there is such a connection. Gives what was seen, and the connection if it can serve
    /// again.
    pub(in crate::http) async fn make(
        mut self,
        open: Option<Connection>,
        body: Vec<u8>,
    ) -> (Exchange, Option<Connection>) {
        let (mut connection, failed) = match self.connection(open).await {
            Ok(connection) => (Some(connection), None),
            Err(reason) => (None, Some(reason)),
        };
        let mut incoming = None;
        let reason = match connection.as_mut() {
            Some(connection) => self.ask(connection, body, &mut incoming).await.err(),
            None => failed,
        };
        self.timeline.end.get_or_insert(self.clock.now());
        // Whoever has given up does not wait for more.
        let rest = incoming.filter(|_| reason.is_none());
        if let Some((connection, rest)) = connection.as_mut().zip(rest) {
            drain(connection, rest).await;
        }
        (self.into_exchange(reason), connection)
    }

    /// The open connection, or a new one.
    async fn connection(&mut self, open: Option<Connection>) -> Result<Connection, Reason> {
        self.is_reused = open.is_some();
        let connection = match open {
            Some(connection) => connection,
            None => self.open().await?,
        };
        self.stamps = Some(Arc::clone(&connection.stamps));
        self.remote_address = Some(connection.remote_address.clone());
        Ok(connection)
    }

    async fn open(&mut self) -> Result<Connection, Reason> {
        let limit = self.asked + self.route.endpoint.limits.connect;
        let deadline = Instant::from_std(self.clock.instant(limit));
        let opening = Connection::open(self.route, self.clock, &mut self.timeline);
        match timeout_at(deadline, opening).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(self.unopened(&error)),
            Err(_) => Err(Reason::TimedOut {
                phase: self.phase(),
            }),
        }
    }

    /// What it means that no connection could be opened. Until a proxy has let the client through, the peer is the proxy, which
    /// is on the client's side.
    fn unopened(&self, error: &io::Error) -> Reason {
        let (phase, message) = (self.phase(), said(error));
        let is_at_server = self.route.proxy.is_none() || phase == Phase::Tls;
        if is_at_server && is_of_peer(error) {
            return Reason::Refused { phase, message };
        }
        Reason::Connection { phase, message }
    }

    /// Sends the request and reads the answer. What goes wrong within the answer is an error too.
    async fn ask(
        &mut self,
        connection: &mut Connection,
        body: Vec<u8>,
        incoming: &mut Option<Incoming>,
    ) -> Result<(), Reason> {
        self.asked = self.clock.now();
        let sending = self.send(connection, body)?;
        let response = self.timed(connection.drive(sending)).await?;
        let response = response.map_err(|error| self.broken(&error))?;
        self.note_head(&response);
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after
            .and_then(|value| retry_after::read(value.to_str().ok()?, self.clock.wall().0));
        let kind = content_type(&response);
        let is_success = response.status().is_success();
        let incoming = incoming.insert(response.into_body());
        if is_success {
            return self.read(connection, incoming, &kind).await;
        }
        Err(Reason::HttpStatus {
            status: self.status.unwrap_or_default(),
            retry_after,
            message: self.error_message(connection, incoming).await,
        })
    }

    fn send(
        &self,
        connection: &mut Connection,
        body: Vec<u8>,
    ) -> Result<impl Future<Output = hyper::Result<Response<Incoming>>> + use<>, Reason> {
        connection.stamps.begin(body.len());
        let address = &self.route.address;
        let scheme = if address.is_encrypted {
            "https"
        } else {
            "http"
        };
        let uri = if self.route.endpoint.http2 {
            format!("{scheme}://{}{}", address.authority, address.path)
        } else {
            address.path.clone()
        };
        let body = Outgoing::new(body.into(), Arc::clone(&connection.stamps));
        let request = HttpRequest::builder()
            .method(Method::POST)
            .uri(uri)
            .body(body);
        let mut request = request.map_err(|error| Reason::Connection {
            phase: Phase::Send,
            message: said(&error),
        })?;
        request.headers_mut().clone_from(&self.route.headers);
        Ok(connection.send(request))
    }

    fn note_head(&mut self, response: &Response<Incoming>) {
        self.note_written();
        self.timeline.headers = Some(self.last_read());
        self.status = Some(response.status().as_u16());
        self.http_version = Some(match response.version() {
            Version::HTTP_09 => "0.9",
            Version::HTTP_10 => "1.0",
            Version::HTTP_11 => "1.1",
            Version::HTTP_2 => "2",
            _ => "3",
        });
    }

    /// Reads an answer that began as a success.
    async fn read(
        &mut self,
        connection: &mut Connection,
        incoming: &mut Incoming,
        kind: &str,
    ) -> Result<(), Reason> {
        if kind.contains("json") {
            let limit = self.route.endpoint.limits.body_bytes;
            let body = self.whole(connection, incoming, limit).await?;
            let at = self.timeline.end.unwrap_or_else(|| self.last_read());
            self.answer.take_whole(&body, at);
        } else if kind == "text/html" {
            self.answer
                .refuse("a page of HTML instead of an event stream");
        } else {
            self.stream(connection, incoming).await?;
            if kind != "text/event-stream" && !self.answer.has_event() {
                let message = format!("content type `{kind}` without a single event");
                self.answer.refuse(&message);
            }
        }
        self.answer.verdict().map_or(Ok(()), Err)
    }

    /// Reads an event stream until the answer is over.
    async fn stream(
        &mut self,
        connection: &mut Connection,
        incoming: &mut Incoming,
    ) -> Result<(), Reason> {
        let limits = self.route.endpoint.limits;
        let mut parser = Parser::new(limits.event_bytes);
        let mut bytes = 0;
        while !self.answer.is_over() {
            let piece = match self.piece(connection, incoming).await {
                Err(_) if self.answer.is_complete() => Piece::End,
                piece => piece?,
            };
            let Piece::Data(data) = piece else {
                self.timeline.end = Some(self.clock.now());
                return Ok(());
            };
            let at = self.last_read();
            self.timeline.first_byte.get_or_insert(at);
            self.timeline.end = Some(at);
            bytes += data.len();
            let answer = &mut self.answer;
            if let Err(error) = parser.read(&data, &mut |item| answer.take(item, at)) {
                answer.refuse(&error.to_string());
            }
            if bytes > limits.body_bytes {
                answer.refuse(&format!("a body of more than {} bytes", limits.body_bytes));
            }
        }
        Ok(())
    }

    /// Reads a body to its end. It is complete with its last read: the end itself may come later.
    async fn whole(
        &mut self,
        connection: &mut Connection,
        incoming: &mut Incoming,
        limit: usize,
    ) -> Result<Vec<u8>, Reason> {
        let mut body = Vec::new();
        while let Piece::Data(data) = self.piece(connection, incoming).await? {
            let at = self.last_read();
            self.timeline.first_byte.get_or_insert(at);
            self.timeline.end = Some(at);
            body.extend_from_slice(&data);
            if body.len() > limit {
                let message = format!("a body of more than {limit} bytes");
                return Err(Reason::ParseError { message });
            }
        }
        Ok(body)
    }

    /// What the server says beside an HTTP status that is not a success; nothing if it does not say it in time.
    async fn error_message(
        &mut self,
        connection: &mut Connection,
        incoming: &mut Incoming,
    ) -> String {
        let Ok(body) = self.whole(connection, incoming, ERROR_BODY).await else {
            return String::new();
        };
        match serde_json::from_slice(&body) {
            Ok(value) => chunk::error_text(&value),
            Err(_) => String::from_utf8_lossy(&body).into_owned(),
        }
    }

    /// The next piece of a body. A body cut short ends; only a broken connection is an error.
    async fn piece(
        &mut self,
        connection: &mut Connection,
        incoming: &mut Incoming,
    ) -> Result<Piece, Reason> {
        loop {
            let frame = self.timed(connection.drive(incoming.frame())).await?;
            match frame {
                None => return Ok(Piece::End),
                Some(Ok(frame)) => {
                    // What is no data are trailers.
                    if let Ok(data) = frame.into_data() {
                        return Ok(Piece::Data(data));
                    }
                }
                Some(Err(error)) if is_cut(&error) => return Ok(Piece::End),
                Some(Err(error)) => {
                    self.timeline.end = Some(self.clock.now());
                    return Err(self.broken(&error));
                }
            }
        }
    }

    /// Waits for `work` until the deadline, which may move while it is awaited.
    async fn timed<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Reason> {
        let mut work = pin!(work);
        loop {
            let deadline = self.deadline();
            let until = Instant::from_std(self.clock.instant(deadline));
            match timeout_at(until, work.as_mut()).await {
                Ok(done) => {
                    self.note_written();
                    return Ok(done);
                }
                Err(_) if self.deadline() > deadline => {}
                Err(_) => {
                    self.note_written();
                    self.timeline.end = Some(self.clock.now());
                    return Err(Reason::TimedOut {
                        phase: self.phase(),
                    });
                }
            }
        }
    }

    /// Until when the server is waited for: for the first token, as long as the benchmark's protocol says, from when the
    /// request was written; then as long as it does not stall or go on for ever.
    fn deadline(&self) -> Time {
        let limits = &self.route.endpoint.limits;
        let asked = self.written().unwrap_or(self.asked);
        let first = self
            .request
            .timeout
            .map_or(Time::MAX, |limit| asked + limit);
        let stall = self.last_read() + limits.stall;
        match self.answer_token() {
            Some(token) => stall.min(token + limits.answer),
            None if self
                .status
                .is_some_and(|status| !(200..300).contains(&status)) =>
            {
                stall.min(first)
            }
            None => first,
        }
    }

    /// Where the request is.
    fn phase(&self) -> Phase {
        let seen = &self.timeline;
        let open = self.stamps.is_some();
        if !open && seen.dns.is_none() {
            Phase::Dns
        } else if !open && seen.connected.is_none() {
            Phase::Connect
        } else if !open {
            Phase::Tls
        } else if self.written().is_none() {
            Phase::Send
        } else if seen.headers.is_none() {
            Phase::Headers
        } else if self.answer_token().is_none() {
            Phase::FirstToken
        } else {
            Phase::Stream
        }
    }

    fn answer_token(&self) -> Option<Time> {
        self.answer.timeline.first_token
    }

    fn written(&self) -> Option<Time> {
        self.stamps.as_ref().and_then(|stamps| stamps.written())
    }

    fn note_written(&mut self) {
        self.timeline.written = self.written();
    }

    /// When the last bytes came; when the request was begun where none has.
    fn last_read(&self) -> Time {
        let read = self.stamps.as_ref().and_then(|stamps| stamps.read());
        read.unwrap_or(self.asked)
    }

    /// What a failed connection means.
    fn broken(&self, error: &hyper::Error) -> Reason {
        if error.is_parse() {
            let message = said(error);
            return Reason::ParseError { message };
        }
        let message = if is_cut(error) {
            String::from("closed before the answer")
        } else {
            said(error)
        };
        let phase = self.phase();
        Reason::Connection { phase, message }
    }
}

/// Reads what is left of a body, for a moment.
async fn drain(connection: &mut Connection, mut incoming: Incoming) {
    let rest = async { while let Some(Ok(_)) = incoming.frame().await {} };
    let _ = tokio::time::timeout(DRAIN, connection.drive(rest)).await;
}

/// The media type of an answer, without parameters.
fn content_type(response: &Response<Incoming>) -> String {
    let value = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = value
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}
