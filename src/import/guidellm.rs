//! Results of `GuideLLM` 0.6 and 0.8: JSON with every request and its date, or CSV with aggregates.
//!
//! Successful, incomplete and errored requests stand in lists of their own; older versions and sampled runs leave requests out, and
//! then only the figures of the whole remain.

use super::column::{Line, Table};
use super::rows::{self, Raw};
use super::{Missing, Options, Problem, Problems, Read, Series, Stated, Tool, Unit};
use crate::foreign::node::{Node, Object};
use crate::foreign::problem::all;
use crate::foreign::stamp::Stamp;
use crate::foreign::text::Text;
use crate::measure::detect::Signs;
use crate::observation::Outcome;
use crate::time::Duration;

/// Whether an object is such a result.
pub(super) fn is_one(object: &Object<'_>) -> bool {
    object.has("benchmarks") && object.has("metadata")
}

/// Reads the benchmarks of a file.
pub(super) fn read(object: &Object<'_>, options: &Options) -> Result<Read, Problems> {
    let one = |problem| vec![problem];
    let mut read = Read::new(Tool::Guidellm);
    let metadata = object.object("metadata").map_err(one)?;
    read.version = metadata
        .map_or(Ok(None), |metadata| metadata.text("guidellm_version"))
        .map_err(one)?;
    let model = model(object).map_err(one)?.unwrap_or_default();
    let benchmarks = object.items("benchmarks").map_err(one)?;
    let mut groups = Vec::new();
    for (index, benchmark) in benchmarks.iter().enumerate() {
        let benchmark = benchmark.object().map_err(one)?;
        let session = if benchmarks.len() > 1 {
            format!("{} {}", strategy(&benchmark), index + 1)
        } else {
            String::new()
        };
        let rows = requests(&benchmark)?;
        if rows.is_empty() {
            let mut stated = stated(&benchmark).map_err(one)?;
            stated.model.clone_from(&model);
            stated.session = session;
            read.stated.push(stated);
            continue;
        }
        let series = Series {
            model: model.clone(),
            session,
            ..Series::default()
        };
        groups.push((series, rows));
    }
    if !read.stated.is_empty() {
        read.missing.push(Missing::Requests);
    }
    read.missing.push(Missing::Phases);
    read.series = rows::series(groups, &options.zone);
    Ok(read)
}

/// The model, which version 0.6 keeps in `args` and 0.8 in `config`.
fn model(object: &Object<'_>) -> Result<Option<String>, Problem> {
    if let Some(args) = object.object("args")? {
        return args.text("model");
    }
    let Some(config) = object.object("config")? else {
        return Ok(None);
    };
    let Some(spec) = config.object("spec")? else {
        return Ok(None);
    };
    let backend = spec.object("backend")?;
    backend.map_or(Ok(None), |backend| backend.text("model"))
}

fn strategy(benchmark: &Object<'_>) -> String {
    let found = benchmark
        .object("config")
        .ok()
        .flatten()
        .and_then(|config| config.object("strategy").ok().flatten())
        .and_then(|strategy| strategy.text("type_").ok().flatten());
    found.unwrap_or_else(|| "benchmark".to_owned())
}

/// Every request of a benchmark.
fn requests(benchmark: &Object<'_>) -> Result<Vec<Raw>, Problems> {
    let one = |problem| vec![problem];
    let Some(lists) = benchmark.object("requests").map_err(one)? else {
        return Ok(Vec::new());
    };
    let mut rows = Vec::new();
    for (key, outcome) in [
        ("successful", Outcome::Succeeded),
        ("incomplete", Outcome::Failed),
        ("errored", Outcome::Failed),
    ] {
        let nodes = lists.items(key).map_err(one)?;
        rows.extend(all(nodes.iter().map(|node| request(node, outcome)))?);
    }
    Ok(rows)
}

fn request(node: &Node<'_>, outcome: Outcome) -> Result<Raw, Problem> {
    let request = node.object()?;
    let mut row = Raw::new(outcome);
    let start = request.get("request_start_time");
    let start = start.map(|node| node.nanos(Unit::Seconds)).transpose()?;
    row.sent = start.map(Stamp::of_nanos);
    row.ttft = request.span("time_to_first_token_ms", Unit::Milliseconds)?;
    row.latency = request.span("request_latency", Unit::Seconds)?;
    let whole = |key: &str| {
        let count = request.count(key)?;
        Ok::<_, Problem>(count.map(|count| u32::try_from(count).unwrap_or(u32::MAX)))
    };
    row.output_tokens = whole("output_tokens")?.unwrap_or(0);
    row.signs = Signs {
        cached_tokens: whole("cached_tokens")?,
        prompt_tokens: whole("prompt_tokens")?,
        // It keeps only the mean of the gaps.
        gap_median: request.span("inter_token_latency_ms", Unit::Milliseconds)?,
        ..Signs::default()
    };
    Ok(row.checked())
}

