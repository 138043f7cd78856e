//! Signs that a TTFT is not what it seems, read off the requests themselves.
//!
//! Each detector needs the notes that its sign rests on and stays silent without them; limits are stated beside them. They point
//! at a place to look, with numbers, and change no figure.

mod detectors;
#[cfg(test)]
mod tests;
mod words;

use super::analysis::Row;
use crate::time::Duration;

/// What a client noted of a request beside its times, each only where it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// Looking up the name.
    pub dns: Option<Duration>,
    /// Opening the connection, encryption included.
    pub connect: Option<Duration>,
    /// Whether it went over a connection that was open before.
    pub reused: Option<bool>,
    /// Whether it failed because its connection broke.
    pub connection_lost: bool,
    /// From the first token to the next piece of the answer.
    pub first_gap: Option<Duration>,
    /// The middle one of the gaps after that.
    pub gap_median: Option<Duration>,
    /// From sending to a piece that only named the role.
    pub role_chunk: Option<Duration>,
    /// Tokens in the first piece.
    pub first_chunk_tokens: Option<u32>,
    /// Tokens of the prompt that came out of a cache.
    pub cached_tokens: Option<u32>,
    /// Tokens of the prompt.
    pub prompt_tokens: Option<u32>,
    /// Whether the client's own network failed within a minute of it, for this or another endpoint.
    pub near_client_fault: bool,
}

impl Signs {
    /// Notes the gaps between the pieces of an answer.
    pub fn note_gaps(&mut self, gaps: &[Duration]) {
        self.first_gap = gaps.first().copied();
        let mut later: Vec<Duration> = gaps.iter().skip(1).copied().collect();
        later.sort_unstable();
        self.gap_median = later.get(later.len() / 2).copied();
    }
}

/// Something to look at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detection {
    /// Answers come in one burst at the end: something on the way collects them.
    Buffered {
        /// Requests that show it.
        requests: usize,
        /// Requests whose gaps are known.
        of: usize,
    },
    /// Prompts come out of a cache.
    CachedPrefix {
        /// Requests with at least half of the prompt cached.
        requests: usize,
        /// Requests that tell.
        of: usize,
    },
    /// The first piece is no token: the TTFT ends too early.
    RoleChunkCounted {
        /// Requests that show it.
        requests: usize,
        /// Requests whose gaps are known.
        of: usize,
        /// Median of the TTFT to the second piece \[s\].
        ttft_median_s: f64,
    },
    /// A piece that only names the role comes well before the first token.
    RoleChunkGap {
        /// Median time to it \[s\]: what clients that count it report.
        role_median_s: f64,
        /// Requests that have one.
        requests: usize,
    },
    /// The first piece holds several tokens.
    BundledFirstChunk {
        /// Median number of tokens in it.
        tokens: f64,
    },
    /// Some set-ups of connections took much longer than usual.
    SetUpOutliers {
        /// Which part of the set-up.
        part: SetUpPart,
        /// How many did.
        requests: usize,
        /// The usual time \[s\].
        median_s: f64,
        /// The longest \[s\].
        max_s: f64,
    },
    /// Connections do not outlive gaps of this length.
    KeepAliveCliff {
        /// The longest gap that a connection outlived \[s\], if one did.
        outlived_s: Option<f64>,
        /// The shortest gap that none outlived \[s\].
        closed_s: f64,
        /// Requests lost because their connection was closed under them.
        lost: usize,
    },
    /// The client's own network failed within a minute of some requests.
    NearClientFault {
        /// How many.
        requests: usize,
        /// The longest of their TTFTs \[s\].
        max_s: f64,
        /// Std/mean of the other requests [%].
        cv_without_percent: Option<f64>,
    },
}

/// A part of making a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetUpPart {
    /// Looking up the name.
    Dns,
    /// Opening the connection.
    Connect,
}

/// What requests show of one sign.
type Detector = fn(&[Row]) -> Option<Detection>;

/// Everything that the requests show.
pub fn detect(rows: &[Row]) -> Vec<Detection> {
    let detectors: [Detector; 9] = [
        detectors::near_client_fault,
        detectors::buffered,
        detectors::role_chunk_counted,
        detectors::role_chunk_gap,
        detectors::bundled_first_chunk,
        detectors::cached_prefix,
        detectors::dns_outliers,
        detectors::connect_outliers,
        detectors::keep_alive_cliff,
    ];
    detectors
        .into_iter()
        .filter_map(|detector| detector(rows))
        .collect()
}
