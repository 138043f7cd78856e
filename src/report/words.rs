//! A benchmark's plan in words.

use super::number;
use crate::measure::protocol::{GapPlan, Protocol};
use crate::time::Duration;

/// The whole plan of one session: `75 requests 5 s apart after 1 thrown away, one at a time`.
pub fn protocol(protocol: &Protocol) -> String {
    let requests = number::counted(protocol.requests.into(), "request");
    let jitter = match protocol.jitter {
        Duration::ZERO => String::new(),
        jitter => format!(" ± {}", span(jitter)),
    };
    let at_once = match protocol.concurrency {
        1 => "one at a time".to_owned(),
        u32::MAX => "any number at a time".to_owned(),
        most => format!("{most} at a time"),
    };
    format!(
        "{requests} {}{jitter}{}, {at_once}",
        spread(&protocol.gaps),
        discarded(protocol.discard)
    )
}

/// When requests are sent: `5 s apart`.
pub(super) fn spread(gaps: &GapPlan) -> String {
    match gaps {
        GapPlan::Fixed(gap) => format!("{} apart", span(*gap)),
        GapPlan::Even { over } => format!("evenly over {}", span(*over)),
        GapPlan::Bursts { size, every, .. } => format!("{size} at a time every {}", span(*every)),
        GapPlan::Ladder(gaps) => {
            let gaps: Vec<String> = gaps.iter().map(|gap| span(*gap)).collect();
            format!("{} apart", gaps.join(", "))
        }
        GapPlan::At(_) => "at stated times".to_owned(),
    }
}

/// Those that do not count: ` after 1 thrown away`, or nothing.
pub(super) fn discarded(discard: u32) -> String {
    match discard {
        0 => String::new(),
        discard => format!(" after {discard} thrown away"),
    }
}

fn span(span: Duration) -> String {
    number::span(span.as_secs())
}