/// The figures of a benchmark whose requests are not in the file.
fn stated(benchmark: &Object<'_>) -> Result<Stated, Problem> {
    let metrics = benchmark.need("metrics")?.object()?;
    let metric = metrics.need("time_to_first_token_ms")?.object()?;
    let good = match metric.object("successful")? {
        Some(good) => good,
        None => metric,
    };
    let seconds = |key: &str| {
        let span = good.span(key, Unit::Milliseconds)?;
        Ok::<Option<f64>, Problem>(span.map(Duration::as_secs))
    };
    let p95 = match good.object("percentiles")? {
        Some(percentiles) => percentiles.span("p95", Unit::Milliseconds)?,
        None => None,
    };
    let count = match good.count("count")? {
        Some(count) => Some(count),
        None => good.count("total_count")?,
    };
    Ok(Stated {
        succeeded: count,
        median_s: seconds("median")?,
        p95_s: p95.map(Duration::as_secs),
        mean_s: seconds("mean")?,
        std_s: seconds("std_dev")?,
        min_s: seconds("min")?,
        max_s: seconds("max")?,
        ..Stated::default()
    })
}

/// Whether a text is its CSV, which has a head of three lines.
pub(super) fn is_csv(text: &Text) -> bool {
    text.as_str().trim_start().starts_with("Run Info,Run Info")
}

/// Reads the aggregates in CSV.
pub(super) fn read_csv(text: &Text) -> Result<Read, Problems> {
    let table = Table::of_csv(text).map_err(|problem| vec![problem])?;
    let [middle, bottom, rows @ ..] = table.rows.as_slice() else {
        return Err(vec![Problem::of_file("fewer than three lines of head")]);
    };
    let part = |line: &Line, index: usize| line.cells[index].clone().unwrap_or_default();
    let names = table.names.iter().enumerate();
    let names: Vec<[String; 3]> = names
        .map(|(index, top)| [top.clone(), part(middle, index), part(bottom, index)])
        .collect();
    let rows = rows.iter().map(|line| {
        CsvRow {
            names: &names,
            line,
        }
        .stated()
    });
    let mut read = Read::new(Tool::Guidellm);
    read.missing.extend([Missing::Requests, Missing::WallClock]);
    read.stated = all(rows)?;
    Ok(read)
}

/// A benchmark's line, and what its columns are called in the three lines of the head.
struct CsvRow<'a> {
    names: &'a [[String; 3]],
    line: &'a Line,
}

impl CsvRow<'_> {
    fn cell(&self, wanted: [&str; 3]) -> Option<&str> {
        let index = self.names.iter().position(|name| *name == wanted)?;
        self.line.cells[index].as_deref()
    }

    fn number(&self, wanted: [&str; 3]) -> Result<Option<f64>, Problem> {
        let Some(text) = self.cell(wanted) else {
            return Ok(None);
        };
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.map(Some).ok_or_else(|| {
            let why = format!("found `{text}`, a finite number is needed");
            Problem::at_field(self.line.line, &wanted.join(" "), why)
        })
    }

    fn ttft_s(&self, what: &str) -> Result<Option<f64>, Problem> {
        let ms = self.number(["Time to First Token", "Successful ms", what])?;
        Ok(ms.map(|ms| ms / 1e3))
    }

    fn count(&self, what: &str) -> Result<Option<u64>, Problem> {
        let count = self.number(["Request Counts", what, ""])?;
        Ok(count.map(|count| count as u64))
    }

    fn stated(&self) -> Result<Stated, Problem> {
        // Minimum, p0.1, p1, p5, p10, p25, p75, p90, p95, p99, maximum.
        let list = self.cell(["Time to First Token", "Successful ms", "Percentiles"]);
        let list: Option<Vec<f64>> = list.and_then(|list| serde_json::from_str(list).ok());
        let at = |index: usize| {
            let list = list.as_ref().filter(|list| list.len() == 11);
            list.map(|list| list[index] / 1e3)
        };
        Ok(Stated {
            succeeded: self.count("Successful")?,
            failed: self.count("Errored")?,
            median_s: self.ttft_s("Median")?,
            mean_s: self.ttft_s("Mean")?,
            std_s: self.ttft_s("Std Dev")?,
            min_s: at(0),
            p95_s: at(8),
            max_s: at(10),
            ..Stated::default()
        })
    }
}
