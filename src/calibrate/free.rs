//! Values of a scenario that are free: where they stand, between what, and on which scale.
//!
//! A free value lives on `[0, 1)`, where the prior is uniform; the scale says what a place there means. So every prior is what
//! the scenario's author wrote: uniform in the value, in its logarithm, or over choices.

use std::fmt::Write as _;

/// Integers with at most so many values are treated as choices: between them nothing can be interpolated.
const FEW: u64 = 12;

/// A value that is free.
#[derive(Clone, Debug, PartialEq)]
pub struct Free {
    /// What results call it.
    pub name: String,
    /// Where it stands.
    pub place: Place,
    /// What it can be.
    pub range: Range,
}

/// Where a free value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the scenario, at a path as `--set` takes it.
    Path(String),
    /// Not in the scenario: how many requests reported figures are of.
    Requests,
    /// Not in the scenario: what reported figures mean by CV.
    CvDefinition,
}

/// What a free value can be.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// A number and its unit, uniform in its logarithm.
    Log(Ends),
    /// A number and its unit, uniform.
    Linear(Ends),
    /// A whole number, both ends included.
    Integer {
        /// The least.
        from: u64,
        /// The largest.
        to: u64,
    },
    /// One of some values, as `--set` takes them.
    Choice(Vec<String>),
}

/// A range of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Ends {
    /// The lower end, in the unit.
    pub from: f64,
    /// The upper end, in the unit.
    pub to: f64,
    /// What stands behind the number; empty for plain ones.
    pub unit: String,
}

impl Free {
    /// How many values there are to choose from; `None` where it is a number between two ends.
    pub fn choices(&self) -> Option<usize> {
        match &self.range {
            Range::Choice(values) => Some(values.len()),
            Range::Integer { from, to } if to - from < FEW => Some((to - from + 1) as usize),
            _ => None,
        }
    }

    /// The number at a place of `[0, 1)`, in the unit; for choices the index.
    pub fn number(&self, at: f64) -> f64 {
        match &self.range {
            Range::Log(ends) => (ends.from.ln() + at * (ends.to / ends.from).ln()).exp(),
            Range::Linear(ends) => ends.from + at * (ends.to - ends.from),
            Range::Integer { from, to } => {
                (*from + index(at, (to - from + 1) as usize) as u64) as f64
            }
            Range::Choice(values) => index(at, values.len()) as f64,
        }
    }

    /// Where a number of the range lies on `[0, 1)`.
    pub fn place_of(&self, number: f64) -> f64 {
        match &self.range {
            Range::Log(ends) => (number / ends.from).ln() / (ends.to / ends.from).ln(),
            Range::Linear(ends) => (number - ends.from) / (ends.to - ends.from),
            Range::Integer { from, to } => (number - *from as f64 + 0.5) / (to - from + 1) as f64,
            Range::Choice(values) => (number + 0.5) / values.len() as f64,
        }
    }

    /// The value at a place, as `--set` takes it: six digits, which is finer than any calibration.
    pub fn text(&self, at: f64) -> String {
        self.text_of(at, 6)
    }

    /// The same with so many digits.
    pub fn text_of(&self, at: f64, digits: u8) -> String {
        match &self.range {
            Range::Log(ends) | Range::Linear(ends) => {
                format!("{}{}", rounded(self.number(at), digits), ends.unit)
            }
            Range::Integer { .. } => format!("{}", self.number(at)),
            Range::Choice(values) => values[index(at, values.len())].clone(),
        }
    }

    /// The unit behind the number; empty where there is none.
    pub fn unit(&self) -> &str {
        match &self.range {
            Range::Log(ends) | Range::Linear(ends) => &ends.unit,
            Range::Integer { .. } | Range::Choice(_) => "",
        }
    }

    /// How large this share of the range is: for a logarithmic one the factor from end to end, for others a difference in the unit.
    pub fn extent(&self, share: f64) -> f64 {
        match &self.range {
            Range::Log(ends) => (ends.to / ends.from).powf(share),
            Range::Linear(ends) => share * (ends.to - ends.from),
            Range::Integer { from, to } => share * (to - from + 1) as f64,
            Range::Choice(values) => share * values.len() as f64,
        }
    }

    /// Whether ratios, not differences, are equally likely.
    pub fn is_logarithmic(&self) -> bool {
        matches!(self.range, Range::Log(_))
    }
}

/// The index of a choice among `count` at a place of `[0, 1)`.
fn index(at: f64, count: usize) -> usize {
    ((at * count as f64) as usize).min(count - 1)
}

/// A number to so many significant digits, without an exponent.
fn rounded(number: f64, digits: u8) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let decimals = i32::from(digits) - 1 - number.abs().log10().floor() as i32;
    let scale = 10_f64.powi(decimals);
    let mut text = String::new();
    let _ = write!(
        text,
        "{:.*}",
        decimals.max(0) as usize,
        (number * scale).round() / scale
    );
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(range: Range) -> Free {
        Free {
            name: "value".to_owned(),
            place: Place::Path("a.b".to_owned()),
            range,
        }
    }

    #[test]
    fn places_become_values_and_values_places() {
        let ends = |from, to, unit: &str| Ends {
            from,
            to,
            unit: unit.to_owned(),
        };
        let cases = [
            (Range::Log(ends(1.0, 100.0, "m")), 0.5, "10m"),
            (Range::Log(ends(0.001, 0.1, "/s")), 0.25, "0.00316228/s"),
            (Range::Linear(ends(0.0, 2.0, "")), 0.25, "0.5"),
            (Range::Integer { from: 2, to: 5 }, 0.99, "5"),
            (
                Range::Choice(vec!["fp8".into(), "bf16".into()]),
                0.5,
                "bf16",
            ),
        ];
        for (range, at, text) in cases {
            let free = free(range);
            assert_eq!(free.text(at), text);
            let back = free.place_of(free.number(at));
            assert_eq!(free.text(back), text);
        }
    }

    #[test]
    fn few_integers_are_choices_and_many_are_numbers() {
        assert_eq!(free(Range::Integer { from: 0, to: 3 }).choices(), Some(4));
        assert_eq!(free(Range::Integer { from: 1, to: 64 }).choices(), None);
    }
}
