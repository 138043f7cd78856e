//! Schedules and load, cases C041 to C043 and C048: waiting at the client's own gate counts, sends do not drift, the client is
//! not the bottleneck, and a warm-up is no burst.

use std::cell::RefCell;
use std::ops::ControlFlow;

use thermocline::http::scripted::Script;
use thermocline::http::{Clock, Target};
use thermocline::measure::drive::{Lane, Step, drive};
use thermocline::measure::protocol::{GapPlan, Protocol};
use thermocline::observation::{Observation, Outcome};
use thermocline::request::{EndpointId, Request};
use thermocline::stats::Sample;
use thermocline::target::Target as _;
use thermocline::time::{Duration, Time};
use thermocline::timeline::Exchange;

use super::rig::{DONE, STOP, content, in_millis, millis, quick, request, serving};

/// A target of virtual time that answers each request after a fixed span and counts those under way.
struct Clockwork {
    now: Time,
    takes: Duration,
    pending: Vec<Request>,
    peak: usize,
}

impl thermocline::target::Target for Clockwork {
    fn now(&self) -> Time {
        self.now
    }

    fn submit(&mut self, request: Request) {
        self.pending.push(request);
        self.peak = self.peak.max(self.pending.len());
    }

    fn advance(&mut self, until: Time) -> Option<Observation> {
        let end = self.pending.first().map(|first| first.due + self.takes);
        let Some(end) = end.filter(|&end| end <= until) else {
            self.now = self.now.max(until);
            return None;
        };
        let first = self.pending.remove(0);
        self.now = self.now.max(end);
        let (id, due) = (first.id, first.due);
        Some(Observation::new(
            id,
            first.endpoint,
            due,
            due,
            Some(end),
            end,
            1,
            Outcome::Succeeded,
        ))
    }
}

fn lane(requests: u32, discard: u32, gaps: GapPlan) -> Lane {
    let is_open = matches!(gaps, GapPlan::At(_));
    let protocol = Protocol {
        requests,
        discard,
        concurrency: if is_open { u32::MAX } else { 1 },
        gaps,
        jitter: Duration::ZERO,
        prompt_tokens: 3,
        output_tokens: 8,
        timeout: None,
    };
    Lane {
        endpoint: EndpointId(0),
        moves: vec![0; protocol.total() as usize],
        protocol,
        start: Time::ZERO,
        done: Vec::new(),
    }
}

