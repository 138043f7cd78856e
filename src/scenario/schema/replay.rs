//! `arrivals.trace`: demand as a file recorded it.

use std::sync::Arc;

use super::super::{Kind, Reader, Variant};
use super::values::{MOST_RATE, rate};
use crate::foreign::{ImportError, Unit};
use crate::time::Duration;
use crate::trace::{Extent, Options, Replayed, Trace};
use crate::workload::{Pattern, Replay};

/// Copies of a trace that are superposed at most.
const MOST_FACTOR: f64 = 100.0;

/// Reads the table. A file that cannot be replayed is a problem of the scenario.
pub(super) fn read(inner: &mut Reader<'_>) -> Option<Pattern> {
    replay(inner, None).map(|replay| Pattern::Trace(Box::new(replay)))
}

/// Reads the table of a trace whose rows are dealt to all models of a popularity, which says how many requests there are.
pub(super) fn of_all_models(inner: &mut Reader<'_>, rate: f64) -> Option<Replay> {
    const SAID: [&str; 5] = ["rate", "rate_factor", "share", "share_before", "model"];
    let replay = replay(inner, Some(rate));
    for key in SAID {
        if !inner.is_given(key) {
            continue;
        }
        inner.problem_at(
            key,
            format!("`{key}` is for the popularity to say"),
            "deals the same rows a second time",
            "leave it out: popularity.rate is the rate, and popularity.law deals the rows to models",
        );
    }
    replay
}

fn replay(inner: &mut Reader<'_>, rate: Option<f64>) -> Option<Replay> {
    let file = inner.required("file", &Kind::text().example("\"trace.csv\""));
    let options = options(inner);
    let model = inner.optional("model", &Kind::text());
    let mut shape = Shape::read(inner);
    shape.rate = rate.or(shape.rate);
    if !inner.is_sound("file") {
        return None;
    }
    let path = inner.beside("file", &file);
    let opened = Trace::open(&file, &path, &options).and_then(|trace| {
        let replayed = Replayed {
            trace,
            model,
            keeps_failures: false,
        };
        let extent = replayed.extent()?;
        Ok((replayed, extent))
    });
    match opened {
        Ok((replayed, extent)) => shape.replay(inner, replayed, &extent),
        Err(error) => {
            refuse(inner, &error);
            None
        }
    }
}

/// Which columns hold what, in files that no known program wrote.
fn options(inner: &mut Reader<'_>) -> Options {
    let mut column = |key: &str| inner.optional(key, &Kind::text());
    let options = Options {
        time_column: column("time_column"),
        time_unit: None,
        prompt_column: column("prompt_column"),
        output_column: column("output_column"),
        model_column: column("model_column"),
        session_column: None,
    };
    let units = Unit::ALL.map(|unit| (unit.name(), unit));
    Options {
        time_unit: inner.optional("time_unit", &Kind::one_of(&units)),
        ..options
    }
}

/// How a trace is replayed, as written.
struct Shape {
    rate: Option<f64>,
    factor: f64,
    speed: f64,
    spread: Spread,
    skip: Duration,
    repeats: bool,
    slice: [f64; 2],
}

/// Over what rows of one stamp are spread.
enum Spread {
    Found,
    Nothing,
    Over(Duration),
}

impl Shape {
    fn read(inner: &mut Reader<'_>) -> Self {
        let rate = inner.optional("rate", &rate().positive());
        let factor = Kind::number().positive().at_most("100");
        let factor = inner.or_default("rate_factor", &factor, "1");
        if rate.is_some() && inner.is_given("rate_factor") {
            inner.problem_at(
                "rate_factor",
                "`rate` and `rate_factor` say the same in two ways",
                "is one too many",
                "leave one of them out",
            );
        }
        let speed = Kind::number().at_least("0.000001").at_most("1000000");
        let forms = [
            Variant::unit("found"),
            Variant::unit("none"),
            Variant::shorthand("over", "step"),
        ];
        let speed = inner.or_default("speed", &speed, "1");
        let (form, mut over) = inner.variant("spread", &forms, "found");
        let spread = match form {
            "found" => Spread::Found,
            "none" => Spread::Nothing,
            _ => Spread::Over(over.required("step", &Kind::duration().positive().at_most("7d"))),
        };
        over.finish();
        let ends = Kind::one_of(&[("repeat", true), ("stop", false)]);
        Self {
            rate,
            factor,
            speed,
            spread,
            skip: inner.or_default("skip", &Kind::duration(), "0s"),
            repeats: inner.or_default("at_end", &ends, "repeat"),
            slice: slice(inner),
        }
    }

