//! Random scenarios over the whole scenario language, small enough for hundreds of runs.

use crate::support::one_of;
use proptest::prelude::*;
use std::fmt::Write;

/// What a scenario is to be like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    /// Whether there may be a warm-up.
    pub(super) warm_up: bool,
    /// Whether everybody's requests stop long before the end, so that all of them end in the run.
    pub(super) is_finite: bool,
    /// Whether the stock of GPUs may run out.
    pub(super) has_stock: bool,
}

/// Anything.
pub(super) const ANY: Wish = Wish {
    warm_up: true,
    is_finite: false,
    has_stock: true,
};

/// Requests that all end, on a fleet that begins with the window.
pub(super) const FINITE: Wish = Wish {
    warm_up: false,
    is_finite: true,
    has_stock: true,
};

/// What all the parts give, one behind the other.
fn joined(parts: Vec<BoxedStrategy<String>>) -> impl Strategy<Value = String> {
    parts.prop_map(|parts| parts.concat())
}

/// One of some pieces of text.
fn part(choices: &'static [&'static str]) -> BoxedStrategy<String> {
    one_of(choices).prop_map(str::to_owned).boxed()
}

/// One of some lines of a table.
fn line(choices: &'static [&'static str]) -> BoxedStrategy<String> {
    let lines = one_of(choices).prop_map(|line| {
        if line.is_empty() {
            String::new()
        } else {
            format!("{line}\n")
        }
    });
    lines.boxed()
}

/// How replicas work: three ways with stated times, and two on hardware.
fn service() -> impl Strategy<Value = String> {
    const PREFILL: &[&str] = &[
        "\"0s\"",
        "\"3s\"",
        "{ gamma = { mean = \"4s\", cv = 1.5 } }",
    ];
    const DECODE: &[&str] = &[
        "\"1s\"",
        "\"0s\"",
        "{ exponential.mean = \"1s\" }",
        "{ uniform = { low = \"0s\", high = \"4s\" } }",
        "{ weibull = { mean = \"1s\", cv = 2 } }",
        "{ empirical.values = [\"1s\", \"5s\"] }",
        "{ mixture.parts = [{ weight = 9, of = \"1s\" }, { weight = 1, of.lognormal = { median = \"2s\", p95 = \"9s\" } }] }",
    ];
    let cold = one_of(&[
        "",
        "",
        ", cold = { prefill = \"2s\", decode.exponential.mean = \"5s\" }",
    ]);
    let slots = (
        one_of(&["1", "2", "3", "\"unlimited\""]),
        one_of(PREFILL),
        one_of(DECODE),
        cold,
    );
    let slots = slots.prop_map(|(slots, prefill, decode, cold)| {
        format!(
            "service.slots = {{ slots = {slots}, prefill = {prefill}, decode = {decode}{cold} }}\n"
        )
    });
    let fixed = (
        1_u32..5,
        one_of(&["0s", "2s"]),
        any::<bool>(),
        one_of(DECODE),
    );
    let fixed = fixed.prop_map(|(size, window, early, decode)| {
        format!(
            "service.static = {{ batch_size = {size}, window = \"{window}\", release_early = {early}, \
             prefill = \"1s\", decode = {decode} }}\n"
        )
    });
    let step = one_of(&[
        "",
        ", step = { base = \"50ms\", per_sequence = \"3ms\", per_context_token = \"2us\", prefill_per_token = \"200us\", prefill_per_pair = \"10ns\" }",
    ]);
    let continuous = (batch(), step)
        .prop_map(|(batch, step)| format!("service.continuous = {{ {batch}{step} }}\n"));
    let engine = (
        line(&[
            "engine = { model = \"llama-3.1-8b\" }",
            "engine = { model = \"llama-3.1-8b\", name = \"sglang\", format = \"fp8\", kv_format = \"fp8\", memory_utilisation = \"80%\" }",
            "engine = { model = \"llama-3.1-8b\", speculation = \"draft-model\", draft_tokens = 2, kv_reserve = \"2GB\" }",
        ]),
        prop_oneof![
            batch().prop_map(|batch| format!("service.continuous = {{ {batch} }}\n")),
            Just("service.static = { batch_size = 3, window = \"1s\" }\n".to_owned()),
        ],
    );
    let engine = engine.prop_map(|(engine, service)| engine + &service);
    prop_oneof![4 => slots, 2 => fixed, 2 => continuous, 2 => engine]
}

