//! A replica's life: provisioning, loading, warming, ready, draining, stopped.

use super::config::{IdleOrder, Share};
use super::gpu_pool::Place;
use super::ledger::Activity;
use super::node_cache::Level;
use super::sharing::Residents;
use crate::batching::Executor;
use crate::start_phase::StartPhase;
use crate::time::{Duration, Time};
use std::collections::VecDeque;

/// A stage of a replica's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Waiting for a GPU, a node, the image, the engine's process.
    Provisioning,
    /// Fetching weights.
    Loading,
    /// Compiling, capturing graphs, first inference.
    Warming,
    /// Serving.
    Ready,
    /// Finishing what it has, taking nothing new.
    Draining,
    /// Gone.
    Stopped,
}

impl Stage {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Provisioning => "provisioning",
            Self::Loading => "loading",
            Self::Warming => "warming",
            Self::Ready => "ready",
            Self::Draining => "draining",
            Self::Stopped => "stopped",
        }
    }

    /// The stage that a phase of a start belongs to.
    pub fn of(phase: StartPhase) -> Self {
        match phase {
            StartPhase::GpuWait
            | StartPhase::Provision
            | StartPhase::Image
            | StartPhase::Container
            | StartPhase::StartEngine => Self::Provisioning,
            StartPhase::LoadWeights => Self::Loading,
            StartPhase::Compile | StartPhase::CaptureGraphs | StartPhase::WarmUp => Self::Warming,
        }
    }

    /// Whether it is on its way to ready.
    pub fn is_starting(self) -> bool {
        self < Self::Ready
    }

    /// Whether a replica may go from this stage to `next`.
    fn may_become(self, next: Self) -> bool {
        match self {
            // A start may skip stages that have no phase, and be given up at any time.
            Self::Provisioning | Self::Loading | Self::Warming => {
                (next > self && next <= Self::Ready) || next == Self::Stopped
            }
            Self::Ready => next == Self::Draining || next == Self::Stopped,
            Self::Draining => next == Self::Stopped,
            Self::Stopped => false,
        }
    }
}

/// Time spent in each phase of a start, by [`StartPhase`].
pub(super) type StartTimes = [Duration; StartPhase::ALL.len()];

/// One model server. What is looked at seldom lies apart, so that the rest fills few lines of the processor's cache.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Replica {
    /// Names it in results; never used twice.
    pub(super) serial: u32,
    pub(super) deployment: u32,
    /// Voids its events when the place is used again.
    pub(super) generation: u32,
    pub(super) stage: Stage,
    pub(super) placement: u8,
    pub(super) holds_gpus: bool,
    pub(super) holding: Box<Holding>,
    pub(super) start: Box<Start>,
    /// The pool that its GPUs come from, if that takes them back from idle replicas.
    pub(super) evicting_pool: Option<usize>,
    /// Requests with which it has no room for more.
    pub(super) most_requests: u32,
    pub(super) ready_at: Time,
    pub(super) executor: Executor,
    /// The models in it, where several share it.
    pub(super) residents: Option<Box<Residents>>,
    /// Its own queue, where the router fills one.
    pub(super) queue: VecDeque<u32>,
    /// The executor's pending event.
    pub(super) wake_at: Option<Time>,
    pub(super) wake_generation: u32,
    pub(super) idle_since: Time,
    /// The rank under which it is listed as open to requests.
    pub(super) open_rank: Option<u128>,
    /// Whether it is listed as one that a start may get the GPUs of.
    pub(super) is_evictable: bool,
    /// When it expires and when it is evicted, if it stays idle.
    pub(super) expires_at: Time,
    pub(super) evicted_at: Time,
    /// Whether it is idle, its keep-alive is over, and it is kept all the same.
    pub(super) outstays: bool,
    /// The pending idle event of its place, if any, pushed back while it is used.
    pub(super) idle_event: Option<Time>,
    /// What it is said to do, and since when that time is not among `times`.
    pub(super) activity: Option<Activity>,
    pub(super) accounted: Time,
    /// Its time by activity that the ledger does not have yet.
    pub(super) times: [Duration; Activity::ALL.len()],
}

