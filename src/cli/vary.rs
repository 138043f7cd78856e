//! What is varied: `PATH=VALUES`, with the path of `--set` and values as a list of single ones and ranges.
//!
//! A range has numbers with units of one kind at both ends: `0..8` goes up by one, `30s..120s:30s` by a step, `30s..32m*2` by a
//! factor. Its values are in the unit of its lower end. Both ends belong to it.

use std::str::FromStr;

use crate::report::sweep::Setting;
use crate::scenario::units::Quantity;
use crate::scenario::{Overrides, Varied};

/// The most values of one axis.
const MOST: usize = 1000;

/// A value of the scenario and what it becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// The path, as `--set` takes it.
    pub(super) path: String,
    /// The values, as `--set` takes them.
    pub(super) values: Vec<String>,
}

/// More settings than this are a mistake.
const MOST_SETTINGS: usize = 1000;

/// Every combination of the axes' values, the last axis fastest.
pub(super) fn settings(axes: &[Axis]) -> anyhow::Result<Vec<Setting>> {
    let mut settings = vec![Vec::new()];
    for axis in axes {
        let longer = settings.iter().flat_map(|setting: &Setting| {
            let with = |value: &String| [setting.as_slice(), std::slice::from_ref(value)].concat();
            axis.values.iter().map(with)
        });
        settings = longer.collect();
        if settings.len() > MOST_SETTINGS {
            anyhow::bail!("more than {MOST_SETTINGS} settings: use larger steps");
        }
    }
    Ok(settings)
}

/// The overrides with a setting behind them, which the `option` gave.
pub(super) fn over(
    common: &Overrides,
    option: &str,
    axes: &[Axis],
    setting: &[String],
) -> Overrides {
    let varied = axes.iter().zip(setting).map(|(axis, value)| Varied {
        option: option.to_owned(),
        argument: format!("{}={value}", axis.path),
    });
    Overrides {
        varied: varied.collect(),
        ..common.clone()
    }
}

impl Axis {
    /// Which end of the axis a value is: the lowest or the highest; `None` between them, and where values have no order.
    pub(super) fn end(&self, value: &str) -> Option<&'static str> {
        let read: Result<Vec<(f64, &str)>, String> =
            self.values.iter().map(|one| number(one)).collect();
        let read = read.ok()?;
        let (own, unit) = number(value).ok()?;
        if read.len() < 2 || read.iter().any(|(_, other)| *other != unit) {
            return None;
        }
        let is_lowest = read.iter().all(|(other, _)| own <= *other);
        let is_highest = read.iter().all(|(other, _)| own >= *other);
        match (is_lowest, is_highest) {
            (true, false) => Some("lowest"),
            (false, true) => Some("highest"),
            _ => None,
        }
    }
}

impl FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((path, values)) = text.split_once('=') else {
            return Err(
                "no `=`; write PATH=VALUES, for example benchmark.requests=20,75".to_owned(),
            );
        };
        let mut all = Vec::new();
        for part in parts(values) {
            all.extend(expanded(part.trim())?);
            if all.len() > MOST {
                return Err(format!("more than {MOST} values; use a larger step"));
            }
        }
        Ok(Self {
            path: path.trim().to_owned(),
            values: all,
        })
    }
}

