//! Who got what in a catalogue, as lines behind the scenario as understood.

use super::super::units::{print_duration, print_number};
use crate::experiment::{Lot, Provider};
use crate::fleet::config::KeepAlive;
use crate::time::Duration;
use crate::workload::Popularity;

/// Ranges of ranks on one line.
const RANGES: usize = 6;

/// A line for each lot, the most replicas first.
pub(super) fn lines(provider: &Provider, popularity: &Popularity) -> Vec<String> {
    let Some(catalogue) = &provider.catalogue else {
        return Vec::new();
    };
    let mut lines = vec![format!(
        "who got what: providers.{}.catalogue, {} of {} models",
        provider.name,
        catalogue.models,
        popularity.models.len()
    )];
    if let Some(bet) = &catalogue.bet {
        lines.push(format!(
            "policy {}: {} of {} {} for warm replicas",
            bet.policy.name(),
            print_number(bet.budget.spent()),
            print_number(bet.budget.amount()),
            bet.budget.unit.name(),
        ));
    }
    let head = [
        "warm each",
        "models",
        "requests",
        "keep-alive",
        "replica",
        "ranks",
    ];
    let rows = provider
        .lots(popularity)
        .iter()
        .map(cells)
        .collect::<Vec<_>>();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: [&str; 6]| {
        let [warm, models, requests, keep, replica, ranks] = cells;
        let [w0, w1, w2, w3, w4, _] = widths[..] else {
            return String::new();
        };
        format!("{warm:>w0$}  {models:>w1$}  {requests:>w2$}  {keep:>w3$}  {replica:w4$}  {ranks}")
    };
    lines.push(line(head));
    lines.extend(
        rows.iter()
            .map(|row| line(row.each_ref().map(String::as_str))),
    );
    lines
}

fn cells(lot: &Lot) -> [String; 6] {
    let keep = match &lot.keep_alive {
        KeepAlive::Infinite => "infinite".to_owned(),
        KeepAlive::For(span) => print_duration(Duration::from_secs(span.mean())),
    };
    [
        lot.warm.to_string(),
        lot.ranks.len().to_string(),
        format!("{:.1} %", 100.0 * lot.share),
        keep,
        lot.replica(),
        lot.ranks_in_words(RANGES),
    ]
}
