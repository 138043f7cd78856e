//! An explanation for people: what is replaced by what, then what each decision costs.

use std::io::{self, Write};

use super::{Decision, ExplainReport};
use crate::experiment::explain::{Cost, Gap};
use crate::experiment::users::{Difference, Figure};
use crate::report::grid::{self, Column};
use crate::report::number::{self, NONE};
use crate::report::text::{BOLD, DIM, wrapped};
use crate::report::users;

/// Writes the whole report.
pub(super) fn write(
    report: &ExplainReport<'_>,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{BOLD}{}{BOLD:#}", report.plan.title)?;
    let facts = format!(
        "{} · {} combinations of {}, {} each, the same demand · seed {} · all users, at the provider's door",
        report.label(),
        report.explanation.subsets.len(),
        number::counted(report.decisions.len() as u64, "decision"),
        number::counted(report.replications, "replication"),
        report.plan.seed
    );
    for line in wrapped(&facts, width) {
        writeln!(out, "{DIM}{line}{DIM:#}")?;
    }
    writeln!(out)?;
    replaced(report, width, out)?;
    for gap in report.explanation.gaps.iter().flatten() {
        writeln!(out)?;
        costs(report, gap, width, out)?;
    }
    writeln!(out)?;
    for line in wrapped(&conclusion(report), width) {
        writeln!(out, "{BOLD}{line}{BOLD:#}")?;
    }
    Ok(())
}

/// What stands against each decision.
fn replaced(report: &ExplainReport<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    for decision in report.decisions {
        writeln!(
            out,
            "{BOLD}{}{BOLD:#}{DIM}, {}{DIM:#}",
            decision.name, decision.source
        )?;
        for change in changes(decision) {
            for (index, line) in wrapped(&change, width.saturating_sub(4)).iter().enumerate() {
                let indent = if index == 0 { "  " } else { "    " };
                writeln!(out, "{indent}{line}")?;
            }
        }
    }
    Ok(())
}

/// `scaling.min: 0 -> 2`.
fn changes(decision: &Decision) -> impl Iterator<Item = String> {
    let values = decision
        .paths
        .iter()
        .zip(&decision.now)
        .zip(&decision.counterpart);
    values.map(|((path, now), counterpart)| format!("{path}: {now} -> {counterpart}"))
}

/// The table of one figure.
fn costs(
    report: &ExplainReport<'_>,
    gap: &Gap,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let figure = gap.figure;
    writeln!(
        out,
        "{BOLD}{}{BOLD:#}{DIM}, {}{DIM:#}",
        users::name(figure),
        ends(report, figure)
    )?;
    let cells = |cell: &dyn Fn(&Cost) -> String, last: String| {
        let cells = gap.decisions.iter().map(cell);
        cells.chain([last]).collect::<Vec<String>>()
    };
    let bare = |difference: Difference| users::bare(figure, difference.estimate.point);
    let names = report.decisions.iter().map(|one| one.name.clone());
    let unit = users::head(figure).lines().last().unwrap_or_default();
    let columns = vec![
        Column::text(
            "decision",
            names.chain(["all together".to_owned()]).collect(),
        ),
        Column::numbers(
            &format!("share\n{unit}"),
            cells(&|one| bare(one.share), bare(gap.whole)),
        ),
        Column::text(
            "95 %\ninterval",
            cells(
                &|one| interval(figure, one.share),
                interval(figure, gap.whole),
            ),
        ),
        Column::numbers(
            "of gap\n%",
            cells(&|one| of_gap(gap, one), whole_percent(gap)),
        ),
        Column::numbers(
            &format!("alone\n{unit}"),
            cells(&|one| bare(one.alone), NONE.to_owned()),
        )
        .rank(1),
        Column::numbers(
            &format!("left to\nlast {unit}"),
            cells(&|one| bare(one.remaining), NONE.to_owned()),
        )
        .rank(2),
    ];
    writeln!(out, "{}", grid::fitted(columns.clone(), columns, width, 1))
}