/// Splits at commas outside of quotes, brackets and braces.
fn parts(values: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut start) = (0_u32, None, 0);
    let mut parts = Vec::new();
    for (at, letter) in values.char_indices() {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(letter),
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth = depth.saturating_sub(1),
            (',', None) if depth == 0 => {
                parts.push(&values[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&values[start..]);
    parts
}

/// The values of one part.
fn expanded(part: &str) -> Result<Vec<String>, String> {
    if part.is_empty() {
        return Err("a value is missing between commas".to_owned());
    }
    let is_toml = part.starts_with(['[', '{', '"', '\'']);
    match part.split_once("..") {
        Some((low, rest)) if !is_toml => range(low, rest),
        _ => Ok(vec![part.to_owned()]),
    }
}

/// How a range goes on.
#[derive(Clone, Copy)]
enum Advance {
    By(f64),
    Times(f64),
}

fn range(low: &str, rest: &str) -> Result<Vec<String>, String> {
    let whole = || format!("`{low}..{rest}`");
    let (high, advance) = match (rest.split_once(':'), rest.split_once('*')) {
        (Some((high, step)), _) => (high, Some((step, false))),
        (None, Some((high, factor))) => (high, Some((factor, true))),
        (None, None) => (rest, None),
    };
    let start = quantity(low)?;
    let (from, unit) = (start.number, start.unit.as_str());
    let Some(to) = quantity(high)?.in_unit_of(&start) else {
        return Err(format!("{}: both ends need units of one kind", whole()));
    };
    let advance = match advance {
        None if unit.is_empty() => Advance::By(1.0),
        None => {
            return Err(format!(
                "{}: say the step, as in {low}..{rest}:{low}",
                whole()
            ));
        }
        Some((text, true)) => Advance::Times(number(text)?.0),
        Some((text, false)) => {
            let step = quantity(text)?.in_unit_of(&start);
            let says = "the step needs a unit of the same kind as the ends";
            Advance::By(step.ok_or_else(|| format!("{}: {says}", whole()))?)
        }
    };
    let is_endless = match advance {
        Advance::By(step) => step <= 0.0,
        Advance::Times(factor) => factor <= 1.0 || from <= 0.0,
    };
    if from > to || is_endless {
        return Err(format!("{}: ranges go up, and so must the step", whole()));
    }
    let values = values(from, to, advance);
    if values.len() > MOST {
        return Err(format!("{}: more than {MOST} values", whole()));
    }
    Ok(values
        .into_iter()
        .map(|value| format!("{value}{unit}"))
        .collect())
}

/// The values from `from` to `to`; each is computed from the start, so that rounding does not add up.
fn values(from: f64, to: f64, advance: Advance) -> Vec<f64> {
    // A hair more, so that 0.1..0.3:0.1 has its end.
    let last = to * (1.0 + 1e-12);
    let value = |index: i32| match advance {
        Advance::By(step) => from + step * f64::from(index),
        Advance::Times(factor) => from * factor.powi(index),
    };
    // As a person would write it: 0.3, not 0.30000000000000004.
    let short = |value: f64| format!("{value:.12}").parse().unwrap_or(value);
    (0..=i32::try_from(MOST).unwrap_or(i32::MAX))
        .map(value)
        .take_while(|value| *value <= last)
        .map(short)
        .collect()
}

fn quantity(text: &str) -> Result<Quantity, String> {
    let (number, unit) = number(text)?;
    let unit = unit.to_owned();
    Ok(Quantity { number, unit })
}

/// A number and the unit behind it.
fn number(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text
        .find(|letter: char| !(letter.is_ascii_digit() || letter == '.' || letter == '-'))
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((value, unit.trim())),
        _ => Err(format!("`{text}` is not a number with a unit")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_become_values() {
        let cases = [
            ("a=1,2,8", "1 2 8"),
            ("a=0..4", "0 1 2 3 4"),
            ("a=0..8:4,16", "0 4 8 16"),
            ("a=30s..90s:30s", "30s 60s 90s"),
            ("a=1s..10s*2", "1s 2s 4s 8s"),
            ("a=0.1..0.3:0.1", "0.1 0.2 0.3"),
            ("a=30s..2m*2", "30s 60s 120s"),
            ("a=1m..3m:30s", "1m 1.5m 2m 2.5m 3m"),
            ("a=500ms..1s:250ms", "500ms 750ms 1000ms"),
            ("a=[1,2],[3]", "[1,2] [3]"),
            ("a=\"x,y\",z", "\"x,y\" z"),
            ("providers.*.b = fp8, bf16", "fp8 bf16"),
        ];
        for (text, expected) in cases {
            let axis: Axis = text.parse().expect(text);
            assert_eq!(axis.values.join(" "), expected, "{text}");
        }
        let spaced: Axis = "a.b = 1".parse().expect("one value");
        assert_eq!(spaced.path, "a.b");
    }

    #[test]
    fn only_numbers_of_one_unit_have_ends() {
        let cases = [
            ("a=0..4", "0", Some("lowest")),
            ("a=0..4", "4", Some("highest")),
            ("a=0..4", "2", None),
            ("a=30s..90s:30s", "90s", Some("highest")),
            ("a=30s,2m", "2m", None),
            ("a=h100-sxm,b200", "b200", None),
            ("a=3", "3", None),
        ];
        for (text, value, expected) in cases {
            let axis: Axis = text.parse().expect(text);
            assert_eq!(axis.end(value), expected, "{text}: {value}");
        }
    }

    #[test]
    fn what_is_no_range_says_why() {
        let cases = [
            ("a", "no `=`"),
            ("a=1,,2", "missing between commas"),
            ("a=8..0", "ranges go up"),
            ("a=0..8:0", "ranges go up"),
            ("a=0..8*2", "ranges go up"),
            ("a=1s..8s", "say the step"),
            ("a=1s..8GB:1s", "units of one kind"),
            ("a=1..8s:1s", "units of one kind"),
            ("a=1s..8s:1GB", "a unit of the same kind"),
            ("a=x..8", "not a number"),
            ("a=0..1000000", "more than 1000 values"),
        ];
        for (text, expected) in cases {
            let error = text.parse::<Axis>().expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