/// Limits of a continuous batch.
fn batch() -> impl Strategy<Value = String> {
    let limits = (
        1_u32..6,
        one_of(&["60", "300", "8192"]),
        one_of(&["1", "16"]),
        one_of(&["400", "1000", "100000"]),
        one_of(&["fcfs", "priority"]),
        one_of(&[
            "",
            ", max_context_tokens = 350",
            ", max_context_tokens = 350, over_context = \"truncate\"",
        ]),
    );
    limits.prop_map(|(sequences, budget, block, kv, admission, context)| {
        format!(
            "max_sequences = {sequences}, max_batched_tokens = {budget}, block_tokens = {block}, kv_tokens = {kv}, \
             admission = \"{admission}\"{context}"
        )
    })
}

/// Cold starts: nothing, stated phases, bytes over a link.
fn start() -> BoxedStrategy<String> {
    line(&[
        "",
        "cold_start.load_weights = \"7s\"",
        "cold_start = { provision = \"2s\", image = \"1s\", container = \"1s\", start_engine = \"1s\", \
         load_weights.exponential.mean = \"9s\", compile = \"1s\", capture_graphs = \"500ms\", warm_up = \"1s\" }",
        "cold_start.load_weights.transfer = { bytes = \"10GB\", bandwidth = \"3GB/s\", first_byte = \"200ms\", sigma = 0.5, link = \"store\" }",
        "cold_start.load_weights.transfer = { bytes = \"8GB\", link = \"store\" }",
        "cold_start.load_weights.transfer = { bytes = \"6GB\", bandwidth = \"3GB/s\", first_byte = \"200ms\", link = \"store\" }",
        "cold_start.load_weights.transfer = { bytes = \"8GB\", bandwidth = \"2GB/s\" }",
    ])
}

/// Starts of an engine may be chosen from the catalogue instead.
fn engine_start() -> BoxedStrategy<String> {
    line(&[
        "",
        "cold_start = { allocate = \"none\", pull = \"none\", start_container = \"none\", storage = \"nvme-optimised\", link = \"store\" }",
        "cold_start = { compile_cache = \"cold\", snapshot = true, warm_up = \"2s\" }",
    ])
}

/// How a replica starts on a node that has its weights, and how large these are.
fn cached() -> BoxedStrategy<String> {
    line(&[
        "weights = \"20GB\"",
        "weights = \"29GB\"\ncached = { ram_cache.load_weights = \"1s\", disk_cache = { load_weights = \"2s\", provision = \"1s\" } }",
    ])
}

/// The same for an engine, whose starts are chosen.
fn engine_cached() -> BoxedStrategy<String> {
    line(&[
        "",
        "cached.ram_cache = { allocate = \"none\", pull = \"image-lazy-or-cached\", start_container = \"none\", \
         storage = \"hostram-pinned\", compile_cache = \"cold\", snapshot = false }",
        "cached.disk_cache = { allocate = \"none\", pull = \"image-lazy-or-cached\", start_container = \"none\", \
         storage = \"nvme-optimised\", compile_cache = \"cold\", snapshot = true }",
    ])
}

/// Whether several models share the replicas.
fn sharing() -> BoxedStrategy<String> {
    line(&[
        "",
        "",
        "",
        "sharing = \"none\"",
        "sharing.models = { at_once = 2, switch = \"1s\", order = \"first-fit\" }",
        "sharing.models.switch.exponential.mean = \"500ms\"",
        "sharing.adapters = { at_once = 1, switch = \"300ms\", order = \"fcfs\" }",
    ])
}

/// Where weights wait when a replica has stopped.
fn rungs() -> BoxedStrategy<String> {
    line(&[
        "",
        "",
        "",
        "",
        "warmth.host_ram = { capacity = 2, initial = 1, keep = \"20s\", start.load_weights = \"2s\", refill = true, price = \"1usd/h\" }",
        "warmth = { host_ram = { capacity = 1, keep = \"none\" }, local_disk = { initial = 1, keep.uniform = { low = \"5s\", high = \"30s\" } } }",
        "warmth.local_disk = { capacity = 3, keep = \"25s\", price = \"1usd/h\", refill = true, start.load_weights = \"4s\" }",
    ])
}

/// The same for an engine, whose starts are chosen.
fn engine_rungs() -> BoxedStrategy<String> {
    line(&[
        "",
        "warmth.host_ram = { initial = 1, start = { allocate = \"allocate-warm-pool\", pull = \"image-lazy-or-cached\", start_container = \"container-start\" } }",
        "warmth.local_disk = { initial = 1, start = { allocate = \"none\", pull = \"none\", start_container = \"none\", \
         storage = \"nvme-optimised\", compile_cache = \"cold\", link = \"store\" } }",
        "warmth.local_disk = { initial = 1, start = { snapshot = true, load_weights = \"3s\" } }",
    ])
}

