//! Catalogues by popularity: what users of the head, the middle and the tail meet at each side, and how steady a benchmark finds
//! the models there.
//!
//! A tier is cut where a catalogue ends. So every side that has a part of it has all models of that part, and meets the same
//! demand there as the others.

use super::Side;
use crate::experiment::users::{Account, Difference, Users};
use crate::experiment::{Catalogue, Plan, RunResult};
use crate::measure::summary::{CONFIDENCE, Summary, Ttft};
use crate::stats::{Estimate, Sample};
use crate::workload::{Popularity, Tier};

/// A part of a tier in a session.
#[derive(Clone, Debug, PartialEq)]
pub struct TierPart {
    /// Which models.
    pub cut: Cut,
    /// The session.
    pub session: String,
    /// What was met there, by side; `None` where the side does not offer these models.
    pub sides: Vec<Option<TierMet>>,
}

/// Neighbouring ranks of one tier that the same sides offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The provider, where sides have several.
    pub provider: Option<String>,
    /// The tier.
    pub tier: Tier,
    /// The first rank and the last.
    pub ranks: [usize; 2],
}

/// What was met in a part of a tier at one side.
#[derive(Clone, Debug, PartialEq)]
pub struct TierMet {
    /// What all users of these models met.
    pub users: Users,
    /// How steady benchmarks find those that the scenario measures; `None` where it measures none.
    pub steadiness: Option<Steadiness>,
}

/// The relative spread that benchmarks report: in each replication the median over the measured models.
#[derive(Clone, Debug, PartialEq)]
pub struct Steadiness {
    /// How many models are measured.
    pub models: usize,
    /// Standard deviation over mean [%], the mean over replications.
    pub cv_percent: f64,
    /// Standard deviation over median [%], the mean over replications.
    pub std_over_median_percent: f64,
    /// Standard deviation over mean [%], by replication.
    parts: Vec<f64>,
}

impl Steadiness {
    /// The CV with its interval.
    pub fn cv(&self) -> Estimate {
        Estimate::by_sections(self.cv_percent, &self.parts, CONFIDENCE)
    }

    /// By how much the CV is above another side's, replication by replication.
    pub fn above(&self, reference: &Self) -> Difference {
        let pairs = self.parts.iter().zip(&reference.parts);
        let parts: Vec<f64> = pairs.map(|(own, other)| own - other).collect();
        Difference::of(self.cv_percent - reference.cv_percent, &parts)
    }
}

/// What a side offers of all that users ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The provider, where sides have several.
    pub provider: Option<String>,
    /// The session.
    pub session: String,
    /// Index of the side.
    pub side: usize,
    /// Models on offer.
    pub models: usize,
    /// Models that users ask for.
    pub asked: usize,
    /// Share of all requests that are for models on offer [%].
    pub demand_percent: f64,
    /// Models with a replica that is always warm.
    pub warm_models: usize,
    /// What all users of the models on offer met.
    pub users: Users,
}

/// One replication's account of a part, and what its benchmarks say.
pub(super) struct TierAccount {
    account: Account,
    /// How many models are measured.
    measured: usize,
    /// Medians over them of std/mean and std/median [%].
    spreads: Option<[f64; 2]>,
}

/// What one provider of a side gave in one session: by replication and cut; `None` where it does not offer the cut's models.
pub(super) struct Place {
    pub(super) side: usize,
    pub(super) provider: usize,
    /// The provider, where sides have several.
    pub(super) name: Option<String>,
    pub(super) session: String,
    pub(super) replications: Vec<Vec<Option<TierAccount>>>,
}

/// The parts of all catalogues, most popular first; none where the sides' users differ.
pub(super) fn cuts(sides: &[Side]) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = Vec::new();
    let Some(popularity) = sides.iter().find_map(|side| side.plan.popularity.as_ref()) else {
        return cuts;
    };
    let offers = || sides.iter().flat_map(offers);
    let is_same = |(side, _, _): &(&Side, _, _)| side.plan.popularity.as_ref() == Some(popularity);
    if !offers().all(|one| is_same(&one)) {
        return cuts;
    }
    let mut names: Vec<Option<String>> = Vec::new();
    for (_, name, _) in offers() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let own = offers().filter(|(_, other, _)| *other == name);
        let mut ends: Vec<usize> = own.map(|(_, _, one)| one.models as usize).collect();
        ends.sort_unstable();
        ends.dedup();
        cuts.extend(
            parts(popularity, &ends)
                .into_iter()
                .map(|(tier, ranks)| Cut {
                    provider: name.clone(),
                    tier,
                    ranks,
                }),
        );
    }
    cuts
}

/// The catalogues of a side, each with the name of its provider where the side has several.
fn offers(side: &Side) -> impl Iterator<Item = (&Side, Option<String>, &Catalogue)> {
    side.plan.providers.iter().filter_map(move |provider| {
        let name = side.by_provider.then(|| provider.name.clone());
        Some((side, name, provider.catalogue.as_ref()?))
    })
}

/// Tiers cut at the last ranks of catalogues, as far as the largest goes.
fn parts(popularity: &Popularity, ends: &[usize]) -> Vec<(Tier, [usize; 2])> {
    let mut parts: Vec<(Tier, [usize; 2])> = Vec::new();
    for rank in 1..=ends.last().copied().unwrap_or(0) {
        let tier = popularity.tier(rank);
        match parts.last_mut() {
            Some((last, [_, end])) if *last == tier && !ends.contains(&(rank - 1)) => *end = rank,
            _ => parts.push((tier, [rank, rank])),
        }
    }
    parts
}

