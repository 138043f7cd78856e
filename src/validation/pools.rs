//! Models that share a stock of GPUs, and models that go to sleep each by itself.

use super::observed::Observed;
use super::{Case, Evidence, Simulated, claim};
use crate::theory::{kaufman_roberts, lru_miss_shares, time_to_live, zipf};
use std::fmt::Write as _;

/// Models of the cases with many.
const MODELS: u32 = 40;
/// Exponent of their popularity.
const EXPONENT: f64 = 0.9;

pub(super) fn cases() -> Vec<Case> {
    vec![kaufman(), least_recently_used(), kept_alive()]
}

/// A provider with models that are told apart by what `own` says of each.
fn provider(
    warm_up: &str,
    horizon: &str,
    head: &str,
    models: impl Iterator<Item = String>,
) -> String {
    let mut text = format!(
        "time = {{ warm_up = \"{warm_up}\", horizon = \"{horizon}\" }}\nbenchmark = {{ requests = 0, discard = 0 }}\n\n\
         [providers.p]\n{head}\n"
    );
    for (index, model) in models.enumerate() {
        let _ = write!(
            text,
            "\n[providers.p.deployments.m{:02}]\n{model}\n",
            index + 1
        );
    }
    text
}

fn kaufman() -> Case {
    let models = [(4.0, 1), (1.5, 2), (0.5, 4), (0.125, 8)];
    let (refused, held) = kaufman_roberts(16, &models);
    let model = |(rate, gpus): &(f64, usize)| {
        format!(
            "gpu = \"h\"\ngpus = {gpus}\nservice.slots = {{ prefill.exponential.mean = \"1s\", decode = \"0s\" }}\n\
             scaling = {{ rule = \"per-request\", keep_alive = \"none\" }}\ntraffic.t.arrivals = \"{rate}/s\""
        )
    };
    Case {
        id: "Q14_kaufman_roberts",
        title: "models that hold 1, 2, 4 and 8 of 16 GPUs for each request, refused where too few are free",
        formula: "j q_j = sum over models of load x GPUs x q_(j - GPUs); P(refused) = sum of the q_j with too few free",
        source: "Kaufman 1981, Roberts 1981",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: provider("50s", "6000s", "gpus.h = 16", models.iter().map(model)),
            replications: 32,
            claims: vec![
                claim("P_block_class1", refused[0], |run| run.refused_share(0)).within(0.05),
                claim("P_block_class2", refused[1], |run| run.refused_share(1)).within(0.05),
                claim("P_block_class3", refused[2], |run| run.refused_share(2)).within(0.05),
                claim("P_block_class4", refused[3], |run| run.refused_share(3)).within(0.05),
                claim("E_busy_gpus", held, Observed::gpus),
            ],
        }),
    }
}

/// A model that serves at once, as long as it is awake.
fn instant(placement: &str, keep_alive: &str, rate: f64) -> String {
    format!(
        "{placement}service.slots = {{ slots = \"unlimited\", prefill = \"0s\", decode = \"0s\" }}\n\
         scaling = {{ max = 1, keep_alive = \"{keep_alive}\" }}\ntraffic.t.arrivals = \"{rate}/s\""
    )
}

fn least_recently_used() -> Case {
    let shares = zipf(MODELS, EXPONENT);
    let missed = lru_miss_shares(&shares, 8);
    let total = shares
        .iter()
        .zip(&missed)
        .map(|(share, miss)| share * miss)
        .sum();
    let models = shares
        .iter()
        .map(|&share| instant("gpu = \"h\"\n", "infinite", share));
    Case {
        id: "C01_lru_zipf",
        title: "40 models on 8 GPUs, the least recently used goes",
        formula: "P(hit_i) = integral of lam_i e^-lam_i t P(fewer than 8 others in t) dt",
        source: "Flajolet, Gardy and Thimonier 1992",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: provider("1000s", "9000s", "gpus.h = 8\nevict_idle = true", models),
            replications: 32,
            claims: vec![
                claim("miss_ratio", total, Observed::cold_share_of_all),
                claim("miss_rank1", missed[0], Observed::cold_share).within(0.05),
            ],
        }),
    }
}

fn kept_alive() -> Case {
    let shares = zipf(MODELS, EXPONENT);
    let (missed, awake) = time_to_live(&shares, 60.0);
    let models = shares.iter().map(|&share| instant("", "60s", share));
    Case {
        id: "C03_ttl_zipf",
        title: "40 models with a keep-alive and GPUs for all",
        formula: "P(cold) = sum of share x e^-lam_i tau; E[awake] = sum of 1 - e^-lam_i tau",
        source: "a cache with a time to live",
        note: "",
        evidence: Evidence::Simulated(Simulated {
            scenario: provider("1000s", "3000s", "", models),
            replications: 32,
            claims: vec![
                claim("miss_ratio", missed, Observed::cold_share_of_all),
                claim("E_resident", awake, Observed::all_replicas),
            ],
        }),
    }
}
