//! Files that other programs wrote, as requests that were seen.
//!
//! Whatever wrote a file, its rows become [`Observation`](crate::observation::Observation)s, so that one implementation of every
//! figure serves them all. A file is known by its content. It carries the definition of TTFT that its writer used ([`Tool::definition`]) and a list of what
//! it lacks, because two imports under different definitions must not be compared in silence.
//!
//! Rules for every format: warm-up requests are dropped and counted; a TTFT of exactly zero, a success without a token and an
//! error with a TTFT are failures; numbers are read digit by digit into nanoseconds; a malformed file is refused with line and
//! field, all its problems at once, and nothing of it is used.
//!
//! Source of the formats: the programs named in `tool`, in the versions that `measure.md` §3 describes.

mod aiperf;
mod column;
mod genai_perf;
mod guidellm;
mod inference_benchmarker;
mod inference_perf;
mod llmperf;
mod llmprobe;
mod own;
mod rows;
mod simulation;
mod starts;
mod tool;
mod vllm;

use jiff::tz::TimeZone;

use crate::foreign::node::{Node, Object, values};
use crate::foreign::text::Text;
use crate::measure::analysis::Row;
use crate::time::Duration;

pub use crate::foreign::{ImportError, Problem, Unit};
pub use column::SUCCESS_WORDS;
pub use starts::read_starts;
pub use tool::{Definition, First, Missing, OURS, SetUp, Start, Tool};

use column::Table;

/// How files are to be read where they leave a choice.
#[derive(Clone, Debug)]
pub struct Options {
    /// The zone of the hours of the day.
    pub zone: TimeZone,
    /// The column that holds the TTFT; files are then read as tables whatever wrote them.
    pub column: Option<String>,
    /// The unit of that column, where its name does not tell.
    pub unit: Option<Unit>,
    /// The column that holds when requests were sent.
    pub time_column: Option<String>,
    /// The unit of that column, where its name does not tell and it holds no dates.
    pub time_unit: Option<Unit>,
    /// The column that tells whether requests succeeded.
    pub status_column: Option<String>,
    /// Columns whose values split the rows.
    pub by: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            zone: TimeZone::UTC,
            column: None,
            unit: None,
            time_column: None,
            time_unit: None,
            status_column: None,
            by: Vec::new(),
        }
    }
}

/// A file as understood.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The file as the user named it.
    pub file: String,
    /// What wrote it.
    pub tool: Tool,
    /// The version of that, where the file tells.
    pub version: Option<String>,
    /// What the file does not hold.
    pub missing: Vec<Missing>,
    /// Warm-up requests that were dropped.
    pub discarded: usize,
    /// What else a reader should know.
    pub notes: Vec<String>,
    /// Requests, by what they were sent to.
    pub series: Vec<Series>,
    /// Figures that the file states without the requests behind them.
    pub stated: Vec<Stated>,
}

/// Requests to one model at one place in one session, in order of time where the file tells it.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Where they went; empty where the file does not say.
    pub target: String,
    /// The model; empty where the file does not say.
    pub model: String,
    /// The session; empty where there is none.
    pub session: String,
    /// When its first request was sent, from Monday 00:00, where the file has dates.
    pub began: Option<Duration>,
    /// The requests.
    pub rows: Vec<Row>,
}

/// Figures of many requests, as some program computed them. Times in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stated {
    /// Where they went; empty where the file does not say.
    pub target: String,
    /// The model; empty where the file does not say.
    pub model: String,
    /// What the figures are of, such as a stage of a run; empty where there is one only.
    pub session: String,
    /// Requests behind the TTFT figures.
    pub succeeded: Option<u64>,
    /// Requests that did not succeed.
    pub failed: Option<u64>,
    /// Median \[s\].
    pub median_s: Option<f64>,
    /// 95th percentile \[s\].
    pub p95_s: Option<f64>,
    /// Mean \[s\].
    pub mean_s: Option<f64>,
    /// Standard deviation \[s\].
    pub std_s: Option<f64>,
    /// Whether the deviation's divisor is `n - 1` and not `n`.
    pub is_sample_std: bool,
    /// Shortest \[s\].
    pub min_s: Option<f64>,
    /// Longest \[s\].
    pub max_s: Option<f64>,
}

impl Stated {
    /// Std/mean [%]; by the stated divisor, since nothing tells how many values it was.
    pub fn cv_percent(&self) -> Option<f64> {
        percent(self.std_s, self.mean_s)
    }

    /// Std/median [%].
    pub fn std_over_median_percent(&self) -> Option<f64> {
        percent(self.std_s, self.median_s)
    }

    /// The divisor of the standard deviation.
    pub fn divisor(&self) -> &'static str {
        if self.is_sample_std { "n-1" } else { "n" }
    }
}

fn percent(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    let (part, whole) = part.zip(whole)?;
    (whole > 0.0).then(|| 100.0 * part / whole)
}

