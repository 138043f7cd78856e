//! The client against a server of known times: its own error, and whether it gets every answer right.
//!
//! Invariant: an error is the difference of two stamps by one clock, the client's and the server's own of the same event, so that
//! neither the server's lateness nor a guess enters.

use std::cell::RefCell;
use std::io;

use thiserror::Error;

use super::clock::Clock;
use super::conformance::{self, Row};
use super::endpoint::Endpoint;
use super::route::SetupError;
use super::scripted::{Script, ScriptedServer, Served};
use super::target::Target;
use crate::request::{EndpointId, Request, RequestId};
use crate::stats::{PercentileMethod, Sample};
use crate::target::Target as _;
use crate::time::{Duration, Time};
use crate::timeline::Exchange;

/// Times to first token that the server keeps \[ms\].
pub const DELAYS_MS: [u64; 3] = [5, 50, 200];
/// The bias that the client may have at the median \[s\].
pub const BIAS_LIMIT_S: f64 = 1e-3;
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_nanos(30_000_000_000);

/// What the client's error is.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfTest {
    /// For each delay that the server keeps.
    pub delays: Vec<DelayError>,
    /// Of the first token over all delays.
    pub all: Spread,
    /// Whether each answer was understood.
    pub answers: Vec<AnswerResult>,
}

/// The client's error at one delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayError {
    /// The delay that the server keeps \[s\].
    pub delay_s: f64,
    /// Requests made.
    pub requests: usize,
    /// The client's stamp of the first token less the server's of having sent it.
    pub first_token: Spread,
    /// The server's stamp of having read the request less the client's of having written it: what of the TTFT is transport and
    /// the server's waking up.
    pub request: Spread,
}

/// How an error spreads \[s\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Median \[s\]: the bias.
    pub median_s: f64,
    /// 95th percentile \[s\].
    pub p95_s: f64,
    /// Sample standard deviation \[s\]; 0 for one value.
    pub std_s: f64,
}

/// Whether the client understood an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerResult {
    /// The answer's name.
    pub name: &'static str,
    /// The outcome that is right.
    pub expected: &'static str,
    /// What the client got wrong; empty if nothing.
    pub wrong: Vec<String>,
}

