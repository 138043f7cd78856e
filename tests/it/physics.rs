//! Hardware, batches, shared links and stocks of GPUs, from a scenario's text to traces and accounts.

use crate::support::{bench, fleet, plan, problems, simulate};
use std::fmt::Write as _;
use thermocline::experiment::RunResult;
use thermocline::fleet::config::Warmth;
use thermocline::fleet::{Origin, RequestTrace, StartPhase};
use thermocline::observation::Outcome;
use thermocline::time::{Duration, Time};

/// A fleet that nobody measures, without warm-up, over `horizon`.
fn unmeasured(horizon: &str) -> String {
    fleet(horizon, "")
}

/// A benchmark without warm-up that sends every deployment a request at each of `times`.
fn measured(times: &[String]) -> String {
    let times: Vec<&str> = times.iter().map(String::as_str).collect();
    bench(&times, "", "")
}

/// One request at the origin.
fn once() -> String {
    measured(&["0s".to_owned()])
}

/// The benchmark's requests of the only deployment, in order of sending.
fn traces(result: &RunResult) -> Vec<&RequestTrace> {
    lane(result, 0)
}

/// The benchmark's requests of a deployment.
fn lane(result: &RunResult, lane: usize) -> Vec<&RequestTrace> {
    result.lanes[lane]
        .requests
        .iter()
        .map(|(_, trace)| trace.as_ref().expect("every request reached the fleet"))
        .collect()
}

fn phase(trace: &RequestTrace, phase: StartPhase) -> f64 {
    trace.parts.start[phase as usize].as_secs()
}

fn ttft(trace: &RequestTrace) -> Duration {
    trace
        .first_token
        .expect("it was answered")
        .since(trace.sent)
}

/// Requires two numbers of seconds to agree to the microsecond.
fn assert_seconds(found: f64, expected: f64, what: &str) {
    assert!(
        (found - expected).abs() < 1e-6,
        "{what}: {found} instead of {expected}"
    );
}

fn seconds(times: impl IntoIterator<Item = u32>) -> Vec<String> {
    times.into_iter().map(|time| format!("{time}s")).collect()
}

// --- shared links ------------------------------------------------------------------------------------------------------------

/// C018: weights of 10 GB over a link of 10 GB/s, one replica a request.
#[test]
fn starts_at_the_same_time_share_the_link() {
    let body = r#"
        [providers.p.links]
        store = "10GB/s"
        [providers.p.deployments.m]
        service.slots = { slots = 1, prefill = "1s", decode = "100s" }
        cold_start.load_weights.transfer = { bytes = "10GB", link = "store" }
    "#;
    let cases = [
        (seconds([0]), 1.0),
        (seconds([0; 10]), 10.0),
        (seconds((0..10).map(|start| start * 5)), 1.0),
    ];
    for (times, fetch) in cases {
        let result = simulate(&(measured(&times) + body));
        assert_eq!(result.fleet[0].ledger.cold_starts(), times.len() as u64);
        for trace in traces(&result) {
            assert_eq!(
                trace.parts.start[StartPhase::LoadWeights as usize],
                Duration::from_secs(fetch),
                "{times:?}"
            );
            assert_eq!(ttft(trace), Duration::from_secs(fetch + 1.0), "{times:?}");
        }
    }
}

/// Weights of an engine come over the provider's link too, and a link nobody has is not ignored.
#[test]
fn an_engines_weights_share_a_link_of_the_provider() {
    let body = |link: &str| {
        format!(
            r#"
            [catalog.storage.flat]
            scope = "node"
            throughput_gbps = 50
            first_byte_s = 0
            log_sd = 0
            [providers.p.links]
            uplink = "8.03GB/s"
            [providers.p.deployments."llama-3.1-8b"]
            gpu = "h100-sxm"
            engine = {{}}
            service.continuous.max_sequences = 1
            cold_start = {{ storage = "flat", link = "{link}" }}
            scaling.rule.arrival.target = 1
            "#
        )
    };
    let result = simulate(&(once() + &body("uplink")));
    // 16.06 GB at 8.03 GB/s.
    assert_seconds(
        phase(traces(&result)[0], StartPhase::LoadWeights),
        2.0,
        "alone",
    );
    let error = problems(&(once() + &body("downlink")));
    assert!(error.contains("there is no link `downlink`"), "{error}");
    assert!(error.contains("uplink"), "{error}");
}

