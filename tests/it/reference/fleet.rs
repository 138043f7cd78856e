//! The fleet, event by event: a list of what will happen, and a scan for what happens first.

use super::replica::{self, Replica};
use super::workload::{HORIZON, Job, Model, Nanos, Workload};
use super::{Ended, named};
use thermocline::observation::Outcome;

/// What can happen. Things of one instant happen in this order, equals in the order in which they were foreseen: work ends and
/// replicas get ready before requests come, clients give up before a batch begins, and whoever comes at the instant of an
/// expiry finds the replica there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    /// A replica's work.
    Turn(usize),
    /// A phase of a replica's start is over.
    PhaseOver(usize),
    /// The next request of a model's stream.
    Arrival(usize, usize),
    /// A request's client gives up.
    GiveUp(usize),
    /// A request has been held for too long.
    Expel(usize),
    /// A replica's work that waits for the others of its instant.
    Begin(usize),
    /// A replica's keep-alive is over.
    Expire(usize),
    /// The oldest ready replica of a model dies.
    Die(usize),
    /// One of the models that share a replica is in it.
    Switched(usize),
}

impl What {
    fn class(self) -> u8 {
        match self {
            Self::Turn(_) => 0,
            Self::PhaseOver(_) | Self::Switched(_) => 1,
            Self::Arrival(..) => 2,
            Self::GiveUp(_) | Self::Expel(_) => 3,
            Self::Begin(_) => 4,
            Self::Expire(_) | Self::Die(_) => 5,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Held,
    /// Until its model is in the replica.
    Awaits(usize),
    At(usize),
    Over,
}

struct Request {
    model: usize,
    stream: usize,
    wakes: bool,
    /// Which of the models that share the replicas.
    wants: usize,
    arrived: Nanos,
    /// How many replicas there had ever been.
    replicas_before: usize,
    cold: bool,
    job: Job,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stage {
    /// Waiting for a GPU.
    Queued,
    Starting,
    Ready,
    Gone,
}

/// One that was ever started.
pub(super) struct Server {
    pub(super) model: usize,
    pub(super) stage: Stage,
    pub(super) phases_done: usize,
    pub(super) ready_at: Nanos,
    pub(super) work: Box<dyn Replica>,
    /// The models in it, least recently called for first, where several share it.
    pub(super) models: Vec<usize>,
    pub(super) is_switching: bool,
    /// When its work is due, as it stands on the agenda.
    pub(super) foreseen: Option<Nanos>,
    pub(super) idle_since: Nanos,
    /// Idle for longer than its keep-alive.
    pub(super) is_overdue: bool,
}

/// The fleet.
pub(crate) struct Fleet<'a> {
    pub(super) workload: &'a Workload,
    pub(super) now: Nanos,
    foreseen: u64,
    agenda: Vec<(Nanos, u8, u64, What)>,
    /// Requests yet to come, by model and stream, the next one last.
    coming: Vec<Vec<Vec<(Nanos, Job)>>>,
    requests: Vec<Request>,
    /// Keys of held requests by model, in the order in which they will be served.
    pub(super) held: Vec<Vec<usize>>,
    pub(super) servers: Vec<Server>,
    ended: Vec<Ended>,
}

/// What becomes of a workload's requests until the horizon.
pub(crate) fn simulate(workload: &Workload) -> Vec<Ended> {
    let mut fleet = Fleet {
        workload,
        now: 0,
        foreseen: 0,
        agenda: Vec::new(),
        coming: Vec::new(),
        requests: Vec::new(),
        held: vec![Vec::new(); workload.models.len()],
        servers: Vec::new(),
        ended: Vec::new(),
    };
    for model in 0..workload.models.len() {
        fleet.open(model);
    }
    fleet.evict_for_queued();
    while let Some(&next) = fleet.agenda.iter().min_by_key(|one| (one.0, one.1, one.2)) {
        if next.0 >= HORIZON {
            break;
        }
        fleet.agenda.retain(|one| one.2 != next.2);
        fleet.now = next.0;
        fleet.happen(next.3);
        fleet.evict_for_queued();
    }
    fleet.ended.sort();
    fleet.ended
}

impl Fleet<'_> {
    pub(super) fn foresee(&mut self, at: Nanos, what: What) {
        self.foreseen += 1;
        self.agenda.push((at, what.class(), self.foreseen, what));
    }

    pub(super) fn forget(&mut self, what: What) {
        self.agenda.retain(|one| one.3 != what);
    }

    pub(super) fn model(&self, model: usize) -> &Model {
        &self.workload.models[model]
    }

    fn open(&mut self, model: usize) {
        let initial = self.model(model).initial.min(self.model(model).max);
        for _ in 0..initial {
            if self.free_gpus() > 0 {
                let server = self.new_server(model, Stage::Starting);
                self.become_ready(server);
            }
        }
        let mut coming = Vec::new();
        for (stream, from) in self.model(model).streams.iter().enumerate() {
            let jobs = self.workload.jobs(model, stream);
            coming.push(
                from.times
                    .iter()
                    .copied()
                    .zip(jobs)
                    .rev()
                    .collect::<Vec<_>>(),
            );
        }
        let streams = coming.len();
        self.coming.push(coming);
        for stream in 0..streams {
            self.foresee_arrival(model, stream);
        }
        for at in self.model(model).failures.clone() {
            self.foresee(at, What::Die(model));
        }
        self.scale(model);
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Turn(server) | What::Begin(server) => self.turn(server),
            What::PhaseOver(server) => {
                self.servers[server].phases_done += 1;
                self.next_phase(server);
            }
            What::Arrival(model, stream) => self.arrive(model, stream),
            What::GiveUp(request) => self.give_up(request),
            What::Expel(request) => self.expel(request),
            What::Expire(server) => {
                if self.may_stop(self.servers[server].model) {
                    self.stop(server);
                } else {
                    self.servers[server].is_overdue = true;
                }
            }
            What::Die(model) => self.die(model),
            What::Switched(server) => self.switched(server),
        }
    }

