//! Results of `AIPerf`: a record a line with its dates, and aggregates as JSON or CSV. `GenAI-Perf` writes aggregates alike.
//!
//! Records carry their unit with each value. Warm-up records stand among the others, tagged.

use super::rows::{self, Raw};
use super::{Missing, Options, Problem, Problems, Read, Series, Stated, Tool, Unit};
use crate::foreign::decimal::{nanos, needed};
use crate::foreign::node::{Node, Object};
use crate::foreign::problem::all;
use crate::foreign::stamp::Stamp;
use crate::foreign::text::Text;
use crate::measure::detect::Signs;
use crate::observation::Outcome;
use crate::time::Duration;

/// Whether an object is a record.
pub(super) fn is_record(object: &Object<'_>) -> bool {
    object.has("metadata") && object.has("metrics") && !object.has("benchmarks")
}

/// Whether an object is the aggregates of a run.
pub(super) fn is_aggregate(object: &Object<'_>) -> bool {
    let first = object.get("time_to_first_token");
    let metric = first.and_then(|node| node.object().ok());
    metric.is_some_and(|metric| metric.has("unit") && metric.has("avg"))
}

/// Reads records.
pub(super) fn read_records(values: &[Node<'_>], options: &Options) -> Result<Read, Problems> {
    let records = all(values.iter().map(|value| record(&value.object()?)))?;
    let mut read = Read::new(Tool::Aiperf);
    let total = records.len();
    let counted: Vec<Raw> = records.into_iter().flatten().collect();
    read.discarded = total - counted.len();
    if counted.iter().all(|row| row.sent.is_none()) {
        read.missing.extend([Missing::Starts, Missing::WallClock]);
    }
    read.series = rows::series(vec![(Series::default(), counted)], &options.zone);
    Ok(read)
}

/// A record, or none for one of the warm-up.
fn record(object: &Object<'_>) -> Result<Option<Raw>, Problem> {
    let metadata = object.need("metadata")?.object()?;
    let phase = metadata.text("benchmark_phase")?;
    if phase.is_some_and(|phase| phase != "profiling") {
        return Ok(None);
    }
    let metrics = object.need("metrics")?.object()?;
    let error = object.object("error")?;
    let was_cancelled = metadata.flag("was_cancelled")?.unwrap_or(false);
    let outcome = match error {
        Some(error) => outcome(&error)?,
        None if was_cancelled => Outcome::Failed,
        None => Outcome::Succeeded,
    };
    let mut row = Raw::new(outcome);
    row.sent = stamp(&metadata, "request_start_ns")?;
    row.ttft = match span(&metrics, "time_to_first_token")? {
        Some(ttft) => Some(ttft),
        None => span(&metrics, "ttft")?,
    };
    row.latency = match span(&metrics, "request_latency")? {
        Some(latency) => Some(latency),
        None => lasted(&metadata)?,
    };
    let tokens = whole(&metrics, "output_sequence_length")?;
    row.output_tokens = tokens.unwrap_or(0);
    row.signs = signs(&metrics)?;
    Ok(Some(row.checked()))
}

fn outcome(error: &Object<'_>) -> Result<Outcome, Problem> {
    let code = error.get("code").map(|node| node.plain());
    let status = code.and_then(|code| code.parse::<u16>().ok());
    let kind = error.text("type")?.unwrap_or_default().to_lowercase();
    let message = error.get("message").map(|node| node.plain());
    let said = format!("{kind} {}", message.unwrap_or_default().to_lowercase());
    // A host that refuses or resets was reached.
    let is_server = ["refused", "reset"].iter().any(|word| said.contains(word));
    let client = ["dns", "connector", "connect"];
    let is_client = !is_server && client.iter().any(|word| kind.contains(word));
    Ok(match status {
        _ if kind.contains("timeout") => Outcome::TimedOut,
        Some(status) if status >= 400 => Outcome::Rejected { status },
        _ if is_client => Outcome::ClientFault,
        _ => Outcome::Failed,
    })
}

fn stamp(metadata: &Object<'_>, key: &str) -> Result<Option<Stamp>, Problem> {
    let node = metadata.get(key);
    let nanos = node.map(|node| node.nanos(Unit::Nanoseconds)).transpose()?;
    Ok(nanos.map(Stamp::of_nanos))
}

/// From the start to the end by the dates, for records without a latency.
fn lasted(metadata: &Object<'_>) -> Result<Option<Duration>, Problem> {
    let start = stamp(metadata, "request_start_ns")?;
    let end = stamp(metadata, "request_end_ns")?;
    Ok(start.zip(end).and_then(|(start, end)| {
        let nanos = u64::try_from(end.nanos() - start.nanos()).ok()?;
        Some(Duration::from_nanos(nanos))
    }))
}

/// A metric `{value, unit}`.
fn metric<'a>(metrics: &Object<'a>, key: &str) -> Result<Option<Node<'a>>, Problem> {
    let metric = metrics.object(key)?;
    metric.map(|metric| metric.need("value")).transpose()
}

