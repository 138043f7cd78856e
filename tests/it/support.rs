//! What tests share: scenarios as text, runs of them, and looking things up in what a run gave.

use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestError, TestRunner};
use std::fmt::Debug;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use thermocline::experiment::{Keep, Plan, Run, RunResult, run};
use thermocline::fleet::{Ledger, ReplicaMoved, RequestTrace, Stage};
use thermocline::measure::summary::Summary;
use thermocline::scenario::{self, Overrides};
use thermocline::stats::PercentileMethod;
use thermocline::time::{Duration, Time};

/// Keep everything there is to keep.
pub(crate) const EVERYTHING: Keep = Keep {
    everybody: true,
    replicas: true,
};

/// Some cases, and no file of failures beside the sources.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    }
}

/// Holds a law against random values of a strategy, so that something can be asked of all of them afterwards.
pub(crate) fn hold<S: Strategy>(cases: u32, strategy: &S, law: impl Fn(S::Value))
where
    S::Value: Debug,
{
    let result = TestRunner::new(config(cases)).run(strategy, |value| {
        law(value);
        Ok(())
    });
    match result {
        Ok(()) => {}
        Err(TestError::Fail(reason, value)) => panic!("{reason}\n{value:?}"),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

/// One of some texts.
pub(crate) fn one_of(choices: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(choices)
}

/// A scenario without a benchmark and without warm-up, that lasts `horizon`.
pub(crate) fn fleet(horizon: &str, body: &str) -> String {
    format!(
        "time = {{ warm_up = \"0s\", horizon = \"{horizon}\" }}\nbenchmark = {{ requests = 0, discard = 0 }}\n{body}"
    )
}

/// A scenario without warm-up whose benchmark sends a request at each of `times`, come what may.
pub(crate) fn bench(times: &[&str], extra: &str, body: &str) -> String {
    let count = times.len();
    format!(
        "time = {{ warm_up = \"0s\", horizon = \"0s\" }}\n\
         [benchmark]\nrequests = {count}\ndiscard = 0\ngaps = {{ at = {{ times = {times:?} }} }}\n{extra}\n{body}"
    )
}

/// The plan of a valid scenario.
pub(crate) fn plan(text: &str) -> Plan {
    match scenario::load("test.toml", text, &Overrides::default()) {
        Ok((plan, _)) => plan,
        Err(error) => panic!("{error}"),
    }
}

/// The first run of a plan, with everything kept.
pub(crate) fn run_plan(plan: &Plan) -> RunResult {
    run(
        plan,
        Run {
            provider: 0,
            session: 0,
            replication: 0,
        },
        EVERYTHING,
    )
}

/// The first run of a scenario, with everything kept.
pub(crate) fn simulate(text: &str) -> RunResult {
    run_plan(&plan(text))
}

/// The account of a deployment.
pub(crate) fn ledger(result: &RunResult, deployment: usize) -> &Ledger {
    &result.fleet[deployment].ledger
}

/// Everybody's requests of a deployment, in order of arrival.
pub(crate) fn requests(result: &RunResult, deployment: u32) -> Vec<&RequestTrace> {
    let mut all: Vec<&RequestTrace> = result
        .everybody
        .iter()
        .filter(|trace| trace.deployment == deployment)
        .collect();
    all.sort_by_key(|trace| (trace.arrived, begun(trace), trace.end));
    all
}

/// When service of a request began, if it did.
pub(crate) fn begun(trace: &RequestTrace) -> Option<Time> {
    trace.replica.map(|_| trace.arrived + waited(trace))
}

/// How long a request waited at the fleet's door before its service began.
pub(crate) fn waited(trace: &RequestTrace) -> Duration {
    trace.parts.queue + trace.parts.start.iter().copied().sum()
}

/// When service of each request began \[s\], in order of arrival.
pub(crate) fn starts(result: &RunResult, deployment: u32) -> Vec<f64> {
    requests(result, deployment)
        .iter()
        .filter_map(|trace| begun(trace))
        .map(Time::as_secs)
        .collect()
}

/// Waits of the requests that were served \[s\], in order of arrival.
pub(crate) fn waits(result: &RunResult, deployment: u32) -> Vec<f64> {
    requests(result, deployment)
        .iter()
        .filter(|trace| trace.replica.is_some())
        .map(|trace| waited(trace).as_secs())
        .collect()
}

/// The figures of the first benchmarked deployment.
pub(crate) fn summary(result: &RunResult) -> Summary {
    Summary::of(&result.lanes[0].observations(), PercentileMethod::default())
}

/// When replicas of a deployment reached `stage` \[s\].
pub(crate) fn moved(result: &RunResult, deployment: u32, stage: Stage) -> Vec<f64> {
    result
        .replicas
        .iter()
        .filter(|moved| moved.deployment == deployment && moved.stage == stage)
        .map(|moved| moved.at.as_secs())
        .collect()
}

/// A replica's life as its changes of stage tell it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    pub(crate) deployment: u32,
    pub(crate) replica: u32,
    pub(crate) born: Time,
    /// [`Time::MAX`] if it never became ready.
    pub(crate) ready: Time,
    /// When it took no more requests; [`Time::MAX`] if it never stopped.
    pub(crate) closed: Time,
    pub(crate) stopped: Time,
}

/// The lives of all replicas, in the order of their births.
pub(crate) fn lives(moves: &[ReplicaMoved]) -> Vec<Life> {
    let mut lives: Vec<Life> = Vec::new();
    for moved in moves {
        let known = lives
            .iter()
            .position(|life| life.replica == moved.replica)
            .unwrap_or_else(|| {
                lives.push(Life {
                    deployment: moved.deployment,
                    replica: moved.replica,
                    born: moved.at,
                    ready: Time::MAX,
                    closed: Time::MAX,
                    stopped: Time::MAX,
                });
                lives.len() - 1
            });
        let life = &mut lives[known];
        match moved.stage {
            Stage::Ready => life.ready = moved.at,
            Stage::Draining => life.closed = moved.at,
            Stage::Stopped => {
                life.closed = life.closed.min(moved.at);
                life.stopped = moved.at;
            }
            Stage::Provisioning | Stage::Loading | Stage::Warming => {}
        }
    }
    lives
}

/// How many replicas there are at most at one instant.
pub(crate) fn most_at_once(result: &RunResult, deployment: u32) -> usize {
    let lives: Vec<Life> = lives(&result.replicas)
        .into_iter()
        .filter(|life| life.deployment == deployment)
        .collect();
    let at = |now: Time| {
        lives
            .iter()
            .filter(|life| life.born <= now && now < life.stopped)
            .count()
    };
    lives.iter().map(|life| at(life.born)).max().unwrap_or(0)
}

/// All problems of a bad scenario, as it prints them.
pub(crate) fn problems(text: &str) -> String {
    match scenario::load("test.toml", text, &Overrides::default()) {
        Ok(_) => String::from("nothing: it is accepted"),
        Err(error) => error.to_string(),
    }
}

/// A file of `../shared/data`, if it is there.
pub(crate) fn shared(name: &str) -> Option<Vec<u8>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let bytes = fs::read(path.join(name)).ok();
    if bytes.is_none() {
        // The harness shows it only with `--nocapture`; nothing else can be done without the file.
        let _ = writeln!(std::io::stderr(), "skipped: {name} is not there");
    }
    bytes
}
