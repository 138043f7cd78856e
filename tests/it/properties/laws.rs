//! What holds in every run, as checks of what a run left behind.

use crate::support::{Life, begun, lives, requests};
use thermocline::batching::{Config, Cost, PromptChunk, StatedCost};
use thermocline::distribution::Distribution;
use thermocline::experiment::{Plan, RunResult};
use thermocline::fleet::config::{DeploymentConfig, Router, Share};
use thermocline::fleet::{Ledger, Origin, PhaseTime, RequestTrace, Stage, Transfer};
use thermocline::observation::Outcome;
use thermocline::time::{Duration, Time};

/// When the window of a run closed.
pub(super) fn closed(result: &RunResult) -> Time {
    result.opened + result.fleet[0].ledger.window
}

pub(super) fn overlap(from: Time, until: Time) -> u64 {
    until.saturating_since(from).as_nanos()
}

/// Time for which replicas of a deployment existed in the window \[ns\].
pub(super) fn alive(result: &RunResult, deployment: usize) -> u64 {
    let own = lives(&result.replicas).into_iter();
    own.filter(|life| life.deployment as usize == deployment)
        .map(|life| {
            overlap(
                life.born.max(result.opened),
                life.stopped.min(closed(result)),
            )
        })
        .sum()
}

/// Causes come before effects, and the parts of a wait make the whole.
pub(super) fn check_trace(trace: &RequestTrace, plan: &Plan) {
    let gave_up = trace.outcome == Outcome::TimedOut;
    assert!(trace.sent <= trace.arrived || gave_up, "{trace:?}");
    assert!(trace.arrived <= trace.end || gave_up, "{trace:?}");
    if let Some(first) = trace.first_token {
        assert!(trace.arrived <= first && first <= trace.end, "{trace:?}");
        assert_eq!(first.since(trace.sent), trace.parts.total(), "{trace:?}");
        let is_served = trace.replica.is_some() && trace.placement.is_some();
        assert!(is_served, "{trace:?}");
    }
    if trace.outcome == Outcome::Succeeded {
        assert!(trace.first_token.is_some(), "{trace:?}");
    }
    let started: Duration = trace.parts.start.iter().copied().sum();
    assert!(
        trace.cold || started == Duration::ZERO,
        "a warm request waited for a start: {trace:?}"
    );
    let deployment = &plan.providers[0].fleet.deployments[trace.deployment as usize];
    let timeout = match trace.origin {
        Origin::Traffic(stream) => deployment.traffic[stream as usize].timeout,
        Origin::Benchmark(_) => plan.benchmark.timeout,
    };
    if let (Some(timeout), Some(first)) = (timeout, trace.first_token) {
        assert!(
            first.since(trace.sent) <= timeout,
            "later than its client waited: {trace:?}"
        );
    }
    if gave_up {
        assert_eq!(Some(trace.end.since(trace.sent)), timeout);
    }
}

/// Counters of the ledger agree with the requests and the replicas' moves, and nothing exceeds its limit.
pub(super) fn check_accounts(result: &RunResult, plan: &Plan) {
    let fleet = &plan.providers[0].fleet;
    for (deployment, did) in result.fleet.iter().enumerate() {
        let (ledger, config) = (&did.ledger, &fleet.deployments[deployment]);
        assert!(ledger.is_conserved(), "{ledger:?}");
        let count = |test: fn(Outcome) -> bool| {
            let own = result.everybody.iter();
            let own = own.filter(|trace| trace.deployment as usize == deployment);
            own.filter(|trace| test(trace.outcome)).count() as u64
        };
        let rejected = count(|outcome| matches!(outcome, Outcome::Rejected { .. }));
        assert_eq!(count(|outcome| outcome == Outcome::Failed), ledger.failed);
        assert_eq!(rejected, ledger.rejected());
        let succeeded = count(|outcome| outcome == Outcome::Succeeded);
        assert_eq!(succeeded, ledger.succeeded);
        // One that its client gave up on the network never reached the fleet.
        assert!(count(|outcome| outcome == Outcome::TimedOut) >= ledger.timed_out);
        // A start that waits for its GPU holds none, so lives bound the time of replicas from above.
        let (booked, alive) = (
            ledger.replica_time_total().as_nanos(),
            alive(result, deployment),
        );
        assert!(booked <= alive, "booked {booked} of {alive} ns");
        check_gpu_time(ledger, config);
        assert!(ledger.peak_replicas <= config.scaling.max, "{ledger:?}");
    }
    if fleet.pools.is_empty() {
        return;
    }
    let stock: u32 = fleet.pools.iter().map(|pool| pool.gpus).sum();
    let all = result.fleet.iter().flat_map(|did| did.ledger.gpu_time);
    let window = closed(result).since(result.opened).as_nanos();
    assert!(all.sum::<u128>() <= u128::from(stock) * u128::from(window));
}

