//! Results of vLLM's benchmark, its Rust port, and `SGLang`'s, which share a layout: parallel lists in seconds and a summary in
//! milliseconds, one object a run, several runs in a file.
//!
//! All write a TTFT of 0.0 for requests that failed, and the last two also for requests that they call successful.

use super::rows::{self, Raw};
use super::{Missing, Options, Problem, Problems, Read, Series, Stated, Tool, Unit};
use crate::foreign::node::{Node, Object};
use crate::foreign::problem::all;
use crate::foreign::stamp::Stamp;
use crate::observation::Outcome;
use crate::time::Duration;

/// Whether an object is such a run.
pub(super) fn is_one(object: &Object<'_>) -> bool {
    object.has("backend") && (object.has("ttfts") || object.has("mean_ttft_ms"))
}

/// Reads the runs of a file.
pub(super) fn read(values: &[Node<'_>], options: &Options) -> Result<Read, Problems> {
    let objects = all(values.iter().map(Node::object))?;
    let tool = objects.first().map_or(Tool::VllmBench, tool);
    let mut read = Read::new(tool);
    read.missing.push(Missing::WallClock);
    if tool == Tool::Sglang {
        read.missing.push(Missing::CountedTokens);
    }
    let (mut groups, mut problems) = (Vec::new(), Vec::new());
    for (index, object) in objects.iter().enumerate() {
        let run = if objects.len() > 1 {
            format!("run {}", index + 1)
        } else {
            String::new()
        };
        match of_run(object, tool, run) {
            Ok(Run::Requests(series, rows)) => {
                read.notes.extend(own_summary(object, &series.session));
                groups.push((series, rows));
            }
            Ok(Run::Figures(stated)) => read.stated.push(stated),
            Err(more) => problems.extend(more),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    if !read.stated.is_empty() {
        read.missing.push(Missing::Requests);
    } else if groups
        .iter()
        .any(|(_, rows)| rows.iter().any(|row| row.sent.is_none()))
    {
        read.missing.push(Missing::Starts);
    }
    read.series = rows::series(groups, &options.zone);
    Ok(read)
}

fn tool(object: &Object<'_>) -> Tool {
    let is_sglang = object.has("tag") || object.has("total_output_tokens_retokenized");
    let is_rust = object.has("failed_requests") || object.has("steady_state");
    match (is_sglang, is_rust) {
        (true, _) => Tool::Sglang,
        (false, true) => Tool::VllmBenchRust,
        (false, false) => Tool::VllmBench,
    }
}

enum Run {
    Requests(Series, Vec<Raw>),
    Figures(Stated),
}

fn of_run(object: &Object<'_>, tool: Tool, session: String) -> Result<Run, Problems> {
    let one = |problem| vec![problem];
    let model = object.text("model_id").map_err(one)?.unwrap_or_default();
    if object.get("ttfts").is_none() {
        let stated = figures(object, model, session).map_err(one)?;
        return Ok(Run::Figures(stated));
    }
    let lists = Lists::of(object)?;
    let rows = all((0..lists.ttfts.len()).map(|index| lists.row(index, tool)))?;
    let series = Series {
        model,
        session,
        ..Series::default()
    };
    Ok(Run::Requests(series, rows))
}

/// The parallel lists of a run; optional ones are empty where the file lacks them.
struct Lists<'a> {
    ttfts: Vec<Node<'a>>,
    errors: Vec<Node<'a>>,
    latencies: Vec<Node<'a>>,
    start_times: Vec<Node<'a>>,
    output_lens: Vec<Node<'a>>,
    itls: Vec<Node<'a>>,
}

impl<'a> Lists<'a> {
    fn of(object: &Object<'a>) -> Result<Self, Problems> {
        let list = |key: &str| object.items(key).map_err(|problem| vec![problem]);
        let lists = Self {
            ttfts: list("ttfts")?,
            errors: list("errors")?,
            latencies: list("latencies")?,
            start_times: list("start_times")?,
            output_lens: list("output_lens")?,
            itls: list("itls")?,
        };
        let expected = lists.ttfts.len();
        let others = [
            ("errors", &lists.errors),
            ("latencies", &lists.latencies),
            ("start_times", &lists.start_times),
            ("output_lens", &lists.output_lens),
            ("itls", &lists.itls),
        ];
        let odd = others.into_iter().filter_map(|(key, list)| {
            let is_odd = !list.is_empty() && list.len() != expected;
            let why = format!("{} values beside {expected} in `ttfts`", list.len());
            is_odd.then(|| object.get(key).map(|node| node.problem(why)))?
        });
        let problems: Problems = odd.collect();
        if problems.is_empty() {
            Ok(lists)
        } else {
            Err(problems)
        }
    }

    fn row(&self, index: usize, tool: Tool) -> Result<Raw, Problem> {
        let seconds = |list: &[Node<'a>]| -> Result<Option<Duration>, Problem> {
            let node = list.get(index);
            node.map(|node| node.span(Unit::Seconds)).transpose()
        };
        let ttft = self.ttfts[index].span(Unit::Seconds)?;
        let error = self.errors.get(index).map(Node::string).transpose()?;
        let tokens = self.output_lens.get(index).map(Node::count).transpose()?;
        let gaps = match self.itls.get(index) {
            Some(gaps) => all(gaps.items()?.iter().map(|gap| gap.span(Unit::Seconds)))
                .map_err(|mut problems| problems.swap_remove(0))?,
            None => Vec::new(),
        };
        let latency = seconds(&self.latencies)?.or_else(|| {
            // `SGLang` gives no latency: it is the TTFT and the gaps after it.
            (tool == Tool::Sglang).then(|| ttft + gaps.iter().copied().sum())
        });
        let start = self.start_times.get(index);
        let start = start.map(|node| node.nanos(Unit::Seconds)).transpose()?;
        let error = error.unwrap_or_default();
        let mut row = Raw::new(outcome(&error));
        row.sent = start.map(Stamp::Relative);
        row.ttft = (ttft > Duration::ZERO).then_some(ttft);
        row.latency = latency;
        row.output_tokens = u32::try_from(tokens.unwrap_or(0)).unwrap_or(u32::MAX);
        row.signs.note_gaps(&gaps);
        Ok(row.checked())
    }
}

/// What an error text says of the outcome; the tools keep an HTTP status only as words.
fn outcome(error: &str) -> Outcome {
    let lower = error.to_lowercase();
    let statuses = [
        (429, "too many requests"),
        (503, "service unavailable"),
        (502, "bad gateway"),
        (504, "gateway timeout"),
        (500, "internal server error"),
        (400, "bad request"),
        (404, "not found"),
        (401, "unauthorized"),
        (403, "forbidden"),
    ];
    if error.is_empty() {
        return Outcome::Succeeded;
    }
    let words = statuses.into_iter().find(|(_, words)| {
        lower.starts_with(words) || lower.starts_with("http ") && lower.contains(words)
    });
    match words {
        Some((status, _)) => Outcome::Rejected { status },
        None if lower.contains("timeouterror") => Outcome::TimedOut,
        None => Outcome::Failed,
    }
}

/// What the program itself says of requests that are all in the file: with failures inside it, it says something else.
fn own_summary(object: &Object<'_>, session: &str) -> Option<String> {
    let stated = figures(object, String::new(), String::new()).ok()?;
    let (ok, median, cv) = (stated.succeeded?, stated.median_s?, stated.cv_percent()?);
    let whose = match session {
        "" => String::new(),
        session => format!(" of {session}"),
    };
    Some(format!(
        "its own summary{whose}: {ok} ok, median {median:.3} s, CV {cv:.0} %"
    ))
}

/// The summary, in milliseconds, with deviations that divide by `n`.
fn figures(object: &Object<'_>, model: String, session: String) -> Result<Stated, Problem> {
    let seconds = |key: &str| {
        let value = object.number(key)?;
        Ok::<Option<f64>, Problem>(value.map(|ms| ms / 1e3))
    };
    Ok(Stated {
        model,
        session,
        succeeded: object.count("completed")?,
        failed: object.count("failed")?,
        median_s: seconds("median_ttft_ms")?,
        p95_s: seconds("p95_ttft_ms")?,
        mean_s: seconds("mean_ttft_ms")?,
        std_s: seconds("std_ttft_ms")?,
        ..Stated::default()
    })
}
