//! A fleet's figures in Prometheus' text format (version 0.0.4), under vLLM's names where they fit: everybody's requests since
//! the doors opened, in virtual seconds.

use std::fmt::{Display, Write as _};

use super::clock::Clock;
use super::witness::{Buckets, Tally};
use crate::fleet::Census;
use crate::time::Time;

/// What is told.
pub(super) struct Snapshot<'a> {
    pub(super) now: Time,
    pub(super) clock: &'a Clock,
    /// The models, and for each what it does and what it did.
    pub(super) names: &'a [String],
    pub(super) census: &'a [Census],
    pub(super) tallies: &'a [Tally],
}

/// All figures.
pub(super) fn text(snapshot: &Snapshot<'_>) -> String {
    let mut page = Page {
        text: String::new(),
        names: snapshot.names,
    };
    let census = |count: fn(&Census) -> u32| snapshot.census.iter().map(count).collect::<Vec<_>>();
    let tally = |count: fn(&Tally) -> u64| snapshot.tallies.iter().map(count).collect::<Vec<_>>();
    page.gauge(
        "vllm:num_requests_running",
        "Requests that replicas work on.",
        &census(|one| one.running),
    );
    page.gauge(
        "vllm:num_requests_waiting",
        "Requests that wait for a replica.",
        &census(|one| one.waiting),
    );
    page.histogram(
        "vllm:time_to_first_token_seconds",
        "Time to first token.",
        snapshot.tallies.iter().map(|one| &one.ttft),
    );
    page.histogram(
        "vllm:e2e_request_latency_seconds",
        "Time to the last token.",
        snapshot.tallies.iter().map(|one| &one.latency),
    );
    page.counter(
        "vllm:prompt_tokens_total",
        "Prompt tokens of answered requests.",
        &tally(|one| one.prompt_tokens),
    );
    page.counter(
        "vllm:generation_tokens_total",
        "Tokens of answers.",
        &tally(|one| one.output_tokens),
    );
    page.endings(snapshot.tallies);
    page.counter(
        "thermocline:cold_requests_total",
        "Requests that waited for a replica that was not ready.",
        &tally(|one| one.cold),
    );
    page.replicas(snapshot.census);
    let clock = snapshot.clock;
    let since = snapshot.now.as_secs();
    page.alone("thermocline:virtual_time_seconds", "gauge", since);
    page.alone("thermocline:speed", "gauge", clock.speed());
    let lost = clock.lost().as_secs_f64();
    page.alone("thermocline:clock_slip_seconds_total", "counter", lost);
    page.text
}

struct Page<'a> {
    text: String,
    names: &'a [String],
}

impl Page<'_> {
    fn head(&mut self, name: &str, help: &str, kind: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn gauge(&mut self, name: &str, help: &str, values: &[u32]) {
        self.head(name, help, "gauge");
        self.each(name, values);
    }

    fn counter(&mut self, name: &str, help: &str, values: &[u64]) {
        self.head(name, help, "counter");
        self.each(name, values);
    }

    fn each<T: Display>(&mut self, name: &str, values: &[T]) {
        for (model, value) in self.names.iter().zip(values) {
            let model = escaped(model);
            self.line(format_args!("{name}{{model_name=\"{model}\"}} {value}"));
        }
    }

    fn alone(&mut self, name: &str, kind: &str, value: f64) {
        self.line(format_args!("# TYPE {name} {kind}"));
        self.line(format_args!("{name} {value}"));
    }

    fn histogram<'b>(
        &mut self,
        name: &str,
        help: &str,
        histograms: impl Iterator<Item = &'b Buckets>,
    ) {
        self.head(name, help, "histogram");
        for (model, buckets) in self.names.iter().zip(histograms) {
            let model = escaped(model);
            let bounds = buckets.bounds.iter().map(f64::to_string);
            let mut total = 0;
            for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(&buckets.counts) {
                total += count;
                self.line(format_args!(
                    "{name}_bucket{{model_name=\"{model}\",le=\"{bound}\"}} {total}"
                ));
            }
            let sum = buckets.sum;
            self.line(format_args!("{name}_sum{{model_name=\"{model}\"}} {sum}"));
            self.line(format_args!(
                "{name}_count{{model_name=\"{model}\"}} {total}"
            ));
        }
    }

    fn endings(&mut self, tallies: &[Tally]) {
        let name = "vllm:request_success_total";
        self.head(name, "Requests answered in full.", "counter");
        for (model, tally) in self.names.iter().zip(tallies) {
            let (model, count) = (escaped(model), tally.succeeded);
            self.line(format_args!(
                "{name}{{finished_reason=\"length\",model_name=\"{model}\"}} {count}"
            ));
        }
        let name = "thermocline:requests_lost_total";
        self.head(name, "Requests that were not answered.", "counter");
        for (model, tally) in self.names.iter().zip(tallies) {
            let model = escaped(model);
            let refused = tally
                .rejected
                .iter()
                .map(|(status, count)| (status.to_string(), *count));
            let others = [("timed-out", tally.timed_out), ("failed", tally.failed)];
            let others = others.map(|(reason, count)| (reason.to_owned(), count));
            for (reason, count) in refused.chain(others) {
                self.line(format_args!(
                    "{name}{{model_name=\"{model}\",reason=\"{reason}\"}} {count}"
                ));
            }
        }
    }

    fn replicas(&mut self, census: &[Census]) {
        let name = "thermocline:replicas";
        self.head(name, "Replicas by stage.", "gauge");
        for (model, census) in self.names.iter().zip(census) {
            let model = escaped(model);
            let stages = [
                ("starting", census.starting),
                ("ready", census.ready),
                ("draining", census.draining),
            ];
            for (stage, count) in stages {
                self.line(format_args!(
                    "{name}{{model_name=\"{model}\",stage=\"{stage}\"}} {count}"
                ));
            }
        }
    }
}

/// A label's value as the format wants it.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
