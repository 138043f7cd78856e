//! The `service` table: how a replica runs requests.

use super::super::{Kind, Reader, Variant};
use super::hardware::Modelled;
use super::values::{count, count_or_unlimited, distribution, optional_distribution, seconds};
use crate::batching::{
    self, Admission, BatchTime, ContinuousConfig, Cost, StatedCost, StaticConfig,
};
use crate::distribution::Distribution;
use crate::fleet::config::{OverContext, StatedTimes};
use crate::time::Duration;

/// What the table says; finished for each placement, because times depend on the GPU.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) prefill: Distribution,
    pub(super) decode: Distribution,
    /// Of a request that met a cold start, where that differs.
    pub(super) cold: Option<StatedTimes>,
    /// Requests that a replica is meant for, unless the scenario says otherwise.
    pub(super) target: f64,
    pub(super) over_context: OverContext,
    /// Whether the scenario states how long requests take, instead of what an iteration takes.
    pub(super) states_times: bool,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Slots(u32),
    Continuous(Limits, Option<StatedCost>),
    Static {
        batch_size: u32,
        window: Duration,
        release_early: bool,
    },
}

/// Limits of a continuous batch.
#[derive(Clone, Debug)]
struct Limits {
    max_sequences: u32,
    max_batched_tokens: u32,
    block_tokens: u32,
    max_context_tokens: Option<u32>,
    kv_tokens: Option<u64>,
    admission: Admission,
}

/// Reads the table. With an engine, continuous batching is the default and its times come from the hardware.
pub(super) fn read(reader: &mut Reader<'_>, has_engine: bool) -> Service {
    let forms = [
        Variant::table("slots"),
        Variant::table("continuous"),
        Variant::table("static"),
    ];
    let default = if has_engine {
        "{ continuous = {} }"
    } else {
        "{ slots = {} }"
    };
    let (form, mut inner) = reader.variant("service", &forms, default);
    let service = match form {
        "continuous" => continuous(&mut inner, has_engine),
        "static" => fixed(&mut inner, has_engine),
        _ => slots(&mut inner),
    };
    inner.finish();
    service
}

fn stated(inner: &mut Reader<'_>, form: Form, target: f64) -> Service {
    let prefill = distribution(inner, "prefill", &seconds(), "300ms");
    let decode = distribution(inner, "decode", &seconds(), "2s");
    let cold = inner.optional_table("cold");
    Service {
        cold: cold.map(|inner| cold_times(inner, &prefill, &decode)),
        prefill,
        decode,
        target,
        over_context: OverContext::Reject,
        states_times: true,
        form,
    }
}

/// Times of a request that met a cold start; the usual ones where the table is silent.
fn cold_times(mut inner: Reader<'_>, prefill: &Distribution, decode: &Distribution) -> StatedTimes {
    let mut time = |key: &str, usual: &Distribution| {
        optional_distribution(&mut inner, key, &seconds()).unwrap_or_else(|| usual.clone())
    };
    let times = StatedTimes {
        prefill: time("prefill", prefill),
        decode: time("decode", decode),
    };
    inner.finish();
    times
}

fn modelled(form: Form, target: f64, over_context: OverContext) -> Service {
    let none = Distribution::Constant(0.0);
    Service {
        prefill: none.clone(),
        decode: none,
        cold: None,
        target,
        over_context,
        states_times: false,
        form,
    }
}

fn slots(inner: &mut Reader<'_>) -> Service {
    let slots = count_or_unlimited(inner, "slots", "1", "1");
    stated(inner, Form::Slots(slots), f64::from(slots))
}

fn continuous(inner: &mut Reader<'_>, has_engine: bool) -> Service {
    let tokens = || Kind::whole().at_least("1").at_most("100000000");
    let limits = Limits {
        max_sequences: count(inner, "max_sequences", "1", "256"),
        max_batched_tokens: inner.or_default("max_batched_tokens", &tokens(), "8192") as u32,
        block_tokens: count(inner, "block_tokens", "1", "16"),
        max_context_tokens: inner
            .optional("max_context_tokens", &tokens())
            .map(|tokens| tokens as u32),
        kv_tokens: inner.optional(
            "kv_tokens",
            &Kind::whole().at_least("1").at_most("1000000000000"),
        ),
        admission: inner.or_default(
            "admission",
            &Kind::one_of(&[("fcfs", Admission::Fcfs), ("priority", Admission::Priority)]),
            "fcfs",
        ),
    };
    let reject_or_truncate = [
        ("reject", OverContext::Reject),
        ("truncate", OverContext::Truncate),
    ];
    let over_context =
        inner.or_default("over_context", &Kind::one_of(&reject_or_truncate), "reject");
    let cost = (!has_engine).then(|| stated_cost(inner.table("step")));
    let target = f64::from(limits.max_sequences);
    modelled(Form::Continuous(limits, cost), target, over_context)
}

