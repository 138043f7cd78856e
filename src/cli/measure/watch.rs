//! What a run shows while it goes on: counts, running figures, suspects of cold starts, time left.

use std::fmt::Write as _;

use super::forecast;
use super::recorder::Place;
use crate::measure::drive::{Lane, place_of};
use crate::observation::{Observation, Outcome};
use crate::report::number;
use crate::stats::{PercentileMethod, Sample};
use crate::time::{Duration, Time};

/// A first token is suspected of a cold start from this multiple of the median on, and this much more.
const SUSPECT: (f64, f64) = (3.0, 1.0);
/// Lanes that are shown one by one.
const SHOWN: usize = 8;

/// The state of a run.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    places: &'a [Place],
    /// The plans, with what has ended of them.
    lanes: Vec<Lane>,
    method: PercentileMethod,
}

impl<'a> Watch<'a> {
    /// Watches these lanes.
    pub(super) fn new(places: &'a [Place], lanes: &[Lane], method: PercentileMethod) -> Self {
        Self {
            places,
            lanes: lanes.to_vec(),
            method,
        }
    }

    /// Notes a request that has ended.
    pub(super) fn ended(&mut self, observation: &Observation) {
        let (lane, _) = place_of(observation.id());
        self.lanes[lane].done.push(*observation);
    }

    /// The text to show: a line for each target and session that is under way, and one for the whole.
    pub(super) fn text(&self, now: Time) -> String {
        let mut text = String::new();
        let begun = self.lanes.iter().zip(self.places).filter(|(lane, _)| {
            let done = lane.done.len();
            done > 0 && done < lane.protocol.total() as usize
        });
        for (lane, place) in begun.take(SHOWN) {
            let _ = writeln!(text, "{}", self.line(lane, place));
        }
        let done: usize = self.lanes.iter().map(|lane| lane.done.len()).sum();
        let total: usize = self
            .lanes
            .iter()
            .map(|lane| lane.protocol.total() as usize)
            .sum();
        let left = forecast::end(&self.lanes, now, self.service()).saturating_since(now);
        let left = number::span(left.as_secs().ceil());
        let _ = write!(text, "{done}/{total} requests, {left} left");
        text
    }

    /// `acme 14:00  12/75  median 0.41 s  p95 1.20 s  CV 34 %  1 cold?  2 failed`.
    fn line(&self, lane: &Lane, place: &Place) -> String {
        let discard = lane.protocol.discard;
        let counted = lane
            .done
            .iter()
            .filter(|seen| place_of(seen.id()).1 >= discard);
        let counted: Vec<&Observation> = counted.collect();
        let name = match place.session.as_str() {
            "once" => place.target.clone(),
            session => format!("{} {session}", place.target),
        };
        let mut line = format!("{name}  {}/{}", counted.len(), lane.protocol.requests);
        let ttfts = counted.iter().filter(|seen| seen.succeeded());
        let ttfts = ttfts.filter_map(|seen| seen.ttft()).map(Duration::as_secs);
        if let Some(sample) = Sample::new(ttfts.collect()) {
            let median = sample.quantile(0.5, self.method);
            let p95 = sample.quantile(0.95, self.method);
            let (median_shown, p95) = (number::seconds(median), number::seconds(p95));
            let _ = write!(line, "  median {median_shown}  p95 {p95}");
            if let Some(cv) = sample.cv() {
                let _ = write!(line, "  CV {}", number::percent(100.0 * cv));
            }
            let (times, more) = SUSPECT;
            let slow = sample.values().iter();
            let slow = slow
                .filter(|&&ttft| ttft > times * median && ttft > median + more)
                .count();
            if slow > 0 {
                let _ = write!(line, "  {slow} cold?");
            }
        }
        let faults = counted
            .iter()
            .filter(|seen| seen.outcome() == Outcome::ClientFault)
            .count();
        let failed = counted.iter().filter(|seen| !seen.succeeded()).count() - faults;
        for (count, what) in [(failed, "failed"), (faults, "client faults")] {
            if count > 0 {
                let _ = write!(line, "  {count} {what}");
            }
        }
        line
    }

    /// How long a request takes from being sent to its end, on average so far.
    fn service(&self) -> Duration {
        let done = self.lanes.iter().flat_map(|lane| &lane.done);
        let spans: Vec<f64> = done
            .map(|seen| seen.end().since(seen.sent()).as_secs())
            .collect();
        let mean = spans.iter().sum::<f64>() / spans.len().max(1) as f64;
        Duration::from_secs(mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::drive::id_of;
    use crate::measure::protocol::{GapPlan, Protocol};
    use crate::request::EndpointId;

    #[test]
    fn the_line_shows_what_is_known_so_far() {
        let protocol = Protocol {
            requests: 10,
            discard: 1,
            concurrency: 1,
            gaps: GapPlan::Fixed(Duration::from_secs(9.0)),
            jitter: Duration::ZERO,
            prompt_tokens: 1,
            output_tokens: 1,
            timeout: None,
        };
        let place = Place {
            endpoint: EndpointId(0),
            target: "acme".to_owned(),
            model: "m".to_owned(),
            session: "once".to_owned(),
            discard: 1,
        };
        let lane = Lane {
            endpoint: EndpointId(0),
            moves: vec![0; 11],
            protocol,
            start: Time::ZERO,
            done: Vec::new(),
        };
        let places = [place];
        let mut watch = Watch::new(&places, &[lane], PercentileMethod::default());
        assert_eq!(watch.text(Time::ZERO), "0/11 requests, 90 s left");
        // One thrown away, four usual ones, one that looks cold, one that failed: each takes a second, but the cold one.
        for (index, ttft) in [0.5, 0.5, 0.5, 0.5, 0.5, 8.0, 0.0].into_iter().enumerate() {
            let at = |seconds: f64| Time::from_secs(10.0 * index as f64 + seconds);
            let (first, outcome) = match ttft {
                0.0 => (None, Outcome::Failed),
                ttft => (Some(at(ttft)), Outcome::Succeeded),
            };
            let end = at(ttft.max(1.0));
            let id = id_of(0, index as u32);
            let seen =
                Observation::new(id, EndpointId(0), at(0.0), at(0.0), first, end, 1, outcome);
            watch.ended(&seen);
        }
        // Four more, each 9 s after the one before and 2 s long; the last one ended at 61 s.
        assert_eq!(
            watch.text(Time::from_secs(61.0)),
            "acme  6/10  median 0.50 s  p95 6.50 s  CV 168 %  1 cold?  1 failed\n7/11 requests, 44 s left"
        );
    }
}