/// What a reader of one format makes of a file; the rest of [`Imported`] is the same for all.
#[derive(Debug)]
struct Read {
    tool: Tool,
    version: Option<String>,
    missing: Vec<Missing>,
    discarded: usize,
    notes: Vec<String>,
    series: Vec<Series>,
    stated: Vec<Stated>,
}

impl Read {
    /// A file of this program, of which nothing has been read yet.
    fn new(tool: Tool) -> Self {
        Self {
            tool,
            version: None,
            missing: Vec::new(),
            discarded: 0,
            notes: Vec::new(),
            series: Vec::new(),
            stated: Vec::new(),
        }
    }
}

/// All that is wrong with a file.
type Problems = Vec<Problem>;

/// Reads a file of any known kind.
pub fn read(file: &str, bytes: Vec<u8>, options: &Options) -> Result<Imported, ImportError> {
    let read = understand(bytes, options).map_err(|problems| ImportError {
        file: file.to_owned(),
        problems,
    })?;
    let Read {
        tool,
        version,
        missing,
        discarded,
        notes,
        series,
        stated,
    } = read;
    Ok(Imported {
        file: file.to_owned(),
        tool,
        version,
        missing,
        discarded,
        notes,
        series,
        stated,
    })
}

fn understand(bytes: Vec<u8>, options: &Options) -> Result<Read, Problems> {
    let text = Text::new(bytes).map_err(|problem| vec![problem])?;
    let is_json = text.as_str().trim_start().starts_with(['{', '[']);
    if !is_json {
        return of_table(&text, options);
    }
    let is_own = text
        .as_str()
        .lines()
        .next()
        .is_some_and(|first| first.contains(own::SCHEMA));
    let (text, is_torn) = if is_own {
        text.without_torn_line()
    } else {
        (text, false)
    };
    let text = text.into_json();
    let values = values(&text).map_err(|problem| vec![problem])?;
    let mut read = of_json(&values, options)?;
    if is_torn {
        let note = "the last line is not whole: the program was killed while it wrote it";
        read.notes.push(note.to_owned());
    }
    if let Some((line, word, count)) = text.non_finite() {
        let more = match count {
            1 => String::new(),
            _ => format!(" and {} more such words", count - 1),
        };
        read.notes.push(format!(
            "bare {word} in line {line}{more}: no JSON, read as undefined"
        ));
    }
    Ok(read)
}

/// Reads CSV by what its head looks like.
fn of_table(text: &Text, options: &Options) -> Result<Read, Problems> {
    if options.column.is_none() && aiperf::is_csv(text) {
        return aiperf::read_csv(text);
    }
    if options.column.is_none() && guidellm::is_csv(text) {
        return guidellm::read_csv(text);
    }
    let table = Table::of_csv(text).map_err(|problem| vec![problem])?;
    if options.column.is_none() && simulation::is_one(&table) {
        return simulation::read(&table, options);
    }
    column::read(&table, options)
}

/// Reads JSON by what its first value looks like, or the first element of that.
fn of_json(values: &[Node<'_>], options: &Options) -> Result<Read, Problems> {
    let one = |problem| vec![problem];
    let Some(first) = values.first() else {
        return Err(vec![Problem::of_file("no value in it")]);
    };
    if options.column.is_some() {
        return column::read_json(values, options);
    }
    if first.is_array() {
        let items = first.items().map_err(one)?;
        let head = items.first().filter(|item| item.is_object());
        let head = head.map(Node::object).transpose().map_err(one)?;
        return match head {
            Some(head) if llmperf::is_request(&head) => llmperf::read_requests(&items, options),
            Some(head) if inference_perf::is_request(&head) => {
                inference_perf::read_requests(&items, options)
            }
            _ => column::read_json(values, options),
        };
    }
    if !first.is_object() {
        return column::read_json(values, options);
    }
    of_object(&first.object().map_err(one)?, values, options)
}

fn of_object(first: &Object<'_>, values: &[Node<'_>], options: &Options) -> Result<Read, Problems> {
    match first {
        header if own::is_header(header) => own::read(header, values, options),
        run if vllm::is_one(run) => vllm::read(values, options),
        record if aiperf::is_record(record) => aiperf::read_records(values, options),
        run if aiperf::is_aggregate(run) => aiperf::read_aggregate(run),
        run if guidellm::is_one(run) => guidellm::read(run, options),
        run if genai_perf::is_one(run) => genai_perf::read(run, options),
        run if inference_perf::is_summary(run) => inference_perf::read_summary(run),
        run if llmperf::is_summary(run) => llmperf::read_summary(run),
        run if inference_benchmarker::is_one(run) => inference_benchmarker::read(run),
        probe if llmprobe::is_one(probe) => llmprobe::read(values, options),
        _ => column::read_json(values, options),
    }
}
