//! The event calendar in the hold model: pop the next event, schedule one an exponential time later, at constant size.

use criterion::{BenchmarkId, Criterion, Throughput};
use rand_distr::{Distribution, Exp1};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use thermocline::calendar::Calendar;
use thermocline::streams::Streams;
use thermocline::time::{Duration, Time};

/// Spans drawn beforehand, so that only the calendar is timed; their number is prime to the sizes.
fn spans() -> Vec<Duration> {
    let mut stream = Streams::new(1, 0).stream("spans");
    let mut draw = || -> f64 { Exp1.sample(&mut stream) };
    (0..65_537).map(|_| Duration::from_secs(draw())).collect()
}

fn hold(criterion: &mut Criterion) {
    let spans = spans();
    let mut group = criterion.benchmark_group("hold");
    group.throughput(Throughput::Elements(1));
    for pending in [100_u32, 1000, 10_000, 100_000, 1_000_000] {
        group.bench_function(BenchmarkId::new("calendar", pending), |bencher| {
            let mut next = spans.iter().cycle();
            let mut span = || *next.next().expect("a cycle");
            let mut calendar = Calendar::new();
            for event in 0..pending {
                calendar.schedule(Time::ZERO + span(), 0, event);
            }
            bencher.iter(|| {
                let event = calendar.pop_before(Time::MAX).expect("never empty");
                calendar.schedule(calendar.now() + span(), 0, black_box(event));
            });
        });
        group.bench_function(BenchmarkId::new("std_binary_heap", pending), |bencher| {
            let mut next = spans.iter().cycle();
            let mut span = || *next.next().expect("a cycle");
            let mut heap = BinaryHeap::new();
            let mut sequence = 0_u64;
            for event in 0..pending {
                heap.push(Reverse((Time::ZERO + span(), sequence, event)));
                sequence += 1;
            }
            bencher.iter(|| {
                let Reverse((now, _, event)) = heap.pop().expect("never empty");
                heap.push(Reverse((now + span(), sequence, black_box(event))));
                sequence += 1;
            });
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    hold(&mut criterion);
    criterion.final_summary();
}