fn on(_: Step<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn every(span: Duration, count: u64) -> GapPlan {
    GapPlan::At((0..count).map(|index| span * index).collect())
}

#[test]
fn c041_the_wait_at_the_clients_own_gate_counts() {
    // A tenth of the case's times: due every 10 ms, answered after 50 ms, one at a time.
    let (_server, endpoint) = serving(quick(50));
    let clock = Clock::starting_at(Time::ZERO);
    let mut target = Target::new(vec![endpoint], clock, Box::new(|_| ())).expect("a good endpoint");
    for index in 0..8_u64 {
        let due = Time::ZERO + millis(10) * index;
        target.submit(request(index, due, None));
        let seen = target.advance(Time::from_secs(60.0)).expect("it ends");
        assert!(in_millis(seen.ttft()) >= Some(49));
        assert!(
            seen.send_lag() >= millis(39) * index,
            "request {index}: {}",
            seen.send_lag()
        );
        assert!(in_millis(seen.ttft_from_due()) >= Some(49 + 39 * index));
        assert_eq!(
            seen.ttft_from_due(),
            seen.ttft().map(|ttft| ttft + seen.send_lag())
        );
    }
}

#[test]
fn c042_sends_do_not_drift() {
    let plan = [lane(2000, 0, every(millis(5), 2000))];
    let (takes, pending) = (millis(1), Vec::new());
    let mut exact = Clockwork {
        now: Time::ZERO,
        takes,
        pending,
        peak: 0,
    };
    let seen = drive(&plan, &mut exact, Time::MAX, &mut on);
    let last = seen[0].counted.last().expect("2000 requests").sent();
    assert_eq!(last, Time::from_secs(9.995));
    // The real client sends by the plan too: what one send is late the next is not.
    let (_server, endpoint) = serving(quick(1));
    let clock = Clock::starting_at(Time::ZERO);
    let lags = RefCell::new(Vec::new());
    let sink = |exchange: &Exchange| {
        lags.borrow_mut()
            .push(exchange.timeline.start_lag().map_or(0.0, Duration::as_secs));
    };
    let mut target = Target::new(vec![endpoint], clock, Box::new(sink)).expect("a good endpoint");
    let seen = drive(
        &[lane(100, 0, every(millis(5), 100))],
        &mut target,
        Time::from_secs(60.0),
        &mut on,
    );
    assert!(seen[0].counted.iter().all(Observation::succeeded));
    drop(target);
    let lags = Sample::new(lags.into_inner()).expect("100 lags");
    // Five per cent of drift would be 25 ms at the end; a busy machine may hold up single sends.
    assert!(
        lags.median() < 0.010,
        "the median send is {} s late",
        lags.median()
    );
}

#[test]
fn c043_the_client_is_not_the_bottleneck() {
    // Answers of a second whose first token comes after 20 ms: sent within less than that, all are under way at once.
    let rest = format!("{STOP}{DONE}");
    let slow = Script::stream()
        .until(20)
        .body(content("a"))
        .until(1500)
        .body(content("b"))
        .body(rest)
        .end();
    let error = |script: Script, plan: Lane| {
        let (server, endpoint) = serving(script);
        let clock = Clock::starting_at(Time::ZERO);
        let seen = RefCell::new(Vec::new());
        let sink = Box::new(|exchange: &Exchange| seen.borrow_mut().push(exchange.clone()));
        let mut target = Target::new(vec![endpoint], clock, sink).expect("a good endpoint");
        drive(&[plan], &mut target, Time::from_secs(60.0), &mut on);
        drop(target);
        let seen = seen.into_inner();
        assert!(
            seen.iter().all(|exchange| exchange.reason.is_none()),
            "{seen:?}"
        );
        let ttfts = seen
            .iter()
            .filter_map(|exchange| exchange.timeline.ttft())
            .map(Duration::as_secs);
        let median = Sample::new(ttfts.collect()).expect("it answered").median();
        assert_eq!(server.served().len(), seen.len());
        (median, peak(&seen))
    };
    let (alone, one) = error(quick(20), lane(20, 0, GapPlan::Fixed(Duration::ZERO)));
    let (crowded, all) = error(slow, lane(256, 0, every(millis(4), 256)));
    assert_eq!((one, all), (1, 256));
    assert!(
        (crowded - alone).abs() < 0.005,
        "{alone} s alone, {crowded} s in a crowd"
    );
}

/// The most requests under way at one instant.
fn peak(seen: &[Exchange]) -> usize {
    let spans = seen
        .iter()
        .filter_map(|exchange| exchange.timeline.started.zip(exchange.timeline.end));
    let spans: Vec<(Time, Time)> = spans.collect();
    let at = |now: Time| {
        spans
            .iter()
            .filter(|(start, end)| *start <= now && now < *end)
            .count()
    };
    spans.iter().map(|(start, _)| at(*start)).max().unwrap_or(0)
}

#[test]
fn c048_a_warm_up_is_no_burst_and_stays_out_of_the_figures() {
    let mut target = Clockwork {
        now: Time::ZERO,
        takes: Duration::from_secs(1.0),
        pending: Vec::new(),
        peak: 0,
    };
    let plan = [lane(20, 100, GapPlan::Fixed(Duration::from_secs(5.0)))];
    let seen = drive(&plan, &mut target, Time::MAX, &mut on);
    assert_eq!(target.peak, 1, "one at a time, thrown away or not");
    assert_eq!((seen[0].discarded.len(), seen[0].counted.len()), (100, 20));
}
