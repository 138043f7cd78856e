//! Endpoints behind the [`Target`](crate::target::Target) seam, over the wall clock.
//!
//! Invariant: whoever drives the target hears of a request only after the sink has, so a journal that syncs in the sink has it
//! on disk before the next one is sent.

use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Builder, Runtime};

use super::clock::Clock;
use super::connect::Connection;
use super::endpoint::{ConnectionPolicy, Endpoint};
use super::exchange::Attempt;
use super::route::{Route, SetupError};
use crate::observation::Observation;
use crate::request::Request;
use crate::time::Time;
use crate::timeline::Exchange;

/// Hears of every request that ends.
pub type Sink<'a> = Box<dyn FnMut(&Exchange) + 'a>;

/// Real endpoints. A request's endpoint is its place in the list.
pub struct Target<'a> {
    clock: Clock,
    lanes: Vec<Arc<Lane>>,
    /// Only dropping takes it.
    runtime: Option<Runtime>,
    sender: Sender<Exchange>,
    ended: Receiver<Exchange>,
    sink: Sink<'a>,
}

/// An endpoint and the connections to it that wait for use.
#[derive(Debug)]
struct Lane {
    route: Route,
    idle: Mutex<Vec<(Connection, Time)>>,
}

impl<'a> Target<'a> {
    /// Makes `endpoints` ready to be asked; each request that ends goes to `sink` first.
    ///
    /// # Errors
    /// Everything that is wrong with the endpoints, or with the system's threads.
    pub fn new(endpoints: Vec<Endpoint>, clock: Clock, sink: Sink<'a>) -> Result<Self, SetupError> {
        let mut problems = Vec::new();
        let mut lanes = Vec::new();
        for endpoint in endpoints {
            match Route::new(endpoint) {
                Ok(route) => lanes.push(Arc::new(Lane {
                    route,
                    idle: Mutex::default(),
                })),
                Err(wrong) => problems.extend(wrong),
            }
        }
        if !problems.is_empty() {
            return Err(SetupError::new(problems));
        }
        let runtime = Builder::new_multi_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| SetupError::new(vec![format!("no threads: {error}")]))?;
        let (sender, ended) = channel();
        Ok(Self {
            clock,
            lanes,
            runtime: Some(runtime),
            sender,
            ended,
            sink,
        })
    }
}

impl crate::target::Target for Target<'_> {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn submit(&mut self, request: Request) {
        let lane = Arc::clone(&self.lanes[request.endpoint.0 as usize]);
        let (clock, sender) = (self.clock, self.sender.clone());
        let work = async move {
            let exchange = lane.serve(request, clock).await;
            // Nobody hears of a request whose run is over.
            let _ = sender.send(exchange);
        };
        if let Some(runtime) = &self.runtime {
            drop(runtime.spawn(work));
        }
    }

    fn advance(&mut self, until: Time) -> Option<Observation> {
        let until = self.clock.instant(until);
        let patience = until.saturating_duration_since(std::time::Instant::now());
        let exchange = self.ended.recv_timeout(patience).ok()?;
        (self.sink)(&exchange);
        Some(exchange.observation)
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        // Without waiting: a look-up that hangs must not hold up the end.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("clock", &self.clock)
            .field("lanes", &self.lanes)
            .finish_non_exhaustive()
    }
}

impl Lane {
    async fn serve(&self, request: Request, clock: Clock) -> Exchange {
        let attempt = Attempt::new(&self.route, request, clock);
        let body = self.route.body(&request, clock.run());
        let open = self.take(clock).await;
        let (exchange, connection) = attempt.make(open, body).await;
        if let Some(connection) = connection {
            self.keep(connection, clock).await;
        }
        exchange
    }

    /// A connection that has not been idle for too long, if there is one.
    async fn take(&self, clock: Clock) -> Option<Connection> {
        let ConnectionPolicy::Reuse { idle } = self.route.endpoint.connection else {
            return None;
        };
        loop {
            let (mut connection, since) = self.pool().pop()?;
            let is_fresh = clock.now().saturating_since(since) < idle;
            if is_fresh && connection.is_open().await {
                return Some(connection);
            }
        }
    }

    async fn keep(&self, mut connection: Connection, clock: Clock) {
        let is_kept = self.route.endpoint.connection != ConnectionPolicy::Fresh;
        if is_kept && connection.is_open().await {
            self.pool().push((connection, clock.now()));
        }
    }

    fn pool(&self) -> std::sync::MutexGuard<'_, Vec<(Connection, Time)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