// --- batching ----------------------------------------------------------------------------------------------------------------

/// One replica with stated iteration times.
fn stated_batch(limits: &str, rest: &str) -> String {
    format!(
        r#"
        [providers.p.deployments.m]
        scaling = {{ initial = 1, max = 1, keep_alive = "infinite" }}
        [providers.p.deployments.m.service.continuous]
        {limits}
        step = {{ base = "10ms", per_sequence = "0s", prefill_per_token = "10us" }}
        {rest}
        "#
    )
}

fn stream(name: &str, times: &[String], prompt: u32, output: u32, priority: u8) -> String {
    format!(
        "\n[providers.p.deployments.m.traffic.{name}]\n\
         arrivals.at.times = {times:?}\nprompt_tokens = {prompt}\noutput_tokens = {output}\npriority = {priority}\n"
    )
}

/// C067: what can never fit is dropped, and the rest goes on.
#[test]
fn a_request_larger_than_the_memory_is_dropped() {
    let limits = "kv_tokens = 1000\nblock_tokens = 10";
    let small = stream("small", &seconds([0; 9]), 400, 100, 0);
    let large = stream("large", &seconds([0]), 4900, 100, 0);
    let text = unmeasured("10m") + &stated_batch(limits, &(small + &large));
    let result = simulate(&text);
    let ledger = &result.fleet[0].ledger;
    assert_eq!(
        (ledger.arrived, ledger.succeeded, ledger.rejected_cannot_fit),
        (10, 9, 1)
    );
    assert!(
        ledger.is_conserved() && ledger.in_flight_end == 0,
        "{ledger:?}"
    );
    assert_eq!(ledger.output_tokens, 900);
    let dropped: Vec<_> = result
        .everybody
        .iter()
        .filter(|trace| !matches!(trace.outcome, Outcome::Succeeded))
        .collect();
    assert_eq!(dropped.len(), 1);
    assert_eq!(dropped[0].outcome, Outcome::Rejected { status: 413 });
    assert_eq!(
        (dropped[0].prompt_tokens, dropped[0].end),
        (4900, Time::ZERO)
    );
}

/// C067, the variant: nothing fits, nothing starts, and the run ends.
#[test]
fn requests_that_are_all_too_large_end_the_run() {
    let limits = "kv_tokens = 1000\nblock_tokens = 10";
    let large = stream("large", &seconds([0; 10]), 4900, 100, 0);
    let text = unmeasured("10m") + &stated_batch(limits, &large).replace("initial = 1, ", "");
    let ledger = &simulate(&text).fleet[0].ledger;
    assert_eq!(
        (
            ledger.succeeded,
            ledger.rejected_cannot_fit,
            ledger.cold_starts()
        ),
        (0, 10, 0)
    );
    assert!(ledger.is_conserved());
}

/// C080: ten times more demand than two replicas of 1000 tokens a second can serve.
#[test]
fn no_window_gives_more_tokens_than_the_hardware() {
    let text = unmeasured("60s")
        + r#"
        [providers.p.deployments.m]
        scaling = { min = 2, max = 2, rule = "fixed" }
        service.continuous.max_sequences = 10
        service.continuous.step = { base = "10ms", per_sequence = "0s", prefill_per_token = "0s" }
        traffic.t = { arrivals = "200/s", prompt_tokens = 10, output_tokens = 100 }
        "#;
    let result = simulate(&text);
    let ledger = &result.fleet[0].ledger;
    assert!(ledger.in_flight_end > 5000, "{ledger:?}");
    assert!(ledger.output_tokens <= 2000 * 60, "{ledger:?}");
    assert!(ledger.output_tokens >= 1900 * 60, "{ledger:?}");
    assert!(ledger.utilisation().is_some_and(|share| share <= 1.0));
    // Every iteration takes 10 ms, so an answer's tokens are 10 ms apart.
    let mut tokens: Vec<u64> = Vec::new();
    for trace in &result.everybody {
        let first = trace.first_token.expect("all were answered").as_nanos();
        let of_one = (0..u64::from(trace.output_tokens)).map(|n| first + n * 10_000_000);
        tokens.extend(of_one);
        assert_eq!(tokens.last(), Some(&trace.end.as_nanos()));
    }
    tokens.sort_unstable();
    for (first, &from) in tokens.iter().enumerate() {
        let behind = tokens.partition_point(|&at| at < from + 10_000_000_000);
        assert!(behind - first <= 20_000, "from {from}");
    }
}