/// A metric that is a span in the unit it states.
fn span(metrics: &Object<'_>, key: &str) -> Result<Option<Duration>, Problem> {
    let Some(metric) = metrics.object(key)? else {
        return Ok(None);
    };
    let unit = unit(&metric)?;
    Ok(Some(metric.need("value")?.span(unit)?))
}

/// The unit that a metric states.
fn unit(metric: &Object<'_>) -> Result<Unit, Problem> {
    let node = metric.need("unit")?;
    let sign = node.string()?;
    Unit::of_sign(&sign)
        .ok_or_else(|| node.problem(format!("found `{sign}`, a unit of time is needed")))
}

fn whole(metrics: &Object<'_>, key: &str) -> Result<Option<u32>, Problem> {
    let count = metric(metrics, key)?.map(|node| node.count()).transpose()?;
    Ok(count.map(|count| u32::try_from(count).unwrap_or(u32::MAX)))
}

fn signs(metrics: &Object<'_>) -> Result<Signs, Problem> {
    let mut signs = Signs {
        dns: span(metrics, "http_req_dns_lookup")?,
        connect: span(metrics, "http_req_connecting")?,
        prompt_tokens: whole(metrics, "usage_prompt_tokens")?,
        cached_tokens: whole(metrics, "usage_prompt_cached_tokens")?,
        ..Signs::default()
    };
    let reused = metric(metrics, "http_req_connection_reused")?;
    signs.reused = reused
        .map(|node| node.number())
        .transpose()?
        .map(|reused| reused > 0.5);
    if let Some(gaps) = metrics.object("inter_chunk_latency")? {
        let unit = unit(&gaps)?;
        let gaps = gaps.need("value")?.items()?;
        let gaps = gaps.iter().map(|gap| gap.span(unit));
        let gaps: Vec<Duration> = gaps.collect::<Result<_, _>>()?;
        signs.note_gaps(&gaps);
    }
    Ok(signs)
}

/// Reads the aggregates in JSON.
pub(super) fn read_aggregate(object: &Object<'_>) -> Result<Read, Problems> {
    let one = |problem| vec![problem];
    let version = object.text("aiperf_version").map_err(one)?;
    let tool = if version.is_some() {
        Tool::Aiperf
    } else {
        Tool::GenaiPerf
    };
    let mut read = Read::new(tool);
    read.version = version;
    read.missing.extend([Missing::Requests, Missing::WallClock]);
    read.stated.push(aggregate(object).map_err(one)?);
    Ok(read)
}

fn aggregate(object: &Object<'_>) -> Result<Stated, Problem> {
    let metric = object.need("time_to_first_token")?.object()?;
    let unit = unit(&metric)?;
    let seconds = |key: &str| {
        let span = metric.span(key, unit)?;
        Ok::<Option<f64>, Problem>(span.map(Duration::as_secs))
    };
    let total = |key: &str| {
        let metric = object.object(key)?;
        metric.map_or(Ok(None), |metric| metric.count("avg"))
    };
    let count = match metric.count("count")? {
        Some(count) => Some(count),
        None => total("request_count")?,
    };
    let model = model(object)?;
    Ok(Stated {
        model: model.unwrap_or_default(),
        succeeded: count,
        failed: total("error_request_count")?,
        median_s: seconds("p50")?,
        p95_s: seconds("p95")?,
        mean_s: seconds("avg")?,
        std_s: seconds("std")?,
        min_s: seconds("min")?,
        max_s: seconds("max")?,
        ..Stated::default()
    })
}

