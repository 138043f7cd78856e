//! The catalogue and what it predicts, for reading: kinds, entries with their sources, and every term of a deployment's times.

use std::io::{self, Write};

use super::grid::{Column, fitted};
use super::number::{count, fine};
use super::text::wrapped;
use crate::catalog::Catalog;
use crate::catalog::performance::Term;
use crate::experiment::{Plan, Prediction};

/// The kind whose entries are rules in words.
const INVESTMENT: &str = "investment";
/// Columns that a list of entries shows at most, beside the name.
const SHOWN: usize = 8;
/// The batch for which a decode step is explained: sequences, and the context of each \[tokens\].
const BATCH: (u32, u32) = (32, 1000);

/// The kinds there are, and how many entries each has.
pub fn kinds(catalog: &Catalog, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let kinds = Catalog::kinds();
    let ids: Vec<Vec<&str>> = kinds.iter().map(|kind| catalog.ids(kind)).collect();
    let columns = vec![
        Column::text("kind", kinds.iter().map(|&kind| kind.to_owned()).collect()),
        Column::numbers(
            "entries",
            ids.iter().map(|ids| ids.len().to_string()).collect(),
        ),
        Column::text(
            "such as",
            ids.iter()
                .map(|ids| ids[..ids.len().min(3)].join(", "))
                .collect(),
        )
        .rank(1),
    ];
    writeln!(out, "{}", fitted(columns.clone(), columns, width, 1))?;
    let further = "`catalog KIND` lists a kind, `catalog KIND ID` shows an entry with its source, `catalog deployment SCENARIO` every \
                   term of what is predicted for a scenario's deployments.";
    writeln!(out, "\n{}", wrapped(further, width).join("\n"))
}

