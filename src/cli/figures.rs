//! Figures on the command line: `median=0.55s,p95=6.3s,cv=541%,n=75`.

use anyhow::anyhow;

use crate::import::Unit;
use crate::measure::feasible::{Divisor, Published, Rounded};
use crate::measure::reported::Reported;
use crate::scenario::did_you_mean;
use crate::stats::CvDefinition;

/// What can be given of figures that are only examined.
pub(super) const REPORTED: &[&str] =
    &["median", "p95", "cv", "n", "std", "timeout", "max", "floor"];
/// What can be given of figures that something is fitted to.
pub(super) const SUMMARY: &[&str] = &[
    "median",
    "p95",
    "cv",
    "n",
    "std",
    "timeout",
    "max",
    "floor",
    "cv-definition",
];

/// Figures as given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    pub(super) published: Published,
    pub(super) n: Option<usize>,
    pub(super) std: Option<Rounded>,
    pub(super) max: Option<Rounded>,
    pub(super) timeout_s: Option<f64>,
    pub(super) floor_s: f64,
    pub(super) definition: Option<CvDefinition>,
}

impl Given {
    /// As something that can be or not.
    pub(super) fn reported(&self) -> Reported {
        let max = self.max.map(|one| one.value + one.half_unit);
        Reported {
            published: self.published,
            n: self.n,
            std: self.std,
            cap_s: [self.timeout_s, max].into_iter().flatten().reduce(f64::min),
            floor_s: self.floor_s,
        }
    }
}

/// Reads figures that `option` gives, of which `keys` are known; says everything that is wrong with them at once.
pub(super) fn parse(option: &str, text: &str, keys: &[&'static str]) -> anyhow::Result<Given> {
    let mut fields = Fields {
        keys: keys.to_vec(),
        ..Fields::default()
    };
    for part in text.split(',').map(str::trim) {
        fields.read(part);
    }
    fields.given().map_err(|problems| {
        let lines: Vec<String> = problems
            .iter()
            .map(|problem| format!("{option}: {problem}"))
            .collect();
        anyhow!(
            "{}\nhelp: such as median=0.55s,p95=6.3s,cv=541%,n=75,timeout=120s",
            lines.join("\n")
        )
    })
}

#[derive(Default)]
struct Fields {
    keys: Vec<&'static str>,
    definition: Option<CvDefinition>,
    spans: Vec<(&'static str, Rounded)>,
    cv: Option<Rounded>,
    n: Option<usize>,
    seen: Vec<String>,
    problems: Vec<String>,
}

impl Fields {
    fn read(&mut self, part: &str) {
        let Some((key, value)) = part.split_once('=') else {
            self.problems
                .push(format!("found `{part}`, a key=value is needed"));
            return;
        };
        let (key, value) = (key.trim(), value.trim());
        if self.seen.iter().any(|seen| seen == key) {
            self.problems.push(format!("`{key}` is given twice"));
            return;
        }
        self.seen.push(key.to_owned());
        let keys = &self.keys;
        let Some(&known) = keys.iter().find(|known| **known == key) else {
            let help = did_you_mean(key, keys.iter().copied()).map_or_else(
                || format!("known: {}", keys.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            self.problems.push(format!("unknown key `{key}`; {help}"));
            return;
        };
        match known {
            "n" => match value.parse() {
                Ok(n) if n >= 5 => self.n = Some(n),
                _ => self.problems.push(format!(
                    "n: found `{value}`, a whole number from 5 on is needed"
                )),
            },
            "cv" => match value
                .strip_suffix('%')
                .and_then(|cv| Rounded::parse(cv.trim()))
            {
                Some(cv) => self.cv = Some(cv),
                None => self.problems.push(format!(
                    "cv: found `{value}`, a percentage such as 541% is needed"
                )),
            },
            "cv-definition" => match value.parse() {
                Ok(definition) => self.definition = Some(definition),
                Err(error) => self.problems.push(format!("cv-definition: {error}")),
            },
            span => match seconds(value) {
                Some(value) => self.spans.push((span, value)),
                None => self.problems.push(format!(
                    "{span}: found `{value}`, a time with its unit such as 0.55s or 550ms is needed"
                )),
            },
        }
    }

    fn span(&self, key: &str) -> Option<Rounded> {
        let found = self.spans.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| *value)
    }

    fn given(mut self) -> Result<Given, Vec<String>> {
        for key in ["median", "p95", "cv"] {
            if !self.seen.iter().any(|seen| seen == key) {
                self.problems.push(format!("`{key}` is missing"));
            }
        }
        let found = self.span("median").zip(self.span("p95")).zip(self.cv);
        let Some(((median, p95), cv_percent)) = found.filter(|_| self.problems.is_empty()) else {
            return Err(self.problems);
        };
        let floor_s = self.span("floor").map_or(0.0, |floor| floor.value);
        let orders = [
            (median.value <= 0.0, "the median must be above zero"),
            (
                p95.value + p95.half_unit < median.value - median.half_unit,
                "p95 is below the median",
            ),
            (floor_s > median.value, "the floor is above the median"),
        ];
        let wrong = orders.into_iter().filter(|(is_wrong, _)| *is_wrong);
        self.problems.extend(wrong.map(|(_, why)| why.to_owned()));
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        Ok(Given {
            published: Published {
                median,
                p95,
                cv_percent,
                divisor: Divisor::Population,
            },
            n: self.n,
            std: self.span("std"),
            max: self.span("max"),
            timeout_s: self.span("timeout").map(|one| one.value),
            floor_s,
            definition: self.definition,
        })
    }
}

/// A time with its unit as it is printed, in seconds.
fn seconds(text: &str) -> Option<Rounded> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (number, sign) = text.split_at(end);
    let number = Rounded::parse(number)?;
    let scale = match sign.trim() {
        "min" => 60.0,
        sign => match sign.parse::<Unit>().ok()? {
            Unit::Seconds => 1.0,
            Unit::Milliseconds => 1e-3,
            Unit::Microseconds => 1e-6,
            Unit::Nanoseconds => 1e-9,
        },
    };
    Some(Rounded {
        value: number.value * scale,
        half_unit: number.half_unit * scale,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_carry_their_rounding_and_their_unit() {
        let text = "median=550ms, p95=6.3s, cv=541%, n=75, timeout=2min, std=3.0s";
        let found = parse("--reported", text, REPORTED)
            .expect("sound")
            .reported();
        assert!((found.published.median.value - 0.55).abs() < 1e-12);
        assert!((found.published.median.half_unit - 0.0005).abs() < 1e-12);
        assert_eq!((found.n, found.cap_s), (Some(75), Some(120.0)));
        assert_eq!(found.std.map(|std| std.value), Some(3.0));
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let text = "medain=1s,p95=6.3,cv=541,n=x,n=3,std";
        let error = parse("--reported", text, REPORTED)
            .expect_err("wrong")
            .to_string();
        for part in [
            "unknown key `medain`; did you mean `median`?",
            "p95: found `6.3`, a time with its unit",
            "cv: found `541`, a percentage",
            "n: found `x`",
            "`n` is given twice",
            "found `std`, a key=value is needed",
            "`median` is missing",
        ] {
            assert!(error.contains(part), "{part} is missing in:\n{error}");
        }
        let swapped = parse("--summary", "median=5s,p95=1s,cv=20%", SUMMARY)
            .expect_err("wrong")
            .to_string();
        assert!(swapped.contains("p95 is below the median"), "{swapped}");
    }
}