/// GPU time is the replicas' time on their GPUs: all of each, or a part of it, rounded down at each booking.
fn check_gpu_time(ledger: &Ledger, config: &DeploymentConfig) {
    let gpus = u128::from(config.placements[0].gpus);
    let whole = gpus * u128::from(ledger.replica_time_total().as_nanos());
    let booked: u128 = ledger.gpu_time.iter().sum();
    let shares = config.placements.iter().map(|place| place.share);
    if shares.clone().all(|share| share.bytes == share.of) {
        assert_eq!(booked, whole);
    }
    let least = shares.map(Share::part).fold(1.0, f64::min);
    assert!(
        booked <= whole && booked as f64 >= whole as f64 * least - 1e6,
        "{booked} of {whole}"
    );
}

/// When a request was at its replica, on the fleet's side; for requests that come from inside.
fn at_work(trace: &RequestTrace) -> Option<(Time, Time)> {
    assert!(matches!(trace.origin, Origin::Traffic(_)), "{trace:?}");
    begun(trace).map(|begun| (begun, trace.end))
}

fn places(config: &DeploymentConfig) -> u32 {
    match &config.placements[0].batching {
        Config::Slots { slots } => *slots,
        Config::Static(config) => config.batch_size,
        Config::Continuous(config) => config.max_sequences,
    }
}

/// With one queue and slots, nobody waits at any time while a ready replica of the model has a free one; all requests must
/// have ended. How many deployments could be judged.
pub(super) fn check_late_binding(result: &RunResult, plan: &Plan) -> u32 {
    let mut judged = 0;
    for (deployment, config) in plan.providers[0].fleet.deployments.iter().enumerate() {
        let has_slots = matches!(config.placements[0].batching, Config::Slots { .. });
        let own = requests(result, deployment as u32);
        let is_whole = result.fleet[deployment].ledger.in_flight_end == 0 && !own.is_empty();
        if config.router != Router::SharedQueue
            || !has_slots
            || !is_whole
            || config.sharing.is_some()
        {
            continue;
        }
        let replicas: Vec<Life> = lives(&result.replicas)
            .into_iter()
            .filter(|life| life.deployment as usize == deployment)
            .collect();
        check_nobody_waits(&own, &replicas, places(config));
        judged += 1;
    }
    judged
}

fn check_nobody_waits(own: &[&RequestTrace], replicas: &[Life], slots: u32) {
    let ends = own
        .iter()
        .flat_map(|trace| [Some(trace.arrived), begun(trace), Some(trace.end)]);
    let mut instants: Vec<Time> = ends.flatten().collect();
    instants.extend(replicas.iter().flat_map(|life| [life.ready, life.closed]));
    instants.sort_unstable();
    instants.dedup();
    for at in instants.into_iter().filter(|&at| at < Time::MAX) {
        let waits = |trace: &&&RequestTrace| {
            trace.arrived <= at && at < begun(trace).unwrap_or(trace.end).min(trace.end)
        };
        let runs = |trace: &&&RequestTrace| {
            at_work(trace).is_some_and(|(begun, end)| begun <= at && at < end)
        };
        let (waiting, running) = (
            own.iter().filter(waits).count(),
            own.iter().filter(runs).count(),
        );
        let ready = replicas
            .iter()
            .filter(|life| life.ready <= at && at < life.closed)
            .count();
        let drains = |life: &Life| life.closed <= at && at < life.stopped;
        assert!(
            waiting == 0 || replicas.iter().any(drains) || running >= ready * slots as usize,
            "{waiting} wait at {at} beside {ready} replicas of {slots} slots that run {running}"
        );
    }
}

