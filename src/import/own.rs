//! Observation files of `measure`: a header, then a line a request, its instants in seconds from the run's origin.
//!
//! A last line that is not whole was being written when the program was killed: it is left out and told.

use std::collections::BTreeMap;

use super::rows::{self, Raw};
use super::{Options, Problem, Problems, Read, Series, Tool, Unit};
use crate::foreign::node::{Node, Object};
use crate::foreign::problem::all;
use crate::foreign::stamp::Stamp;
use crate::journal::OUTCOMES;
use crate::measure::detect::Signs;
use crate::observation::Outcome;
use crate::time::Duration;
use crate::timeline::Phase;

/// What the header's `schema` says.
pub(super) const SCHEMA: &str = "thermocline-observations";
/// The layout that is known.
const VERSION: u64 = 1;
/// A stated TTFT and the instants behind it may differ by their roundings \[ns\].
const ROUNDING: i128 = 10;

/// Whether an object is the header of such a file.
pub(super) fn is_header(object: &Object<'_>) -> bool {
    object.has("schema") && object.has("started_at")
}

/// Reads the requests that count.
pub(super) fn read(
    header: &Object<'_>,
    values: &[Node<'_>],
    options: &Options,
) -> Result<Read, Problems> {
    let mut read = Read::new(Tool::Thermocline);
    let origin = of_header(header, &mut read).map_err(|problem| vec![problem])?;
    let lines = values.get(1..).unwrap_or_default();
    let requests = all(lines.iter().map(|line| request(&line.object()?, origin)))?;
    let twice = twice(lines, &requests);
    if !twice.is_empty() {
        return Err(twice);
    }
    let odd = requests.iter().filter(|one| !one.adds_up).count();
    if odd > 0 {
        read.notes.push(format!(
            "in {odd} rows `ttft_s` is not `first_token_s` less `written_s`: the instants are believed"
        ));
    }
    let all = requests.len();
    let counted = requests.into_iter().filter(|one| !one.is_discarded);
    let counted: Vec<_> = counted.map(|one| (one.names, one.row)).collect();
    read.discarded = all - counted.len();
    let groups = rows::grouped(counted).into_iter().map(|(names, rows)| {
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

/// The run's origin \[ns since 1970\]; notes what else the header says.
fn of_header(header: &Object<'_>, read: &mut Read) -> Result<i128, Problem> {
    let schema = header.need("schema")?;
    if schema.string()? != SCHEMA {
        return Err(schema.problem(format!("found `{}`, `{SCHEMA}` is needed", schema.plain())));
    }
    let version = header.need("version")?;
    if version.count()? != VERSION {
        return Err(version.problem(format!(
            "found {}, only {VERSION} is known",
            version.plain()
        )));
    }
    let tool = header.text("tool")?.unwrap_or_default();
    read.version = tool.rsplit(' ').next().map(str::to_owned);
    if let Some(error) = header.object("client_error")? {
        let ms = |key: &str| Ok::<f64, Problem>(1e3 * error.need(key)?.number()?);
        let (bias, std) = (ms("bias_s")?, ms("std_s")?);
        read.notes.push(format!(
            "the client's own error, by its selftest: {bias:+.3} ms, std {std:.3} ms"
        ));
    }
    let node = header.need("started_at")?;
    let text = node.string()?;
    let origin = Stamp::of_date(&text).map(Stamp::nanos);
    origin.ok_or_else(|| node.problem(format!("found `{text}`, a date is needed")))
}

/// A line of the file.
struct Request {
    /// Its number in the session.
    index: Option<u64>,
    names: [String; 3],
    is_discarded: bool,
    /// Whether the stated TTFT is what the instants make of it.
    adds_up: bool,
    row: Raw,
}

/// What is wrong with requests that are there again: counted twice, they would make every interval narrower.
fn twice(lines: &[Node<'_>], requests: &[Request]) -> Problems {
    let mut seen = BTreeMap::new();
    let again = lines.iter().zip(requests).filter_map(|(line, request)| {
        let (index, [target, _, session]) = (request.index?, &request.names);
        let first = *seen
            .entry((target, session, index))
            .or_insert_with(|| line.line());
        (first != line.line()).then(|| {
            let why = format!(
                "request {index} of {target}, session {session}, is there twice: first in line {first}"
            );
            Problem::at_field(line.line(), "index", why)
        })
    });
    again.collect()
}

fn request(line: &Object<'_>, origin: i128) -> Result<Request, Problem> {
    let at = |key: &str| {
        let node = line.get(key);
        node.map(|node| node.nanos(Unit::Seconds)).transpose()
    };
    let due = line.need("due_s")?.nanos(Unit::Seconds)?;
    let sent = match at("written_s")? {
        Some(written) => written,
        None => at("started_s")?.unwrap_or(due),
    };
    // The clock's reading may leave instants out of order by a hair.
    let after = |instant: i128| Duration::from_nanos(u64::try_from(instant - sent).unwrap_or(0));
    let first = at("first_token_s")?;
    let stated = at("ttft_s")?;
    let mut row = Raw::new(outcome(line)?);
    row.sent = Some(Stamp::Wall(origin + sent));
    row.ttft = first.map(after);
    row.latency = Some(after(line.need("end_s")?.nanos(Unit::Seconds)?));
    let tokens = line.count("output_tokens")?.unwrap_or(0);
    row.output_tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
    row.cold = line.flag("cold")?;
    row.signs = signs(line, &at, sent)?;
    let [target, model, session] = ["target", "model", "session"].map(|key| line.text(key));
    let both = stated.zip(first);
    Ok(Request {
        index: line.count("index")?,
        names: [
            target?.unwrap_or_default(),
            model?.unwrap_or_default(),
            session?.unwrap_or_default(),
        ],
        is_discarded: line.flag("discarded")?.unwrap_or(false),
        adds_up: both.is_none_or(|(stated, first)| (stated - (first - sent)).abs() <= ROUNDING),
        row: row.checked(),
    })
}

fn outcome(line: &Object<'_>) -> Result<Outcome, Problem> {
    let node = line.need("outcome")?;
    let name = node.string()?;
    Ok(match name.as_str() {
        "ok" => Outcome::Succeeded,
        "http-error" => {
            let status = line.need("status")?.count()?;
            let status = u16::try_from(status).unwrap_or(u16::MAX);
            Outcome::Rejected { status }
        }
        "timed-out" => Outcome::TimedOut,
        "client-fault" => Outcome::ClientFault,
        "stream-error" | "empty" | "truncated" | "parse-error" | "connection-fault" => {
            Outcome::Failed
        }
        other => {
            let known = OUTCOMES.join(", ");
            return Err(node.problem(format!("found `{other}`, one of {known} is needed")));
        }
    })
}

/// An instant of a line \[ns from the origin\], where it is there.
type At<'a> = dyn Fn(&str) -> Result<Option<i128>, Problem> + 'a;

fn signs(line: &Object<'_>, at: &At<'_>, sent: i128) -> Result<Signs, Problem> {
    let span = |from: Option<i128>, to: Option<i128>| {
        let nanos = from.zip(to).map(|(from, to)| (to - from).max(0))?;
        u64::try_from(nanos).ok().map(Duration::from_nanos)
    };
    let whole = |key: &str| {
        let count = line.count(key)?;
        Ok::<_, Problem>(count.map(|count| u32::try_from(count).unwrap_or(u32::MAX)))
    };
    let (started, looked_up) = (at("started_s")?, at("dns_s")?);
    let open = at("tls_s")?.or(at("connect_s")?);
    let outcome = line.text("outcome")?;
    let phase = line.text("phase")?.as_deref().and_then(Phase::of_name);
    // A connection that was refused never stood, and so was not lost.
    let is_lost = outcome.is_some_and(|outcome| outcome == "connection-fault")
        && !phase.is_some_and(Phase::is_set_up);
    Ok(Signs {
        dns: span(started, looked_up),
        connect: span(looked_up.or(started), open),
        reused: line.flag("reused")?,
        connection_lost: is_lost,
        gap_median: line.span("chunk_gap_median_s", Unit::Seconds)?,
        role_chunk: span(Some(sent), at("role_chunk_s")?),
        first_chunk_tokens: whole("first_chunk_tokens")?,
        cached_tokens: whole("cached_tokens")?,
        prompt_tokens: whole("prompt_tokens")?,
        ..Signs::default()
    })
}