/// C081: three of ten prompts are longer than the context.
#[test]
fn prompts_longer_than_the_context_are_refused_or_cut() {
    let streams = stream("short", &seconds(0..7), 500, 100, 0)
        + &stream("long", &seconds(7..10), 5000, 100, 0);
    let text = |choice: &str| {
        let limits = format!("max_context_tokens = 1000\n{choice}");
        unmeasured("10m") + &stated_batch(&limits, &streams)
    };
    let by_default = simulate(&text(""));
    let rejected = &by_default.fleet[0].ledger;
    assert_eq!((rejected.succeeded, rejected.rejected_cannot_fit), (7, 3));
    assert_eq!((rejected.truncated, rejected.truncated_tokens), (0, 0));
    let stated = simulate(&text("over_context = \"reject\""));
    assert_eq!(
        by_default.everybody, stated.everybody,
        "reject is the default"
    );

    let cut = simulate(&text("over_context = \"truncate\""));
    let truncated = &cut.fleet[0].ledger;
    assert_eq!(
        (truncated.succeeded, truncated.rejected_cannot_fit),
        (10, 0)
    );
    assert_eq!(
        (truncated.truncated, truncated.truncated_tokens),
        (3, 3 * 4100)
    );
    let lengths: Vec<u32> = cut.everybody.iter().map(|one| one.prompt_tokens).collect();
    assert_eq!(lengths, [500, 500, 500, 500, 500, 500, 500, 900, 900, 900]);
    assert_eq!(
        cut.everybody,
        simulate(&text("over_context = \"truncate\"")).everybody
    );
}

/// A batch of two: full at 0.5 s; the third request waits for its end and then for the window.
#[test]
fn static_batches_start_full_or_when_their_window_ends() {
    let times = ["0s", "500ms", "600ms"].map(str::to_owned);
    let text = measured(&times)
        + r#"
        [providers.p.deployments.m]
        service.static = { batch_size = 2, window = "1s", prefill = "1s", decode = "3s" }
        scaling = { initial = 1, max = 1 }
        "#;
    let result = simulate(&text);
    let found: Vec<(f64, f64)> = traces(&result)
        .iter()
        .map(|trace| (ttft(trace).as_secs(), trace.end.as_secs()))
        .collect();
    assert_eq!(found, [(1.5, 4.5), (1.0, 4.5), (5.9, 9.5)]);
}

/// A static batch of different prompts on hardware: everybody's first token comes after the padded pass.
#[test]
fn static_batches_on_hardware_are_padded() {
    let text = unmeasured("1m")
        + r#"
        [providers.p.deployments.m]
        gpu = "h100-sxm"
        engine.model = "llama-3.1-8b"
        service.static = { batch_size = 2, window = "1s" }
        scaling = { initial = 1, max = 1 }
        "#
        + &stream("short", &seconds([0]), 100, 50, 0)
        + &stream("long", &seconds([0]), 2000, 20, 0);
    let plan = plan(&text);
    let performance = &plan.providers[0].predictions[0][0].performance;
    let result = simulate(&text);
    let padded = thermocline::batching::PromptChunk {
        tokens: 2000,
        before: 0,
    };
    let pass = performance.pass(0, &[padded, padded]);
    for trace in &result.everybody {
        assert_seconds(ttft(trace).as_secs(), pass, "the padded pass");
        let own = performance.prefill(trace.prompt_tokens, 0);
        assert_seconds(trace.parts.prefill.as_secs(), own, "its own prompt");
    }
    assert_eq!(result.everybody[0].end, result.everybody[1].end);
}