/// How many replicas, when.
fn scaling() -> BoxedStrategy<String> {
    let rule = one_of(&[
        "arrival = {}",
        "arrival.target = 1",
        "poll = { interval = \"5s\", target = 2 }",
        "fixed = {}",
        "concurrency = { tick = \"2s\", stable_window = \"20s\", scale_to_zero_grace = \"5s\" }",
        "concurrency = { target = 1, utilisation = \"100%\", tick = \"1s\", stable_window = \"10s\", panic_window = \"20%\", \
         panic_threshold = \"150%\", max_scale_up_rate = 2, max_scale_down_rate = 1.5, scale_down_delay = \"4s\", scale_to_zero_grace = \"0s\" }",
        "rate = { target = \"0.3/s\", tick = \"2s\", stable_window = \"20s\", scale_to_zero_grace = \"5s\" }",
        "rate = { target = \"1/s\", utilisation = \"90%\", panic_window = \"50%\", panic_threshold = \"300%\", \
         max_scale_up_rate = 3, max_scale_down_rate = 4, scale_down_delay = \"3s\" }",
    ]);
    let keep = one_of(&[
        "\"none\"",
        "\"3s\"",
        "\"10s\"",
        "\"infinite\"",
        "{ lognormal = { mean = \"8s\", cv = 1 } }",
    ]);
    let hours = one_of(&[
        "",
        "",
        "warm_hours = [{ from = \"00:00:30\", to = \"00:01:10\", min = 2 }], ",
        "warm_hours = [{ days = \"weekend\", from = \"23:59\", to = \"00:00:40\", min = 1 }], ",
    ]);
    let preset = one_of(&[
        "",
        "",
        "",
        "preset = \"keda\", ",
        "preset = \"knative-kpa\", ",
    ]);
    let counts = (0_u32..3, 0_u32..4, 0_u32..3, 0_u32..3, any::<bool>());
    let scaling = (rule, counts, keep, hours, preset);
    let scaling = scaling.prop_map(
        |(rule, (min, more, initial, buffer, cancel), keep, hours, preset)| {
            // What the reader refuses: a fixed pool of nothing, warm hours above the most, a buffer or a cancel that the rule does
            // not know.
            let min = if rule.starts_with("fixed") { min.max(1) } else { min };
            let least = if hours.contains("min = 2") { 2 } else { 1 };
            let max = (min + more).max(least);
            let is_arrival = rule.starts_with("arrival");
            let buffer = if is_arrival || rule.starts_with("poll") { buffer } else { 0 };
            format!(
                "scaling = {{ {preset}min = {min}, max = {max}, initial = {}, buffer = {buffer}, keep_alive = {keep}, \
                 cancel_surplus_starts = {}, {hours}rule.{rule} }}\n",
                initial.min(max),
                cancel && is_arrival
            )
        },
    );
    scaling.boxed()
}

/// The tables of a deployment but for its traffic. One that is on hardware takes its starts from there.
fn deployment(has_stock: bool) -> impl Strategy<Value = String> {
    let memory = one_of(&["\"whole\"", "\"60GB\"", "\"39GB\""]);
    let place = (1_u32..3, memory, any::<bool>(), 0_u8..3).prop_map(
        |(gpus, memory, falls_back, priority)| {
            let place = format!("gpus = {gpus}\nmemory = {memory}\ngpu_priority = {priority}\n");
            if !falls_back {
                return place;
            }
            format!(
                "{place}fallback = [{{ gpu = \"h200-sxm\", gpus = {gpus}, memory = {memory}, price = \"2usd/h\" }}]\n"
            )
        },
    );
    let queue = line(&[
        "",
        "queue.limit = 3",
        "queue = { limit = 5, timeout = \"6s\", timeout_status = \"429\" }",
        "queue = { hold_while_cold = false, timeout = \"4s\" }",
    ]);
    let losses = line(&[
        "",
        "",
        "losses = { failure = \"1/min\", eviction = \"3/min\", failures_at = [\"10s\", \"33s\"] }",
    ]);
    let router = line(&[
        "",
        "",
        "",
        "router = \"shared-queue\"",
        "router = \"round-robin\"",
        "router = \"random\"",
        "router = \"least-outstanding\"",
        "router = \"two-choices\"",
    ]);
    let order = line(&[
        "idle_order = \"most-recently-idle\"",
        "idle_order = \"least-recently-idle\"",
        "idle_order = \"newest\"",
    ]);
    let found = line(&["", "cached_share = \"40%\""]);
    let rest = joined(vec![
        scaling(),
        queue,
        losses,
        router,
        order,
        found,
        sharing(),
    ]);
    let (mut stated, mut chosen) = (vec![start(), rungs()], vec![engine_start(), engine_rungs()]);
    if has_stock {
        stated.push(cached());
        chosen.push(engine_cached());
    }
    let (stated, chosen) = (joined(stated), joined(chosen));
    let parts = (place, service(), stated, chosen, rest);
    parts.prop_map(move |(mut place, service, stated, chosen, rest)| {
        let start = if service.contains("engine") {
            chosen
        } else {
            // Books are kept for places of one size.
            if has_stock && place.starts_with("gpus = 1\n") {
                place = place.replace("}]", &format!("}}, {{ {OWN} }}]"));
            }
            stated
        };
        format!("gpu = \"h100-sxm\"\nprice = \"2usd/h\"\n{place}{service}{start}{rest}")
    })
}