    fn at_stage(&self, model: usize, stage: impl Fn(Stage) -> bool) -> Vec<usize> {
        let all = 0..self.servers.len();
        all.filter(|&one| self.servers[one].model == model && stage(self.servers[one].stage))
            .collect()
    }

    pub(super) fn ready(&self, model: usize) -> Vec<usize> {
        self.at_stage(model, |stage| stage == Stage::Ready)
    }

    pub(super) fn starting(&self, model: usize) -> Vec<usize> {
        self.at_stage(model, |stage| {
            matches!(stage, Stage::Queued | Stage::Starting)
        })
    }

    /// Requests in the system that may start replicas.
    pub(super) fn waking(&self, model: usize) -> u32 {
        let own = self.requests.iter().filter(|one| one.model == model);
        own.filter(|one| one.wakes && one.place != Place::Over)
            .count() as u32
    }

    pub(super) fn free_gpus(&self) -> u32 {
        let holding = |one: &&Server| matches!(one.stage, Stage::Starting | Stage::Ready);
        let used = self.servers.iter().filter(holding).count() as u32;
        self.workload.gpus.map_or(u32::MAX, |gpus| gpus - used)
    }

    pub(super) fn is_idle(&self, server: usize) -> bool {
        self.servers[server].stage == Stage::Ready && self.load(server) == 0
    }

    /// Requests at a replica.
    fn load(&self, server: usize) -> usize {
        self.servers[server].work.holds().len() + usize::from(self.awaiting(server).is_some())
    }

    /// The request that waits for its model to be in a replica.
    pub(super) fn awaiting(&self, server: usize) -> Option<usize> {
        let mut all = self.requests.iter();
        all.position(|one| one.place == Place::Awaits(server))
    }

    /// Replicas that the requests are worth, and with them the buffer.
    pub(super) fn wanted(&self, model: usize) -> u32 {
        let own = self.model(model);
        match self.waking(model) {
            0 => 0,
            waking => waking.div_ceil(own.target) + own.buffer,
        }
    }

    pub(super) fn may_stop(&self, model: usize) -> bool {
        let own = self.model(model);
        let needed = own.min.max(self.wanted(model).min(own.max));
        self.ready(model).len() as u32 > needed
    }

    fn foresee_arrival(&mut self, model: usize, stream: usize) {
        if let Some(&(at, _)) = self.coming[model][stream].last() {
            self.foresee(at, What::Arrival(model, stream));
        }
    }

