//! How a value is written: its notation, its limits, and its printed form.

use std::fmt;
use std::rc::Rc;

use super::document::{Node, Value, to_toml};
use super::problem::{Complaint, Part, SourceId, Span, suggest};
use super::units::{self, Parsed, quoted};
use crate::time::Duration;

/// Reads a value.
type Read<T> = dyn Fn(&Node) -> Parsed<T>;

/// A kind of value: reads it from the scenario and prints it as TOML that reads back to the same value.
///
/// Limits are added with [`positive`](Self::positive), [`at_least`](Self::at_least), [`at_most`](Self::at_most) and
/// [`must`](Self::must), lists made with [`list`](Self::list).
pub struct Kind<T> {
    /// With an article: `a duration`.
    what: String,
    /// As TOML.
    example: String,
    read: Rc<Read<T>>,
    show: Rc<dyn Fn(&T) -> String>,
}

impl<T> Clone for Kind<T> {
    fn clone(&self) -> Self {
        Self {
            what: self.what.clone(),
            example: self.example.clone(),
            read: Rc::clone(&self.read),
            show: Rc::clone(&self.show),
        }
    }
}

impl<T> fmt::Debug for Kind<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({})", self.what)
    }
}

impl<T: 'static> Kind<T> {
    fn new(
        what: &str,
        example: &str,
        read: impl Fn(&Value) -> Option<Parsed<T>> + 'static,
        show: impl Fn(&T) -> String + 'static,
    ) -> Self {
        let help = format!("write {what}, for example {example}");
        let must = format!("must be {what}");
        Self {
            what: what.to_owned(),
            example: example.to_owned(),
            read: Rc::new(move |node| {
                read(&node.value).unwrap_or_else(|| {
                    Err(Complaint::new(
                        &must,
                        format!("is {}", describe(node)),
                        &help,
                    ))
                })
            }),
            show: Rc::new(show),
        }
    }

    /// A quantity written as text with its unit.
    fn unit(
        what: &str,
        example: &str,
        read: fn(&str) -> Parsed<T>,
        show: impl Fn(&T) -> String + 'static,
    ) -> Self {
        let (noun, instance) = (what.to_owned(), example.to_owned());
        let read = move |value: &Value| match value {
            Value::String(text) => Some(read(text)),
            Value::Integer(_) | Value::Float(_) => Some(Err(Complaint::new(
                format!("must be {noun}"),
                "has no unit",
                format!("write a unit, for example {instance}"),
            ))),
            _ => None,
        };
        Self::new(what, example, read, move |value| quoted(&show(value)))
    }

    /// Adds a requirement; `allowed` goes after `must`: `be at least 1`, `not be empty`.
    #[must_use]
    pub fn must(mut self, allowed: impl Into<String>, test: impl Fn(&T) -> bool + 'static) -> Self {
        let (allowed, read, show) = (allowed.into(), Rc::clone(&self.read), Rc::clone(&self.show));
        // The example may fail a requirement: then it is no help, and the next requirement must not mind.
        let example = self.program_value(&self.example).ok().filter(&test);
        let help = example.map(|_| format!("write {}, for example {}", self.what, self.example));
        self.read = Rc::new(move |node| {
            let value = read(node)?;
            if test(&value) {
                return Ok(value);
            }
            Err(Complaint {
                says: format!("must {allowed}"),
                // As written where it is short, so that the reader knows it again.
                found: match &node.value {
                    Value::Array(_) | Value::Table(_) => format!("is {}", show(&value)),
                    _ => format!("is {}", describe(node)),
                },
                help: help.clone(),
                part: None,
            })
        });
        self
    }

    /// Another example for help, and to go on with when a required value is missing; as TOML or bare text.
    #[must_use]
    pub fn example(mut self, example: &str) -> Self {
        self.example = (self.show)(&self.default_value(example));
        self
    }

    /// A list of such values; problems point to the element.
    #[must_use]
    pub fn list(self) -> Kind<Vec<T>> {
        let example = format!("[{}]", self.example);
        let must = format!("must be a list, each {}", self.what);
        let help = format!("write a list, for example {example}");
        let show = self.show;
        let read = self.read;
        Kind {
            what: format!("a list, each {}", self.what),
            example,
            read: Rc::new(move |node| match &node.value {
                Value::Array(items) => {
                    let item = |(index, item): (usize, &Node)| {
                        read(item).map_err(|mut complaint| {
                            let (rest, span) = match complaint.part.take() {
                                Some(part) => (part.path, part.span),
                                None => (String::new(), item.span),
                            };
                            let path = format!(".{index}{rest}");
                            complaint.part = Some(Box::new(Part { path, span }));
                            complaint
                        })
                    };
                    items.iter().enumerate().map(item).collect()
                }
                _ => Err(Complaint::new(
                    &must,
                    format!("is {}", describe(node)),
                    &help,
                )),
            }),
            show: Rc::new(move |values| {
                let texts: Vec<String> = values.iter().map(|value| show(value)).collect();
                format!("[{}]", texts.join(", "))
            }),
        }
    }

    /// Reads the value.
    pub(super) fn read(&self, node: &Node) -> Parsed<T> {
        (self.read)(node)
    }

    /// The value as TOML.
    pub(super) fn show(&self, value: &T) -> String {
        (self.show)(value)
    }

    /// The example as TOML.
    pub(super) fn example_text(&self) -> &str {
        &self.example
    }

    /// The value of a text that the program itself gives.
    ///
    /// # Panics
    /// If the text is no such value: defaults are part of the program.
    pub(super) fn default_value(&self, text: &str) -> T {
        match self.program_value(text) {
            Ok(value) => value,
            Err(complaint) => panic!(
                "the default {text} {}: it {}",
                complaint.says, complaint.found
            ),
        }
    }

    /// The value of a text that the program itself gives, as TOML or bare.
    fn program_value(&self, text: &str) -> Parsed<T> {
        let value = self.read(&default_node(text, Span::FILE));
        value.or_else(|complaint| {
            let value = Value::String(text.to_owned());
            let span = Span::FILE;
            self.read(&Node { value, span }).map_err(|_| complaint)
        })
    }
}