/// A stream of requests that come by some law, or at listed instants only.
fn traffic(is_finite: bool) -> impl Strategy<Value = String> {
    let laws = one_of(&[
        "deterministic.rate = \"0.5/s\"",
        "poisson.rate = \"0.6/s\"",
        "gamma = { rate = \"0.5/s\", cv = 3 }",
        "weibull = { rate = \"0.5/s\", cv = 0.5 }",
        "mmpp = { calm_rate = \"0.1/s\", burst_rate = \"3/s\", calm_mean = \"20s\", burst_mean = \"3s\" }",
    ]);
    let listed = prop::collection::vec(0_u32..120, 0..20).prop_map(|mut halves| {
        halves.sort_unstable();
        let times: Vec<String> = halves
            .into_iter()
            .map(|half| format!("{}ms", 500 * half))
            .collect();
        format!("at.times = {times:?}")
    });
    let arrivals = if is_finite {
        listed.boxed()
    } else {
        prop_oneof![4 => laws.prop_map(str::to_owned), 1 => listed].boxed()
    };
    let curve = one_of(&[
        "",
        "",
        "daily = \"azure-2024-code\", weekly = [1, 1, 1, 1, 1, 0, 2], ",
        "daily = [3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], ",
    ]);
    let lengths = one_of(&[
        "prompt_tokens = 200, output_tokens = 30, ",
        "prompt_tokens = { uniform = { low = 1, high = 400 } }, output_tokens = { exponential.mean = 20 }, cached_share = \"50%\", ",
        "prompt_tokens = { lognormal = { median = 100, p95 = 300 } }, output_tokens = { lognormal = { mean = 20, cv = 1 } }, ",
        "",
    ]);
    (arrivals, one_of(&["none", "2s", "9s"]), 0_u8..3, prop::bool::weighted(0.8), curve, lengths).prop_map(
        |(arrivals, timeout, priority, wakes, curve, lengths)| {
            format!("{{ arrivals.{arrivals}, {curve}{lengths}timeout = \"{timeout}\", priority = {priority}, wakes = {wakes} }}")
        },
    )
}

/// What is measured.
fn benchmark() -> impl Strategy<Value = String> {
    let gaps = one_of(&[
        "\"0s\"",
        "\"4s\"",
        "{ even.over = \"60s\" }",
        "{ even.over = \"60s\" }, jitter = \"20s\"",
        "{ bursts = { size = 2, gap = \"0s\", every = \"20s\" } }",
        "{ ladder.gaps = [\"1s\", \"10s\"] }",
        "{ at.times = [] }",
    ]);
    let rest = joined(vec![
        part(&["", ", models = [\"m0\"]"]),
        part(&["", ", concurrency = 3"]),
        part(&["", ", prompt_tokens = 300, output_tokens = 20"]),
        part(&[
            ", timeout = \"3s\"",
            ", timeout = \"20s\"",
            ", timeout = \"5m\"",
        ]),
        part(&["", ", sessions.late = \"Tue 13:00\""]),
    ]);
    (0_u32..6, 0_u32..2, gaps, rest).prop_map(|(requests, discard, gaps, rest)| {
        let times: Vec<String> = (0..requests + discard)
            .map(|index| format!("{}s", 9 * index))
            .collect();
        let gaps = gaps.replace("[]", &format!("{times:?}"));
        format!(
            "benchmark = {{ requests = {requests}, discard = {discard}, gaps = {gaps}{rest} }}\n"
        )
    })
}

