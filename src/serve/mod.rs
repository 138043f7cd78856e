//! A simulated provider behind an `OpenAI`-compatible endpoint, for any benchmark client.
//!
//! Each provider of a scenario has a port of its own and answers at the host's root. Its fleet is warmed up, then its virtual
//! time runs along the wall clock (`clock`) in a thread of its own (`engine`): other users' traffic, keep-alive, cold starts
//! and autoscaling go on between the client's requests. Tokens leave at their virtual instants.
//!
//! The words of an answer mean nothing; its length is what was asked for, whatever a model would have said. The simulated way to
//! the provider (round trip, gateway, handshakes) is part of what the client sees, on top of the real one over loopback.
//!
//! Sources: `OpenAI`'s API reference for requests, chunks and errors; vLLM for what it adds (`/tokenize`, `root`, names of metrics).

mod answer;
mod asked;
mod clock;
mod connection;
mod engine;
mod hub;
mod listener;
mod metrics;
mod refusal;
mod router;
mod stream;
mod tokenizer;
mod witness;

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::experiment::{Plan, Run, open};
use crate::time::Time;
use clock::Clock;
use engine::Engine;
use router::App;
use witness::Witness;

/// How a scenario is served.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the first provider listens; the next ones take the ports after it. Port zero lets the system choose all.
    pub listen: SocketAddr,
    /// Virtual seconds in a second on the wall, more than zero.
    pub speed: f64,
    /// Index of the session that gives the hour of the week.
    pub session: usize,
    /// What a client may meet on the way.
    pub quirks: Quirks,
    /// What a client may take.
    pub limits: Limits,
}

/// Peculiarities of real endpoints, each of which some client gets wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quirks {
    /// What is sent while a model loads, and how often in virtual time.
    pub comments: Option<(Comment, crate::time::Duration)>,
    /// The role comes as soon as the request is accepted, not with the first token.
    pub early_role: bool,
    /// The first half of an answer comes in this field instead of `content`.
    pub reasoning: Option<Reasoning>,
    /// The whole stream arrives at its end, as through a proxy that buffers.
    pub buffered: bool,
    /// Lines end in CR LF.
    pub crlf: bool,
}

/// What keeps a connection alive while a model loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comment {
    /// `: OPENROUTER PROCESSING`
    OpenRouter,
    /// `:` alone.
    Bare,
    /// An event whose data is `{"type":"ping"}`.
    JsonPing,
}

/// Fields for what a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reasoning {
    /// `reasoning`
    Reasoning,
    /// `reasoning_content`
    ReasoningContent,
}

/// What the server bears. Times are on the wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest request body \[bytes\].
    pub body_bytes: u64,
    /// Most connections at once to a provider; more wait to be accepted.
    pub connections: usize,
    /// Longest time for a request's body.
    pub read: Duration,
    /// Longest time in which a client takes nothing of an answer.
    pub write: Duration,
    /// Longest time for a request from its head to its end.
    pub request: Duration,
    /// A connection without a request, or with half a head, is closed after this.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            connections: 1024,
            read: Duration::from_secs(30),
            write: Duration::from_secs(30),
            request: Duration::from_hours(1),
            idle: Duration::from_secs(75),
        }
    }
}

/// Why a scenario cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address is not to be had.
    #[error("could not listen on {address} for the provider {provider}")]
    Listen {
        /// Which one.
        address: SocketAddr,
        /// For whom.
        provider: String,
        /// What the system says.
        source: io::Error,
    },
    /// There are more providers than ports.
    #[error("{providers} providers need as many ports from {first} on, which goes past 65535")]
    Ports {
        /// How many there are.
        providers: usize,
        /// The first port.
        first: u16,
    },
    /// The network runtime does not start.
    #[error("could not start the network runtime")]
    Runtime(#[from] io::Error),
}

/// A provider at work.
#[derive(Clone, Debug)]
pub struct Door {
    /// The provider's name.
    pub provider: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its models.
    pub models: Vec<String>,
}

