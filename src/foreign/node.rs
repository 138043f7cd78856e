//! JSON whose every value knows its line and its path.
//!
//! Values are kept as slices of the file ([`RawValue`]), so that a number keeps its digits and a wrong one can be named.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::decimal::{Unit, nanos, needed};
use super::problem::Problem;
use super::text::Text;
use crate::time::Duration;

/// A JSON value of a file.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    text: &'a Text,
    raw: &'a str,
    path: String,
}

/// A JSON object, its fields split.
#[derive(Clone, Debug)]
pub(crate) struct Object<'a> {
    node: Node<'a>,
    fields: Vec<(String, &'a str)>,
}

/// The values that stand in a file one after the other.
pub(crate) fn values(text: &Text) -> Result<Vec<Node<'_>>, Problem> {
    let stream = serde_json::Deserializer::from_str(text.as_str()).into_iter::<&RawValue>();
    let values = stream.map(|value| match value {
        Ok(raw) => Ok(Node {
            text,
            raw: raw.get(),
            path: String::new(),
        }),
        Err(error) => Err(not_json(text, &error)),
    });
    values.collect()
}

fn not_json(text: &Text, error: &serde_json::Error) -> Problem {
    let message = error.to_string();
    let what = message.split(" at line ").next().unwrap_or_default();
    // A text that ends too soon is wrong where its last word ends, not in the line behind it.
    let (line, column) = if error.is_eof() {
        text.end()
    } else {
        (error.line(), error.column())
    };
    Problem::at_line(
        text.number(line),
        format!("not JSON at column {column}: {what}"),
    )
}

impl<'a> Node<'a> {
    /// Line of the value, from one.
    pub(crate) fn line(&self) -> usize {
        self.text.line(self.text.offset(self.raw))
    }

    /// Something wrong with this value.
    pub(crate) fn problem(&self, why: impl Into<String>) -> Problem {
        Problem::at_field(self.line(), &self.path, why)
    }

    /// A problem that says what was found.
    fn unexpected(&self, wanted: &str) -> Problem {
        let mut found: String = self.raw.chars().take(40).collect();
        if let Some(word) = self.text.non_finite_at(self.text.offset(self.raw)) {
            word.clone_into(&mut found);
        } else if found.len() < self.raw.len() {
            found.push('…');
        }
        self.problem(format!("found {found}, {wanted} is needed"))
    }

    /// Whether it is `{…}`.
    pub(crate) fn is_object(&self) -> bool {
        self.raw.starts_with('{')
    }

    /// Whether it is `[…]`.
    pub(crate) fn is_array(&self) -> bool {
        self.raw.starts_with('[')
    }

