//! One sentence on what the median hides, with the numbers of the very requests it speaks of.

use super::number::{factor, one_in, range, seconds};
use crate::measure::summary::{Cold, Summary, Ttft};

/// From this multiple of the median on, a request was slow enough to speak of.
const NOTABLE: f64 = 3.0;

/// What the median of these requests hides, if anything.
pub fn hidden(summary: &Summary) -> String {
    let Some(ttft) = &summary.ttft else {
        return nothing_answered(summary);
    };
    if summary.requests == 1 {
        return format!(
            "The one request took {}: a single value has no spread and hides nothing.",
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
    let users = match one_in(missing, n) {
        often if missing * 2 > n => format!("{often} users get no answer"),
        rare => format!("{rare} users gets no answer"),
    };
    let cold = summary.cold.as_ref().filter(|cold| cold.requests > 0);
    let cold = cold.map_or(String::new(), |cold| {
        let size = cold.cold_max_s.map_or(String::new(), |max| {
            format!(" (answered in {} at most)", seconds(max))
        });
        format!(", and {} met a cold start{size}", cold.requests)
    });
    format!(
        "The median says {} of the {} requests that were answered; {missing} of {n} {verb} not ({}): {users}{cold}.",
        seconds(ttft.median_s),
        summary.succeeded,
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
    let start = if met == 1 {
        format!(
            "1 of {n} requests met a cold start of {}",
            range(least, most)
        )
    } else {
        format!(
            "{met} of {n} requests met a cold start of {}",
            range(least, most)
        )
    };
    let median = seconds(ttft.median_s);
    if times < 1.5 {
        return format!(
            "The median says {median} and hides little: {start}, which is hardly longer than a warm request."
        );
    }
    format!(
        "The median says {median}; {start}: {} users waits {} times the median.",
        one_in(met, n),
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