/// Two sequences outgrow the memory. First come, first served: the later one gives way. By priority: the lower one.
#[test]
fn priority_decides_who_loses_its_memory() {
    let streams = stream("low", &["0s".to_owned()], 400, 200, 0)
        + &stream("high", &["100ms".to_owned()], 400, 200, 5);
    let first_done = |admission: &str| {
        let limits = format!("kv_tokens = 1000\nblock_tokens = 10\nadmission = \"{admission}\"");
        let result = simulate(&(unmeasured("1m") + &stated_batch(&limits, &streams)));
        assert_eq!(result.fleet[0].ledger.succeeded, 2);
        result.everybody[0].origin
    };
    assert_eq!(first_done("fcfs"), Origin::Traffic(0));
    assert_eq!(first_done("priority"), Origin::Traffic(1));
}

/// A place becomes free: the higher priority takes it, though it came last.
#[test]
fn the_higher_priority_goes_first() {
    let streams = stream("low", &["0s", "1ms", "2ms"].map(str::to_owned), 100, 100, 0)
        + &stream("high", &["3ms".to_owned()], 100, 100, 5);
    let limits = "max_sequences = 1\nadmission = \"priority\"";
    let result = simulate(&(unmeasured("1m") + &stated_batch(limits, &streams)));
    let order: Vec<Origin> = result.everybody.iter().map(|one| one.origin).collect();
    let [low, high] = [0, 1].map(Origin::Traffic);
    assert_eq!(order, [low, high, low, low]);
}

/// A share of the prompt in the prefix cache shortens the prefill as the performance model says.
#[test]
fn a_cached_prefix_is_not_computed_again() {
    let prefill = |share: &str| {
        let text = format!(
            r#"
            time = {{ warm_up = "0s" }}
            benchmark = {{ requests = 1, discard = 0, prompt_tokens = 4096 }}
            [providers.p.deployments.m]
            gpu = "h100-sxm"
            engine.model = "llama-3.1-8b"
            scaling.initial = 1
            cached_share = "{share}"
            "#
        );
        let performance = plan(&text).providers[0].predictions[0][0]
            .performance
            .clone();
        (traces(&simulate(&text))[0].clone(), performance)
    };
    let (whole, performance) = prefill("0%");
    assert_seconds(
        whole.parts.prefill.as_secs(),
        performance.prefill(4096, 0),
        "nothing cached",
    );
    let (half, performance) = prefill("50%");
    assert_seconds(
        half.parts.prefill.as_secs(),
        performance.prefill(2048, 2048),
        "half of it cached",
    );
    assert!(half.parts.prefill < whole.parts.prefill);
    assert_eq!(
        half.parts.first_step,
        Duration::ZERO,
        "nobody else is there"
    );
    let (all, performance) = prefill("100%");
    assert_eq!(all.parts.prefill, Duration::ZERO);
    assert_seconds(
        ttft(&all).as_secs(),
        performance.step(1, 4096.0),
        "one decode step",
    );
}

// --- memory and formats ------------------------------------------------------------------------------------------------------

/// One H100 with 70.6 billion parameters in a format.
fn seventy_billion(engine: &str) -> String {
    format!(
        r#"
[catalog.model."llama-3.3-70b"]
native_checkpoint_gb = 141.2
[providers.p.deployments."llama-3.3-70b"]
gpu = "h100-sxm"
engine = {{ memory_utilisation = "100%", {engine} }}
"#
    )
}

/// C068: a deployment that cannot be is refused, with bytes, at its place in the file.
#[test]
fn weights_that_do_not_fit_are_refused_with_bytes() {
    // 80 GB less 3.5 GB that the engine's own needs take.
    let available = "available are 76500000000 bytes (76.5 GB on 1 GPU)";
    let error = problems(&(once() + &seventy_billion("format = \"bf16\"")));
    // 2048 tokens of 327,680 bytes is the least cache.
    for part in [
        "needs 141871088640 bytes",
        "weights 141.2 GB",
        available,
        "test.toml:",
        "gpu = \"h100-sxm\"",
        "^",
        "help: ",
    ] {
        assert!(error.contains(part), "no `{part}` in:\n{error}");
    }

    let result = simulate(&(once() + &seventy_billion("format = \"int4\"")));
    assert_eq!(result.fleet[0].ledger.succeeded, 1);

    // The weights alone fit; with the cache that is asked for they do not.
    assert_eq!(
        simulate(&(once() + &seventy_billion("format = \"int8\""))).fleet[0]
            .ledger
            .succeeded,
        1
    );
    let error = problems(&(once() + &seventy_billion("format = \"int8\", kv_reserve = \"12GB\"")));
    for part in [
        "needs 82600000000 bytes",
        "weights 70.6 GB, cache 12.0 GB",
        available,
        "test.toml:",
        "^",
    ] {
        assert!(error.contains(part), "no `{part}` in:\n{error}");
    }
}