impl<T: PartialOrd + 'static> Kind<T> {
    /// Allows nothing below `least`, written as in a scenario.
    #[must_use]
    pub fn at_least(self, least: &str) -> Self {
        let limit = self.default_value(least);
        self.must(format!("be at least {least}"), move |value| *value >= limit)
    }

    /// Allows nothing above `most`, written as in a scenario.
    #[must_use]
    pub fn at_most(self, most: &str) -> Self {
        let limit = self.default_value(most);
        self.must(format!("be at most {most}"), move |value| *value <= limit)
    }
}

impl<T: PartialOrd + Default + 'static> Kind<T> {
    /// Allows only what is greater than zero.
    #[must_use]
    pub fn positive(self) -> Self {
        self.must("be positive", |value| *value > T::default())
    }

    /// Allows only zero and what is greater.
    #[must_use]
    pub fn non_negative(self) -> Self {
        self.must("not be negative", |value| *value >= T::default())
    }
}

impl<T: Clone + 'static> Kind<T> {
    /// One of some names, each with what it stands for.
    pub fn one_of(choices: &[(&'static str, T)]) -> Self
    where
        T: PartialEq,
    {
        let choices = choices.to_vec();
        let shown = choices.clone();
        let names: Vec<&str> = choices.iter().map(|&(name, _)| name).collect();
        let what = format!("one of {}", names.join(", "));
        let example = names.first().map_or_else(String::new, |name| quoted(name));
        let read = move |value: &Value| match value {
            Value::String(text) => {
                let found = choices.iter().find(|(name, _)| name == text);
                Some(found.map(|(_, choice)| choice.clone()).ok_or_else(|| {
                    let says = format!("must be one of {}", names.join(", "));
                    Complaint::new(says, format!("is {}", quoted(text)), suggest(text, &names))
                }))
            }
            _ => None,
        };
        Self::new(&what, &example, read, move |value| {
            let found = shown.iter().find(|(_, choice)| choice == value);
            found.map_or_else(String::new, |(name, _)| quoted(name))
        })
    }
}

impl Kind<String> {
    /// Any text.
    pub fn text() -> Self {
        let read = |value: &Value| match value {
            Value::String(text) => Some(Ok(text.clone())),
            _ => None,
        };
        Self::new("a text", "\"name\"", read, |text| quoted(text))
    }
}

impl Kind<String> {
    /// Any value, as TOML.
    pub fn toml() -> Self {
        let read = |value: &Value| Some(Ok(to_toml(value).to_string()));
        Self::new("a value", "1", read, String::clone)
    }
}

impl Kind<units::Quantity> {
    /// A number with or without a unit, such as `"5m"`, `"0.4/s"` or `3`.
    pub fn quantity() -> Self {
        let plain = |number| units::Quantity {
            number,
            unit: String::new(),
        };
        let read = move |value: &Value| match value {
            Value::String(text) => Some(units::any(text)),
            value => finite(value).map(plain).map(Ok),
        };
        Self::new(
            "a number with or without a unit",
            "3",
            read,
            units::print_any,
        )
    }
}

impl Kind<bool> {
    /// `true` or `false`.
    pub fn boolean() -> Self {
        let read = |value: &Value| match value {
            Value::Boolean(value) => Some(Ok(*value)),
            _ => None,
        };
        Self::new("true or false", "true", read, bool::to_string)
    }
}

impl Kind<u64> {
    /// A whole number from zero; `1e6` is one too.
    pub fn whole() -> Self {
        let read = |value: &Value| match *value {
            Value::Integer(value) => Some(u64::try_from(value).map_err(|_| {
                let help = "write a whole number, for example 1";
                Complaint::new("must not be negative", format!("is {value}"), help)
            })),
            Value::Float(value) if (0.0..1e15).contains(&value) && value.fract() == 0.0 => {
                Some(Ok(value as u64))
            }
            _ => None,
        };
        Self::new("a whole number", "1", read, u64::to_string)
    }

    /// A size such as `"16GiB"` \[bytes\].
    pub fn bytes() -> Self {
        Self::unit("a size", "\"16GiB\"", units::bytes, |bytes| {
            units::print_bytes(*bytes)
        })
    }
}

impl Kind<Duration> {
    /// A span such as `"5m"`.
    pub fn duration() -> Self {
        Self::unit("a duration", "\"90s\"", units::duration, |span| {
            units::print_duration(*span)
        })
    }

    /// A time of day such as `"08:00"`, since midnight.
    pub fn time_of_day() -> Self {
        let show = |time: &Duration| units::print_time_of_day(*time);
        Self::unit("a time of day", "\"08:00\"", units::time_of_day, show)
    }

    /// A time of the week such as `"Mon 14:00"`, since Monday's midnight.
    pub fn time_of_week() -> Self {
        let show = |time: &Duration| units::print_time_of_week(*time);
        Self::unit(
            "a time of the week",
            "\"Mon 14:00\"",
            units::time_of_week,
            show,
        )
    }
}

impl Kind<f64> {
    /// A finite number.
    pub fn number() -> Self {
        let read = |value: &Value| finite(value).map(Ok);
        Self::new("a finite number", "1.5", read, |value| {
            units::print_number(*value)
        })
    }

    /// A finite number, or a name that stands for one.
    pub fn number_or(names: &'static [(&'static str, f64)]) -> Self {
        let known: Vec<&str> = names.iter().map(|&(name, _)| name).collect();
        let what = format!("a finite number or one of {}", known.join(", "));
        let must = format!("must be {what}");
        let read = move |value: &Value| match value {
            Value::String(text) => {
                let found = names.iter().find(|(name, _)| name == text);
                Some(found.map(|&(_, number)| number).ok_or_else(|| {
                    Complaint::new(&must, format!("is {}", quoted(text)), suggest(text, &known))
                }))
            }
            value => finite(value).map(Ok),
        };
        Self::new(&what, "1.5", read, |value| units::print_number(*value))
    }

    /// A share, as `"70%"` or as the number `0.7` \[1\].
    pub fn percent() -> Self {
        let read = |value: &Value| match value {
            Value::String(text) => Some(units::percent(text)),
            value => finite(value).map(Ok),
        };
        Self::new("a share", "\"70%\"", read, |share| {
            units::print_percent(*share)
        })
    }

    /// A rate such as `"0.4/s"` [1/s].
    pub fn rate() -> Self {
        Self::unit("a rate", "\"0.4/s\"", units::rate, |rate| {
            units::print_rate(*rate)
        })
    }

    /// A bandwidth such as `"12.5GB/s"` [bytes/s].
    pub fn bandwidth() -> Self {
        let show = |bandwidth: &f64| units::print_bandwidth(*bandwidth);
        Self::unit("a bandwidth", "\"12.5GB/s\"", units::bandwidth, show)
    }

    /// A price such as `"3.30usd/h"` [USD/h].
    pub fn price() -> Self {
        Self::unit("a price", "\"3.30usd/h\"", units::price, |price| {
            units::print_price(*price)
        })
    }
}

fn finite(value: &Value) -> Option<f64> {
    match *value {
        Value::Integer(value) => Some(value as f64),
        Value::Float(value) => Some(value).filter(|value| value.is_finite()),
        _ => None,
    }
}

/// What stands there, in a few words.
pub(super) fn describe(node: &Node) -> String {
    match &node.value {
        Value::String(text) if text.chars().count() > 40 => "a longer text".to_owned(),
        Value::String(text) => quoted(text),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => format!("{value:?}"),
        Value::Boolean(value) => value.to_string(),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
    }
}

/// A default as a value, standing where `span` says.
pub(super) fn default_node(text: &str, span: Span) -> Node {
    let parsed = super::document::parse_value(text, 0, &|_| span, &mut Vec::new());
    parsed.unwrap_or_else(|_| Node {
        value: Value::String(text.to_owned()),
        span,
    })
}

/// Whether something was written in a `--set` argument rather than in the file.
pub(super) fn is_override(source: SourceId) -> bool {
    source != SourceId::FILE
}
