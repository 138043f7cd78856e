//! One unit of demand, as a client states it.

use crate::time::{Duration, Time};

/// Names a request within one run of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Names what a target offers: one model of one provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u32);

/// A request that a benchmark sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The benchmark's name for it.
    pub id: RequestId,
    /// Where it goes.
    pub endpoint: EndpointId,
    /// When the plan wants it sent.
    pub due: Time,
    /// Length of the prompt \[tokens\].
    pub prompt_tokens: u32,
    /// Length of the answer \[tokens\], at least one.
    pub output_tokens: u32,
    /// How long the client waits for the first token; `None` waits for ever.
    pub timeout: Option<Duration>,
}
