//! One sentence on what the median hides, with the numbers of the very requests it speaks of.

use super::number::{factor, range, seconds, users};
use crate::measure::summary::{Cold, Summary, Ttft};

/// From this multiple of the median on, a request was slow enough to speak of.
const NOTABLE: f64 = 3.0;

/// What the median of these requests hides, if anything.
pub fn hidden(summary: &Summary) -> String {
    let Some(ttft) = &summary.ttft else {
        return nothing_answered(summary);
    };
    if summary.requests == 1 {
        let cold = match summary.cold_requests() {
            Some(1) => " and met a cold start",
            _ => "",
        };
        return format!(
            "The one request took {}{cold}: a single value has no spread and hides nothing.",
            seconds(ttft.median_s)
        );
    }
    if summary.succeeded < summary.requests {
        return unanswered(summary, ttft);
    }
    match &summary.cold {
        Some(cold) if cold.requests > 0 => met_cold(summary.requests, ttft, cold),
        Some(cold) => all_warm(summary.requests, ttft, cold),
        None => unknown(summary.requests, ttft),
    }
}

/// How much the median of these requests leaves out, to tell which row needs a closer look first.
pub(super) fn weight(summary: &Summary) -> f64 {
    let failures = 10.0 * summary.failure_percent.unwrap_or(0.0);
    let Some(ttft) = &summary.ttft else {
        return failures;
    };
    let warm = summary.cold.as_ref().and_then(|cold| cold.warm_median_s);
    let usual = warm.unwrap_or(ttft.min_s);
    let slowest = if usual > 0.0 { ttft.max_s / usual } else { 0.0 };
    slowest + failures
}

fn nothing_answered(summary: &Summary) -> String {
    match summary.requests {
        0 => "No request was made.".to_owned(),
        1 => format!(
            "The only request was not answered ({}): there is no median.",
            reasons(summary)
        ),
        n => format!(
            "None of the {n} requests was answered ({}): there is no median to hide behind.",
            reasons(summary)
        ),
    }
}

/// Why requests were not answered: `5 timed out, 2 rejected`.
pub(super) fn reasons(summary: &Summary) -> String {
    let reasons = [
        (summary.timed_out, "timed out"),
        (summary.rejected, "rejected"),
        (summary.failed, "failed"),
    ];
    let named = reasons.into_iter().filter(|&(count, _)| count > 0);
    let named: Vec<String> = named.map(|(count, why)| format!("{count} {why}")).collect();
    named.join(", ")
}

fn unanswered(summary: &Summary, ttft: &Ttft) -> String {
    let (n, missing) = (summary.requests, summary.requests - summary.succeeded);
    let verb = if missing == 1 { "was" } else { "were" };
    let users = users(missing, n, ["gets no answer", "get no answer"]);
    let cold = summary.cold.as_ref().filter(|cold| cold.requests > 0);
    let cold = cold.map_or(String::new(), |cold| {
        let size = cold.cold_max_s.map_or(String::new(), |max| {
            format!(" (answered in {} at most)", seconds(max))
        });
        format!(", and {} met a cold start{size}", cold.requests)
    });
    let answered = match summary.succeeded {
        1 => "the one request that was answered".to_owned(),
        several => format!("the {several} requests that were answered"),
    };
    format!(
        "The median says {} of {answered}; {missing} of {n} {verb} not ({}): {users}{cold}.",
        seconds(ttft.median_s),
        reasons(summary)
    )
}

fn met_cold(n: usize, ttft: &Ttft, cold: &Cold) -> String {
    let (Some(least), Some(middle), Some(most)) =
        (cold.cold_min_s, cold.cold_median_s, cold.cold_max_s)
    else {
        return unknown(n, ttft);
    };
    let met = cold.requests;
    if met * 2 > n {
        let warm = cold.warm_median_s.map_or_else(
            || "not one was warm".to_owned(),
            |warm| format!("a warm one takes {}", seconds(warm)),
        );
        return format!(
            "The median itself is a cold start: {met} of {n} requests met one, so it says {}; {warm}.",
            seconds(ttft.median_s)
        );
    }
    let times = middle / ttft.median_s;
    let start = format!(
        "{met} of {n} requests met a cold start of {}",
        range(least, most)
    );
    let median = seconds(ttft.median_s);
    if times < 1.5 {
        return format!(
            "The median says {median} and hides little: {start}, which is hardly longer than a warm request."
        );
    }
    format!(
        "The median says {median}; {start}: {} {} times the median.",
        users(met, n, ["waits", "wait"]),
        factor(times)
    )
}