/// One replication's account of every part that a provider offers.
pub(super) fn accounts(
    plan: &Plan,
    provider: usize,
    cuts: &[Cut],
    result: &RunResult,
    summaries: &[Summary],
) -> Vec<Option<TierAccount>> {
    let named = &plan.providers[provider];
    let of_cut = |cut: &Cut| {
        let catalogue = named.catalogue.as_ref()?;
        let is_own = cut.provider.as_ref().is_none_or(|name| *name == named.name);
        let [first, last] = cut.ranks.map(|rank| catalogue.deployment(rank));
        let members = first.filter(|_| is_own)?..last? + 1;
        let measured: Vec<&Ttft> = (named.benchmarked.iter().zip(summaries))
            .filter(|(deployment, _)| members.contains(deployment))
            .filter_map(|(_, summary)| summary.ttft.as_ref())
            .collect();
        let spread = |of: fn(&Ttft) -> Option<f64>| {
            let values = measured.iter().filter_map(|ttft| of(ttft)).collect();
            Sample::new(values).map(|sample| sample.median())
        };
        let spreads = [
            spread(|ttft| ttft.cv_percent),
            spread(|ttft| ttft.std_over_median_percent),
        ];
        Some(TierAccount {
            account: Account::of(&result.fleet, members),
            measured: measured.len(),
            spreads: spreads[0]
                .zip(spreads[1])
                .map(|(mean, median)| [mean, median]),
        })
    };
    cuts.iter().map(of_cut).collect()
}

/// Every cut in every session, by side.
pub(super) fn tier_parts(cuts: &[Cut], places: &[Place], sides: usize) -> Vec<TierPart> {
    let mut sessions: Vec<&str> = Vec::new();
    for place in places {
        if !sessions.contains(&place.session.as_str()) {
            sessions.push(&place.session);
        }
    }
    let part = |session: &str, (index, cut): (usize, &Cut)| {
        let of_side = |side: usize| {
            let is_meant = |one: &&Place| {
                one.side == side && one.name == cut.provider && one.session == session
            };
            tier_met(&places.iter().find(is_meant)?.of_cut(index))
        };
        TierPart {
            cut: cut.clone(),
            session: session.to_owned(),
            sides: (0..sides).map(of_side).collect(),
        }
    };
    let in_session = |session| cuts.iter().enumerate().map(move |cut| part(session, cut));
    sessions.into_iter().flat_map(in_session).collect()
}

impl Place {
    /// The accounts of all replications; none where the cut's models are not on offer.
    fn of_cut(&self, index: usize) -> Vec<&TierAccount> {
        let replications = self.replications.iter();
        replications.filter_map(|one| one[index].as_ref()).collect()
    }
}

fn tier_met(replications: &[&TierAccount]) -> Option<TierMet> {
    let first = replications.first()?;
    let accounts: Vec<Account> = (replications.iter())
        .map(|one| one.account.clone())
        .collect();
    let spreads: Vec<[f64; 2]> = replications.iter().filter_map(|one| one.spreads).collect();
    let mean = |of: usize| spreads.iter().map(|one| one[of]).sum::<f64>() / spreads.len() as f64;
    // A replication without a figure would break the pairs.
    let is_whole = spreads.len() == replications.len();
    let steadiness = is_whole.then(|| Steadiness {
        models: first.measured,
        cv_percent: mean(0),
        std_over_median_percent: mean(1),
        parts: spreads.iter().map(|one| one[0]).collect(),
    });
    Some(TierMet {
        users: Users::of(&accounts),
        steadiness,
    })
}

/// What each side offers, by session.
pub(super) fn all_offers(sides: &[Side], places: &[Place]) -> Vec<Offer> {
    let offer = |place: &Place| offer(&sides[place.side].plan, place);
    places.iter().filter_map(offer).collect()
}

fn offer(plan: &Plan, place: &Place) -> Option<Offer> {
    let asked = &plan.popularity.as_ref()?.models;
    let provider = &plan.providers[place.provider];
    let catalogue = provider.catalogue.as_ref()?;
    let models = catalogue.models as usize;
    let together = |parts: &Vec<Option<TierAccount>>| {
        let mut parts = parts.iter().flatten().map(|one| &one.account);
        let mut account = parts.next()?.clone();
        parts.for_each(|one| account.merge(one));
        Some(account)
    };
    let accounts: Vec<Account> = place.replications.iter().filter_map(together).collect();
    let deployments = &provider.fleet.deployments[catalogue.first as usize..][..models];
    let demand: f64 = asked[..models].iter().map(|one| one.share).sum();
    Some(Offer {
        provider: place.name.clone(),
        session: place.session.clone(),
        side: place.side,
        models,
        asked: asked.len(),
        demand_percent: 100.0 * demand,
        warm_models: deployments.iter().filter(|one| one.scaling.min > 0).count(),
        users: Users::of(&accounts),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::popularity::Model;

    #[test]
    fn tiers_are_cut_where_a_catalogue_ends() {
        let model = |_| Model {
            name: String::new(),
            class: String::new(),
            share: 0.01,
            rate: 1.0,
        };
        let popularity = Popularity {
            models: (0..100).map(model).collect(),
            head: 5,
            tail: 50,
        };
        assert_eq!(
            parts(&popularity, &[20, 100]),
            [
                (Tier::Head, [1, 5]),
                (Tier::Middle, [6, 20]),
                (Tier::Middle, [21, 50]),
                (Tier::Tail, [51, 100])
            ]
        );
        assert_eq!(parts(&popularity, &[3]), [(Tier::Head, [1, 3])]);
    }
}