/// The model, where the run's input tells it.
fn model(object: &Object<'_>) -> Result<Option<String>, Problem> {
    let Some(config) = object.object("input_config")? else {
        return Ok(None);
    };
    let Some(models) = config.get("models").filter(Node::is_object) else {
        return Ok(None);
    };
    match models.object()?.items("items")?.first() {
        Some(first) => first.object()?.text("name"),
        None => Ok(None),
    }
}

/// The head of the aggregates in CSV.
const CSV_HEAD: &str = "Metric,avg,min,max";

/// Whether a text is the aggregates in CSV.
pub(super) fn is_csv(text: &Text) -> bool {
    text.as_str().trim_start().starts_with(CSV_HEAD)
}

/// Reads the aggregates in CSV, of which the first block holds the TTFT.
pub(super) fn read_csv(text: &Text) -> Result<Read, Problems> {
    let stated = csv_aggregate(text).map_err(|problem| vec![problem])?;
    let mut read = Read::new(Tool::Aiperf);
    read.missing.extend([Missing::Requests, Missing::WallClock]);
    read.stated.push(stated);
    Ok(read)
}

fn csv_aggregate(text: &Text) -> Result<Stated, Problem> {
    const PREFIX: &str = "Time to First Token (";
    let mut head: Vec<String> = Vec::new();
    let mut stated = None;
    let mut counts = (None, None);
    for (index, line) in text.as_str().lines().enumerate() {
        let cells: Vec<String> = fields(line);
        let first = cells.first().map_or("", String::as_str);
        match first {
            "Metric" => head = cells,
            "Request Count" | "Request Count (requests)" => {
                counts.0 = cells.get(1).and_then(|cell| whole_of(cell));
            }
            "Error Request Count" | "Error Request Count (requests)" => {
                counts.1 = cells.get(1).and_then(|cell| whole_of(cell));
            }
            _ if first.starts_with(PREFIX) => {
                let sign = first[PREFIX.len()..].trim_end_matches(')');
                let at = |why: String| Problem::at_field(index + 1, first, why);
                let unit = Unit::of_sign(sign)
                    .ok_or_else(|| at(format!("found `{sign}`, a unit of time is needed")))?;
                let row = CsvRow {
                    head: &head,
                    cells: &cells,
                    line: index + 1,
                    unit,
                };
                stated = Some(row.stated()?);
            }
            _ => {}
        }
    }
    let stated = stated.ok_or_else(|| Problem::of_file("no row `Time to First Token (…)`"))?;
    Ok(Stated {
        succeeded: counts.0,
        failed: counts.1,
        ..stated
    })
}

fn whole_of(cell: &str) -> Option<u64> {
    let number: f64 = cell.replace(',', "").parse().ok()?;
    (number >= 0.0).then_some(number as u64)
}

/// The fields of a line; quoted ones hold no line breaks here.
fn fields(line: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(line.as_bytes());
    let record = reader.records().next();
    record.and_then(Result::ok).map_or_else(Vec::new, |record| {
        record.iter().map(str::to_owned).collect()
    })
}

struct CsvRow<'a> {
    head: &'a [String],
    cells: &'a [String],
    line: usize,
    unit: Unit,
}

impl CsvRow<'_> {
    fn seconds(&self, column: &str) -> Result<Option<f64>, Problem> {
        let Some(index) = self.head.iter().position(|name| name == column) else {
            return Ok(None);
        };
        let Some(cell) = self.cells.get(index).filter(|cell| !cell.is_empty()) else {
            return Ok(None);
        };
        let plain = cell.replace(',', "");
        let nanos = nanos(&plain, self.unit).ok_or_else(|| {
            let needed = needed(&plain, self.unit, "a finite number");
            let why = format!("found `{cell}`, {needed} is needed");
            Problem::at_field(self.line, column, why)
        })?;
        Ok(Some(nanos as f64 / 1e9))
    }

    fn stated(&self) -> Result<Stated, Problem> {
        Ok(Stated {
            median_s: self.seconds("p50")?,
            p95_s: self.seconds("p95")?,
            mean_s: self.seconds("avg")?,
            std_s: self.seconds("std")?,
            min_s: self.seconds("min")?,
            max_s: self.seconds("max")?,
            ..Stated::default()
        })
    }
}