/// The way to the fleet, its links and its stock.
fn provider(has_stock: bool) -> impl Strategy<Value = String> {
    let network = line(&[
        "",
        "network = { rtt = \"80ms\", connection = \"new\" }",
        "network = { rtt.lognormal = { median = \"90ms\", p95 = \"2s\" }, gateway.lognormal = { median = \"9ms\", sigma = 0.5 } }",
        "network = { rtt.exponential.mean = \"1s\", gateway = \"3ms\" }",
        "network = { path = \"rtt-same-region\", via = \"gateway\" }",
    ]);
    let stores = one_of(&[
        "",
        "",
        ", ram_cache = \"1GB\"",
        ", ram_cache = \"30GB\", disk_cache = \"1TB\"",
        ", disk_cache = \"50GB\"",
    ]);
    let spot = one_of(&[
        "",
        "",
        ", spot = { hazard = \"1/min\", notice = \"5s\", away = \"8s\" }",
        ", spot = { reclaims_at = [\"12s\", \"15s\"], away.exponential.mean = \"20s\" }",
    ]);
    let stock = (2_u32..7, 0_u32..3, any::<bool>(), stores, spot);
    let stock = stock.prop_map(move |(first, second, evicts, stores, spot)| {
        if has_stock {
            format!(
                "gpus = {{ h100-sxm = {first}, h200-sxm = {second}, own = 1 }}\nevict_idle = {evicts}\n\
                 nodes = {{ own = {{ gpus = 1, memory = \"9GB\"{stores} }}, h200-sxm = {{ gpus = 2{stores} }}, h100-sxm = {{ gpus = {}{stores}{spot} }} }}\n",
                2 + first % 3
            )
        } else {
            String::new()
        }
    });
    (network, stock).prop_map(|(network, stock)| {
        format!("[providers.p]\nlinks.store = \"4GB/s\"\n{stock}{network}")
    })
}

/// A whole scenario: some models on a stock of GPUs, a benchmark across a network, an optional warm-up.
pub(super) fn scenario(wish: Wish) -> impl Strategy<Value = String> {
    let models = prop::collection::vec(
        (
            deployment(wish.has_stock),
            prop::collection::vec(traffic(wish.is_finite), 0..3),
        ),
        1..4,
    );
    let times = (one_of(&["0s", "13s"]), one_of(&["Mon 00:00", "Sat 23:59"]));
    (models, benchmark(), provider(wish.has_stock), any::<u32>(), times).prop_map(
        move |(models, benchmark, provider, seed, (before, start))| {
            let before = if wish.warm_up { before } else { "0s" };
            let horizon = if wish.is_finite { "2000s" } else { "100s" };
            let mut text = format!(
                "seed = {seed}\ntime = {{ start = \"{start}\", warm_up = \"{before}\", horizon = \"{horizon}\" }}\n{benchmark}{provider}"
            );
            let keeps = text.contains("_cache = ");
            for (index, (model, streams)) in models.into_iter().enumerate() {
                // Starts from stores are for providers whose nodes have some.
                let is_cached = |line: &&str| line.starts_with("cached.") || line.starts_with("cached =");
                let model: Vec<&str> = model.lines().filter(|line| keeps || !is_cached(line)).collect();
                let model = model.join("\n");
                write!(text, "[providers.p.deployments.m{index}]\n{model}\n").expect("text");
                for (stream, mut traffic) in streams.into_iter().enumerate() {
                    if model.contains("sharing.") {
                        let wants = format!("model = \"x{stream}\", wakes");
                        traffic = traffic.replace("wakes", &wants);
                    }
                    writeln!(text, "traffic.t{stream} = {traffic}").expect("text");
                }
            }
            if wish.has_stock && !text.contains(OWN) {
                without_own(&mut text);
            }
            text
        },
    )
}

/// A place on GPUs that the catalogue does not have.
const OWN: &str = "gpu = \"own\"";

/// Takes the stock and the nodes of those GPUs out: the reader refuses what no deployment is for.
fn without_own(text: &mut String) {
    *text = text.replace(", own = 1", "");
    let start = text.find("own = { gpus").expect("its nodes");
    let length = text[start..].find("}, ").expect("others behind them");
    text.replace_range(start..start + length + "}, ".len(), "");
}