/// Why there is no result.
#[derive(Debug, Error)]
pub enum SelfTestError {
    /// The server could not be started.
    #[error("the server of known times: {0}")]
    Server(#[from] io::Error),
    /// The client could not be started.
    #[error(transparent)]
    Client(#[from] SetupError),
    /// A request of known time failed.
    #[error("a request to the server of known times failed: {0}")]
    Failed(String),
}

impl SelfTest {
    /// Whether the bias is below the limit at every delay and every answer was understood.
    pub fn passes(&self) -> bool {
        let within = |delay: &DelayError| delay.first_token.median_s.abs() < BIAS_LIMIT_S;
        self.delays.iter().all(within) && self.answers.iter().all(|answer| answer.wrong.is_empty())
    }
}

/// Makes `requests` requests at each delay, one after the other, and one for each answer, all at once.
///
/// # Panics
/// If `requests` is zero.
pub fn run(requests: u32) -> Result<SelfTest, SelfTestError> {
    assert!(requests > 0, "a self-test without a request");
    let answers = answers()?;
    let (delays, all) = delays(requests)?;
    Ok(SelfTest {
        delays,
        all,
        answers,
    })
}

/// Asks for every answer at once.
fn answers() -> Result<Vec<AnswerResult>, SelfTestError> {
    let clock = Clock::starting_at(Time::ZERO);
    let rows = conformance::rows();
    let name = |index: usize| format!("answer-{index}");
    let named = |(index, row): (usize, &Row)| (name(index), row.script.clone());
    let server = ScriptedServer::start(rows.iter().enumerate().map(named).collect(), clock, None)?;
    let endpoints = rows.iter().enumerate().map(|(index, row)| Endpoint {
        api: row.api,
        ..endpoint(&server, &name(index))
    });
    let seen = RefCell::new(vec![None; rows.len()]);
    let sink = |exchange: &Exchange| {
        let index = exchange.observation.id().0 as usize;
        seen.borrow_mut()[index] = Some(exchange.clone());
    };
    let mut target = Target::new(endpoints.collect(), clock, Box::new(sink))?;
    for index in 0..rows.len() {
        target.submit(request(index as u64, index as u32, clock));
    }
    let patience = clock.now() + PATIENCE;
    while seen.borrow().contains(&None) && clock.now() < patience {
        target.advance(patience);
    }
    drop(target);
    let served = server.served();
    let judged = rows.iter().zip(seen.into_inner()).enumerate();
    let judged =
        judged.map(|(index, (row, seen))| judge(row, seen.as_ref(), &name(index), &served));
    Ok(judged.collect())
}

fn judge(row: &Row, seen: Option<&Exchange>, name: &str, served: &[Served]) -> AnswerResult {
    let path = format!("/{name}/");
    let served = served.iter().find(|one| one.request.contains(&path));
    let wrong = match (seen, served) {
        (Some(seen), Some(served)) => row.wrong(seen, served.read),
        _ => vec!["it never ended".to_owned()],
    };
    AnswerResult {
        name: row.name,
        expected: row.expected.outcome,
        wrong,
    }
}

/// Asks for tokens at known times, the delays in turn.
fn delays(requests: u32) -> Result<(Vec<DelayError>, Spread), SelfTestError> {
    let clock = Clock::starting_at(Time::ZERO);
    let name = |millis: u64| format!("delay-{millis}");
    let scripts = DELAYS_MS.map(|millis| (name(millis), delayed(millis)));
    let server = ScriptedServer::start(scripts.to_vec(), clock, None)?;
    let endpoints = DELAYS_MS.map(|millis| endpoint(&server, &name(millis)));
    let last = RefCell::new(None);
    let sink = |exchange: &Exchange| drop(last.replace(Some(exchange.clone())));
    let mut target = Target::new(endpoints.to_vec(), clock, Box::new(sink))?;
    let mut errors = DELAYS_MS.map(|_| (Vec::new(), Vec::new()));
    // The first round warms up both sides.
    for round in 0..=requests {
        for (lane, (tokens, arrivals)) in (0..).zip(&mut errors) {
            target.submit(request(u64::from(round), lane, clock));
            target.advance(clock.now() + PATIENCE);
            let served = server.served().pop();
            let seen = last.take().zip(served);
            let (seen, served) =
                seen.ok_or_else(|| SelfTestError::Failed("no answer".to_owned()))?;
            let (token, arrival) = error_of(&seen, &served)?;
            if round > 0 {
                tokens.push(token);
                arrivals.push(arrival);
            }
        }
    }
    let all = errors
        .iter()
        .flat_map(|(tokens, _)| tokens.clone())
        .collect();
    let delay = |(millis, (tokens, arrivals)): (u64, (Vec<f64>, Vec<f64>))| DelayError {
        delay_s: millis as f64 * 1e-3,
        requests: tokens.len(),
        first_token: Spread::of(tokens),
        request: Spread::of(arrivals),
    };
    let delays = DELAYS_MS.into_iter().zip(errors).map(delay).collect();
    Ok((delays, Spread::of(all)))
}

/// An answer whose first token comes after `millis`. Its writes are the head, the token and the rest.
fn delayed(millis: u64) -> Script {
    let token = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":null}]}\n\n";
    let rest = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    Script::stream()
        .until(millis)
        .body(token)
        .until(millis + 5)
        .body(rest)
        .end()
}

/// The client's error at the first token, and of the request's way \[s\].
fn error_of(seen: &Exchange, served: &Served) -> Result<(f64, f64), SelfTestError> {
    let failed = || {
        SelfTestError::Failed(
            seen.reason
                .as_ref()
                .map_or_else(String::new, ToString::to_string),
        )
    };
    let (token, written) = seen
        .timeline
        .first_token
        .zip(seen.timeline.written)
        .ok_or_else(failed)?;
    let sent = *served.writes.get(1).ok_or_else(failed)?;
    Ok((
        token.as_secs() - sent.as_secs(),
        served.read.as_secs() - written.as_secs(),
    ))
}

impl Spread {
    fn of(values: Vec<f64>) -> Self {
        let sample = Sample::new(values).expect("at least one request, and stamps are numbers");
        Self {
            median_s: sample.median(),
            p95_s: sample.quantile(0.95, PercentileMethod::Linear),
            std_s: sample.std().unwrap_or(0.0),
        }
    }
}

fn endpoint(server: &ScriptedServer, script: &str) -> Endpoint {
    Endpoint::new(script, server.base_url(script), "m", "Say hello.")
}

fn request(id: u64, endpoint: u32, clock: Clock) -> Request {
    Request {
        id: RequestId(id),
        endpoint: EndpointId(endpoint),
        due: clock.now(),
        prompt_tokens: 3,
        output_tokens: 8,
        timeout: Some(PATIENCE),
    }
}