    fn arrive(&mut self, model: usize, stream: usize) {
        let key = self.requests.len();
        let (_, job) = self.coming[model][stream].pop().expect("it was foreseen");
        let from = &self.workload.models[model].streams[stream];
        if let Some(timeout) = from.timeout {
            self.foresee(self.now + timeout, What::GiveUp(key));
        }
        self.foresee_arrival(model, stream);
        self.requests.push(Request {
            model,
            stream,
            wakes: from.wakes,
            wants: from.model,
            arrived: self.now,
            replicas_before: self.servers.len(),
            cold: false,
            job: Job { key, ..job },
            place: Place::Held,
        });
        let is_asleep = self.ready(model).is_empty();
        if !replica::new(&self.model(model).service).can_ever_fit(&job) {
            self.refuse(key, 413);
        } else if is_asleep && !self.model(model).hold_while_cold && from.wakes {
            self.scale(model);
            self.refuse(key, 503);
        } else if is_asleep && self.starting(model).is_empty() && !from.wakes {
            self.refuse(key, 503);
        } else {
            self.hold(key);
            self.scale(model);
        }
    }

    /// Lets a request wait its turn, or refuses it or the one that must give way to it.
    pub(super) fn hold(&mut self, key: usize) {
        let model = self.requests[key].model;
        self.requests[key].place = Place::Held;
        let priority = |fleet: &Self, key: usize| fleet.requests[key].job.priority;
        let mine = priority(self, key);
        let limit = self.model(model).queue_limit.unwrap_or(u32::MAX) as usize;
        let is_first = self.held[model].is_empty();
        if is_first && self.free_server(model, key).is_some() {
            self.held[model].push(key);
            return self.serve(model);
        }
        if self.held[model].len() >= limit {
            match self.held[model].last().copied() {
                Some(last) if priority(self, last) < mine => {
                    self.held[model].pop();
                    self.refuse(last, 429);
                }
                _ => return self.refuse(key, 429),
            }
        }
        let place = self.held[model]
            .iter()
            .position(|&other| priority(self, other) < mine);
        let place = place.unwrap_or(self.held[model].len());
        self.held[model].insert(place, key);
        if let Some(timeout) = self.model(model).queue_timeout {
            self.foresee(self.now + timeout, What::Expel(key));
        }
        self.serve(model);
    }

    /// Who would take a request now: the one with the fewest requests, and among those the model's choice.
    fn free_server(&self, model: usize, key: usize) -> Option<usize> {
        let job = &self.requests[key].job;
        let free = self.ready(model).into_iter();
        let free = free.filter(|&one| self.servers[one].work.has_room(job));
        let free = free.filter(|&one| self.has(one, key) || self.leaver(one).is_some());
        let free = free.filter(|&one| !self.servers[one].is_switching);
        let order = self.model(model).idle_order;
        free.min_by_key(|&one| {
            let (since, serial) = (
                self.servers[one].idle_since.cast_signed(),
                one.cast_signed(),
            );
            let chosen = match order {
                "most-recently-idle" => (-since, -serial),
                "least-recently-idle" => (since, serial),
                _ => (0, -serial),
            };
            (!self.has(one, key), self.load(one), chosen)
        })
    }

    /// Hands held requests over while there is room for the first of them.
    pub(super) fn serve(&mut self, model: usize) {
        while let Some((key, server)) = self.next_served(model) {
            self.held[model].retain(|&other| other != key);
            self.servers[server].is_overdue = false;
            self.forget(What::Expire(server));
            if self.has(server, key) {
                self.hand_over(key, server);
            } else {
                self.switch(key, server);
            }
        }
    }

    /// The first of the held, or the first for whom there is room where one may overtake another.
    fn next_served(&self, model: usize) -> Option<(usize, usize)> {
        let sharing = self.model(model).sharing;
        let all = sharing.is_some_and(|sharing| sharing.first_fit);
        let most = if all { usize::MAX } else { 1 };
        let mut some = self.held[model].iter().take(most);
        some.find_map(|&key| Some((key, self.free_server(model, key)?)))
    }

    fn hand_over(&mut self, key: usize, server: usize) {
        let wants = self.requests[key].wants;
        let (now, by) = (self.now, &mut self.servers[server]);
        if let Some(index) = by.models.iter().position(|&model| model == wants) {
            by.models.remove(index);
            by.models.push(wants);
        }
        let request = &mut self.requests[key];
        request.cold = by.ready_at > request.arrived || server >= request.replicas_before;
        request.place = Place::At(server);
        by.work.push(now, request.job);
        self.forget(What::Expel(key));
        self.look_ahead(server);
    }

