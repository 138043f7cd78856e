//! What detections are called, and what they say.

use std::fmt;

use super::{Detection, SetUpPart};

impl Detection {
    /// A name for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Buffered { .. } => "buffered-stream",
            Self::CachedPrefix { .. } => "cached-prefix",
            Self::RoleChunkCounted { .. } => "role-chunk-counted",
            Self::RoleChunkGap { .. } => "role-chunk-gap",
            Self::BundledFirstChunk { .. } => "bundled-first-chunk",
            Self::SetUpOutliers {
                part: SetUpPart::Dns,
                ..
            } => "dns-outliers",
            Self::SetUpOutliers {
                part: SetUpPart::Connect,
                ..
            } => "connect-outliers",
            Self::KeepAliveCliff { .. } => "keep-alive-cliff",
            Self::NearClientFault { .. } => "near-client-fault",
        }
    }
}

impl fmt::Display for Detection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Buffered { requests, of } => write!(
                f,
                "{requests} of {of} answers arrived in one burst at their end (gaps under 5 ms, first token after 80 % of the time): \
                 something on the way collects the stream, and its TTFT is the time of the whole answer"
            ),
            Self::CachedPrefix { requests, of } => write!(
                f,
                "{requests} of {of} requests had at least half of their prompt in a cache: the TTFT is that of a cached prompt, \
                 a new one takes longer"
            ),
            Self::RoleChunkCounted {
                requests,
                of,
                ttft_median_s,
            } => write!(
                f,
                "in {requests} of {of} answers the second piece came at least three times as late after the first as later ones after \
                 each other: the first was probably the role and no token; to the second piece the median is {ttft_median_s:.3} s"
            ),
            Self::RoleChunkGap {
                role_median_s,
                requests,
            } => write!(
                f,
                "{requests} answers began with a piece that only names the role, after {role_median_s:.3} s in the middle: clients \
                 that count it report that as TTFT"
            ),
            Self::BundledFirstChunk { tokens } => write!(
                f,
                "the first piece holds {tokens:.0} tokens in the middle: TTFT includes the time of all of them"
            ),
            Self::SetUpOutliers {
                part,
                requests,
                median_s,
                max_s,
            } => {
                let what = match part {
                    SetUpPart::Dns => "look-ups of the name",
                    SetUpPart::Connect => "connections",
                };
                write!(
                    f,
                    "{requests} {what} took far longer than the usual {median_s:.3} s, up to {}: that is the network's time \
                     and not the model's",
                    span(max_s, 2)
                )
            }
            Self::KeepAliveCliff {
                outlived_s,
                closed_s,
                lost,
            } => {
                let outlived = outlived_s.map_or(String::new(), |outlived| {
                    format!(" and outlived gaps of up to {outlived:.1} s")
                });
                let lost = match lost {
                    0 => String::new(),
                    1 => "; 1 request was lost with its connection".to_owned(),
                    _ => format!("; {lost} requests were lost with their connections"),
                };
                write!(
                    f,
                    "no connection outlived a gap of {closed_s:.1} s{outlived}: the server closes idle connections in between{lost}"
                )
            }
            Self::NearClientFault {
                requests,
                max_s,
                cv_without_percent,
            } => {
                let without = cv_without_percent.map_or(String::new(), |cv| {
                    format!("; without them the CV is {cv:.0} %")
                });
                write!(
                    f,
                    "within a minute of a fault of the client's own network: {requests} answered, in up to {}{without}",
                    span(max_s, 1)
                )
            }
        }
    }
}

/// A span with so many decimals; a short one would lose all its digits and is in milliseconds.
fn span(seconds: f64, decimals: usize) -> String {
    if seconds < 0.1 {
        return format!("{:.1} ms", 1e3 * seconds);
    }
    format!("{seconds:.decimals$} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_spans_keep_their_digits() {
        let near = |max_s: f64| {
            let cv_without_percent = None;
            let requests = 2;
            let near = Detection::NearClientFault {
                requests,
                max_s,
                cv_without_percent,
            };
            near.to_string()
        };
        assert!(near(0.005).ends_with("2 answered, in up to 5.0 ms"));
        assert!(near(7.356).ends_with("2 answered, in up to 7.4 s"));
    }
}