/// What a format decides: the time to load \[s\], and the tokens that fit beside the weights.
fn format_decides(gpu: &str, format: &str, kv_format: &str) -> (f64, u64) {
    let text = once()
        + &format!(
            r#"
            [catalog.storage.flat]
            scope = "node"
            throughput_gbps = 5
            first_byte_s = 0
            log_sd = 0
            [providers.p.deployments."llama-3.1-8b"]
            gpu = "{gpu}"
            engine = {{ format = "{format}", kv_format = "{kv_format}" }}
            cold_start.storage = "flat"
            "#
        );
    let memory = *plan(&text).providers[0].predictions[0][0]
        .performance
        .memory();
    let result = simulate(&text);
    (
        phase(traces(&result)[0], StartPhase::LoadWeights),
        memory.kv_capacity_tokens(),
    )
}

/// C069: 8.03 billion parameters at 5 GB/s.
#[test]
fn formats_decide_the_load_and_the_memory_left() {
    let mut tokens = Vec::new();
    for (format, load) in [
        ("bf16", 3.212),
        ("int8", 1.606),
        ("nvfp4", 0.903_375),
        ("int4", 0.803),
    ] {
        let (found, kv) = format_decides("b200", format, "bf16");
        assert_seconds(found, load, format);
        let (with_small_cache, kv_fp8) = format_decides("b200", format, "fp8");
        assert_eq!(found, with_small_cache, "the cache's format loads nothing");
        assert!(kv_fp8.abs_diff(2 * kv) <= 1, "{kv_fp8} and {kv}");
        tokens.push(kv);
    }
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
    // 180 GB x 0.9 - 3.5 GB - 16.06 GB, at 131,072 bytes a token: GB, not GiB.
    let b200 = format_decides("b200", "bf16", "bf16").1;
    let int4 = format_decides("b200", "int4", "bf16").1;
    assert!((int4 - b200).abs_diff(12_045_000_000 / 131_072) <= 1);
}

// --- stocks of GPUs ----------------------------------------------------------------------------------------------------------

/// Six models that want a GPU each, of four.
fn six_models(fallback: &str) -> String {
    let second = if fallback.is_empty() {
        ""
    } else {
        "second = 2\n"
    };
    let mut text = format!("{}[providers.p.gpus]\nfirst = 4\n{second}", once());
    for model in 0..6 {
        let _ = write!(
            text,
            r#"
            [providers.p.deployments.m{model}]
            gpu = "first"
            service.slots = {{ prefill = "0s", decode = "60s" }}
            cold_start.load_weights = "30s"
            scaling.keep_alive = "none"
            {fallback}
            "#
        );
    }
    text
}

/// C111: four models start, two wait for a GPU.
#[test]
fn a_start_waits_for_a_gpu_and_then_loads() {
    let result = simulate(&six_models(""));
    for model in 0..6 {
        let trace = lane(&result, model)[0];
        let wait = if model < 4 { 0.0 } else { 90.0 };
        assert_eq!(phase(trace, StartPhase::GpuWait), wait, "model {model}");
        assert_eq!(phase(trace, StartPhase::LoadWeights), 30.0, "model {model}");
        assert_eq!(
            ttft(trace),
            Duration::from_secs(wait + 30.0),
            "model {model}"
        );
        let ledger = &result.fleet[model].ledger;
        assert_eq!(ledger.starts_by_placement, [1], "model {model}");
        // Waiting for a GPU is not paid: 30 s of loading and 60 s of work.
        assert_eq!(ledger.replica_time_total(), Duration::from_secs(90.0));
    }
}