/// `29.3 s as it is, 0.35 s with everything replaced`.
fn ends(report: &ExplainReport<'_>, figure: Figure) -> String {
    let subsets = &report.explanation.subsets;
    let shown = |one: Option<&crate::experiment::users::Users>| {
        let point = one.and_then(|one| one.point(figure));
        point.map_or_else(|| NONE.to_owned(), |point| users::with_unit(figure, point))
    };
    format!(
        "{} as it is, {} with everything replaced",
        shown(subsets.first()),
        shown(subsets.last())
    )
}

fn interval(figure: Figure, difference: Difference) -> String {
    let interval = difference.estimate.interval;
    interval.map_or_else(
        || NONE.to_owned(),
        |one| {
            format!(
                "{} to {}",
                users::bare(figure, one.low),
                users::bare(figure, one.high)
            )
        },
    )
}

fn of_gap(gap: &Gap, cost: &Cost) -> String {
    let whole = gap.whole.estimate.point;
    if whole == 0.0 {
        return NONE.to_owned();
    }
    format!("{:.0}", 100.0 * cost.share.estimate.point / whole)
}

fn whole_percent(gap: &Gap) -> String {
    let has_gap = gap.whole.estimate.point != 0.0;
    (if has_gap { "100" } else { NONE }).to_owned()
}

/// Whose doing the gap is: that in p95, unless only that in CV is sure.
pub(super) fn conclusion(report: &ExplainReport<'_>) -> String {
    let of = |figure| {
        let mut gaps = report.explanation.gaps.iter().flatten();
        gaps.find(|one| one.figure == figure)
    };
    let Some(p95) = of(Figure::TtftP95) else {
        return "In some combination no user gets an answer: there is no p95 to explain."
            .to_owned();
    };
    let is_sure = |gap: &&Gap| gap.whole.sign() == Some(1.0);
    let gap = [Some(p95), of(Figure::Cv)]
        .into_iter()
        .flatten()
        .find(is_sure);
    let Some(gap) = gap else {
        return format!(
            "{} is not surely worse supported than with every decision replaced: its p95 is {}.",
            report.model(),
            ends(report, Figure::TtftP95)
        );
    };
    let whole = gap.whole.estimate.point;
    let mut order: Vec<usize> = (0..gap.decisions.len()).collect();
    let share = |index: usize| gap.decisions[index].share.estimate.point;
    order.sort_by(|&a, &b| share(b).total_cmp(&share(a)));
    let said = |index: usize| {
        let percent = 100.0 * share(index) / whole;
        format!("{} {percent:.0} %", report.decisions[index].name)
    };
    let named: Vec<String> = order.iter().take(3).map(|&index| said(index)).collect();
    format!(
        "Of the {} by which the {} of {} is above that with every decision replaced, {}{}.",
        users::with_unit(gap.figure, whole),
        users::name(gap.figure),
        report.model(),
        named.join(", "),
        together(gap)
    )
}

/// How decisions act together, where they do not just add up.
fn together(gap: &Gap) -> &'static str {
    let gains = gap.decisions.iter().map(|one| one.alone.estimate.point);
    match gains.sum::<f64>() / gap.whole.estimate.point {
        ratio if ratio < 0.8 => {
            ": they compound, replaced one at a time they gain less than together"
        }
        ratio if ratio > 1.25 => {
            ": they overlap, replaced one at a time they seem to gain more than there is"
        }
        _ => "",
    }
}

/// Heads and rows of one flat table, for Markdown.
pub(super) fn cells(report: &ExplainReport<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let mut heads: Vec<String> = ["decision", "change", "source"].map(str::to_owned).to_vec();
    let gaps: Vec<&Gap> = report.explanation.gaps.iter().flatten().collect();
    for gap in &gaps {
        let name = users::name(gap.figure);
        heads.extend([format!("{name} share"), format!("{name} alone")]);
    }
    let row = |(index, one): (usize, &Decision)| {
        let changes: Vec<String> = changes(one).collect();
        let mut cells = vec![one.name.clone(), changes.join("; "), one.source.clone()];
        for gap in &gaps {
            let cost = gap.decisions[index];
            for difference in [cost.share, cost.alone] {
                cells.push(users::with_unit(gap.figure, difference.estimate.point));
            }
        }
        cells
    };
    (
        heads,
        report.decisions.iter().enumerate().map(row).collect(),
    )
}
