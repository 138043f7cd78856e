//! The thread that owns a provider's fleet and moves its virtual time along the wall clock.
//!
//! Requests come in through a channel, each with the instant at which the server had read it, and enter the fleet at that
//! virtual instant. What becomes of one is published in its [`Progress`]: only the latest state, so a client that reads slowly
//! costs nothing here. The thread sleeps until the next event of the fleet, the next token of a client, or a request; it paces
//! the tokens itself, because the timers of the network runtime count in milliseconds. A first token is announced by the fleet
//! before it is due, so it leaves when it is due and not when the fleet gets to it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration as WallSpan, Instant};

use tokio::sync::{oneshot, watch};

use super::clock::Clock;
use super::metrics::{self, Snapshot};
use super::witness::{News, Witness};
use crate::fleet::{Census, Fleet, Ticket};
use crate::observation::Outcome;
use crate::request::{EndpointId, Request, RequestId};
use crate::target::Target;
use crate::time::{Duration, Time};

/// Tokens that come faster than this are sent together.
const GRAIN: WallSpan = WallSpan::from_millis(1);
/// The fleet is advanced by at most this much at a time, so that requests are heard in between.
const SLICE: WallSpan = WallSpan::from_millis(5);
/// A fleet that is this much behind the wall clock lets virtual time slip.
const TOO_LATE: WallSpan = WallSpan::from_millis(200);
/// While nobody waits for an answer, the fleet is looked after this often.
const IDLE: WallSpan = WallSpan::from_millis(5);
/// The shortest span.
const INSTANT: Duration = Duration::from_nanos(1);
/// What a client is told about a model's start while none has been seen.
const USUAL_START: Duration = Duration::from_nanos(20_000_000_000);

/// How far a request is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Progress {
    /// Whether the fleet has taken it.
    pub(super) is_accepted: bool,
    /// Tokens of its prompt that the prefix cache holds.
    pub(super) cached_tokens: u32,
    /// Tokens that have been sent.
    pub(super) tokens: u32,
    /// How it ended, once it has.
    pub(super) end: Option<End>,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    /// Answered in full.
    Done,
    /// Refused with this HTTP status; it may be worth trying again after `retry_after` on the wall.
    Refused { status: u16, retry_after: WallSpan },
    /// Lost with its replica.
    Failed,
}

/// What a client asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    pub(super) deployment: u32,
    pub(super) prompt_tokens: u32,
    pub(super) output_tokens: u32,
}

enum Message {
    Ask {
        id: RequestId,
        at: Instant,
        demand: Demand,
        progress: watch::Sender<Progress>,
    },
    HangUp(RequestId),
    Metrics(oneshot::Sender<String>),
    Stop,
}

