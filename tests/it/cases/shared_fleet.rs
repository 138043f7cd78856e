//! What a node keeps, models that share replicas, and capacity that vanishes.

use crate::support::{fleet, ledger, moved, problems, requests, simulate, starts, waits};
use thermocline::fleet::{Stage, StartPhase};
use thermocline::observation::Outcome;
use thermocline::time::Duration;

/// A model of 10 GB that goes at once when it has nothing to do, on a tier whose nodes have room for one such model in RAM and
/// for two on the disk.
fn kept(name: &str, times: &[&str], span: &str) -> String {
    format!(
        "[providers.p.deployments.{name}]\ngpu = \"g\"\nweights = \"10GB\"\n\
         cold_start = {{ provision = \"1s\", load_weights = \"20s\" }}\n\
         cached = {{ ram_cache.load_weights = \"2s\", disk_cache.load_weights = \"6s\" }}\n\
         service.slots = {{ prefill = \"0s\", decode = \"{span}\" }}\nscaling.keep_alive = \"none\"\n\
         traffic.t.arrivals.at.times = {times:?}\n"
    )
}

const STORES: &str = "ram_cache = \"10GB\", disk_cache = \"20GB\"";

/// A second start on a node is shorter: from its RAM, or from its disk once another model has taken the RAM.
#[test]
fn a_node_keeps_the_weights_used_last() {
    let models = kept("a", &["0s", "100s", "300s"], "1s") + &kept("b", &["200s", "400s"], "1s");
    let head = format!("[providers.p]\ngpus.g = 1\nnodes.g = {{ {STORES} }}\n");
    let result = simulate(&fleet("1000s", &(head + &models)));
    assert_eq!(waits(&result, 0), [21.0, 3.0, 7.0]);
    assert_eq!(waits(&result, 1), [21.0, 7.0]);
    let cached = [0, 1].map(|model| ledger(&result, model).cached_starts);
    assert_eq!(cached, [[1, 1], [0, 1]]);
}

/// A start goes to the node that has the weights, though another comes first.
#[test]
fn a_start_goes_where_its_weights_are() {
    let models = kept("a", &["0s", "60s", "200s"], "1s") + &kept("b", &["50s"], "100s");
    let head = format!("[providers.p]\ngpus.g = 2\nnodes.g = {{ gpus = 1, {STORES} }}\n");
    let result = simulate(&fleet("1000s", &(head + &models)));
    // b takes the first node and its RAM, so that a must load on the second, where it is found later.
    assert_eq!(waits(&result, 0), [21.0, 21.0, 3.0]);
    assert_eq!(waits(&result, 1), [21.0]);
}

/// What the catalogue says of a start from a store: no image to pull, and another tier to load from.
#[test]
fn an_engine_starts_faster_where_its_node_has_the_weights() {
    let result = simulate(&fleet(
        "3h",
        r#"
        [providers.p]
        gpus.h100-sxm = 8
        nodes.h100-sxm.ram_cache = "1TB"
        [providers.p.deployments."llama-3.1-8b"]
        gpu = "h100-sxm"
        engine = {}
        cold_start = { pull = "image-pull-registry", storage = "nfs-basic" }
        scaling.keep_alive = "1m"
        traffic.t.arrivals.at.times = ["0s", "2h"]
        "#,
    ));
    assert_eq!(ledger(&result, 0).cached_starts, [1, 0]);
    let [first, second] = requests(&result, 0)[..] else {
        panic!("two requests")
    };
    let phase = |phase: StartPhase| [first, second].map(|trace| trace.parts.start[phase as usize]);
    let [pull, none] = phase(StartPhase::Image);
    assert!(pull > Duration::ZERO && none == Duration::ZERO);
    // 40 s from the file system and 3 s from RAM, whatever the spread.
    let [remote, ram] = phase(StartPhase::LoadWeights).map(Duration::as_secs);
    assert!(remote > 3.0 * ram, "{remote} s, then {ram} s");
}