    /// The replay, once the file is known.
    fn replay(self, inner: &mut Reader<'_>, replayed: Replayed, extent: &Extent) -> Option<Replay> {
        let step = self.step(inner, extent)?;
        let period = extent.period(step);
        if extent.replayed == 0 {
            let (message, help) = match &replayed.model {
                Some(model) => (
                    format!("the trace has no request to `{model}`"),
                    "name the column of models with model_column, and a model that is in it",
                ),
                None => (
                    "all requests of the trace failed".to_owned(),
                    "a failure has no tokens, and is not replayed",
                ),
            };
            inner.problem_at("file", message, "is read here", help);
            return None;
        }
        if self.skip > extent.span {
            let found = format!("the trace lasts {} s", extent.span.as_secs());
            inner.problem_at(
                "skip",
                "`skip` leaves nothing of the trace",
                found,
                "skip less",
            );
            return None;
        }
        if extent.span + step == Duration::ZERO {
            let help =
                "rows must differ in time, or be spread: spread = { over = { step = \"1s\" } }";
            let found = "all its rows have one time";
            inner.problem_at("file", "a trace of one instant has no rate", found, help);
            return None;
        }
        let rate = extent.replayed as f64 / period.as_secs();
        let own = rate * (self.slice[1] - self.slice[0]);
        let factor = self
            .rate
            .map_or(self.factor, |wanted| wanted / (own * self.speed));
        if factor > MOST_FACTOR || rate * factor * self.speed > MOST_RATE {
            let found = format!("is {factor:.0} times the trace's {:.6}/s", own * self.speed);
            let help = "at most 100 copies of a trace are superposed, and 1000000/s are replayed";
            inner.problem_at("rate", "the rate is too high for the trace", found, help);
            return None;
        }
        Some(Replay {
            source: Arc::new(replayed),
            rate,
            period,
            skip: self.skip,
            repeats: self.repeats,
            factor,
            speed: self.speed,
            step,
            lengths: extent.tells,
            slice: self.slice,
        })
    }

    /// The step over which rows of one stamp are spread; one longer than the time to the next stamp would change their order.
    fn step(&self, inner: &mut Reader<'_>, extent: &Extent) -> Option<Duration> {
        let step = match self.spread {
            Spread::Found => return Some(extent.step()),
            Spread::Nothing => return Some(Duration::ZERO),
            Spread::Over(step) => step,
        };
        let least = extent.least_gap.unwrap_or(step);
        if step > least {
            let found = format!("two stamps are {} s apart", least.as_secs());
            inner.problem_at(
                "spread",
                "`spread` is longer than the step between stamps",
                found,
                "give the step on which the stamps lie, or \"found\"",
            );
            return None;
        }
        Some(step)
    }
}

/// Which of the rows are this stream's: a share of them, and after which other shares. Streams whose shares lie side by side
/// deal the rows of a trace out among them.
fn slice(inner: &mut Reader<'_>) -> [f64; 2] {
    let share = Kind::percent().positive().at_most("100%");
    let share = inner.or_default("share", &share, "100%");
    let before = Kind::percent().non_negative().at_most("100%");
    let before = inner.or_default("share_before", &before, "0%");
    if before + share > 1.0 + 1e-9 {
        inner.problem_at(
            "share_before",
            "`share_before` and `share` make more than the whole trace",
            format!("makes {:.6} % with `share`", 100.0 * (before + share)),
            "all shares of a trace together are at most 100%",
        );
    }
    // A number is below one, so the last share takes all that is left.
    let end = before + share;
    [before, if end > 1.0 - 1e-9 { 1.0 } else { end }]
}

/// Says what is wrong with the file, line by line.
fn refuse(inner: &mut Reader<'_>, error: &ImportError) {
    const SHOWN: usize = 8;
    for problem in error.problems.iter().take(SHOWN) {
        let text = problem.to_string();
        let (why, help) = text
            .split_once("\nhelp: ")
            .unwrap_or((&text, "`thermocline trace` inspects a file"));
        inner.problem_at(
            "file",
            format!("{}: {why}", error.file),
            "is read here",
            help,
        );
    }
    if let Some(more @ 1..) = error.problems.len().checked_sub(SHOWN) {
        let why = format!("{}: and {more} more such problems", error.file);
        inner.problem_at("file", why, "is read here", "mend the file");
    }
}
