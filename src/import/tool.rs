//! The programs whose files are read, and what each of them calls TTFT.
//!
//! Sources: the tools' own code, in the versions that `measure.md` names.

use std::fmt;

/// Where a TTFT begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// When the request was handed to the HTTP client.
    Call,
    /// When the request was due.
    Due,
    /// When the request was written.
    Written,
    /// Nobody knows.
    Unknown,
}

/// Which piece of an answer ends a TTFT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// The first token on any channel: content, reasoning or a tool call.
    AnyToken,
    /// The first token of content or reasoning; tool calls do not count.
    ContentOrReasoning,
    /// The first token of content; reasoning does not count.
    Content,
    /// The first piece of any kind, one that only names the role included.
    AnyChunk,
    /// Nobody knows.
    Unknown,
}

/// Whether making the connection is part of a TTFT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetUp {
    /// Never.
    Excluded,
    /// When the request opens a connection.
    WhenNew,
    /// Every request opens one, so always.
    Always,
    /// Nobody knows.
    Unknown,
}

/// What a file means by TTFT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Where it begins.
    pub start: Start,
    /// What ends it.
    pub first: First,
    /// Whether it holds the making of the connection.
    pub set_up: SetUp,
}

/// Our own.
pub const OURS: Definition = Definition {
    start: Start::Written,
    first: First::AnyToken,
    set_up: SetUp::Excluded,
};

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = match self.start {
            Start::Call => "call of the client",
            Start::Due => "request due",
            Start::Written => "request written",
            Start::Unknown => "unknown start",
        };
        let first = match self.first {
            First::AnyToken => "first token on any channel",
            First::ContentOrReasoning => "first token of content or reasoning",
            First::Content => "first token of content, reasoning not counted",
            First::AnyChunk => "first piece of the answer, one that only names the role included",
            First::Unknown => "unknown end",
        };
        let set_up = match self.set_up {
            SetUp::Excluded => "without making the connection",
            SetUp::WhenNew => "with making the connection when it is new",
            SetUp::Always => "with making the connection",
            SetUp::Unknown => "making the connection unknown",
        };
        write!(f, "{start} to {first}, {set_up}")
    }
}

/// A program that writes results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Observations of this program's `measure`.
    Thermocline,
    /// Requests of this program's `simulate`.
    Simulation,
    /// `vllm bench serve`.
    VllmBench,
    /// The Rust port of vLLM's benchmark.
    VllmBenchRust,
    /// `SGLang`'s `bench_serving`.
    Sglang,
    /// `AIPerf`.
    Aiperf,
    /// `GenAI-Perf`.
    GenaiPerf,
    /// `GuideLLM`.
    Guidellm,
    /// `LLMPerf`.
    Llmperf,
    /// `inference-perf`.
    InferencePerf,
    /// Hugging Face's `inference-benchmarker`.
    InferenceBenchmarker,
    /// `llmprobe`.
    Llmprobe,
    /// Any table, read by a named column.
    Table,
}

impl Tool {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Thermocline => "thermocline measure",
            Self::Simulation => "thermocline simulate",
            Self::VllmBench => "vLLM bench",
            Self::VllmBenchRust => "vllm-bench (Rust)",
            Self::Sglang => "SGLang bench_serving",
            Self::Aiperf => "AIPerf",
            Self::GenaiPerf => "GenAI-Perf",
            Self::Guidellm => "GuideLLM",
            Self::Llmperf => "LLMPerf",
            Self::InferencePerf => "inference-perf",
            Self::InferenceBenchmarker => "inference-benchmarker",
            Self::Llmprobe => "llmprobe",
            Self::Table => "table",
        }
    }

    /// What it means by TTFT.
    pub fn definition(self) -> Definition {
        let of = |start, first, set_up| Definition {
            start,
            first,
            set_up,
        };
        match self {
            Self::Thermocline => OURS,
            Self::Simulation => of(Start::Written, First::AnyToken, SetUp::WhenNew),
            Self::VllmBench => of(Start::Call, First::AnyToken, SetUp::WhenNew),
            Self::VllmBenchRust => of(Start::Call, First::AnyChunk, SetUp::WhenNew),
            Self::Sglang => of(Start::Call, First::ContentOrReasoning, SetUp::Always),
            Self::Aiperf => of(Start::Call, First::AnyToken, SetUp::WhenNew),
            Self::GenaiPerf => of(Start::Call, First::Content, SetUp::WhenNew),
            Self::Guidellm => of(Start::Written, First::AnyToken, SetUp::Excluded),
            Self::Llmperf => of(Start::Call, First::Content, SetUp::Always),
            Self::InferencePerf => of(Start::Call, First::Content, SetUp::WhenNew),
            Self::InferenceBenchmarker => of(Start::Call, First::Content, SetUp::WhenNew),
            Self::Llmprobe => of(Start::Call, First::Content, SetUp::Always),
            Self::Table => of(Start::Unknown, First::Unknown, SetUp::Unknown),
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Something that a file does not hold, and an analysis therefore cannot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No dates: the hours of the day cannot be told apart.
    WallClock,
    /// No order in time either, other than that of the rows.
    Starts,
    /// Only figures of the whole: no interval, no verdict's probability, no split.
    Requests,
    /// No standard deviation, so no CV.
    Std,
    /// Output lengths are those that were asked for.
    CountedTokens,
    /// Time-outs look like other failures.
    TimeOuts,
    /// Which failures were the client's own network cannot be told.
    Phases,
    /// Failed requests are not in the file.
    Failures,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WallClock => "no dates, so no split by hour",
            Self::Starts => "no times at all, so requests stand in the order of the file",
            Self::Requests => "figures of the whole only, so no interval, no probability, no split",
            Self::Std => "no standard deviation, so no CV and no verdict",
            Self::CountedTokens => "output lengths as asked for, not as counted",
            Self::TimeOuts => "time-outs not told from other failures",
            Self::Phases => "faults of the client's network not told from the server's",
            Self::Failures => "failed requests left out",
        })
    }
}