/// C111 with a second-choice tier.
#[test]
fn a_start_takes_the_fallback_tier_instead_of_waiting() {
    let fallback = r#"fallback = [{ gpu = "second", cold_start.load_weights = "45s" }]"#;
    let result = simulate(&six_models(fallback));
    let mut by_tier = [0, 0];
    for model in 0..6 {
        let trace = lane(&result, model)[0];
        let load = if model < 4 { 30.0 } else { 45.0 };
        assert_eq!(phase(trace, StartPhase::GpuWait), 0.0, "model {model}");
        assert_eq!(ttft(trace), Duration::from_secs(load), "model {model}");
        for (tier, starts) in result.fleet[model]
            .ledger
            .starts_by_placement
            .iter()
            .enumerate()
        {
            by_tier[tier] += starts;
        }
    }
    assert_eq!(by_tier, [4, 2]);
}

/// A provider whose models push each other out of `stock` GPUs.
fn evicting(horizon: &str, stock: u32, deployments: &[(&str, &str)]) -> String {
    let mut text = unmeasured(horizon)
        + &format!("[providers.p]\nevict_idle = true\ngpus = {{ card = {stock} }}\n");
    for (name, own) in deployments {
        let _ = write!(
            text,
            r#"
            [providers.p.deployments.{name}]
            gpu = "card"
            cold_start.load_weights = "30s"
            {own}
            "#
        );
    }
    text
}

/// C084: room for 14 models, all taken; the fifteenth pushes out the one that was idle for longest, and no other.
#[test]
fn one_model_more_evicts_only_the_least_recently_used() {
    let own: Vec<(String, String)> = (0..15_u32)
        .map(|model| {
            // Last used at 105, 110, 101, 106, ...: number 13 at 100 s, the fifteenth comes at 200 s.
            let (initial, at) = if model < 14 {
                (1, 100 + (model + 1) * 5 % 14)
            } else {
                (0, 200)
            };
            let own = format!(
                r#"
                service.slots = {{ prefill = "100ms", decode = "100ms" }}
                scaling = {{ initial = {initial}, max = 1, keep_alive = "infinite" }}
                traffic.t = {{ arrivals.at.times = ["{at}s"], prompt_tokens = 1, output_tokens = 1 }}
                "#
            );
            (format!("m{model}"), own)
        })
        .collect();
    let own: Vec<(&str, &str)> = own.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let result = simulate(&evicting("10m", 14, &own));
    for (model, did) in result.fleet.iter().enumerate() {
        let ledger = &did.ledger;
        assert_eq!(ledger.succeeded, 1, "model {model}");
        assert_eq!(ledger.evictions, u64::from(model == 13), "model {model}");
        assert_eq!(
            ledger.cold_starts(),
            u64::from(model == 14),
            "model {model}"
        );
    }
    let late = result.everybody.iter().find(|one| one.deployment == 14);
    let late = late.expect("the fifteenth was asked for");
    assert_eq!(phase(late, StartPhase::GpuWait), 0.0);
    assert_eq!(ttft(late), Duration::from_secs(30.1));
}

/// C085: two models with room for both never push each other out.
#[test]
fn nothing_is_evicted_while_there_is_room() {
    let own = |offset: u32| {
        let times = seconds((0..10).map(|turn| turn * 200 + offset));
        format!(
            r#"
            gpus = 4
            service.slots = {{ prefill = "100ms", decode = "100ms" }}
            scaling.keep_alive = "infinite"
            traffic.t.arrivals.at.times = {times:?}
            "#
        )
    };
    let (a, b) = (own(0), own(100));
    let result = simulate(&evicting("1h", 32, &[("a", &a), ("b", &b)]));
    for did in &result.fleet {
        let ledger = &did.ledger;
        assert_eq!(
            (ledger.succeeded, ledger.cold_starts(), ledger.evictions),
            (10, 1, 0)
        );
    }
    // With room for one of them each request pushes the other out.
    let result = simulate(&evicting("1h", 4, &[("a", &a), ("b", &b)]));
    let total: u64 = result.fleet.iter().map(|did| did.ledger.evictions).sum();
    assert_eq!(total, 19);
}