    /// The object's fields.
    pub(crate) fn object(&self) -> Result<Object<'a>, Problem> {
        if !self.is_object() {
            return Err(self.unexpected("an object"));
        }
        let Fields(fields) = serde_json::from_str(self.raw).map_err(|error| self.broken(&error))?;
        let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(self.child(twice[0]).problem("stands there twice"));
        }
        Ok(Object {
            node: self.clone(),
            fields,
        })
    }

    fn broken(&self, error: &serde_json::Error) -> Problem {
        self.problem(not_json(self.text, error).why)
    }

    fn child(&self, key: &str) -> Self {
        let path = if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        };
        Self {
            path,
            ..self.clone()
        }
    }

    /// The elements of the list.
    pub(crate) fn items(&self) -> Result<Vec<Self>, Problem> {
        if !self.is_array() {
            return Err(self.unexpected("a list"));
        }
        let raws: Vec<&'a RawValue> =
            serde_json::from_str(self.raw).map_err(|error| self.broken(&error))?;
        let items = raws.into_iter().enumerate().map(|(index, raw)| Self {
            text: self.text,
            raw: raw.get(),
            path: format!("{}[{index}]", self.path),
        });
        Ok(items.collect())
    }

    /// The text of the value.
    pub(crate) fn string(&self) -> Result<String, Problem> {
        let is_word = self
            .text
            .non_finite_at(self.text.offset(self.raw))
            .is_some();
        let text = serde_json::from_str(self.raw).ok().filter(|_| !is_word);
        text.ok_or_else(|| self.unexpected("a text"))
    }

    /// The value as it stands there, a text without its quotes.
    pub(crate) fn plain(&self) -> String {
        self.string().unwrap_or_else(|_| {
            let word = self.text.non_finite_at(self.text.offset(self.raw));
            word.unwrap_or(self.raw).to_owned()
        })
    }

    /// The number.
    pub(crate) fn number(&self) -> Result<f64, Problem> {
        let number = serde_json::from_str::<f64>(self.raw).ok();
        let number = number.filter(|number| number.is_finite());
        number.ok_or_else(|| self.unexpected("a finite number"))
    }

    /// The whole number.
    pub(crate) fn count(&self) -> Result<u64, Problem> {
        let number = self.number().ok();
        let whole = number.filter(|number| *number >= 0.0 && number.fract() == 0.0);
        whole
            .map(|number| number as u64)
            .ok_or_else(|| self.unexpected("a whole number"))
    }

    /// Whether it is true.
    pub(crate) fn flag(&self) -> Result<bool, Problem> {
        let flag = self.raw.parse().ok();
        flag.ok_or_else(|| self.unexpected("true or false"))
    }

    /// The number of `unit`s as nanoseconds, exactly.
    pub(crate) fn nanos(&self, unit: Unit) -> Result<i128, Problem> {
        let found = nanos(self.raw, unit);
        found.ok_or_else(|| self.unexpected(&needed(self.raw, unit, "a finite number")))
    }

    /// The number of `unit`s as a span, which is not negative.
    pub(crate) fn span(&self, unit: Unit) -> Result<Duration, Problem> {
        let nanos = u64::try_from(self.nanos(unit)?).ok();
        nanos
            .map(Duration::from_nanos)
            .ok_or_else(|| self.unexpected(&needed(self.raw, unit, "a span that is not negative")))
    }
}

impl<'a> Object<'a> {
    /// The field of this name; `null` counts as none.
    pub(crate) fn get(&self, key: &str) -> Option<Node<'a>> {
        let (_, raw) = self.fields.iter().find(|(name, _)| name == key)?;
        (*raw != "null").then(|| Node {
            raw,
            ..self.node.child(key)
        })
    }

    /// The field of this name, which must be there.
    pub(crate) fn need(&self, key: &str) -> Result<Node<'a>, Problem> {
        self.get(key)
            .ok_or_else(|| self.node.child(key).problem("missing"))
    }

    /// Whether there is a field of this name, `null` or not.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.fields.iter().any(|(name, _)| name == key)
    }

    /// The names of the fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| name.as_str())
    }

    /// The object as a value.
    pub(crate) fn node(&self) -> &Node<'a> {
        &self.node
    }

    /// The text in a field, if it is there.
    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, Problem> {
        self.get(key).map(|node| node.string()).transpose()
    }

    /// The number in a field, if it is there.
    pub(crate) fn number(&self, key: &str) -> Result<Option<f64>, Problem> {
        self.get(key).map(|node| node.number()).transpose()
    }

    /// The whole number in a field, if it is there.
    pub(crate) fn count(&self, key: &str) -> Result<Option<u64>, Problem> {
        self.get(key).map(|node| node.count()).transpose()
    }

    /// Whether a field says true, if it is there.
    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, Problem> {
        self.get(key).map(|node| node.flag()).transpose()
    }

    /// The span in a field, if it is there.
    pub(crate) fn span(&self, key: &str, unit: Unit) -> Result<Option<Duration>, Problem> {
        self.get(key).map(|node| node.span(unit)).transpose()
    }

    /// The object in a field, if it is there.
    pub(crate) fn object(&self, key: &str) -> Result<Option<Self>, Problem> {
        self.get(key).map(|node| node.object()).transpose()
    }

    /// The list in a field, empty if it is not there.
    pub(crate) fn items(&self, key: &str) -> Result<Vec<Node<'a>>, Problem> {
        self.get(key).map_or(Ok(Vec::new()), |node| node.items())
    }
}

/// An object's fields in order, doubles included.
struct Fields<'a>(Vec<(String, &'a str)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((name, raw)) = map.next_entry::<String, &'de RawValue>()? {
            fields.push((name, raw.get()));
        }
        Ok(Fields(fields))
    }
}
