//! Cold starts against measured totals.

use super::Rows;
use crate::catalog::performance::GB;
use crate::catalog::start::{Origin, StartPlan, load};
use crate::catalog::{Catalog, ColdPhase};
use crate::start_phase::StartPhase;
use std::fmt::Write as _;

/// Where a case's state comes from.
#[derive(Clone, Copy)]
enum State {
    /// Storage tier, compile cache.
    Fresh(&'static str, bool),
    Snapshot,
    HostRam,
    /// Only the bytes: the measurement is of the load.
    LoadOnly(&'static str),
}

/// A measured cold start as the source describes it.
struct Case {
    id: &'static str,
    provision: Option<&'static str>,
    image: Option<&'static str>,
    container: Option<&'static str>,
    state: State,
    engine: &'static str,
    gpu: &'static str,
    gpus: u32,
    gb: f64,
    /// The load overlaps the engine's start.
    overlapped: bool,
    /// The measurement is a 90th percentile.
    p90: bool,
    /// Why it differs, or what it rests on.
    because: &'static str,
}

const CASE: Case = Case {
    id: "",
    provision: Some("allocate-warm-pool"),
    image: Some("image-lazy-or-cached"),
    container: Some("container-start"),
    state: State::Snapshot,
    engine: "vllm",
    gpu: "h100-sxm",
    gpus: 1,
    gb: 1.07,
    overlapped: false,
    p90: false,
    because: "",
};

/// A snapshot replaces the container's process too.
const SNAPSHOT: Case = Case {
    container: None,
    ..CASE
};
const NEW_NODE: Case = Case {
    provision: Some("allocate-k8s-new-node"),
    image: Some("image-pull-registry"),
    ..CASE
};
// HydraServe's pods start on prepared nodes; PCIe 3 as on its V100 hosts.
const HYDRA: Case = Case {
    provision: None,
    image: None,
    engine: "vllm-0.4",
    gpu: "t4",
    gb: 13.48,
    ..CASE
};

const CASES: [Case; 25] = [
    Case {
        id: "eks-karpenter-l40s-15gib-new-node",
        container: Some("container-start-ray"),
        state: State::Fresh("object-store-default", false),
        gpu: "l40s",
        gb: 16.1,
        because: "in sample: node, image and Ray phases come from this run",
        ..NEW_NODE
    },
    Case {
        id: "eks-l40s-15gib-warm-node",
        provision: None,
        container: Some("container-start-ray"),
        state: State::Fresh("object-store-default", false),
        gpu: "l40s",
        gb: 16.1,
        because: "Ray phases from the run above",
        ..CASE
    },
    Case {
        id: "modal-vllm-1gib-no-snapshot",
        state: State::Fresh("network-volume", false),
        ..CASE
    },
    Case {
        id: "modal-vllm-1gib-gpu-snapshot",
        because: "in sample: the snapshot phase rests on it",
        ..SNAPSHOT
    },
    Case {
        id: "modal-sglang-no-snapshot",
        state: State::Fresh("network-volume", false),
        engine: "sglang",
        because: "its boot is nearly that of vLLM: SGLang compiles kernels at start that the catalogue counts only for FP8-block",
        ..CASE
    },
    Case {
        id: "modal-sglang-gpu-snapshot",
        engine: "sglang",
        ..SNAPSHOT
    },
    Case {
        id: "modal-qwen3.6-27b-fp8-a100-before",
        state: State::Fresh("network-volume", false),
        gpu: "a100-sxm-80",
        gb: 27.0,
        because: "a user's setup: FP8 repacked for a GPU without it, multimodal profiling; phases were not published",
        ..CASE
    },
    Case {
        id: "modal-qwen3.6-27b-fp8-a100-snapshot",
        gpu: "a100-sxm-80",
        gb: 27.0,
        because: "an outlier among snapshots: a 35B FP8 model restores in 12-20 s; all of GPU memory, cache included, was saved",
        ..SNAPSHOT
    },
    Case {
        id: "dynamo-snapshot-gpt-oss-120b-criu",
        provision: None,
        image: None,
        gb: 65.2,
        because: "partly in sample: one of three points behind the snapshot phase",
        ..SNAPSHOT
    },
    Case {
        id: "sagemaker-qwen3-8b-g6-new-instance",
        state: State::Fresh("object-store-default", false),
        gpu: "l4",
        gb: 16.4,
        because: "the image alone took 267 s (difference of the two cases): larger or slower than 12 GB at 96 MB/s",
        ..NEW_NODE
    },
    Case {
        id: "sagemaker-qwen3-8b-g6-container-cache",
        image: Some("image-lazy-or-cached"),
        state: State::Fresh("object-store-default", false),
        gpu: "l4",
        gb: 16.4,
        because: "a managed instance takes longer than a Karpenter node; eight vCPUs compile slowly",
        ..NEW_NODE
    },
    Case {
        id: "hf-inference-endpoint-initialise",
        state: State::Fresh("hub-download", false),
        gpu: "l4",
        gb: 6.42,
        because: "stated as 3-5 minutes, for Llama-3.2-3B on an L4",
        ..NEW_NODE
    },
    Case {
        id: "runpod-docs-typical-cold",
        state: State::Fresh("nvme-default-loader", true),
        gb: 16.06,
        because: "stated as 10-60 s for all workloads, mostly smaller than an 8B under vLLM; the prediction is inside",
        ..CASE
    },
    Case {
        id: "runpod-flashboot-whisper-p90",
        image: None,
        container: None,
        state: State::HostRam,
        gb: 3.1,
        p90: true,
        because: "in sample: the warm-pool phase rests on it",
        ..CASE
    },
    Case {
        id: "fireworks-from-zero",
        image: Some("image-lazy-or-cached"),
        state: State::Fresh("object-store-streamer", false),
        gb: 16.06,
        because: "stated as up to a few minutes, model unknown: an 8B, new node, cached image",
        ..NEW_NODE
    },
    Case {
        id: "together-dedicated",
        state: State::Fresh("object-store-streamer", false),
        gb: 16.06,
        because: "stated as a few minutes to ten, model unknown: an 8B, new node, full image",
        ..NEW_NODE
    },
    Case {
        id: "cloud-run-l4-small-model",
        provision: Some("allocate-cloud-run"),
        state: State::Fresh("object-store-default", false),
        engine: "ollama",
        gpu: "l4",
        gb: 4.7,
        because: "engine and image are estimates written with the total known: the tutorial's Ollama, weights of an 8B at 4 bits in the image",
        ..CASE
    },
    Case {
        id: "anyscale-llama2-70b-s3-before",
        state: State::LoadOnly("object-store-default"),
        gpu: "a100-sxm-80",
        gpus: 8,
        gb: 138.0,
        because: "the measurement is of the load alone",
        ..CASE
    },
    Case {
        id: "anyscale-llama2-70b-s3-after",
        state: State::LoadOnly("object-store-streamer"),
        gpu: "a100-sxm-80",
        gpus: 8,
        gb: 138.0,
        because: "7 GB/s over four 100 Gb/s cards; the tier's 3.5 GB/s is from smaller instances",
        ..CASE
    },
    Case {
        id: "hydraserve-v100-llama2-7b-serverless-vllm-ttft",
        state: State::Fresh("remote-16gbps-default", false),
        because: "in sample: engine and link are the mean of V100 and A10 hosts, over seven models",
        ..HYDRA
    },
    Case {
        id: "hydraserve-v100-llama2-7b-serverlessllm-ttft",
        state: State::Fresh("remote-16gbps-streamer", false),
        because: "in sample, as above",
        ..HYDRA
    },
    Case {
        id: "hydraserve-v100-llama2-7b-serverlessllm-cached-ttft",
        state: State::Fresh("hostram-default-loader", false),
        because: "engine in sample; the host memory tier is from other hosts",
        ..HYDRA
    },
    Case {
        id: "hydraserve-v100-llama2-7b-pp4-ttft",
        state: State::Fresh("remote-16gbps-default", false),
        gb: 13.48 / 4.0,
        overlapped: true,
        because: "engine and link in sample; a quarter of the weights on each of four nodes, while the engine starts",
        ..HYDRA
    },
    Case {
        id: "hydraserve-a10-llama2-7b-serverless-vllm-ttft",
        state: State::Fresh("remote-16gbps-default", false),
        gpu: "a10g",
        because: "A10 hosts start 3.5 s sooner and download 1.44 times faster than the V100 hosts; the tiers hold the mean",
        ..HYDRA
    },
    Case {
        id: "hydraserve-a10-llama2-7b-pp4-ttft",
        state: State::Fresh("remote-16gbps-default", false),
        gpu: "a10g",
        gb: 13.48 / 4.0,
        overlapped: true,
        because: "as above: the constant part of an A10 host is 4.0 s, of a V100 host 7.7 s",
        ..HYDRA
    },
];

fn predicted(catalog: &Catalog, case: &Case) -> f64 {
    let phase = |id: Option<&str>| -> Option<&ColdPhase> {
        id.map(|id| catalog.cold_phases.get(id).unwrap())
    };
    let (engine, gpu) = (
        catalog.engines.get(case.engine).unwrap(),
        catalog.gpus.get(case.gpu).unwrap(),
    );
    let storage = |id: &str| catalog.storages.get(id).unwrap();
    let bytes = case.gb * GB;
    let origin = match case.state {
        State::LoadOnly(id) => return load(storage(id), engine, gpu, case.gpus, bytes).alone_s(),
        State::Fresh(id, compile_cached) => Origin::Storage {
            storage: storage(id),
            compile_cached,
        },
        State::Snapshot => Origin::Snapshot(phase(Some("snapshot-restore")).unwrap()),
        State::HostRam => Origin::HostRam(phase(Some("sleep-wake")).unwrap()),
    };
    let plan = StartPlan {
        provision: phase(case.provision),
        image: phase(case.image),
        container: phase(case.container),
        from: origin,
        engine,
        gpu,
        gpus: case.gpus,
        weight_bytes: bytes,
    };
    let start = catalog.cold_start(&plan);
    let of = |stage| {
        start
            .phases
            .iter()
            .filter(move |phase| phase.stage == stage)
            .map(|phase| phase.time.median_s)
            .sum()
    };
    let hidden: f64 = if case.overlapped {
        f64::min(of(StartPhase::StartEngine), of(StartPhase::LoadWeights))
    } else {
        0.0
    };
    // The 90th percentile of a sum, from the independent distances of its parts.
    let above = |log_sd: f64, median: f64| median * ((1.2816 * log_sd).exp() - 1.0);
    let spread: f64 = start
        .phases
        .iter()
        .map(|phase| above(phase.time.log_sd, phase.time.median_s).powi(2))
        .sum();
    start.median_s() - hidden + if case.p90 { spread.sqrt() } else { 0.0 }
}

/// At least 15 of the 25 measured cold starts within 25 %. Several are in sample, as each says.
#[test]
fn cold_starts_meet_the_measured_totals() {
    let catalog = Catalog::shipped();
    assert_eq!(
        catalog.ids("cold_start_measured"),
        CASES.map(|case| case.id).to_vec()
    );
    let (mut text, mut met) = (String::new(), 0);
    for case in &CASES {
        let total = catalog.cold_starts_measured.get(case.id).unwrap().total_s;
        let found = predicted(&catalog, case);
        let error = found / total - 1.0;
        met += u32::from(error.abs() <= 0.25);
        assert!(
            error.abs() <= 0.25 || !case.because.is_empty(),
            "{}: no reason given",
            case.id
        );
        let mark = if error.abs() <= 0.25 { "met " } else { "MISS" };
        writeln!(
            text,
            "{mark} {:52} {found:7.1} {total:7.1} s {:+6.1} %  {}",
            case.id,
            error * 100.0,
            case.because
        )
        .unwrap();
    }
    println!("{met} of {} within 25 %\n{text}", CASES.len());
    assert!(met >= 15, "{met} of {} within 25 %\n{text}", CASES.len());
}

/// Engine start-ups once the container runs, without the weights: what PR authors timed.
#[test]
fn engine_startups_meet_the_measured_totals() {
    let catalog = Catalog::shipped();
    let vllm = catalog.engines.get("vllm").unwrap();
    let total = |id: &str| catalog.engine_startups_measured.get(id).unwrap().total_s;
    let mut rows = Rows::within(0.40);
    let capture = vllm.graph_capture_s + vllm.profile_warmup_s;
    rows.add("no compile", capture, total("vllm-llama3-8b-no-compile"));
    rows.add(
        "compile cached",
        vllm.compile_cached_s + capture,
        total("vllm-compile-cached"),
    );
    rows.add(
        "compile cold",
        vllm.compile_cold_s + capture,
        total("vllm-llama3-8b-compile-cold"),
    );
    let loaded = vllm.import_s + vllm.cuda_init_s + capture;
    rows.add(
        "Qwen3-32B cold",
        vllm.compile_cold_s + loaded,
        total("vllm-qwen3-32b-cold"),
    );
    rows.add(
        "Qwen3-32B warm",
        vllm.compile_cached_s + loaded,
        total("vllm-qwen3-32b-warm"),
    );
    let eight = vllm.import_s + vllm.cuda_init_s + vllm.nccl_init_tp8_s;
    let eight =
        eight + vllm.compile_cold_tp8_s + vllm.graph_capture_tp8_s + vllm.profile_warmup_s + 10.0;
    rows.add("70B FP8 on eight", eight, total("vllm-llama-70b-fp8-tp8"));
    rows.check();
}

// HydraServe's raw results as a line over bytes: the engine's constant lies between its hosts.
#[test]
fn the_old_engine_starts_between_the_hydraserve_hosts() {
    let catalog = Catalog::shipped();
    let engine = catalog.engines.get("vllm-0.4").unwrap();
    let constant = 2.0 + engine.import_s + engine.cuda_init_s + engine.profile_warmup_s;
    let at = |id: &str| catalog.cold_linear.get(id).unwrap().a_s;
    assert!(
        at("a10-serverless-vllm") < constant && constant < at("v100-serverless-vllm"),
        "{constant}"
    );
}

#[test]
fn stages_are_in_order_and_eight_gpus_take_longer() {
    let catalog = Catalog::shipped();
    let start = |gpus| {
        catalog.cold_start(&StartPlan {
            provision: catalog.cold_phases.get("allocate-warm-pool"),
            image: catalog.cold_phases.get("image-lazy-or-cached"),
            container: catalog.cold_phases.get("container-start"),
            from: Origin::Storage {
                storage: catalog.storages.get("nvme-optimised").unwrap(),
                compile_cached: false,
            },
            engine: catalog.engines.get("vllm").unwrap(),
            gpu: catalog.gpus.get("h100-sxm").unwrap(),
            gpus,
            weight_bytes: 141e9,
        })
    };
    for gpus in [1, 2, 4, 8] {
        assert!(
            start(gpus)
                .phases
                .windows(2)
                .all(|pair| pair[0].stage < pair[1].stage)
        );
        assert_eq!(start(gpus).terms().len(), 8);
    }
    let totals = [1, 2, 4, 8].map(|gpus| start(gpus).median_s());
    assert!(
        totals.windows(2).all(|pair| pair[0] < pair[1]),
        "{totals:?}"
    );
}

/// C018: what the catalogue hands a fleet so that it can share a link.
#[test]
fn a_load_names_the_shared_link_and_its_own_cap() {
    let catalog = Catalog::shipped();
    let (vllm, h100) = (
        catalog.engines.get("vllm").unwrap(),
        catalog.gpus.get("h100-sxm").unwrap(),
    );
    let of = |id, gpus| load(catalog.storages.get(id).unwrap(), vllm, h100, gpus, 100e9);
    let nvme = of("nvme-optimised", 2);
    assert_eq!((nvme.shared_rate, nvme.rate_cap), (Some(20e9), 110e9));
    let ram = of("hostram-pinned", 2);
    assert_eq!((ram.shared_rate, ram.rate_cap), (None, 104e9));
    let peer = of("peer-rdma", 8);
    assert_eq!((peer.shared_rate, peer.rate_cap), (None, 76e9));
}