/// Coefficients of an iteration, stated.
fn stated_cost(mut reader: Reader<'_>) -> StatedCost {
    let span = || Kind::duration().at_most("1h");
    let mut value = |key: &str, default: &str| reader.or_default(key, &span(), default).as_secs();
    let cost = StatedCost {
        base_s: value("base", "20ms"),
        per_sequence_s: value("per_sequence", "100us"),
        per_context_token_s: value("per_context_token", "0s"),
        prefill_per_token_s: value("prefill_per_token", "50us"),
        prefill_per_pair_s: value("prefill_per_pair", "0s"),
    };
    if cost.base_s <= 0.0 {
        reader.problem_at(
            "base",
            "`base` must be positive",
            "is zero",
            "an iteration takes time",
        );
    }
    reader.finish();
    cost
}

fn fixed(inner: &mut Reader<'_>, has_engine: bool) -> Service {
    let batch_size = count(inner, "batch_size", "1", "8");
    let form = Form::Static {
        batch_size,
        window: inner.or_default("window", &Kind::duration().at_most("1h"), "100ms"),
        release_early: inner.or_default("release_early", &Kind::boolean(), "false"),
    };
    let target = f64::from(batch_size);
    if has_engine {
        modelled(form, target, OverContext::Reject)
    } else {
        stated(inner, form, target)
    }
}

/// Longest context where nothing states one (tokens).
const DEFAULT_CONTEXT: u32 = 131_072;
/// KV memory where nothing states it (tokens).
const DEFAULT_KV_TOKENS: u64 = 1_000_000;

impl Service {
    /// The replica's configuration on certain hardware, or without any.
    pub(super) fn batching(&self, hardware: Option<&Modelled>) -> batching::Config {
        match &self.form {
            Form::Slots(slots) => batching::Config::Slots { slots: *slots },
            Form::Continuous(limits, stated) => continuous_config(limits, *stated, hardware),
            &Form::Static {
                batch_size,
                window,
                release_early,
            } => {
                let time = hardware.map_or(BatchTime::Stated, |hardware| {
                    BatchTime::Modelled(hardware.cost())
                });
                batching::Config::Static(StaticConfig {
                    batch_size,
                    window,
                    release_early,
                    time,
                })
            }
        }
    }
}

fn continuous_config(
    limits: &Limits,
    stated: Option<StatedCost>,
    hardware: Option<&Modelled>,
) -> batching::Config {
    let cost = match (stated, hardware) {
        (None, Some(hardware)) => hardware.cost(),
        (stated, _) => Cost::Stated(stated.unwrap_or_default()),
    };
    let own_kv = hardware.map_or(DEFAULT_KV_TOKENS, |hardware| hardware.kv_tokens);
    let kv_tokens = limits.kv_tokens.map_or(own_kv, |stated| {
        stated.min(if hardware.is_some() { own_kv } else { stated })
    });
    let own_context = hardware.map_or(DEFAULT_CONTEXT, |hardware| hardware.context_tokens);
    let max_context_tokens =
        limits
            .max_context_tokens
            .map_or(own_context, |stated| match hardware {
                Some(hardware) => stated.min(hardware.context_tokens),
                None => stated,
            });
    batching::Config::Continuous(ContinuousConfig {
        max_sequences: limits.max_sequences,
        max_batched_tokens: limits.max_batched_tokens.max(limits.max_sequences),
        kv_blocks: kv_blocks(kv_tokens, limits.block_tokens),
        block_tokens: limits.block_tokens,
        max_context_tokens,
        admission: limits.admission,
        cost,
    })
}

/// Whole blocks in so many tokens of memory.
fn kv_blocks(tokens: u64, block_tokens: u32) -> u32 {
    u32::try_from(tokens / u64::from(block_tokens))
        .unwrap_or(u32::MAX)
        .max(1)
}