/// What a replica holds of a stock.
#[derive(Debug)]
pub(super) struct Holding {
    /// Where its GPUs are.
    pub(super) place: Place,
    /// GPUs it holds, how much of each, and their price [USD per GPU-hour].
    pub(super) gpus: u32,
    pub(super) share: Share,
    pub(super) usd_per_gpu_hour: f64,
}

/// How a replica starts.
#[derive(Debug)]
pub(super) struct Start {
    /// Which start plan it runs: a rung, or past them remote storage.
    pub(super) rung: usize,
    /// Where its node has the weights, if it starts from remote storage.
    pub(super) level: Level,
    pub(super) next_phase: usize,
    /// The phases run so far and when each began.
    pub(super) phases: Vec<(StartPhase, Time)>,
}

impl Replica {
    /// Moves on in life.
    ///
    /// # Panics
    /// If a replica cannot become that.
    pub(super) fn become_stage(&mut self, next: Stage) {
        assert!(
            self.stage.may_become(next),
            "a replica cannot go from {:?} to {next:?}",
            self.stage
        );
        self.stage = next;
    }

    /// Lower takes a request first: fewest requests, then the order of idle replicas.
    #[inline]
    pub(super) fn rank(&self, outstanding: usize, order: IdleOrder) -> u128 {
        (outstanding as u128) << 96 | self.idle_rank(order)
    }

    /// Its place among idle replicas; lower comes first. 96 bits.
    #[inline]
    pub(super) fn idle_rank(&self, order: IdleOrder) -> u128 {
        let (idle_since, serial) = (self.idle_since.as_nanos(), self.serial);
        let (idle, serial) = match order {
            IdleOrder::MostRecentlyIdle => (!idle_since, !serial),
            IdleOrder::LeastRecentlyIdle => (idle_since, serial),
            IdleOrder::Newest => (0, !serial),
        };
        u128::from(idle) << 32 | u128::from(serial)
    }

    /// Its place among the idle replicas of all models that may have to go; lower goes first.
    pub(super) fn eviction_rank(&self, priority: u8) -> u128 {
        u128::from(priority) << 96 | self.idle_rank(IdleOrder::LeastRecentlyIdle)
    }

    /// Requests it holds, waiting or running.
    #[inline]
    pub(super) fn outstanding(&self) -> usize {
        self.executor.outstanding() + self.queue.len()
    }

    /// Notes what it does from now on with so many requests, as far as the bill is concerned; nothing without GPUs.
    #[inline]
    pub(super) fn note(&mut self, now: Time, outstanding: usize) {
        let activity = Activity::of(self.stage, outstanding > 0).filter(|_| self.holds_gpus);
        if activity != self.activity {
            self.account(now);
            self.activity = activity;
        }
    }

    /// Adds the time since last asked to what it was said to do.
    #[inline]
    pub(super) fn account(&mut self, now: Time) {
        if let Some(activity) = self.activity {
            self.times[activity as usize] += now.since(self.accounted);
        }
        self.accounted = now;
    }

    /// Whether it is ready and has nothing to do.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.stage == Stage::Ready && self.outstanding() == 0
    }

    /// The time between `from` and `to` that its start took, phase by phase.
    #[cold]
    pub(super) fn start_between(&self, from: Time, to: Time) -> StartTimes {
        let mut times = StartTimes::default();
        for (index, &(phase, begun)) in self.start.phases.iter().enumerate() {
            let over = self
                .start
                .phases
                .get(index + 1)
                .map_or(self.ready_at, |&(_, next)| next);
            let span = over.min(to).saturating_since(begun.max(from));
            times[phase as usize] += span;
        }
        times
    }
}
