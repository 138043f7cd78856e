//! The entries of one kind, as typed values and as the tables they were written as.
//!
//! The table is kept so that an overlay can change single keys, and so that an entry can be listed with exactly the keys it
//! was given.

use super::entries::Confidence;
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use std::fmt;
use std::sync::OnceLock;
use toml::{Table, Value};

/// A value out of range: which key, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    key: &'static str,
    message: String,
}

impl Fault {
    pub(super) fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self {
            key,
            message: message.into(),
        }
    }
}

pub(super) fn positive(key: &'static str, value: f64) -> Result<(), Fault> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Fault::new(key, format!("must be positive, is {value}")))
}

pub(super) fn at_least(key: &'static str, value: f64, low: f64) -> Result<(), Fault> {
    if value >= low {
        return Ok(());
    }
    Err(Fault::new(
        key,
        format!("must be at least {low}, is {value}"),
    ))
}

pub(super) fn between(key: &'static str, value: f64, low: f64, high: f64) -> Result<(), Fault> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Fault::new(
        key,
        format!("must be between {low} and {high}, is {value}"),
    ))
}

/// What every entry can tell.
pub trait Entry: DeserializeOwned + Clone + fmt::Debug {
    /// Name within its kind.
    fn id(&self) -> &str;
    /// Where its figures come from.
    fn source(&self) -> &str;
    /// How far to trust them.
    fn confidence(&self) -> Confidence;
    /// Whether its values are in range.
    fn check(&self) -> Result<(), Fault>;
}

/// Why an entry cannot be added or changed. Reads as one line; `key` lets a caller point at the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", self.place())]
pub struct EntryProblem {
    /// The kind, as written.
    pub kind: String,
    /// The entry, as written.
    pub id: String,
    /// The key at fault, unless the problem is the kind itself.
    pub key: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What is allowed.
    pub help: Option<String>,
}

impl EntryProblem {
    pub(super) fn new(kind: &str, id: &str, message: impl Into<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            id: id.to_owned(),
            key: None,
            message: message.into(),
            help: None,
        }
    }

    fn at(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn place(&self) -> String {
        match &self.key {
            Some(key) => format!("{} {}, {key}: ", self.kind, self.id),
            None => String::new(),
        }
    }
}

/// The entries of one kind, in the order they were written.
///
/// The shipped ones are read when somebody first asks: most scenarios use few kinds.
#[derive(Clone, Debug)]
pub struct Shelf<T> {
    kind: &'static str,
    shipped: &'static str,
    entries: OnceLock<Vec<(Table, T)>>,
}

impl<T: Entry> Shelf<T> {
    /// The shelf of a shipped table.
    pub(super) const fn shipped(kind: &'static str, shipped: &'static str) -> Self {
        Self {
            kind,
            shipped,
            entries: OnceLock::new(),
        }
    }

    fn entries(&self) -> &[(Table, T)] {
        self.entries.get_or_init(|| match self.parse() {
            Ok(entries) => entries,
            Err(problem) => panic!("shipped catalogue: {problem}"),
        })
    }

    fn parse(&self) -> Result<Vec<(Table, T)>, EntryProblem> {
        let kind = self.kind;
        let tables: Table = toml::from_str(self.shipped)
            .map_err(|error| self.problem("", &format!("{kind}: {}", error.message())))?;
        let entries = tables.into_iter().map(|(id, value)| match value {
            Value::Table(table) => {
                let entry = self.read(&id, &table)?;
                Ok((table, entry))
            }
            _ => Err(self.problem(&id, "must be a table")),
        });
        entries.collect()
    }

    /// The entry of that name.
    pub fn get(&self, id: &str) -> Option<&T> {
        self.iter().find(|entry| entry.id() == id)
    }