    /// Whether the model of a request is in a replica, so that it need not be brought in.
    fn has(&self, server: usize, key: usize) -> bool {
        let wants = self.requests[key].wants;
        match self.model(self.servers[server].model).sharing {
            None => true,
            Some(sharing) if sharing.keeps_own && wants == 0 => true,
            Some(_) => self.servers[server].models.contains(&wants),
        }
    }

    /// Where in the list of a replica's models another can come in: behind the last, or instead of the first without requests.
    fn leaver(&self, server: usize) -> Option<usize> {
        let own = self.model(self.servers[server].model);
        let there = &self.servers[server].models;
        if there.len() < own.sharing?.at_once as usize {
            return Some(there.len());
        }
        there.iter().position(|&model| {
            let here = |one: &Request| one.place == Place::At(server) && one.wants == model;
            !self.requests.iter().any(here)
        })
    }

    /// Brings the model of a request into a replica.
    fn switch(&mut self, key: usize, server: usize) {
        let leaver = self.leaver(server).expect("one can come in");
        let sharing = self.model(self.requests[key].model).sharing;
        let by = &mut self.servers[server];
        if leaver < by.models.len() {
            by.models.remove(leaver);
        }
        by.models.push(self.requests[key].wants);
        by.is_switching = true;
        self.requests[key].place = Place::Awaits(server);
        let span = sharing.expect("models share it").switch;
        self.foresee(self.now + span, What::Switched(server));
    }

    fn switched(&mut self, server: usize) {
        self.servers[server].is_switching = false;
        self.hand_over_awaiting(server);
        let model = self.servers[server].model;
        self.serve(model);
        self.settle(model);
    }

    /// Hands over the request whose model has been brought in, unless a batch has begun meanwhile.
    pub(super) fn hand_over_awaiting(&mut self, server: usize) {
        let by = &self.servers[server];
        if let Some(key) = self.awaiting(server)
            && !by.is_switching
            && by.work.has_room(&self.requests[key].job)
        {
            self.hand_over(key, server);
        }
    }

    pub(super) fn refuse(&mut self, key: usize, status: u16) {
        self.end(key, Outcome::Rejected { status });
    }

    pub(super) fn end(&mut self, key: usize, outcome: Outcome) {
        let request = &mut self.requests[key];
        let token = match request.place {
            Place::At(server) => self.servers[server].work.first_token(key),
            Place::Held | Place::Awaits(_) | Place::Over => None,
        };
        request.place = Place::Over;
        self.ended.push(Ended {
            model: request.model,
            stream: request.stream,
            arrived: request.arrived,
            first_token: token.filter(|&at| at <= self.now && outcome != Outcome::TimedOut),
            end: self.now,
            outcome: named(outcome),
            cold: request.cold,
        });
        self.forget(What::GiveUp(key));
        self.forget(What::Expel(key));
    }

    fn give_up(&mut self, key: usize) {
        let Request { model, place, .. } = self.requests[key];
        if let Place::At(server) = place {
            let token = self.servers[server].work.first_token(key);
            if token.is_some_and(|at| at <= self.now) {
                return;
            }
            self.servers[server].work.cancel(self.now, key);
            self.look_ahead(server);
            self.end(key, Outcome::TimedOut);
            self.after_work(server);
        } else {
            self.leave_queue(key);
            self.end(key, Outcome::TimedOut);
            self.after_leaving(model, place);
        }
        self.settle(model);
    }

    fn after_leaving(&mut self, model: usize, place: Place) {
        if let Place::Awaits(server) = place {
            self.after_work(server);
        } else {
            self.serve(model);
        }
    }

    fn expel(&mut self, key: usize) {
        let Request { model, place, .. } = self.requests[key];
        self.leave_queue(key);
        self.refuse(key, 503);
        self.after_leaving(model, place);
        self.settle(model);
    }

    /// One that gives up while the model has nothing but starts has met a cold start.
    fn leave_queue(&mut self, key: usize) {
        let model = self.requests[key].model;
        self.requests[key].cold = self.ready(model).is_empty() && !self.starting(model).is_empty();
        self.held[model].retain(|&other| other != key);
    }
}
