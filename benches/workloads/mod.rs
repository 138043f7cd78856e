//! What the benchmarks run.

pub(crate) mod stepping;

use rand_distr::{Distribution, Exp1};
use std::fmt::Write as _;
use std::hint::black_box;
use thermocline::calendar::Calendar;
use thermocline::experiment::{Keep, Plan, Run, run};
use thermocline::fleet::Fleet;
use thermocline::scenario::{self, Overrides};
use thermocline::streams::{Stream, Streams};
use thermocline::target::Target;
use thermocline::time::{Duration, Time};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Servers of the M/M/c queue.
pub(crate) const SERVERS: u32 = 16;

/// Events, or requests of two events each, in a turn of [`Bare`] and of [`Queue`].
pub(crate) const EVENTS: u64 = 8000;

/// The M/M/c queue for a while: 800 requests a second of 16 ms each, 80 % of the servers busy.
pub(crate) fn queue(horizon_s: u64) -> String {
    format!(
        r#"
        time = {{ warm_up = "0s", horizon = "{horizon_s}s" }}
        benchmark = {{ requests = 0, discard = 0 }}
        [providers.p.deployments.m]
        service.slots = {{ prefill = "0s", decode = {{ exponential = {{ mean = "16ms" }} }} }}
        scaling = {{ min = 16, max = 16, rule = "fixed", keep_alive = "infinite" }}
        traffic.t = {{ arrivals = "800/s", prompt_tokens = 1, output_tokens = 1 }}
        "#
    )
}

/// One model, 8 replicas with continuous batching, 300 output tokens.
pub(crate) const BATCHING: &str = r#"
    time = { warm_up = "0s", horizon = "60s" }
    benchmark = { requests = 0, discard = 0 }
    [providers.p.deployments."llama-3.1-8b"]
    gpu = "h100-sxm"
    engine = {}
    service.continuous.max_sequences = 64
    scaling = { min = 8, max = 8, rule = "fixed", keep_alive = "infinite" }
    traffic.t = { arrivals = "150/s", prompt_tokens = 500, output_tokens = 300 }
"#;

/// 400 models by Zipf's law on shared GPUs for a while, 2000 requests a second between them, and a benchmark of one.
pub(crate) fn catalogue(horizon_s: u64) -> String {
    let harmonic: f64 = (1..=400).map(|rank| 1.0 / f64::from(rank)).sum();
    let mut text = format!(
        r#"
        time = {{ warm_up = "0s", horizon = "{horizon_s}s" }}
        benchmark = {{ requests = 75, gaps = "500ms", models = ["m40"] }}
        [providers.p]
        evict_idle = true
        gpus.card = 500
        "#
    );
    for rank in 1..=400 {
        let rate = 2000.0 / f64::from(rank) / harmonic;
        let _ = write!(
            text,
            r#"
            [providers.p.deployments.m{rank}]
            gpu = "card"
            service.continuous = {{ max_sequences = 64, step = {{ base = "8ms", per_sequence = "50us", prefill_per_token = "20us" }} }}
            cold_start.load_weights = "10s"
            scaling = {{ keep_alive = "2m", max = 20 }}
            traffic.t = {{ arrivals = "{rate:.4}/s", prompt_tokens = {{ lognormal = {{ median = 500, p95 = 3000 }} }}, output_tokens = {{ lognormal = {{ median = 150, p95 = 600 }} }} }}
            "#
        );
    }
    text
}

/// The plan of a scenario.
pub(crate) fn plan(text: &str) -> Plan {
    match scenario::load("bench.toml", text, &Overrides::default()) {
        Ok((plan, _)) => plan,
        Err(error) => panic!("{error}"),
    }
}

/// Runs a plan once; how many requests of everybody's it served.
pub(crate) fn requests(plan: &Plan) -> u64 {
    let which = Run {
        provider: 0,
        session: 0,
        replication: 0,
    };
    let result = run(plan, which, Keep::default());
    result.fleet.iter().map(|did| did.ledger.arrived).sum()
}

/// The least that a simulation with as many pending events must do: pop, draw an exponential, push.
pub(crate) struct Bare {
    calendar: Calendar<u32>,
    stream: Stream,
}

impl Bare {
    /// As many pending events as the queue has at most.
    pub(crate) fn new() -> Self {
        let mut bare = Self {
            calendar: Calendar::new(),
            stream: Streams::new(1, 0).stream("bare"),
        };
        for event in 0..=SERVERS {
            bare.schedule(event);
        }
        bare
    }

    fn schedule(&mut self, event: u32) {
        let span: f64 = Exp1.sample(&mut self.stream);
        let at = self.calendar.now() + Duration::from_secs(span * 0.016);
        self.calendar.schedule(at, 0, event);
    }

    /// Some thousand events.
    pub(crate) fn turn(&mut self) -> u64 {
        for _ in 0..EVENTS {
            let event = self.calendar.pop_before(Time::MAX).expect("never empty");
            self.schedule(black_box(event));
        }
        EVENTS
    }
}

/// The M/M/c queue in a whole fleet.
pub(crate) struct Queue {
    fleet: Fleet,
    until: Time,
}

impl Queue {
    /// In its steady state.
    pub(crate) fn new() -> Self {
        let plan = plan(&queue(1));
        let provider = &plan.providers[0];
        let fleet = provider.fleet.clone();
        let mut queue = Self {
            fleet: Fleet::new(fleet, &provider.name, Streams::new(1, 0), ()),
            until: Time::ZERO,
        };
        for _ in 0..10 {
            queue.turn();
        }
        queue
    }

    /// Five seconds; an arrival and an end a request.
    pub(crate) fn turn(&mut self) -> u64 {
        self.until += Duration::from_secs(5.0);
        while self.fleet.now() < self.until {
            black_box(self.fleet.advance(self.until));
        }
        EVENTS
    }
}