/// All providers of a scenario at work.
#[derive(Debug)]
pub struct Serving {
    runtime: Runtime,
    doors: Vec<Door>,
    engines: Vec<Arc<Engine>>,
    /// Says when no more connections are taken.
    closing: watch::Sender<bool>,
    listeners: JoinSet<()>,
}

/// How long a request under way may take once its connection is to be closed.
const GRACE: Duration = Duration::from_secs(2);

impl Serving {
    /// Binds the ports, warms the fleets up, and begins to answer.
    pub fn start(plan: &Plan, settings: &Settings) -> Result<Self, ServeError> {
        let sockets = bind(plan, settings.listen)?;
        let fleets = warm_up(plan, settings.session);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let clock = Clock::new(Instant::now(), Time::ZERO + plan.warm_up, settings.speed);
        let (closing, closed) = watch::channel(false);
        let mut serving = Self {
            runtime,
            doors: Vec::new(),
            engines: Vec::new(),
            closing,
            listeners: JoinSet::new(),
        };
        for ((provider, fleet), socket) in plan.providers.iter().zip(fleets).zip(sockets) {
            let deployments = provider.fleet.deployments.iter();
            let models: Vec<String> = deployments.map(|one| one.name.clone()).collect();
            let engine = Engine::start(fleet, clock, models.clone());
            let app = App::new(plan, provider, settings, Arc::clone(&engine));
            serving.engines.push(engine);
            serving.doors.push(Door {
                provider: provider.name.clone(),
                address: socket.local_addr()?,
                models,
            });
            let _runtime = serving.runtime.enter();
            let socket = TcpListener::from_std(socket)?;
            let listening = listener::listen(socket, app, settings.limits, closed.clone());
            serving
                .listeners
                .spawn_on(listening, serving.runtime.handle());
        }
        Ok(serving)
    }

    /// Where the providers listen.
    pub fn doors(&self) -> &[Door] {
        &self.doors
    }

    /// Serves until `span` is over, if there is one, or the process is asked to stop (Ctrl-C, SIGTERM). Requests under way then
    /// have two seconds to end.
    pub fn run(mut self, span: Option<Duration>) -> Result<(), ServeError> {
        self.runtime.block_on(async {
            let over = async {
                match span {
                    Some(span) => tokio::time::sleep(span).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = over => Ok(()),
                asked = asked_to_stop() => asked,
            }
        })?;
        self.close();
        Ok(())
    }

    /// Takes no more connections, and ends what is under way.
    fn close(&mut self) {
        self.closing.send_replace(true);
        let listeners = &mut self.listeners;
        self.runtime
            .block_on(async { while listeners.join_next().await.is_some() {} });
        for engine in &self.engines {
            engine.stop();
        }
    }
}

/// A socket for each provider.
fn bind(plan: &Plan, listen: SocketAddr) -> Result<Vec<StdListener>, ServeError> {
    let count = plan.providers.len();
    let first = listen.port();
    if first != 0 && usize::from(first) + count > usize::from(u16::MAX) + 1 {
        return Err(ServeError::Ports {
            providers: count,
            first,
        });
    }
    let bound = plan.providers.iter().enumerate().map(|(index, provider)| {
        let mut address = listen;
        if first != 0 {
            address.set_port(first + index as u16);
        }
        let socket = StdListener::bind(address).and_then(|socket| {
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        socket.map_err(|source| ServeError::Listen {
            address,
            provider: provider.name.clone(),
            source,
        })
    });
    bound.collect()
}

/// The providers' fleets at the opening of their windows.
fn warm_up(plan: &Plan, session: usize) -> Vec<crate::fleet::Fleet<Witness>> {
    let opened = Time::ZERO + plan.warm_up;
    let warm = |provider: usize| {
        let deployments = plan.providers[provider].fleet.deployments.len();
        let run = Run {
            provider,
            session,
            replication: 0,
        };
        open(plan, run, Witness::new(deployments, opened))
    };
    (0..plan.providers.len())
        .into_par_iter()
        .map(warm)
        .collect()
}

/// Waits for Ctrl-C or SIGTERM.
async fn asked_to_stop() -> Result<(), ServeError> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    {
        Ok(tokio::signal::ctrl_c().await?)
    }
}