    /// All entries, in the order they were written.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries().iter().map(|(_, entry)| entry)
    }

    /// The table that an entry was written as.
    fn table(&self, id: &str) -> Option<&Table> {
        let entries = self.entries().iter();
        let mut found = entries.filter(|(_, entry)| entry.id() == id);
        found.next().map(|(table, _)| table)
    }

    fn put(&mut self, id: &str, table: Table) -> Result<(), EntryProblem> {
        let mut entries = self.entries().to_vec();
        let entry = self.read(id, &table)?;
        match entries.iter_mut().find(|(_, known)| known.id() == id) {
            Some(place) => *place = (table, entry),
            None => entries.push((table, entry)),
        }
        self.entries = OnceLock::from(entries);
        Ok(())
    }

    fn read(&self, id: &str, table: &Table) -> Result<T, EntryProblem> {
        let entry = self.decode(id, table)?;
        entry
            .check()
            .map_err(|fault| self.problem(id, &fault.message).at(fault.key))?;
        Ok(entry)
    }

    /// The entry as typed values, not yet checked for ranges.
    fn decode(&self, id: &str, table: &Table) -> Result<T, EntryProblem> {
        let mut with_id = table.clone();
        with_id.insert("id".to_owned(), Value::String(id.to_owned()));
        with_id
            .try_into()
            .map_err(|error: toml::de::Error| self.undecoded(id, error.message()))
    }

    /// A serde message as a problem; it names a missing field in backticks.
    fn undecoded(&self, id: &str, message: &str) -> EntryProblem {
        match message
            .strip_prefix("missing field `")
            .and_then(|rest| rest.strip_suffix('`'))
        {
            Some(key) => self.problem(id, "is missing").at(key),
            None => self.problem(id, &format!("cannot be read: {message}")),
        }
    }

    /// The keys that a new entry lacks: those that the first one of the shelf could not do without, each with its value.
    fn lacking(&self, id: &str, table: &Table) -> Vec<EntryProblem> {
        let Some((example, entry)) = self.entries().first() else {
            return Vec::new();
        };
        let absent = Self::keys()
            .into_iter()
            .filter(|&key| !table.contains_key(key));
        let needed = absent.filter_map(|key| {
            let mut without = example.clone();
            let value = without.remove(key)?;
            let problem = self.decode(id, &without).err()?;
            Some(problem.help(format!(
                "add it, for example {key} = {value} as {} has: there is no {} called {id} to take it from",
                entry.id(),
                self.kind,
            )))
        });
        needed.collect()
    }

    fn problem(&self, id: &str, message: &str) -> EntryProblem {
        EntryProblem::new(self.kind, id, message)
    }

    /// Keys that an entry may have, in order, without `id`.
    fn keys() -> Vec<&'static str> {
        fields_of::<T>()
            .iter()
            .copied()
            .filter(|&key| key != "id")
            .collect()
    }

    /// A key that no entry has, or whose value is of the wrong type beside the known ones.
    fn key_problem(
        &self,
        id: &str,
        known: &Table,
        key: &str,
        value: &Value,
    ) -> Option<EntryProblem> {
        if !Self::keys().contains(&key) {
            let allowed = Self::keys().join(", ");
            return Some(
                self.problem(id, &format!("is no key that {} entries have", self.kind))
                    .at(key)
                    .help(format!("{} entries have {allowed}", self.kind)),
            );
        }
        let mut table = known.clone();
        table.insert(key.to_owned(), value.clone());
        let problem = self.decode(id, &table).err()?;
        let about_others = problem.key.as_deref().is_some_and(|at| at != key);
        (!about_others).then(|| problem.at(key))
    }
}

/// A shelf without its type: what listing and overlaying need.
pub(super) trait AnyShelf {
    fn ids(&self) -> Vec<&str>;
    fn rows(&self, id: &str) -> Option<Vec<(String, String)>>;
    fn provenance(&self, id: &str) -> Option<(&str, Confidence)>;
    fn overlay(&mut self, id: &str, changes: &Table) -> Result<(), Vec<EntryProblem>>;
}

impl<T: Entry> AnyShelf for Shelf<T> {
    fn ids(&self) -> Vec<&str> {
        self.iter().map(Entry::id).collect()
    }

    fn rows(&self, id: &str) -> Option<Vec<(String, String)>> {
        let rows = self.table(id)?.iter();
        Some(
            rows.map(|(key, value)| (key.clone(), plain(value)))
                .collect(),
        )
    }

    fn provenance(&self, id: &str) -> Option<(&str, Confidence)> {
        self.get(id)
            .map(|entry| (entry.source(), entry.confidence()))
    }

    /// Changes the keys given of a known entry, or adds a new one. Its source becomes the scenario's unless that names one.
    fn overlay(&mut self, id: &str, changes: &Table) -> Result<(), Vec<EntryProblem>> {
        let known = self.table(id).cloned();
        let source = match known
            .as_ref()
            .and_then(|table| table.get("source"))
            .and_then(Value::as_str)
        {
            Some(source) => format!("scenario, over {source}"),
            None => "scenario".to_owned(),
        };
        let mut table = known.unwrap_or_default();
        if !changes.contains_key("source") {
            table.insert("source".to_owned(), Value::String(source));
        }
        if !changes.contains_key("confidence") {
            table.insert("confidence".to_owned(), Value::String("stated".to_owned()));
        }
        let keys = changes.iter();
        let mut problems: Vec<EntryProblem> = keys
            .filter_map(|(key, value)| self.key_problem(id, &table, key, value))
            .collect();
        table.extend(
            changes
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        problems.extend(self.lacking(id, &table));
        if !problems.is_empty() {
            return Err(problems);
        }
        self.put(id, table).map_err(|problem| vec![problem])
    }
}

/// A value as a person would write it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The field names of a struct, taken from its `Deserialize` implementation: it hands them to whoever asks for a struct.
fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    struct Ask<'a>(&'a mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Ask<'_> {
        type Error = serde::de::value::Error;

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _name: &'static str,
            fields: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            *self.0 = fields;
            self.deserialize_any(visitor)
        }

        fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Self::Error> {
            Err(serde::de::Error::custom("only the field names were wanted"))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut fields: &'static [&'static str] = &[];
    // The answer is always the error above; what was wanted is in `fields`.
    let _ = T::deserialize(Ask(&mut fields)).is_ok();
    fields
}