/// The way to a running engine.
#[derive(Debug)]
pub(super) struct Engine {
    inbox: Sender<Message>,
    next_id: AtomicU64,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Engine {
    /// Moves `fleet`, which stands at the opening of its window, along `clock`. `names` are its models.
    pub(super) fn start(fleet: Fleet<Witness>, clock: Clock, names: Vec<String>) -> Arc<Self> {
        let (inbox, messages) = channel();
        let worker = Worker {
            fleet,
            clock,
            names,
            live: BTreeMap::new(),
            agenda: BinaryHeap::new(),
            entries: 0,
        };
        let thread = std::thread::spawn(move || worker.run(&messages));
        Arc::new(Self {
            inbox,
            next_id: AtomicU64::new(0),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Sends a request into the fleet.
    pub(super) fn ask(&self, demand: Demand) -> Answer {
        let id = RequestId(self.next_id.fetch_add(1, Ordering::Relaxed));
        let (progress, latest) = watch::channel(Progress::default());
        // An engine that has stopped drops the message, and the answer ends as failed.
        let _ = self.inbox.send(Message::Ask {
            id,
            at: Instant::now(),
            demand,
            progress,
        });
        Answer {
            id,
            latest,
            inbox: self.inbox.clone(),
        }
    }

    /// The fleet's figures for Prometheus; empty once the engine has stopped.
    pub(super) async fn metrics(&self) -> String {
        let (reply, text) = oneshot::channel();
        let _ = self.inbox.send(Message::Metrics(reply));
        text.await.unwrap_or_default()
    }

    /// Stops the thread.
    pub(super) fn stop(&self) {
        let _ = self.inbox.send(Message::Stop);
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            let _ = thread.join();
        }
    }
}

/// A request in the fleet, as its client's connection sees it. Dropping it hangs up.
#[derive(Debug)]
pub(super) struct Answer {
    id: RequestId,
    latest: watch::Receiver<Progress>,
    inbox: Sender<Message>,
}

impl Answer {
    /// Names the request.
    pub(super) fn id(&self) -> RequestId {
        self.id
    }

    /// How far it is.
    pub(super) fn progress(&self) -> Progress {
        *self.latest.borrow()
    }

    /// Waits until it is further than it was when last asked.
    pub(super) async fn next(&mut self) -> Progress {
        if self.latest.changed().await.is_ok() {
            return *self.latest.borrow_and_update();
        }
        let last = self.progress();
        Progress {
            end: last.end.or(Some(End::Failed)),
            ..last
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if self.progress().end.is_none() {
            let _ = self.inbox.send(Message::HangUp(self.id));
        }
    }
}

/// A request whose client waits.
struct Live {
    ticket: Ticket,
    deployment: u32,
    progress: watch::Sender<Progress>,
    output_tokens: u32,
    /// The way to the client.
    downlink: Duration,
    /// Whether the fleet is done with it.
    is_over: bool,
}

/// Something to do for a client.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Task {
    /// Ask the fleet how far the answer is.
    Look,
    /// So many tokens have reached the client.
    Tokens(u32),
    /// The client learns the end.
    End(Outcome),
}

struct Entry {
    at: Time,
    number: u64,
    id: RequestId,
    task: Task,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

struct Worker {
    fleet: Fleet<Witness>,
    clock: Clock,
    names: Vec<String>,
    live: BTreeMap<RequestId, Live>,
    agenda: BinaryHeap<Reverse<Entry>>,
    entries: u64,
}

impl Worker {
    fn run(mut self, messages: &Receiver<Message>) {
        loop {
            match messages.recv_timeout(self.pause()) {
                Ok(Message::Ask {
                    id,
                    at,
                    demand,
                    progress,
                }) => self.ask(id, at, demand, progress),
                Ok(Message::HangUp(id)) => self.hang_up(id),
                Ok(Message::Metrics(reply)) => {
                    let _ = reply.send(self.metrics());
                }
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.catch_up(Instant::now());
        }
    }

    /// How long there is nothing to do.
    fn pause(&self) -> WallSpan {
        let now = Instant::now();
        let task = self.agenda.peek().map(|Reverse(entry)| entry.at);
        let event = self.fleet.next_event_at();
        let next = task.into_iter().chain(event).min().unwrap_or(Time::MAX);
        let pause = self.clock.wall_at(next, now).saturating_duration_since(now);
        if self.live.is_empty() {
            pause.max(IDLE)
        } else {
            pause
        }
    }

    /// Does everything that is due by `wall`, or lets virtual time slip when that takes too long.
    fn catch_up(&mut self, wall: Instant) {
        let target = self.clock.virtual_at(wall);
        let slice = self.clock.in_virtual(SLICE);
        loop {
            let task = self.agenda.peek().map(|Reverse(entry)| entry.at);
            let slice_end = target.min(self.fleet.now() + slice);
            // What leaves at an instant is there just after it.
            let until = task.map_or(slice_end, |at| slice_end.min(at + INSTANT));
            while self.fleet.advance(until).is_some() {}
            self.hear();
            self.perform();
            if self.fleet.now() >= target {
                return;
            }
            let now = Instant::now();
            if now.saturating_duration_since(wall) > TOO_LATE {
                self.clock.slip(self.fleet.now(), now);
                return;
            }
        }
    }

    /// Takes in what the fleet has said.
    fn hear(&mut self) {
        let mut news = std::mem::take(&mut self.fleet.probe_mut().news);
        let mut arrived = Vec::new();
        for one in news.drain(..) {
            match one {
                News::Arrived(id) => arrived.push(id),
                News::FirstToken {
                    id,
                    leaves,
                    reaches,
                } => {
                    if let Some(live) = self.live.get_mut(&id) {
                        live.downlink = reaches.since(leaves);
                        self.plan(reaches, id, Task::Tokens(1));
                        self.plan(leaves, id, Task::Look);
                    }
                }
                News::Ended { id, trace } => {
                    if let Some(live) = self.live.get_mut(&id) {
                        live.is_over = true;
                        self.plan(trace.end, id, Task::End(trace.outcome));
                    }
                }
            }
        }
        self.fleet.probe_mut().news = news;
        for id in arrived {
            self.accept(id);
        }
    }

    /// Tells a client that the fleet has taken its request, unless it has refused it at the door.
    fn accept(&self, id: RequestId) {
        if let Some(live) = self.live.get(&id).filter(|live| !live.is_over) {
            let cached_tokens = self.fleet.cached_tokens(live.ticket);
            live.progress.send_modify(|progress| {
                progress.is_accepted = true;
                progress.cached_tokens = cached_tokens;
            });
        }
    }

    /// Does the tasks that are due.
    fn perform(&mut self) {
        let now = self.fleet.now();
        while self
            .agenda
            .peek()
            .is_some_and(|Reverse(entry)| entry.at < now)
        {
            let Some(Reverse(Entry { id, task, .. })) = self.agenda.pop() else {
                return;
            };
            match task {
                Task::Look => self.look(id),
                Task::Tokens(tokens) => {
                    if let Some(live) = self.live.get(&id) {
                        live.progress
                            .send_modify(|progress| progress.tokens = tokens);
                    }
                }
                Task::End(outcome) => self.end(id, outcome),
            }
        }
    }

    /// Asks how far an answer is, and plans when to ask again: at the next token, or after a grain of time when tokens come faster.
    fn look(&mut self, id: RequestId) {
        let Some(live) = self.live.get(&id).filter(|live| !live.is_over) else {
            return;
        };
        let Some(pace) = self.fleet.pace(live.ticket) else {
            return;
        };
        let now = self.fleet.now();
        let reaches = now + live.downlink;
        if pace.tokens > 1 {
            self.plan(reaches, id, Task::Tokens(pace.tokens));
        }
        let grain = now + self.clock.in_virtual(GRAIN);
        let next = pace.next_at.map_or(grain, |at| at.max(grain));
        self.plan(next, id, Task::Look);
    }

    fn end(&mut self, id: RequestId, outcome: Outcome) {
        let Some(live) = self.live.remove(&id) else {
            return;
        };
        let end = match outcome {
            Outcome::Succeeded => End::Done,
            Outcome::Rejected { status } => End::Refused {
                status,
                retry_after: self.retry_after(live.deployment, status),
            },
            _ => End::Failed,
        };
        live.progress.send_modify(|progress| {
            if end == End::Done {
                progress.tokens = live.output_tokens;
            }
            progress.end = Some(end);
        });
    }

    /// When it may be worth trying again: when a model that sleeps may have started, or soon.
    fn retry_after(&mut self, deployment: u32, status: u16) -> WallSpan {
        if status != 503 {
            return WallSpan::from_secs(1);
        }
        let tally = &self.fleet.probe_mut().tallies[deployment as usize];
        self.clock
            .on_wall(tally.mean_start().unwrap_or(USUAL_START))
    }

    fn plan(&mut self, at: Time, id: RequestId, task: Task) {
        self.entries += 1;
        self.agenda.push(Reverse(Entry {
            at,
            number: self.entries,
            id,
            task,
        }));
    }

    fn ask(
        &mut self,
        id: RequestId,
        at: Instant,
        demand: Demand,
        progress: watch::Sender<Progress>,
    ) {
        self.catch_up(at);
        let ticket = self.fleet.send(Request {
            id,
            endpoint: EndpointId(demand.deployment),
            due: self.fleet.now(),
            prompt_tokens: demand.prompt_tokens,
            output_tokens: demand.output_tokens,
            timeout: None,
        });
        let live = Live {
            ticket,
            deployment: demand.deployment,
            progress,
            output_tokens: demand.output_tokens,
            downlink: Duration::ZERO,
            is_over: false,
        };
        self.live.insert(id, live);
    }

    fn hang_up(&mut self, id: RequestId) {
        if let Some(live) = self.live.remove(&id) {
            self.fleet.hang_up(live.ticket);
        }
    }

    fn metrics(&mut self) -> String {
        let now = self.fleet.now();
        let census: Vec<Census> = (0..self.names.len() as u32)
            .map(|deployment| self.fleet.census(deployment))
            .collect();
        metrics::text(&Snapshot {
            now,
            clock: &self.clock,
            names: &self.names,
            census: &census,
            tallies: &self.fleet.probe_mut().tallies,
        })
    }
}
