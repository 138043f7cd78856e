//! What a benchmark of 75 requests costs to summarise and to resample, and a request of everybody's to count.

use criterion::{Criterion, Throughput};
use std::hint::black_box;
use thermocline::measure::summary::Summary;
use thermocline::observation::{Observation, Outcome};
use thermocline::request::{EndpointId, RequestId};
use thermocline::stats::{Histogram, PercentileMethod, Sample, bootstrap};
use thermocline::streams::Streams;
use thermocline::time::{Duration, Time};

/// 75 answers, one in 25 of them cold.
fn observations() -> Vec<(Observation, Option<bool>)> {
    (0..75_u64)
        .map(|index| {
            let sent = Time::from_secs(index as f64 * 60.0);
            let cold = index % 25 == 3;
            let ttft = 0.4 + (index * 37 % 75) as f64 / 500.0 + if cold { 30.0 } else { 0.0 };
            let first = sent + Duration::from_secs(ttft);
            let seen = Observation::new(
                RequestId(index),
                EndpointId(0),
                sent,
                sent,
                Some(first),
                first + Duration::from_secs(2.0),
                64,
                Outcome::Succeeded,
            );
            (seen, Some(cold))
        })
        .collect()
}

fn stats(criterion: &mut Criterion) {
    let rows = observations();
    let mut group = criterion.benchmark_group("stats");
    group.bench_function("summary_of_75", |bencher| {
        bencher.iter(|| Summary::of(black_box(&rows), PercentileMethod::default()));
    });
    group.bench_function("quantiles_of_1000", |bencher| {
        // A multiplicative walk, so that sorting has work to do.
        let values = (1..=1000_u64).map(|index| (index * 7919 % 1009) as f64);
        let values: Vec<f64> = values.collect();
        bencher.iter(|| {
            let sample = Sample::new(black_box(values.clone())).expect("not empty");
            let quantile = |p: f64| sample.quantile(p, PercentileMethod::default());
            [0.5, 0.95, 0.99].map(quantile)
        });
    });
    group.bench_function("bootstrap_of_75", |bencher| {
        let ttfts = rows.iter().filter_map(|(seen, _)| seen.ttft());
        let sample = Sample::new(ttfts.map(Duration::as_secs).collect()).expect("not empty");
        let mut stream = Streams::new(1, 0).stream("bootstrap");
        bencher.iter(|| bootstrap(black_box(&sample), &mut stream, Sample::mean));
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("histogram_record", |bencher| {
        let mut histogram = Histogram::new();
        let mut nanos = 1_u64;
        bencher.iter(|| {
            // A multiplicative walk over the whole range of the clock.
            nanos = nanos
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            histogram.record(Duration::from_nanos(black_box(nanos >> (nanos & 31))));
        });
        black_box(histogram.count());
    });
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    stats(&mut criterion);
    criterion.final_summary();
}
