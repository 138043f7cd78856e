//! A provider's catalogue: which of its deployments are models of the plan's popularity, and what it bets on them.

use super::Provider;
use crate::fleet::config::KeepAlive;
use crate::policy::{Policy, Unit};
use crate::workload::Popularity;

/// The most popular models, each a deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalogue {
    /// Index of the deployment of rank 1; the others follow by rank.
    pub first: u32,
    /// How many models.
    pub models: u32,
    /// Who is kept warm, where a policy decides it.
    pub bet: Option<Bet>,
}

/// A policy and its account.
#[derive(Clone, Debug, PartialEq)]
pub struct Bet {
    /// The rule.
    pub policy: Policy,
    /// What it may spend and what it spent.
    pub budget: Budget,
}

/// A budget for warm replicas, in exact millionths of its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// What it is counted in.
    pub unit: Unit,
    /// How much there is.
    pub millionths: u64,
    /// How much is spent, never more.
    pub spent_millionths: u64,
}

impl Budget {
    /// How much there is, in whole units.
    pub fn amount(&self) -> f64 {
        self.millionths as f64 / 1e6
    }

    /// How much is spent, in whole units.
    pub fn spent(&self) -> f64 {
        self.spent_millionths as f64 / 1e6
    }
}

impl Catalogue {
    /// The rank of a deployment, counted from 1, if it is of the catalogue.
    pub fn rank(&self, deployment: u32) -> Option<usize> {
        let index = deployment.checked_sub(self.first)?;
        (index < self.models).then_some(index as usize + 1)
    }

    /// The deployment of a rank, if the catalogue has it.
    pub fn deployment(&self, rank: usize) -> Option<u32> {
        let index = u32::try_from(rank).ok()?.checked_sub(1)?;
        (index < self.models).then_some(self.first + index)
    }
}

/// Models of a catalogue that got the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Lot {
    /// Their class.
    pub class: String,
    /// Warm replicas of each.
    pub warm: u32,
    /// How long replicas above those are kept.
    pub keep_alive: KeepAlive,
    /// The hardware that they prefer, and how many GPUs a replica holds.
    pub gpu: String,
    /// GPUs of a replica.
    pub gpus: u32,
    /// What runs on them, where it is modelled.
    pub software: Option<Software>,
    /// Which models, by rank.
    pub ranks: Vec<usize>,
    /// Their share of all requests, 0 to 1.
    pub share: f64,
}

/// What serves a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Software {
    /// Engine.
    pub engine: String,
    /// Weight format.
    pub format: String,
    /// Speculative decoding.
    pub speculation: Option<String>,
}

impl Lot {
    /// Whether models of the two got the same.
    fn is_like(&self, other: &Self) -> bool {
        let key = |lot: &Self| Self {
            ranks: Vec::new(),
            share: 0.0,
            ..lot.clone()
        };
        key(self) == key(other)
    }

    /// What a replica of them is, in words: `small on 1 x h100-sxm (vllm, fp8)`.
    pub fn replica(&self) -> String {
        let place = format!("{} on {} x {}", self.class, self.gpus, self.gpu);
        let Some(software) = &self.software else {
            return place;
        };
        let parts = [&software.engine, &software.format].into_iter();
        let parts: Vec<&str> = parts
            .chain(&software.speculation)
            .map(String::as_str)
            .collect();
        format!("{place} ({})", parts.join(", "))
    }

    /// The ranks in words, neighbours as a range: `1-5, 7`; at most so many ranges.
    pub fn ranks_in_words(&self, most: usize) -> String {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for &rank in &self.ranks {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == rank => *last = rank,
                _ => ranges.push((rank, rank)),
            }
        }
        let words = |&(first, last): &(usize, usize)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        };
        let mut shown: Vec<String> = ranges.iter().take(most).map(words).collect();
        if let (true, Some(last)) = (ranges.len() > most, self.ranks.last()) {
            shown.push(format!(".. {last}"));
        }
        shown.join(", ")
    }
}

impl Provider {
    /// Who got what in its catalogue: models that got the same together, those with most warm replicas first.
    pub fn lots(&self, popularity: &Popularity) -> Vec<Lot> {
        let Some(catalogue) = &self.catalogue else {
            return Vec::new();
        };
        let mut lots: Vec<Lot> = Vec::new();
        for (index, model) in popularity.models.iter().enumerate() {
            let Some(deployment) = catalogue.deployment(index + 1) else {
                break;
            };
            let config = &self.fleet.deployments[deployment as usize];
            let prediction = self.predictions[deployment as usize].first();
            let placement = &config.placements[0];
            let lot = Lot {
                class: model.class.clone(),
                warm: config.scaling.min,
                keep_alive: config.scaling.keep_alive.clone(),
                gpu: placement.name.clone(),
                gpus: placement.gpus,
                software: prediction.map(|one| one.software.clone()),
                ranks: vec![index + 1],
                share: model.share,
            };
            match lots.iter_mut().find(|known| known.is_like(&lot)) {
                Some(known) => {
                    known.ranks.push(index + 1);
                    known.share += lot.share;
                }
                None => lots.push(lot),
            }
        }
        lots.sort_by_key(|lot| std::cmp::Reverse(lot.warm));
        lots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_ranks_are_ranges() {
        let lot = |ranks: &[usize]| Lot {
            class: String::new(),
            warm: 0,
            keep_alive: KeepAlive::Infinite,
            gpu: String::new(),
            gpus: 1,
            software: None,
            ranks: ranks.to_vec(),
            share: 0.0,
        };
        let words = |ranks: &[usize]| lot(ranks).ranks_in_words(3);
        assert_eq!(words(&[1]), "1");
        assert_eq!(words(&[1, 2, 3, 5, 8, 9]), "1-3, 5, 8-9");
        assert_eq!(words(&[1, 3, 5, 7, 9]), "1, 3, 5, .. 9");
    }
}
