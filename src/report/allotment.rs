//! Who got what in a provider's catalogue: for people by lots that got the same, for programs by model.

use std::io::{self, Write};

use serde::Serialize;

use super::Report;
use super::grid::{Column, fitted};
use super::number;
use super::text::{BOLD, DIM, wrapped};
use crate::experiment::{Catalogue, Lot, Provider};
use crate::fleet::config::KeepAlive;
use crate::workload::Popularity;

/// Ranges of ranks in one cell.
const RANGES: usize = 4;

/// A table for each provider with a catalogue.
pub(super) fn write(report: &Report<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let Some(popularity) = &report.plan.popularity else {
        return Ok(());
    };
    for provider in &report.plan.providers {
        let Some(catalogue) = &provider.catalogue else {
            continue;
        };
        writeln!(out, "\n{BOLD}Who got what at {}{BOLD:#}", provider.name)?;
        for line in wrapped(&about(catalogue, popularity), width) {
            writeln!(out, "{DIM}{line}{DIM:#}")?;
        }
        writeln!(out, "{}", table(&provider.lots(popularity), width))?;
    }
    Ok(())
}

fn about(catalogue: &Catalogue, popularity: &Popularity) -> String {
    let all = popularity.models.len();
    let offered = catalogue.models as usize;
    let offers = if offered == all {
        format!("all {all} models on offer")
    } else {
        format!("the {offered} most popular of {all} models on offer")
    };
    match &catalogue.bet {
        None => offers,
        Some(bet) => format!(
            "{offers} · policy {} · warm replicas hold {} of {} {}",
            bet.policy.name(),
            number::quantity(bet.budget.spent()),
            number::quantity(bet.budget.amount()),
            bet.budget.unit.name(),
        ),
    }
}

fn table(lots: &[Lot], width: usize) -> String {
    let cells = |show: fn(&Lot) -> String| lots.iter().map(show).collect::<Vec<String>>();
    let columns = vec![
        Column::numbers("warm\neach", cells(|lot| lot.warm.to_string())),
        Column::numbers("models", cells(|lot| lot.ranks.len().to_string())),
        Column::numbers(
            "requests\n%",
            cells(|lot| number::bare_percent(100.0 * lot.share)),
        ),
        Column::text("ranks", cells(|lot| lot.ranks_in_words(RANGES))),
        Column::text("replica", cells(Lot::replica)).rank(1),
        Column::text("keep-alive", cells(keep_alive)).rank(2),
    ];
    fitted(columns.clone(), columns, width, 3)
}

fn keep_alive(lot: &Lot) -> String {
    keep_alive_s(lot).map_or_else(|| "infinite".to_owned(), number::span)
}

/// The mean keep-alive \[s\]; `None` for ever.
fn keep_alive_s(lot: &Lot) -> Option<f64> {
    match &lot.keep_alive {
        KeepAlive::For(span) => Some(span.mean()),
        KeepAlive::Infinite => None,
    }
}

/// A provider's catalogue on the wire.
#[derive(Debug, Serialize)]
pub(super) struct Allotment {
    provider: String,
    models: u32,
    policy: Option<&'static str>,
    budget: Option<f64>,
    budget_unit: Option<&'static str>,
    budget_spent: Option<f64>,
    allotted: Vec<Allotted>,
}

/// What one model got.
#[derive(Debug, Serialize)]
struct Allotted {
    model: String,
    rank: usize,
    tier: &'static str,
    class: String,
    requests_per_s: f64,
    requests_percent: f64,
    warm_replicas: u32,
    /// `null` for ever.
    keep_alive_s: Option<f64>,
    gpu: String,
    gpus: u32,
    engine: Option<String>,
    format: Option<String>,
    speculation: Option<String>,
}

impl Allotment {
    /// Every catalogue of the plan.
    pub(super) fn all(report: &Report<'_>) -> Vec<Self> {
        let Some(popularity) = &report.plan.popularity else {
            return Vec::new();
        };
        let providers = report.plan.providers.iter();
        providers
            .filter_map(|provider| Self::of(provider, popularity))
            .collect()
    }

    fn of(provider: &Provider, popularity: &Popularity) -> Option<Self> {
        let catalogue = provider.catalogue.as_ref()?;
        let bet = catalogue.bet.as_ref();
        let lots = provider.lots(popularity);
        let by_rank = lots
            .iter()
            .flat_map(|lot| lot.ranks.iter().map(move |&rank| (rank, lot)));
        let mut allotted: Vec<Allotted> = by_rank
            .map(|(rank, lot)| Allotted::of(rank, lot, popularity))
            .collect();
        allotted.sort_by_key(|one| one.rank);
        Some(Self {
            provider: provider.name.clone(),
            models: catalogue.models,
            policy: bet.map(|bet| bet.policy.name()),
            budget: bet.map(|bet| bet.budget.amount()),
            budget_unit: bet.map(|bet| bet.budget.unit.name()),
            budget_spent: bet.map(|bet| bet.budget.spent()),
            allotted,
        })
    }
}

impl Allotted {
    fn of(rank: usize, lot: &Lot, popularity: &Popularity) -> Self {
        let model = &popularity.models[rank - 1];
        let software = lot.software.as_ref();
        Self {
            model: model.name.clone(),
            rank,
            tier: popularity.tier(rank).name(),
            class: lot.class.clone(),
            requests_per_s: model.rate,
            requests_percent: 100.0 * model.share,
            warm_replicas: lot.warm,
            keep_alive_s: keep_alive_s(lot),
            gpu: lot.gpu.clone(),
            gpus: lot.gpus,
            engine: software.map(|one| one.engine.clone()),
            format: software.map(|one| one.format.clone()),
            speculation: software.and_then(|one| one.speculation.clone()),
        }
    }
}
