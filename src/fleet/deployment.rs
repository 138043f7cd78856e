//! One model's state in a running fleet.

use super::admission::HoldQueue;
use super::autoscaler::{self, Demand, Windows};
use super::config::{DeploymentConfig, FleetConfig, Rule, Rung, TrafficConfig};
use super::ledger::Ledger;
use super::ranking::Ranking;
use crate::batching::Job;
use crate::streams::{Stream, Streams};
use crate::time::{Duration, Time};
use crate::workload::Arrivals;

/// A deployment at work.
#[derive(Debug)]
pub(super) struct Deployment {
    pub(super) config: DeploymentConfig,
    pub(super) streams: Vec<TrafficStream>,
    /// Requests that no replica holds.
    pub(super) held: HoldQueue,
    /// Replicas that are not stopped, in the order of their starts.
    pub(super) replicas: Vec<u32>,
    /// The ready ones among them that may have room, in the order in which they take requests.
    pub(super) open: Ranking,
    pub(super) ready: u32,
    pub(super) starting: u32,
    /// Starts since the origin.
    pub(super) started: u64,
    /// Requests in the system that may start replicas, and all of them.
    pub(super) waking: u32,
    pub(super) in_system: u32,
    /// Whether idle replicas may be left whose keep-alive is over.
    pub(super) keeps_expired: bool,
    /// The warm pool at this hour.
    pub(super) floor: u32,
    pub(super) rungs: Vec<RungStock>,
    pub(super) windows: Option<Box<Windows>>,
    /// Requests that have been dealt to the ready replicas in turn.
    pub(super) next_in_turn: usize,
    pub(super) draws: Box<Draws>,
    /// Longest prompt and answer together that any of its replicas could serve \[tokens\].
    pub(super) most_tokens: u64,
    /// Whether clients of closed loops wait for its answers.
    pub(super) has_clients: bool,
    pub(super) ledger: Ledger,
    /// Since when `below_floor` and `request_time` are unaccounted.
    accounted: Time,
}

/// A traffic stream and its randomness.
#[derive(Debug)]
pub(super) struct TrafficStream {
    pub(super) arrivals: Arrivals,
    pub(super) lengths: Stream,
    pub(super) service: Stream,
}

/// The deployment's own random streams, one a purpose.
#[derive(Debug)]
pub(super) struct Draws {
    pub(super) starts: Stream,
    pub(super) cold_service: Stream,
    pub(super) switches: Stream,
    pub(super) losses: Stream,
    pub(super) keep_alive: Stream,
    pub(super) router: Stream,
    pub(super) network: Stream,
    pub(super) benchmark: Stream,
}

/// Weights that wait on one rung of the ladder.
#[derive(Debug, Default)]
pub(super) struct RungStock {
    /// One ticket for each; a ticket sinks when its time is over.
    tickets: Vec<u32>,
    next_ticket: u32,
    accounted: Time,
}

impl RungStock {
    /// Puts weights on the rung; its ticket.
    pub(super) fn put(&mut self) -> u32 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.tickets.push(ticket);
        ticket
    }

    /// Takes the weights that came last.
    pub(super) fn take(&mut self) -> bool {
        self.tickets.pop().is_some()
    }

    /// Takes the weights of one ticket, if they are still there.
    pub(super) fn take_ticket(&mut self, ticket: u32) -> bool {
        let index = self.tickets.iter().position(|&other| other == ticket);
        index.is_some_and(|index| {
            self.tickets.remove(index);
            true
        })
    }

    /// Whether there is room for one more.
    pub(super) fn has_room(&self, rung: &Rung) -> bool {
        self.tickets.len() < rung.capacity as usize
    }

    /// Cost of what is here since last asked \[USD\].
    pub(super) fn cost(&mut self, now: Time, rung: &Rung) -> f64 {
        let hours = now.since(self.accounted).as_secs() / 3600.0;
        self.accounted = now;
        hours * self.tickets.len() as f64 * rung.usd_per_hour
    }
}

impl Deployment {
    pub(super) fn new(
        config: DeploymentConfig,
        provider: &str,
        fleet: &FleetConfig,
        streams: Streams,
    ) -> Self {
        let own = |purpose: &str| streams.stream(&format!("{provider}/{}/{purpose}", config.name));
        let users = |traffic: &TrafficConfig, purpose: &str| {
            let purpose = format!("traffic/{}/{purpose}", traffic.name);
            if traffic.is_shared {
                streams.stream(&format!("users/{}/{purpose}", config.name))
            } else {
                own(&purpose)
            }
        };
        let traffic = config.traffic.iter().map(|traffic| TrafficStream {
            arrivals: Arrivals::new(
                traffic.arrivals.clone(),
                fleet.phase,
                fleet.window,
                users(traffic, "arrivals"),
            )
            .dealt_by(streams.stream("trace/deal")),
            lengths: users(traffic, "lengths"),
            service: users(traffic, "service"),
        });
        let windows = match &config.scaling.rule {
            Rule::Windowed(rule) => Some(Box::new(Windows::new(*rule.clone()))),
            _ => None,
        };
        let traffic: Vec<TrafficStream> = traffic.collect();
        let placements = config.placements.iter();
        let most_tokens = placements.map(|place| place.batching.most_tokens()).max();
        Self {
            has_clients: traffic.iter().any(|one| one.arrivals.clients() > 0),
            most_tokens: most_tokens.unwrap_or(0),
            streams: traffic,
            held: HoldQueue::default(),
            replicas: Vec::new(),
            open: Ranking::default(),
            ready: 0,
            starting: 0,
            started: 0,
            waking: 0,
            in_system: 0,
            keeps_expired: false,
            floor: autoscaler::floor_at(
                config.scaling.min,
                &config.scaling.warm_hours,
                fleet.phase,
            ),
            rungs: config.rungs.iter().map(|_| RungStock::default()).collect(),
            windows,
            next_in_turn: 0,
            draws: Box::new(Draws {
                starts: own("starts"),
                cold_service: own("cold_service"),
                switches: own("switches"),
                losses: own("losses"),
                keep_alive: own("keep_alive"),
                router: own("router"),
                network: own("network"),
                benchmark: own("benchmark"),
            }),
            ledger: Ledger::new(&config),
            accounted: Time::ZERO,
            config,
        }
    }