/// C087: B waits until A, which is busy, has finished, and only then pushes it out.
#[test]
fn a_busy_model_is_never_evicted() {
    let own = |at: u32, decode: u32| {
        format!(
            r#"
            service.slots = {{ prefill = "0s", decode = "{decode}s" }}
            scaling = {{ initial = {}, max = 1, keep_alive = "infinite" }}
            traffic.t.arrivals.at.times = ["{at}s"]
            "#,
            u32::from(at == 0)
        )
    };
    let (a, b) = (own(0, 1200), own(10, 1));
    let result = simulate(&evicting("1h", 1, &[("a", &a), ("b", &b)]));
    let ledgers: Vec<_> = result.fleet.iter().map(|did| &did.ledger).collect();
    assert_eq!(ledgers[0].succeeded, 1);
    assert_eq!(ledgers[0].evictions, 1);
    let late = result
        .everybody
        .iter()
        .find(|one| one.deployment == 1)
        .expect("B was answered");
    assert_eq!(phase(late, StartPhase::GpuWait), 1190.0);
    assert_eq!(late.first_token, Some(Time::from_secs(1230.0)));
}

/// C087: two clients of one sleeping model load it once.
#[test]
fn two_requests_load_a_model_once() {
    let text = measured(&seconds([0, 0]))
        + r#"
        [providers.p.deployments.a]
        service.slots = { slots = 8, prefill = "0s", decode = "1s" }
        cold_start.load_weights = "30s"
        scaling.max = 1
        "#;
    let result = simulate(&text);
    assert_eq!(result.fleet[0].ledger.cold_starts(), 1);
    for trace in traces(&result) {
        assert_eq!(ttft(trace), Duration::from_secs(30.0));
    }
}

// --- cold starts -------------------------------------------------------------------------------------------------------------

/// Overlays that take the spread out of every phase that these starts use.
const NO_SPREAD: &str = r"
    [catalog.cold_phase]
    allocate-warm-pool = { log_sd = 0, tail_prob = 0 }
    image-lazy-or-cached = { log_sd = 0 }
    container-start = { log_sd = 0 }
    engine-import = { log_sd = 0 }
    compile-cached = { log_sd = 0 }
    graph-capture = { log_sd = 0 }
    profile-warmup = { log_sd = 0 }
    sleep-wake = { log_sd = 0 }
    [catalog.storage]
    object-store-streamer = { log_sd = 0 }
    nvme-default-loader = { log_sd = 0 }
";

/// Each rung of the ladder takes the time that the catalogue predicts for it, phase by phase.
#[test]
fn a_start_takes_what_is_predicted_for_its_warmth() {
    let mut text = once() + NO_SPREAD;
    for rung in ["host_ram", "local_disk", "remote"] {
        let _ = write!(
            text,
            r#"
            [providers.p.deployments.{rung}]
            gpu = "h100-sxm"
            engine.model = "llama-3.1-8b"
            {}
            "#,
            if rung == "remote" {
                String::new()
            } else {
                format!("warmth.{rung}.initial = 1")
            }
        );
    }
    let plan = plan(&text);
    let result = simulate(&text);
    let mut totals = Vec::new();
    for (index, warmth) in [Warmth::HostRam, Warmth::LocalDisk, Warmth::Remote]
        .into_iter()
        .enumerate()
    {
        let starts = &plan.providers[0].predictions[index][0].starts;
        let (_, predicted) = starts
            .iter()
            .find(|(from, _)| *from == warmth)
            .expect("predicted");
        let trace = lane(&result, index)[0];
        for one in &predicted.phases {
            let stage = StartPhase::ALL
                .into_iter()
                .find(|known| known.name() == one.stage.name())
                .expect("a stage of the catalogue is a phase of a start");
            assert_seconds(phase(trace, stage), one.time.median_s, one.stage.name());
        }
        let total: Duration = trace.parts.start.iter().copied().sum();
        assert_seconds(total.as_secs(), predicted.median_s(), warmth.name());
        assert_eq!(result.fleet[index].ledger.cold_starts(), 1);
        totals.push(total);
    }
    assert!(totals.is_sorted_by(|a, b| a < b), "{totals:?}");
}