/// The entries of a kind, with as many of their keys as fit.
pub fn entries(catalog: &Catalog, kind: &str, width: usize, out: &mut dyn Write) -> io::Result<()> {
    if kind == INVESTMENT {
        return investments(catalog, width, out);
    }
    let ids = catalog.ids(kind);
    let rows: Vec<Vec<(String, String)>> = ids
        .iter()
        .filter_map(|id| catalog.listing(kind, id))
        .map(|listing| listing.rows)
        .collect();
    let mut keys: Vec<&str> = Vec::new();
    for (key, value) in rows.iter().flatten() {
        let is_long = ["source", "note", "price_source", "name", "id"].contains(&key.as_str())
            || value.len() > 24;
        if !is_long && !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    keys.sort_by_key(|&key| key == "confidence");
    let confidence = keys
        .iter()
        .position(|&key| key == "confidence")
        .map(|index| keys.remove(index));
    keys.truncate(SHOWN);
    keys.extend(confidence);
    let mut columns = vec![Column::text(
        kind,
        ids.iter().map(|&id| id.to_owned()).collect(),
    )];
    for (rank, key) in (1..).zip(keys) {
        let cell = |row: &Vec<(String, String)>| {
            let found = row.iter().find(|(name, _)| name == key);
            found.map_or_else(String::new, |(_, value)| value.trim_matches('"').to_owned())
        };
        let cells: Vec<String> = rows.iter().map(cell).collect();
        let is_number = cells
            .iter()
            .all(|cell| cell.is_empty() || cell.parse::<f64>().is_ok());
        let rank = if key == "confidence" { 1 } else { rank };
        let column = if is_number {
            Column::numbers(key, cells)
        } else {
            Column::text(key, cells)
        };
        columns.push(column.rank(rank));
    }
    writeln!(out, "{}", fitted(columns.clone(), columns, width, 1))?;
    if kind == "policy" {
        let heading = "Investment policies: who gets a catalogue's warm replicas";
        writeln!(out, "\n{heading}\n")?;
        investments(catalog, width, out)?;
    }
    Ok(())
}

/// The rules that spread warm replicas, in sentences: they do not fit columns.
fn investments(catalog: &Catalog, width: usize, out: &mut dyn Write) -> io::Result<()> {
    for id in catalog.ids(INVESTMENT) {
        let Some(entry) = catalog.investments.get(id) else {
            continue;
        };
        let text = [
            ("rule", &entry.rule),
            ("rounding", &entry.rounding),
            ("source", &entry.source),
        ];
        writeln!(out, "{id}")?;
        for (key, text) in text {
            for (index, line) in wrapped(text, width.saturating_sub(14).max(20))
                .iter()
                .enumerate()
            {
                let key = if index == 0 { key } else { "" };
                writeln!(out, "  {key:10}  {line}")?;
            }
        }
    }
    Ok(())
}

/// One entry, whole.
pub fn entry(
    catalog: &Catalog,
    kind: &str,
    id: &str,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(listing) = catalog.listing(kind, id) else {
        return Ok(());
    };
    writeln!(out, "{kind} {id}")?;
    let margin = listing
        .rows
        .iter()
        .map(|(key, _)| key.len())
        .max()
        .unwrap_or(0);
    for (key, value) in &listing.rows {
        let lines = wrapped(
            value.trim_matches('"'),
            width.saturating_sub(margin + 4).max(20),
        );
        for (index, line) in lines.iter().enumerate() {
            let key = if index == 0 { key.as_str() } else { "" };
            writeln!(out, "  {key:margin$}  {line}")?;
        }
    }
    Ok(())
}

/// Every term of the prefill, the decode step and the cold starts of a scenario's deployments.
pub fn deployments(plan: &Plan, width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", plan.title)?;
    for provider in &plan.providers {
        for (deployment, predictions) in
            provider.fleet.deployments.iter().zip(&provider.predictions)
        {
            if predictions.is_empty() {
                writeln!(
                    out,
                    "\n{} · {}: times are stated, nothing is predicted",
                    provider.name, deployment.name
                )?;
            }
            for prediction in predictions {
                writeln!(
                    out,
                    "\n{} · {} on {}",
                    provider.name, deployment.name, prediction.placement
                )?;
                predicted(plan, prediction, width, out)?;
            }
        }
    }
    Ok(())
}

fn predicted(
    plan: &Plan,
    prediction: &Prediction,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let performance = &prediction.performance;
    let memory = performance.memory();
    let gigabytes = |bytes: f64| format!("{:.1} GB", bytes / 1e9);
    writeln!(
        out,
        "  memory: weights {} of {} on {} GPUs, cache for {} tokens",
        gigabytes(memory.weight_bytes),
        gigabytes(memory.available_bytes),
        memory.gpus,
        count(memory.kv_capacity_tokens()),
    )?;
    let prompt = plan.benchmark.prompt_tokens;
    terms(
        &format!("prefill of the benchmark's {prompt} tokens"),
        &performance.prefill_terms(prompt, 0),
        width,
        out,
    )?;
    let (sequences, context) = BATCH;
    let held = f64::from(sequences) * f64::from(context);
    for (what, sequences, held) in [
        ("one sequence", 1, f64::from(context)),
        ("32 sequences", sequences, held),
    ] {
        let head = format!("decode step of {what}, {context} tokens each");
        terms(&head, &performance.step_terms(sequences, held), width, out)?;
    }
    if performance.tokens_per_iteration() > 1.0 {
        writeln!(
            out,
            "  a step gives {:.2} tokens a sequence (speculation)",
            performance.tokens_per_iteration()
        )?;
    }
    for (warmth, start) in &prediction.starts {
        terms(
            &format!("start from {}, medians", warmth.name()),
            &start.terms(),
            width,
            out,
        )?;
    }
    Ok(())
}

fn terms(head: &str, terms: &[Term], width: usize, out: &mut dyn Write) -> io::Result<()> {
    let total: f64 = terms.iter().map(|term| term.seconds).sum();
    writeln!(out, "\n  {head}: {}", fine(total))?;
    let columns = vec![
        Column::text(
            "  term",
            terms
                .iter()
                .map(|term| format!("  {}", term.name))
                .collect(),
        ),
        Column::numbers(
            "time",
            terms.iter().map(|term| fine(term.seconds)).collect(),
        ),
        Column::text(
            "how",
            terms.iter().map(|term| term.formula.clone()).collect(),
        )
        .rank(1),
        Column::text(
            "source",
            terms.iter().map(|term| term.source.clone()).collect(),
        )
        .rank(2),
    ];
    writeln!(out, "{}", fitted(columns.clone(), columns, width, 2))
}
