//! Every request, with the parts that add up to its time to first token.
//!
//! Instants are seconds after the measured window opened. TTFT and latency count from when a request was sent, as in every table;
//! how much later than planned that was is `send_lag_s`, as in files of observations. All spans have nine decimals, because the
//! simulation counts whole nanoseconds: the parts from `network_s` to `first_step_s` add up to `ttft_s` exactly, `send_lag_s +
//! ttft_s = ttft_from_due_s`, and `ttft_s + decode_s = latency_s`. A request that got no token has no parts.

use std::io::{self, Write};

use super::{Whose, exact, number, since};
use crate::experiment::{Provider, RunResult};
use crate::fleet::{Origin, RequestTrace, StartPhase};
use crate::observation::{Observation, Outcome};
use crate::report::Report;
use crate::request::RequestId;
use crate::time::{Duration, Time};

const HEAD: [&str; 21] = [
    "whose",
    "provider",
    "model",
    "session",
    "request",
    "due_s",
    "sent_s",
    "first_token_s",
    "end_s",
    "outcome",
    "status",
    "cold",
    "replica",
    "placement",
    "prompt_tokens",
    "output_tokens",
    "send_lag_s",
    "ttft_s",
    "ttft_from_due_s",
    "latency_s",
    "decode_s",
];

/// Writes a row per request: the benchmark's by provider, model, session and number, then everybody's as they ended.
pub(super) fn write(report: &Report<'_>, whose: Whose, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let phases = StartPhase::ALL.map(|phase| format!("{}_s", phase.name()));
    let mut head: Vec<&str> = HEAD.to_vec();
    head.extend(["network_s", "queue_s"]);
    head.extend(phases.iter().map(String::as_str));
    head.extend(["prefill_s", "first_step_s"]);
    csv.write_record(&head)?;
    let plan = report.plan;
    for row in &report.outcome.rows {
        let run = report.outcome.run_of(row, plan);
        let measured = report.outcome.measured(row, plan);
        let place = Place {
            provider: &plan.providers[row.provider],
            deployment: row.deployment as usize,
            session: &plan.sessions[row.session].name,
            opened: run.opened,
        };
        for (index, (seen, trace)) in measured.requests.iter().enumerate() {
            let client = Client::of(seen);
            let id = number(measured, index).to_string();
            csv.write_record(place.row("benchmark", &id, &client, trace.as_ref()))?;
        }
    }
    if whose == Whose::Everybody {
        everybody(report, &mut csv)?;
    }
    csv.flush()
}

/// All users' requests, and the benchmark's that do not count.
fn everybody<W: Write>(report: &Report<'_>, csv: &mut csv::Writer<W>) -> io::Result<()> {
    let plan = report.plan;
    let places = plan.providers.iter().flat_map(|provider| {
        let sessions = plan.sessions.iter();
        sessions.map(move |session| (provider, session))
    });
    for ((provider, session), run) in places.zip(&report.outcome.runs) {
        let counted = counted(run);
        for trace in &run.everybody {
            let deployment = trace.deployment as usize;
            let whose = match trace.origin {
                Origin::Benchmark(id) if counted.binary_search(&id).is_ok() => continue,
                Origin::Benchmark(_) => "discarded",
                Origin::Traffic(stream) => {
                    let traffic = &provider.fleet.deployments[deployment].traffic;
                    &traffic[stream as usize].name
                }
            };
            let place = Place {
                provider,
                deployment,
                session: &session.name,
                opened: run.opened,
            };
            csv.write_record(place.row(whose, "", &Client::of_trace(trace), Some(trace)))?;
        }
    }
    Ok(())
}

/// The benchmark's requests that count, in order.
fn counted(run: &RunResult) -> Vec<RequestId> {
    let lanes = run.lanes.iter().flat_map(|lane| &lane.requests);
    let mut ids: Vec<RequestId> = lanes.map(|(seen, _)| seen.id()).collect();
    ids.sort_unstable();
    ids
}

/// What the client saw.
struct Client {
    due: Time,
    sent: Time,
    first_token: Option<Time>,
    end: Time,
    outcome: Outcome,
}

impl Client {
    fn of(seen: &Observation) -> Self {
        Self {
            due: seen.due(),
            sent: seen.sent(),
            first_token: seen.first_token(),
            end: seen.end(),
            outcome: seen.outcome(),
        }
    }

    /// Other users send as soon as they want to.
    fn of_trace(trace: &RequestTrace) -> Self {
        Self {
            due: trace.sent,
            sent: trace.sent,
            first_token: trace.first_token,
            end: trace.end,
            outcome: trace.outcome,
        }
    }
}

/// Where and when a request was made.
struct Place<'a> {
    provider: &'a Provider,
    deployment: usize,
    session: &'a str,
    opened: Time,
}

impl Place<'_> {
    fn row(
        &self,
        whose: &str,
        number: &str,
        client: &Client,
        trace: Option<&RequestTrace>,
    ) -> Vec<String> {
        let deployment = &self.provider.fleet.deployments[self.deployment];
        let at = |time: Time| since(time, self.opened);
        let (outcome, status) = outcome(client.outcome);
        let of_trace =
            |show: &dyn Fn(&RequestTrace) -> String| trace.map_or_else(String::new, show);
        let placement = |index: u8| deployment.placements[usize::from(index)].name.clone();
        let latency = client.end.since(client.sent);
        let lag = client.sent.since(client.due);
        let ttft = client.first_token.map(|first| first.since(client.sent));
        let mut row = vec![
            whose.to_owned(),
            self.provider.name.clone(),
            deployment.name.clone(),
            self.session.to_owned(),
            number.to_owned(),
            at(client.due),
            at(client.sent),
            client.first_token.map_or_else(String::new, at),
            at(client.end),
            outcome.to_owned(),
            status,
            of_trace(&|trace| trace.cold.to_string()),
            of_trace(&|trace| {
                trace
                    .replica
                    .map_or_else(String::new, |replica| replica.to_string())
            }),
            of_trace(&|trace| trace.placement.map_or_else(String::new, placement)),
            of_trace(&|trace| trace.prompt_tokens.to_string()),
            of_trace(&|trace| trace.output_tokens.to_string()),
            span(lag),
            ttft.map_or_else(String::new, span),
            ttft.map_or_else(String::new, |ttft| span(lag + ttft)),
            span(latency),
            ttft.map_or_else(String::new, |ttft| span(latency - ttft)),
        ];
        row.extend(parts(client, trace));
        row
    }
}

/// The parts of a time to first token; empty where there is none.
fn parts(client: &Client, trace: Option<&RequestTrace>) -> Vec<String> {
    let Some((trace, _)) = trace.zip(client.first_token) else {
        return vec![String::new(); StartPhase::ALL.len() + 4];
    };
    let parts = &trace.parts;
    let waiting = [parts.network, parts.queue];
    let all = waiting.into_iter().chain(parts.start);
    all.chain([parts.prefill, parts.first_step])
        .map(span)
        .collect()
}

fn span(span: Duration) -> String {
    exact(i128::from(span.as_nanos()))
}

/// The name of an outcome and the HTTP status of a reject.
fn outcome(outcome: Outcome) -> (&'static str, String) {
    match outcome {
        Outcome::Succeeded => ("succeeded", String::new()),
        Outcome::Rejected { status } => ("rejected", status.to_string()),
        Outcome::TimedOut => ("timed_out", String::new()),
        Outcome::Failed => ("failed", String::new()),
        Outcome::ClientFault => ("client_fault", String::new()),
    }
}
