//! Whole fleets: against the bare calendar loop, with continuous batching, and with a catalogue of 400 models.
//!
//! The ratio against the bare loop and the rates are measured in turns within one run and printed at the end, beside their bars.

#![expect(clippy::print_stdout, reason = "the ratios are the result")]

use criterion::{Criterion, Throughput};
use rand_distr::{Distribution, Exp1};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;
use thermocline::calendar::Calendar;
use thermocline::experiment::{Keep, Plan, Run, run};
use thermocline::fleet::Fleet;
use thermocline::scenario::{self, Overrides};
use thermocline::streams::{Stream, Streams};
use thermocline::target::Target;
use thermocline::time::{Duration, Time};

/// Servers of the M/M/c queue.
const SERVERS: u32 = 16;

/// The M/M/c queue: 800 requests a second of 16 ms each, 80 % of the servers busy.
const QUEUE: &str = r#"
    time.warm_up = "0s"
    benchmark = { requests = 0, discard = 0 }
    [providers.p.deployments.m]
    service.slots = { prefill = "0s", decode = { exponential = { mean = "16ms" } } }
    scaling = { min = 16, max = 16, rule = "fixed", keep_alive = "infinite" }
    traffic.t = { arrivals = "800/s", prompt_tokens = 1, output_tokens = 1 }
"#;

/// One model, 8 replicas with continuous batching, 300 output tokens.
const BATCHING: &str = r#"
    time = { warm_up = "0s", horizon = "60s" }
    benchmark = { requests = 0, discard = 0 }
    [providers.p.deployments."llama-3.1-8b"]
    gpu = "h100-sxm"
    engine = {}
    service.continuous.max_sequences = 64
    scaling = { min = 8, max = 8, rule = "fixed", keep_alive = "infinite" }
    traffic.t = { arrivals = "150/s", prompt_tokens = 500, output_tokens = 300 }
"#;

/// 400 models by Zipf's law on shared GPUs, 2000 requests a second between them, and a benchmark of one.
fn catalogue() -> String {
    let harmonic: f64 = (1..=400).map(|rank| 1.0 / f64::from(rank)).sum();
    let mut text = String::from(
        r#"
        time = { warm_up = "0s", horizon = "2m" }
        benchmark = { requests = 75, gaps = "500ms", models = ["m40"] }
        [providers.p]
        evict_idle = true
        gpus.card = 500
        "#,
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

fn plan(text: &str) -> Plan {
    match scenario::load("bench.toml", text, &Overrides::default()) {
        Ok((plan, _)) => plan,
        Err(error) => panic!("{error}"),
    }
}

/// The least that a simulation with as many pending events must do: pop, draw an exponential, push.
struct Bare {
    calendar: Calendar<u32>,
    stream: Stream,
}

impl Bare {
    fn new() -> Self {
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
    fn turn(&mut self) -> u64 {
        for _ in 0..8000 {
            let event = self.calendar.pop_before(Time::MAX).expect("never empty");
            self.schedule(black_box(event));
        }
        8000
    }
}

/// The queue in a whole fleet.
struct Queue {
    fleet: Fleet,
    until: Time,
}

impl Queue {
    fn new() -> Self {
        let plan = plan(QUEUE);
        let provider = &plan.providers[0];
        let fleet = provider.fleet.clone();
        let mut queue = Self {
            fleet: Fleet::new(fleet, &provider.name, Streams::new(1, 0), ()),
            until: Time::ZERO,
        };
        // The replicas are ready at once, and the queue is in its steady state.
        for _ in 0..10 {
            queue.turn();
        }
        queue
    }

    /// Five seconds; an arrival and an end a request.
    fn turn(&mut self) -> u64 {
        self.until += Duration::from_secs(5.0);
        while self.fleet.now() < self.until {
            black_box(self.fleet.advance(self.until));
        }
        8000
    }
}

/// Runs a plan once; how many requests of everybody's it served.
fn requests(plan: &Plan) -> u64 {
    let which = Run {
        provider: 0,
        session: 0,
        replication: 0,
    };
    let result = run(plan, which, Keep::default());
    result.fleet.iter().map(|did| did.ledger.arrived).sum()
}

fn fleets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("queue");
    group.throughput(Throughput::Elements(8000));
    let mut bare = Bare::new();
    group.bench_function("bare_loop", |bencher| bencher.iter(|| bare.turn()));
    let mut queue = Queue::new();
    group.bench_function("m_m_c", |bencher| bencher.iter(|| queue.turn()));
    group.finish();

    let mut group = criterion.benchmark_group("requests");
    group.sample_size(10);
    for (name, text) in [
        ("continuous_batching", BATCHING.to_owned()),
        ("catalogue_of_400", catalogue()),
    ] {
        let plan = plan(&text);
        group.throughput(Throughput::Elements(requests(&plan)));
        group.bench_function(name, |bencher| bencher.iter(|| requests(&plan)));
    }
    group.finish();
}

/// Events or requests per second of some work: the best of several turns, so that other processes do not count.
fn best(turns: u32, mut work: impl FnMut() -> u64) -> f64 {
    (0..turns)
        .map(|_| {
            let begun = Instant::now();
            let done = work();
            done as f64 / begun.elapsed().as_secs_f64()
        })
        .fold(0.0, f64::max)
}

/// Prints what stands against a bar.
fn bars() {
    let (mut bare, mut queue) = (Bare::new(), Queue::new());
    let (mut loop_rate, mut queue_rate) = (0.0_f64, 0.0_f64);
    for _ in 0..200 {
        loop_rate = loop_rate.max(best(1, || bare.turn()));
        queue_rate = queue_rate.max(best(1, || queue.turn()));
    }
    println!(
        "M/M/{SERVERS} through the fleet: {:.1} M events/s, bare loop {:.1} M events/s, ratio {:.2} (bar 0.33)",
        queue_rate / 1e6,
        loop_rate / 1e6,
        queue_rate / loop_rate
    );
    let batching = plan(BATCHING);
    println!(
        "continuous batching: {:.2} M requests/s",
        best(10, || requests(&batching)) / 1e6
    );
    let catalogue = plan(&catalogue());
    println!(
        "400 models: {:.2} M requests/s (bar 1)",
        best(5, || requests(&catalogue)) / 1e6
    );
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    fleets(&mut criterion);
    criterion.final_summary();
    // Under `--test` and `--list` nothing is measured.
    let arguments: Vec<String> = std::env::args().collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if has("--bench") && !has("--test") && !has("--list") {
        bars();
    }
}