/// Four requests to one replica that several models share.
fn sharing(how: &str, slots: u32, streams: [(&str, &str); 4]) -> String {
    let mut text = format!(
        "[providers.p.deployments.niche]\nscaling = {{ min = 1, max = 1 }}\nsharing.{how}\n\
         service.slots = {{ slots = {slots}, prefill = \"0s\", decode = \"10s\" }}\n"
    );
    for (index, (at, model)) in streams.into_iter().enumerate() {
        let line = format!(
            "traffic.t{index} = {{ arrivals.at.times = [\"{at}\"], model = \"{model}\" }}\n"
        );
        text.push_str(&line);
    }
    fleet("100s", &text)
}

/// One model at a time: the niche request waits for the popular model's batch to end and for its own model to come in; where
/// whoever fits may overtake it, it waits for a popular request that came later, too.
#[test]
fn a_niche_request_waits_behind_the_popular_batch() {
    let streams = [
        ("0s", "popular"),
        ("5s", "popular"),
        ("6s", "niche"),
        ("7s", "popular"),
    ];
    for (order, begun, switches) in [
        ("fcfs", [3.0, 5.0, 18.0, 31.0], 3),
        ("first-fit", [3.0, 5.0, 26.0, 13.0], 2),
    ] {
        let how = format!("models = {{ switch = \"3s\", order = \"{order}\" }}");
        let result = simulate(&sharing(&how, 2, streams));
        assert_eq!(starts(&result, 0), begun, "{order}");
        assert_eq!(ledger(&result, 0).switches, switches, "{order}");
        // The wait for the other model and the switch are waiting, not a cold start.
        assert_eq!(ledger(&result, 0).cold_requests, 0);
    }
}

/// Adapters have places beside a base model that is always there.
#[test]
fn adapters_take_places_and_the_base_model_none() {
    let streams = [("0s", "x"), ("1s", "y"), ("2s", "niche"), ("3s", "x")];
    for (order, begun) in [
        ("first-fit", [1.0, 14.0, 2.0, 3.0]),
        ("fcfs", [1.0, 12.0, 12.0, 23.0]),
    ] {
        let how = format!("adapters = {{ at_once = 1, switch = \"1s\", order = \"{order}\" }}");
        assert_eq!(
            starts(&simulate(&sharing(&how, 4, streams)), 0),
            begun,
            "{order}"
        );
    }
    let how = "adapters = { at_once = 2, switch = \"1s\" }";
    let result = simulate(&sharing(how, 4, streams));
    assert_eq!(starts(&result, 0), [1.0, 2.0, 2.0, 3.0]);
}