    /// What the autoscaler sees.
    pub(super) fn demand(&self) -> Demand {
        Demand {
            in_system: self.waking,
            ready: self.ready,
            starting: self.starting,
        }
    }

    /// Replicas that the arrivals' rule wants now, within floor and limit.
    #[inline]
    pub(super) fn wanted(&self) -> u32 {
        let scaling = &self.config.scaling;
        let wanted = match scaling.rule {
            Rule::Arrival { target } => autoscaler::wanted(self.waking, target, scaling.buffer),
            // The activator: the first request wakes the deployment, the windows do the rest.
            Rule::Windowed(_) => u32::from(self.waking > 0),
            Rule::Poll { .. } | Rule::PerRequest | Rule::Fixed => 0,
        };
        wanted.max(self.floor).min(scaling.max)
    }

    /// Replicas that must not be stopped while idle.
    pub(super) fn needed(&self) -> u32 {
        let buffer = if self.waking > 0 {
            self.config.scaling.buffer
        } else {
            0
        };
        self.floor.max(
            self.busy()
                .saturating_add(buffer)
                .min(self.config.scaling.max),
        )
    }

    /// Replicas' worth of requests in the system.
    fn busy(&self) -> u32 {
        match self.config.scaling.rule {
            Rule::Arrival { target } | Rule::Poll { target, .. } => {
                autoscaler::wanted(self.waking, target, 0)
            }
            Rule::Windowed(_) | Rule::PerRequest | Rule::Fixed => 0,
        }
    }

    /// A request that met a cold start takes its times from the law of those, where there is one. Drawn like the phases of a
    /// start: the start's doing, not the request's.
    pub(super) fn slow_down(&mut self, job: &mut Job) {
        if let Some(times) = &self.config.cold_service {
            let stream = &mut self.draws.cold_service;
            job.prefill = Duration::from_secs(times.prefill.sample(stream));
            job.decode = Duration::from_secs(times.decode.sample(stream));
        }
    }

    /// Brings the integrals up to `now`; to be called before anything they depend on changes.
    #[inline(always)]
    pub(super) fn account(&mut self, now: Time) {
        let span = now.since(self.accounted);
        if span == Duration::ZERO {
            return;
        }
        self.accounted = now;
        self.ledger.request_time += u128::from(span.as_nanos()) * u128::from(self.in_system);
        if self.ready < self.floor {
            self.ledger.below_floor += span;
        }
    }

    /// Brings the rungs' cost up to `now`.
    pub(super) fn account_rungs(&mut self, now: Time) {
        for (stock, rung) in self.rungs.iter_mut().zip(&self.config.rungs) {
            self.ledger.rungs_usd += stock.cost(now, rung);
        }
    }

    /// A request is at the door.
    #[inline(always)]
    pub(super) fn arrives(&mut self, now: Time, wakes: bool) {
        self.change_in_system(now, wakes, 1);
        self.ledger.arrived += 1;
        if let Some(windows) = &mut self.windows
            && wakes
        {
            windows.arrived();
        }
    }

    /// Cuts a prompt to what the context holds beside the answer.
    #[cold]
    pub(super) fn truncate(&mut self, job: &mut Job) {
        let context = self.config.max_context_tokens();
        let room = context.map_or(u32::MAX, |context| {
            context.saturating_sub(job.output_tokens)
        });
        if room > 0 && job.prompt_tokens > room {
            self.ledger.truncated += 1;
            self.ledger.truncated_tokens += u64::from(job.prompt_tokens - room);
            job.prompt_tokens = room;
            job.cached_tokens = job.cached_tokens.min(room);
        }
    }

    /// Changes the number of requests in the system.
    #[inline(always)]
    pub(super) fn change_in_system(&mut self, now: Time, wakes: bool, change: i32) {
        self.account(now);
        self.in_system = self.in_system.saturating_add_signed(change);
        if wakes {
            self.waking = self.waking.saturating_add_signed(change);
            if let Some(windows) = &mut self.windows {
                windows.set_in_system(now, self.waking);
            }
        }
    }
}
