//! `requests.csv` of a run folder that `simulate` wrote: the same analysis for simulated requests as for measured ones.

use std::str::FromStr;

use super::column::{Line, Table};
use super::rows::{self, Raw};
use super::{Missing, Options, Problem, Problems, Read, Series, Tool, Unit};
use crate::foreign::decimal::{nanos, needed};
use crate::foreign::problem::all;
use crate::foreign::stamp::Stamp;
use crate::observation::Outcome;
use crate::time::Duration;

/// The columns that tell such a table.
const COLUMNS: [&str; 9] = [
    "whose",
    "provider",
    "model",
    "session",
    "sent_s",
    "outcome",
    "cold",
    "ttft_s",
    "latency_s",
];

/// Whether a table is such a file.
pub(super) fn is_one(table: &Table) -> bool {
    table.has(&COLUMNS)
}

/// Reads the benchmark's requests; other users' are left out.
pub(super) fn read(table: &Table, options: &Options) -> Result<Read, Problems> {
    let rows = all(table.rows.iter().map(|line| Cells { table, line }.row()))?;
    let mut read = Read::new(Tool::Simulation);
    read.missing.push(Missing::WallClock);
    let total = rows.len();
    let rows: Vec<_> = rows.into_iter().flatten().collect();
    if rows.len() < total {
        read.notes.push(format!(
            "{} requests of other users left out",
            total - rows.len()
        ));
    }
    let groups = rows::grouped(rows).into_iter().map(|(names, rows)| {
        let [target, model, session] = names;
        let series = Series {
            target,
            model,
            session,
            ..Series::default()
        };
        (series, rows)
    });
    read.series = rows::series(groups.collect(), &options.zone);
    Ok(read)
}

struct Cells<'a> {
    table: &'a Table,
    line: &'a Line,
}

impl Cells<'_> {
    fn text(&self, column: &str) -> Result<Option<&str>, Problem> {
        let index = self.table.column(column)?;
        Ok(self.line.cells.get(index).and_then(Option::as_deref))
    }

    fn problem(&self, column: &str, found: &str, wanted: &str) -> Problem {
        let why = format!("found `{found}`, {wanted} is needed");
        Problem::at_field(self.line.line, column, why)
    }

    fn nanos(&self, column: &str) -> Result<Option<i128>, Problem> {
        let Some(text) = self.text(column)? else {
            return Ok(None);
        };
        let found = nanos(text, Unit::Seconds);
        let needed = || needed(text, Unit::Seconds, "a finite number");
        found
            .map(Some)
            .ok_or_else(|| self.problem(column, text, &needed()))
    }

    fn span(&self, column: &str) -> Result<Option<Duration>, Problem> {
        let (Some(text), Some(nanos)) = (self.text(column)?, self.nanos(column)?) else {
            return Ok(None);
        };
        let span = u64::try_from(nanos).map(Duration::from_nanos);
        let needed = || needed(text, Unit::Seconds, "a span that is not negative");
        span.map(Some)
            .map_err(|_| self.problem(column, text, &needed()))
    }

    /// True or false in any letter case: spreadsheets write `TRUE`.
    fn flag(&self, column: &str) -> Result<Option<bool>, Problem> {
        let Some(text) = self.text(column)? else {
            return Ok(None);
        };
        match text.to_lowercase().as_str() {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => Err(self.problem(column, text, "`true` or `false`")),
        }
    }

    fn whole<T: FromStr>(&self, column: &str) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(column)? else {
            return Ok(None);
        };
        let found = text.parse().map(Some);
        found.map_err(|_| self.problem(column, text, "a whole number"))
    }

    fn outcome(&self) -> Result<Outcome, Problem> {
        let text = self.text("outcome")?.unwrap_or_default();
        let status = self.whole("status")?.unwrap_or(0);
        Ok(match text.to_lowercase().as_str() {
            "succeeded" => Outcome::Succeeded,
            "timed_out" => Outcome::TimedOut,
            "failed" => Outcome::Failed,
            "rejected" => Outcome::Rejected { status },
            "client_fault" => Outcome::ClientFault,
            _ => {
                let wanted = "`succeeded`, `timed_out`, `failed`, `rejected` or `client_fault`";
                return Err(self.problem("outcome", text, wanted));
            }
        })
    }

    /// A request of the benchmark, and what it belongs to.
    fn row(&self) -> Result<Option<([String; 3], Raw)>, Problem> {
        if self.text("whose")? != Some("benchmark") {
            return Ok(None);
        }
        let mut row = Raw::new(self.outcome()?);
        // Instants count from the window's opening, and requests that were thrown away lie before it.
        row.sent = self.nanos("sent_s")?.map(Stamp::Relative);
        row.ttft = self.span("ttft_s")?;
        row.latency = self.span("latency_s")?;
        if self.table.has(&["output_tokens"]) {
            row.output_tokens = self.whole("output_tokens")?.unwrap_or(0);
        }
        row.cold = self.flag("cold")?;
        let names = ["provider", "model", "session"].map(|name| {
            let text = self.text(name)?;
            Ok::<_, Problem>(text.unwrap_or_default().to_owned())
        });
        let [provider, model, session] = names;
        Ok(Some(([provider?, model?, session?], row.checked())))
    }
}
