//! Whole fleets: against the bare calendar loop, with continuous batching, with a catalogue of 400 models, and repeated.

mod workloads;

use criterion::{BenchmarkId, Criterion, Throughput};
use thermocline::experiment::Keep;
use thermocline::experiment::repeat::repeat;
use thermocline::stats::CvDefinition;
use workloads::stepping::{BATCH, Batches};
use workloads::{BATCHING, Bare, EVENTS, Queue, catalogue, plan, queue, requests};

fn queues(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("queue");
    group.throughput(Throughput::Elements(EVENTS));
    let mut bare = Bare::new();
    group.bench_function("bare_loop", |bencher| bencher.iter(|| bare.turn()));
    let mut queue = Queue::new();
    group.bench_function("m_m_c", |bencher| bencher.iter(|| queue.turn()));
    group.finish();
}

/// Throughput in requests of everybody's.
fn fleets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("requests");
    group.sample_size(10);
    for (name, text) in [
        ("m_m_c", queue(20)),
        ("continuous_batching", BATCHING.to_owned()),
        ("catalogue_of_400", catalogue(10)),
    ] {
        let plan = plan(&text);
        group.throughput(Throughput::Elements(requests(&plan)));
        group.bench_function(name, |bencher| bencher.iter(|| requests(&plan)));
    }
    group.finish();
}

/// Throughput in requests of a replica with full batches, by the oracle and by the fast model.
fn stepping(criterion: &mut Criterion) {
    let jobs = 4 * BATCH;
    let batches = Batches::new(jobs);
    let mut group = criterion.benchmark_group("full_batch");
    group.throughput(Throughput::Elements(u64::from(jobs)));
    group.bench_function("step_by_step", |bencher| {
        bencher.iter(|| batches.step_by_step());
    });
    group.bench_function("change_by_change", |bencher| {
        bencher.iter(|| batches.change_by_change());
    });
    group.finish();
}

/// Throughput in benchmarks.
fn repeats(criterion: &mut Criterion) {
    const REPLICATIONS: u64 = 8;
    let plan = plan(BATCHING);
    let mut group = criterion.benchmark_group("repeat");
    group.sample_size(10);
    group.throughput(Throughput::Elements(REPLICATIONS));
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.expect("threads");
        group.bench_function(BenchmarkId::new("threads", threads), |bencher| {
            bencher.iter(|| {
                pool.install(|| {
                    let definition = CvDefinition::default();
                    repeat(&plan, REPLICATIONS, definition, Keep::default(), &|| ())
                })
            });
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    queues(&mut criterion);
    fleets(&mut criterion);
    stepping(&mut criterion);
    repeats(&mut criterion);
    criterion.final_summary();
}