fn all_warm(n: usize, ttft: &Ttft, cold: &Cold) -> String {
    let times = ttft.max_s / ttft.median_s;
    let bound = cold.share.and_then(|share| share.interval);
    let bound = bound.map_or(String::new(), |share| {
        format!(
            " (a share of up to {:.1} % is compatible with that)",
            100.0 * share.high
        )
    });
    let (median, max) = (seconds(ttft.median_s), seconds(ttft.max_s));
    if times.is_finite() && times >= NOTABLE {
        return format!(
            "The median says {median}; none of {n} requests met a cold start{bound}, but the slowest took {max}, {} times \
             the median: it waited for others or for the network.",
            factor(times)
        );
    }
    format!(
        "The median says {median} and hides nothing that these {n} requests met: the slowest took {max}, and none met a \
         cold start{bound}."
    )
}

fn unknown(n: usize, ttft: &Ttft) -> String {
    let times = ttft.max_s / ttft.median_s;
    let (median, max) = (seconds(ttft.median_s), seconds(ttft.max_s));
    if times.is_finite() && times >= NOTABLE {
        format!(
            "The median says {median}; the slowest of {n} requests took {max}, {} times the median.",
            factor(times)
        )
    } else {
        format!(
            "The median says {median} and hides little: the slowest of {n} requests took {max}."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Observation, Outcome};
    use crate::request::{EndpointId, RequestId};
    use crate::stats::PercentileMethod;
    use crate::time::Time;

    type Seen = (Observation, Option<bool>);

    fn seen(count: usize, seconds: f64, outcome: Outcome, cold: Option<bool>) -> Vec<Seen> {
        let end = Time::from_secs(seconds);
        let first = (outcome == Outcome::Succeeded).then_some(end);
        let (id, endpoint, zero) = (RequestId(0), EndpointId(0), Time::ZERO);
        let one = Observation::new(id, endpoint, zero, zero, first, end, 1, outcome);
        vec![(one, cold); count]
    }

    fn said(parts: &[Vec<Seen>]) -> String {
        hidden(&Summary::of(&parts.concat(), PercentileMethod::Linear))
    }

    #[test]
    fn cold_starts_behind_a_warm_median_are_said() {
        let warm = seen(72, 0.38, Outcome::Succeeded, Some(false));
        let cold = seen(3, 25.1, Outcome::Succeeded, Some(true));
        assert_eq!(
            said(&[warm, cold]),
            "The median says 0.38 s; 3 of 75 requests met a cold start of 25.1 s: one user in 25 waits 66 times the median."
        );
    }

    #[test]
    fn a_cold_median_is_called_one() {
        let warm = seen(15, 0.37, Outcome::Succeeded, Some(false));
        let cold = seen(60, 25.0, Outcome::Succeeded, Some(true));
        assert_eq!(
            said(&[warm, cold]),
            "The median itself is a cold start: 60 of 75 requests met one, so it says 25.0 s; a warm one takes 0.37 s."
        );
    }

    #[test]
    fn an_honest_median_is_left_alone() {
        let warm = seen(75, 0.37, Outcome::Succeeded, Some(false));
        assert_eq!(
            said(&[warm]),
            "The median says 0.37 s and hides nothing that these 75 requests met: the slowest took 0.37 s, and none met a \
             cold start (a share of up to 4.8 % is compatible with that)."
        );
    }

    #[test]
    fn failures_come_first() {
        let warm = seen(70, 0.38, Outcome::Succeeded, Some(false));
        let lost = seen(5, 20.0, Outcome::TimedOut, Some(false));
        assert_eq!(
            said(&[warm, lost.clone()]),
            "The median says 0.38 s of the 70 requests that were answered; 5 of 75 were not (5 timed out): one user in 15 \
             gets no answer."
        );
        let one = seen(1, 0.38, Outcome::Succeeded, Some(false));
        assert_eq!(
            said(&[one, lost.clone()]),
            "The median says 0.38 s of the one request that was answered; 5 of 6 were not (5 timed out): 83 % of users \
             get no answer."
        );
        assert_eq!(
            said(&[lost]),
            "None of the 5 requests was answered (5 timed out): there is no median to hide behind."
        );
        assert_eq!(said(&[]), "No request was made.");
    }

    #[test]
    fn unknown_cold_starts_are_not_guessed() {
        let warm = seen(74, 0.38, Outcome::Succeeded, None);
        let slow = seen(1, 25.0, Outcome::Succeeded, None);
        assert_eq!(
            said(&[warm, slow]),
            "The median says 0.38 s; the slowest of 75 requests took 25.0 s, 66 times the median."
        );
    }
}