/// No replica does more than its hardware can: never more requests at once than it has places, never more tokens than its
/// iterations can give in its life, never prompts computed in less time than they take.
pub(super) fn check_work(result: &RunResult, plan: &Plan) {
    for life in lives(&result.replicas) {
        let config = &plan.providers[0].fleet.deployments[life.deployment as usize];
        let own: Vec<&RequestTrace> = result
            .everybody
            .iter()
            .filter(|trace| trace.replica == Some(life.replica))
            .collect();
        check_places(&own, places(config));
        let span = life
            .stopped
            .min(closed(result))
            .saturating_since(life.ready)
            .as_secs();
        let placement = own.first().and_then(|trace| trace.placement).unwrap_or(0);
        if let Config::Continuous(batch) = &config.placements[usize::from(placement)].batching {
            let done = own
                .iter()
                .filter(|trace| trace.outcome == Outcome::Succeeded);
            let tokens: f64 = done
                .clone()
                .map(|trace| f64::from(trace.output_tokens))
                .sum();
            // Those who decode and those whose prompt is done are no more than the places, however short the iteration.
            let shortest = (0..=batch.max_sequences).map(|n| batch.cost.step(n).base_s);
            let shortest = shortest.fold(f64::INFINITY, f64::min);
            let most = span / shortest * f64::from(batch.max_sequences);
            assert!(
                tokens <= most * (1.0 + 1e-9),
                "{tokens} tokens of at most {most}"
            );
            if let Cost::Stated(cost) = &batch.cost {
                let prompts: f64 = done.map(|trace| prompt_s(trace, config, *cost)).sum();
                assert!(prompts <= span + 1e-6, "{prompts} s of prompts in {span} s");
            }
        }
    }
}

/// Time to compute what of a prompt is not cached \[s\].
fn prompt_s(trace: &RequestTrace, config: &DeploymentConfig, cost: StatedCost) -> f64 {
    let Origin::Traffic(stream) = trace.origin else {
        unreachable!("nobody measures")
    };
    let share = config.traffic[stream as usize].cached_share;
    let cached = (f64::from(trace.prompt_tokens) * share).floor() as u32;
    let tokens = trace.prompt_tokens - cached;
    Cost::Stated(cost).prefill(PromptChunk {
        tokens,
        before: cached,
    })
}

/// At no time more requests than places.
fn check_places(own: &[&RequestTrace], places: u32) {
    let spans: Vec<(Time, Time)> = own.iter().filter_map(|trace| at_work(trace)).collect();
    for &(at, _) in &spans {
        let there = spans
            .iter()
            .filter(|(begun, end)| *begun <= at && at < *end)
            .count();
        assert!(
            there <= places as usize,
            "{there} at {places} places at {at}"
        );
    }
}

/// The load over a shared link that each start of a deployment makes, where it is always the same; and the link's capacity.
fn load(config: &DeploymentConfig, plan: &Plan) -> Option<(Transfer, f64)> {
    let transfers = config.placements[0]
        .starts
        .iter()
        .flat_map(|start| &start.phases);
    let mut transfers = transfers.filter_map(|phase| match &phase.time {
        PhaseTime::Transfer(transfer) => Some(transfer),
        PhaseTime::Stated(_) => None,
    });
    let transfer = transfers.next()?;
    let is_remote = config.rungs.is_empty() && config.placements[0].cached.is_empty();
    let is_certain = is_remote && transfer.spread == Distribution::Constant(1.0);
    let link = transfer.link.filter(|_| is_certain)?;
    Some((
        transfer.clone(),
        plan.providers[0].fleet.links[link].bytes_per_s,
    ))
}

/// Loads are not faster than their links, each by itself and all together. How many there were.
pub(super) fn check_loads(result: &RunResult, plan: &Plan) -> usize {
    let mut all: Vec<(Time, Time)> = Vec::new();
    let (mut bytes, mut capacity) = (0.0, f64::INFINITY);
    for (deployment, config) in plan.providers[0].fleet.deployments.iter().enumerate() {
        let Some((transfer, link)) = load(config, plan) else {
            continue;
        };
        for (begun, over) in loadings(result, deployment as u32) {
            let least = transfer.first_byte_s + transfer.bytes / transfer.cap_bytes_per_s.min(link);
            let took = over.since(begun).as_secs();
            assert!(took >= least - 1e-8, "{took} s for a load of {least} s");
            (bytes, capacity) = (bytes + transfer.bytes, link);
            all.push((begun, over));
        }
    }
    let count = all.len();
    all.sort_unstable();
    let mut until = Time::ZERO;
    let mut busy = 0.0;
    for (begun, over) in all {
        busy += over.saturating_since(begun.max(until)).as_secs();
        until = until.max(over);
    }
    assert!(
        bytes <= capacity * (busy + 1e-6),
        "{bytes} bytes in {busy} s"
    );
    count
}

/// When each load of a deployment began and was over, of those that came to their end.
fn loadings(result: &RunResult, deployment: u32) -> Vec<(Time, Time)> {
    let mut loadings = Vec::new();
    for (index, moved) in result.replicas.iter().enumerate() {
        if moved.deployment == deployment && moved.stage == Stage::Loading {
            let mut later = result.replicas[index + 1..].iter();
            let next = later.find(|other| other.replica == moved.replica);
            if let Some(next) = next.filter(|next| next.stage != Stage::Stopped) {
                loadings.push((moved.at, next.at));
            }
        }
    }
    loadings
}