/// The parts of every time to first token add up to it, to the nanosecond, whatever it met.
#[test]
fn parts_add_up_to_the_nanosecond() {
    let text = r#"
        time = { warm_up = "10m", horizon = "2h" }
        benchmark = { requests = 75, gaps = { even = { over = "2h" } }, prompt_tokens = 20000, timeout = "none" }
        [providers.p]
        evict_idle = true
        gpus = { h100-sxm = 4 }
        links = { store = "6GB/s" }
        network = { rtt = { uniform = { low = "5ms", high = "90ms" } }, gateway = { exponential = { mean = "11ms" } }, connection = "new" }
        [providers.p.deployments."llama-3.1-8b"]
        gpu = "h100-sxm"
        engine = {}
        service.continuous = { kv_tokens = 60000, max_sequences = 6, max_batched_tokens = 2048 }
        cold_start.link = "store"
        scaling = { max = 3, keep_alive = "20s" }
        warmth.host_ram = { capacity = 1, keep = "1m" }
        warmth.local_disk = {}
        losses = { eviction = "20/h", failure = "2/h" }
        cached_share = "30%"
        traffic.others = { arrivals = { gamma = { rate = "0.05/s", cv = 4 } }, prompt_tokens = { lognormal = { median = 4000, p95 = 30000 } }, cached_share = "10%" }
        [providers.p.deployments."qwen2.5-7b"]
        gpu = "h100-sxm"
        engine.model = "llama-3.1-8b"
        scaling = { max = 3, keep_alive = "30s" }
        traffic.others.arrivals = "0.02/s"
    "#;
    let result = simulate(text);
    let (mut cold, mut queued, mut shared) = (0, 0, 0);
    let lanes = result.lanes.iter().flat_map(|lane| &lane.requests);
    for (seen, trace) in lanes {
        let trace = trace.as_ref().expect("it reached the fleet");
        assert_eq!(seen.first_token(), trace.first_token);
        assert!(trace.parts.network > Duration::ZERO);
    }
    for trace in &result.everybody {
        let Some(first) = trace.first_token else {
            continue;
        };
        assert_eq!(trace.parts.total(), first.since(trace.sent), "{trace:?}");
        cold += u32::from(trace.cold);
        queued += u32::from(trace.parts.queue > Duration::ZERO);
        shared += u32::from(trace.parts.first_step > Duration::ZERO);
    }
    assert!(
        cold > 20 && queued > 20 && shared > 20,
        "{cold} {queued} {shared}"
    );
}

// --- what is wrong is said ---------------------------------------------------------------------------------------------------

fn deployment(own: &str) -> String {
    once() + "[providers.p.deployments.\"llama-3.1-8b\"]\n" + own
}

/// A wrong key in an overlay is shown at its place, with the right one.
#[test]
fn a_wrong_key_of_the_catalogue_is_shown() {
    let text = deployment("gpu = \"h100-sxm\"\nengine = {}\n")
        + "[catalog.storage.object-store-streamer]\nthrougput_gbps = 5\n";
    let error = problems(&text);
    for part in [
        "througput_gbps",
        "throughput_gbps",
        "test.toml:",
        "^",
        "help: ",
    ] {
        assert!(error.contains(part), "no `{part}` in:\n{error}");
    }
}

/// Names that the catalogue lacks are refused with the one that was meant.
#[test]
fn unknown_names_have_suggestions() {
    let cases = [
        ("gpu = \"h100-smx\"\nengine = {}\n", "h100-sxm"),
        ("gpu = \"h100-sxm\"\nengine.name = \"vlm\"\n", "vllm"),
        (
            "gpu = \"h100-sxm\"\nengine.model = \"llama-3.1-8\"\n",
            "llama-3.1-8b",
        ),
        ("gpu = \"h100-sxm\"\nengine.format = \"bf61\"\n", "bf16"),
        (
            "gpu = \"h100-sxm\"\nengine = {}\ncold_start.storage = \"object-store-streamr\"\n",
            "object-store-streamer",
        ),
        (
            "gpu = \"h100-sxm\"\nengine = {}\ncold_start.pull = \"image-pull-registri\"\n",
            "image-pull-registry",
        ),
    ];
    for (own, meant) in cases {
        let error = problems(&deployment(own));
        let hint = format!("did you mean `{meant}`?");
        assert!(error.contains(&hint), "no {hint} in:\n{error}");
        assert!(error.contains("test.toml:"), "{error}");
        assert!(error.contains('^'), "{error}");
    }
}