#[test]
fn what_shares_nothing_or_keeps_nothing_is_refused() {
    let head = "[providers.p.deployments.m]\n";
    for (text, expected) in [
        (
            format!("{head}traffic.t.model = \"other\""),
            "`other` shares the replicas of `m`",
        ),
        (
            format!("{head}cached.ram_cache.load_weights = \"1s\""),
            "no node of this provider keeps weights",
        ),
        (
            format!("[providers.p]\ngpus.g = 1\nnodes.g.ram_cache = \"1TB\"\n{head}gpu = \"g\""),
            "`providers.p.deployments.m.weights` is missing",
        ),
    ] {
        let shown = problems(&text);
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

/// Two nodes of one GPU, of which the owner takes the first back after 10 s, for a minute.
fn reclaimed(notice: &str, own: &str) -> String {
    fleet(
        "1000s",
        &format!(
            "[providers.p]\ngpus.g = 2\n\
             nodes.g = {{ gpus = 1, spot = {{ reclaims_at = [\"10s\"], notice = \"{notice}\", away = \"60s\" }} }}\n\
             [providers.p.deployments.m]\ngpu = \"g\"\n\
             service.slots = {{ prefill = \"0s\", decode = \"30s\" }}\n{own}\n"
        ),
    )
}

/// Without notice a node dies with its requests; with enough of it they are finished. Either way its model wants another
/// replica, which waits until there is a node again.
#[test]
fn a_node_that_is_taken_back_dies_or_drains() {
    let own = "cold_start.load_weights = \"5s\"\nscaling = { min = 2, max = 2 }\ntraffic.t.arrivals.at.times = [\"0s\", \"0s\"]";
    for (notice, failed, ready) in [("0s", 1, 75.0), ("15s", 1, 90.0), ("25s", 0, 100.0)] {
        let result = simulate(&reclaimed(notice, own));
        let ledger = ledger(&result, 0);
        let counts = (ledger.failed, ledger.succeeded, ledger.reclaimed);
        assert_eq!(counts, (failed, 2 - failed, 1), "notice {notice}");
        assert_eq!(
            moved(&result, 0, Stage::Ready),
            [0.0, 0.0, ready],
            "notice {notice}"
        );
        let ends: Vec<f64> = requests(&result, 0)
            .iter()
            .map(|trace| trace.end.as_secs())
            .collect();
        let lost = 10.0
            + notice
                .trim_end_matches('s')
                .parse::<f64>()
                .expect("seconds");
        let first = if failed == 1 { lost } else { 30.0 };
        assert_eq!(ends, [first, 30.0], "notice {notice}");
    }
}

/// A start on a node that is taken back begins again on another.
#[test]
fn a_start_on_a_node_that_is_taken_back_begins_anew() {
    let own = "cold_start.load_weights = \"20s\"\ntraffic.t.arrivals.at.times = [\"0s\"]";
    let result = simulate(&reclaimed("1m", own));
    assert_eq!(starts(&result, 0), [30.0]);
    let ledger = ledger(&result, 0);
    assert_eq!((ledger.cancelled_starts, ledger.reclaimed), (1, 1));
    assert_eq!(requests(&result, 0)[0].outcome, Outcome::Succeeded);
}

/// By hazard a node goes as often as it says: 1000 times in 1000 hours, give or take 3.29 standard deviations.
#[test]
fn nodes_are_taken_back_at_their_hazard() {
    let result = simulate(&fleet(
        "1000h",
        r#"
        [providers.p]
        gpus.g = 1
        nodes.g.spot = { hazard = "1/h", away = "0s" }
        [providers.p.deployments.m]
        gpu = "g"
        scaling.min = 1
        "#,
    ));
    let often = ledger(&result, 0).reclaimed;
    assert!((896..=1104).contains(&often), "{often}");
}

/// The only GPU is busy until 121 s. Whoever asked for `left` is gone by then, so its start is no longer in line, whatever rule made
/// it, and the next model gets the GPU at once.
#[test]
fn a_start_that_nobody_needs_leaves_the_queue_for_gpus() {
    let model = |name: &str, at: &str, more: &str| {
        format!(
            "[providers.p.deployments.{name}]\ngpu = \"g\"\n\
             cold_start = {{ provision = \"1s\", load_weights = \"20s\" }}\n\
             service.slots = {{ prefill = \"0s\", decode = \"100s\" }}\nscaling.keep_alive = \"none\"\n\
             traffic.t.arrivals.at.times = [\"{at}\"]\n{more}\n"
        )
    };
    for (rule, cancelled) in [
        ("{ arrival = {} }", 1),
        // Seen at 11 s, and gone at 22 s; and not seen at 7 s and 14 s.
        ("{ poll = { interval = \"11s\" } }", 1),
        ("{ poll = { interval = \"7s\" } }", 0),
    ] {
        let left = format!("traffic.t.timeout = \"2s\"\nscaling.rule = {rule}");
        let models =
            model("busy", "0s", "") + &model("left", "10s", &left) + &model("next", "40s", "");
        let result = simulate(&fleet(
            "1000s",
            &("[providers.p]\ngpus.g = 1\n".to_owned() + &models),
        ));
        assert_eq!(ledger(&result, 1).timed_out, 1, "{rule}");
        assert_eq!(ledger(&result, 1).cancelled_starts, cancelled, "{rule}");
        assert_eq!(waits(&result, 2), [102.0], "{rule}");
    }
}
