//! Server-sent events, as an answer is made.
//!
//! The head of a stream leaves with the first news: the first token, or the role or a comment where a quirk sends them before.
//! So a refusal has its own status wherever that is possible; one that comes later stands in the stream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, Response, header};
use hyper::body::Frame;
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep_until};

use super::Comment;
use super::answer::Shape;
use super::asked::{Asked, Kind};
use super::engine::{Answer, Progress};
use super::refusal::Refusal;
use super::router::App;

/// Frames that wait for a connection to take them.
const FRAMES: usize = 2;

/// Answers a request, as a stream or as a whole.
pub(super) async fn respond(app: Arc<App>, asked: Asked, answer: Answer) -> Response<Body> {
    let deadline = Instant::now() + app.limits.request;
    let stream = Stream::new(app, asked, answer, deadline);
    if stream.asked.streams {
        stream.begin().await
    } else {
        stream.whole().await
    }
}

/// An answer on its way to a client.
struct Stream {
    app: Arc<App>,
    asked: Asked,
    answer: Answer,
    deadline: Instant,
    created: u64,
    /// When the next comment is due.
    comment_at: Option<Instant>,
    has_role: bool,
    tokens: u32,
}

impl Stream {
    fn new(app: Arc<App>, asked: Asked, answer: Answer, deadline: Instant) -> Self {
        let every = comment_gap(&app);
        Self {
            has_role: asked.kind == Kind::Text,
            created: super::router::unix_time(),
            comment_at: every.map(|gap| Instant::now() + gap),
            tokens: 0,
            app,
            asked,
            answer,
            deadline,
        }
    }

    fn shape(&self) -> Shape<'_> {
        let prefix = match self.asked.kind {
            Kind::Chat => "chatcmpl",
            Kind::Text => "cmpl",
        };
        Shape {
            asked: &self.asked,
            tokenizer: &self.app.tokenizer,
            quirks: self.app.quirks,
            id: format!("{prefix}-{:016x}", self.answer.id().0),
            created: self.created,
            cached_tokens: self.answer.progress().cached_tokens,
        }
    }

    /// Waits for the end and answers at once.
    async fn whole(mut self) -> Response<Body> {
        loop {
            let Some(progress) = self.further().await else {
                return self.too_long().response();
            };
            let Some(end) = progress.end else {
                continue;
            };
            if let Some(refusal) = Refusal::of(end, &self.asked) {
                return refusal.response();
            }
            return super::router::json(&self.shape().whole());
        }
    }

    /// Waits until there is something to stream, or the answer is refused.
    async fn begin(mut self) -> Response<Body> {
        let quirks = self.app.quirks;
        let mut progress = self.answer.progress();
        loop {
            if let Some(refusal) = progress.end.and_then(|end| Refusal::of(end, &self.asked)) {
                return refusal.response();
            }
            let has_news = progress.tokens > 0
                || progress.is_accepted && quirks.early_role
                || progress.is_accepted && self.is_comment_due();
            if progress.end.is_some() || has_news && !quirks.buffered {
                break;
            }
            match self.further().await {
                Some(next) => progress = next,
                None if Instant::now() >= self.deadline => return self.too_long().response(),
                None => {}
            }
        }
        let (frames, body) = channel(FRAMES);
        tokio::spawn(self.send(progress, frames));
        let mut response = Response::new(Body::new(Frames(body)));
        let headers = response.headers_mut();
        let fixed = [
            (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
            (header::CACHE_CONTROL, "no-cache"),
            (header::HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        for (name, value) in fixed {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }

    /// Waits for news of the answer; `None` when a comment or the deadline is due instead.
    async fn further(&mut self) -> Option<Progress> {
        let is_waiting = self.tokens == 0 && self.asked.streams && !self.app.quirks.buffered;
        let comment_at = self.comment_at.filter(|_| is_waiting);
        let until = comment_at.map_or(self.deadline, |at| at.min(self.deadline));
        tokio::select! {
            progress = self.answer.next() => Some(progress),
            () = sleep_until(until) => None,
        }
    }

    /// Sends the stream, frame by frame, until it ends or nobody listens.
    async fn send(mut self, mut progress: Progress, frames: Sender<Bytes>) {
        loop {
            let mut events = String::new();
            let is_over = self.write(progress, &mut events);
            if !events.is_empty() && frames.send(Bytes::from(events)).await.is_err() || is_over {
                return;
            }
            let next = tokio::select! {
                next = self.further() => next,
                () = frames.closed() => return,
            };
            match next {
                Some(next) => progress = next,
                None if Instant::now() >= self.deadline => {
                    let mut events = String::new();
                    self.event(&self.too_long().json(), &mut events);
                    let _ = frames.send(Bytes::from(events)).await;
                    return;
                }
                None => {}
            }
        }
    }

    /// Writes what is new. Whether it was the end.
    fn write(&mut self, progress: Progress, events: &mut String) -> bool {
        if self.tokens == 0 && progress.tokens == 0 && progress.end.is_none() {
            self.write_comment(events);
        }
        let says_role = progress.tokens > 0 || self.app.quirks.early_role || progress.end.is_some();
        if says_role && !self.has_role {
            self.has_role = true;
            self.event(&self.shape().role(), events);
        }
        // The first token comes alone, however late the reader is.
        if self.tokens == 0 && progress.tokens > 0 {
            self.write_tokens(1, events);
        }
        self.write_tokens(progress.tokens, events);
        let Some(end) = progress.end else {
            return false;
        };
        if let Some(refusal) = Refusal::of(end, &self.asked) {
            self.event(&refusal.json(), events);
        } else {
            self.event(&self.shape().finish(), events);
            if self.asked.usage {
                self.event(&self.shape().usage_chunk(), events);
            }
        }
        self.line("data: [DONE]", events);
        self.line("", events);
        true
    }

    fn write_tokens(&mut self, until: u32, events: &mut String) {
        if until > self.tokens {
            for chunk in self.shape().tokens(self.tokens, until) {
                self.event(&chunk, events);
            }
            self.tokens = until;
        }
    }

    fn is_comment_due(&self) -> bool {
        self.comment_at.is_some_and(|at| at <= Instant::now())
    }

    fn write_comment(&mut self, events: &mut String) {
        let Some((comment, _)) = self.app.quirks.comments.filter(|_| self.is_comment_due()) else {
            return;
        };
        let text = match comment {
            Comment::OpenRouter => ": OPENROUTER PROCESSING",
            Comment::Bare => ":",
            Comment::JsonPing => r#"data: {"type":"ping"}"#,
        };
        self.line(text, events);
        self.line("", events);
        self.comment_at = comment_gap(&self.app).map(|gap| Instant::now() + gap);
    }

    fn event(&self, data: &Value, events: &mut String) {
        self.line(&format!("data: {data}"), events);
        self.line("", events);
    }

    fn line(&self, line: &str, events: &mut String) {
        events.push_str(line);
        events.push_str(if self.app.quirks.crlf { "\r\n" } else { "\n" });
    }

    fn too_long(&self) -> Refusal {
        Refusal::took_too_long(self.app.limits.request)
    }
}

/// How long after each other comments come on the wall; not more often than the runtime's timers can tell apart.
fn comment_gap(app: &App) -> Option<Duration> {
    let (_, every) = app.quirks.comments?;
    let gap = every.as_secs() / app.speed;
    Some(Duration::from_secs_f64(gap.clamp(0.001, 3600.0)))
}

/// A body whose frames come through a channel.
struct Frames(Receiver<Bytes>);

impl HttpBody for Frames {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = self.0.poll_recv(context);
        frame.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
