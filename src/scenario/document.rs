//! The scenario as written: a tree of values that remember where they stand.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::did_you_mean;
use super::problem::{Problem, ScenarioError, SourceId, Sources, Span};

/// Largest text that is read \[bytes\].
const MAX_BYTES: usize = 1 << 20;
/// Deepest nesting of tables and lists.
const MAX_DEPTH: usize = 64;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What is there.
    pub value: Value,
    /// Where it stands; for a table with a header, the header.
    pub span: Span,
}

/// What TOML can express, but for dates.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    String(String),
    /// A whole number.
    Integer(i64),
    /// Any other number, infinities and NaN included.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A list.
    Array(Vec<Node>),
    /// A table.
    Table(Table),
}

/// A value as plain TOML.
pub(super) fn to_toml(value: &Value) -> toml::Value {
    match value {
        Value::String(text) => toml::Value::String(text.clone()),
        Value::Integer(value) => toml::Value::Integer(*value),
        Value::Float(value) => toml::Value::Float(*value),
        Value::Boolean(value) => toml::Value::Boolean(*value),
        Value::Array(items) => {
            toml::Value::Array(items.iter().map(|item| to_toml(&item.value)).collect())
        }
        Value::Table(table) => toml::Value::Table(
            table
                .iter()
                .map(|(key, node)| (key.name.clone(), to_toml(&node.value)))
                .collect(),
        ),
    }
}

/// A table's name for an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The name, without quotes.
    pub name: String,
    /// Where it stands.
    pub span: Span,
}

/// Entries in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(Vec<(Key, Node)>);

impl Table {
    /// The entry of this name, taken out.
    pub fn take(&mut self, name: &str) -> Option<(Key, Node)> {
        let at = self.0.iter().position(|(key, _)| key.name == name)?;
        Some(self.0.remove(at))
    }

    /// Adds an entry at the end.
    pub fn push(&mut self, key: Key, node: Node) {
        self.0.push((key, node));
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = &(Key, Node)> {
        self.0.iter()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries in order, by value.
    pub fn into_entries(self) -> impl Iterator<Item = (Key, Node)> {
        self.0.into_iter()
    }

    /// This table with another laid over it: values of the other take the place of those here. The tables called `joined` are
    /// laid over one another key by key; any other is replaced whole, as it may be a variant.
    pub(super) fn laid_under(mut self, above: &Self, joined: &[&str]) -> Self {
        for (key, node) in above.iter() {
            let below = self.take(&key.name);
            let node = match (below, &node.value) {
                (
                    Some((
                        _,
                        Node {
                            value: Value::Table(below),
                            ..
                        },
                    )),
                    Value::Table(above),
                ) if joined.contains(&key.name.as_str()) => Node {
                    value: Value::Table(below.laid_under(above, &[])),
                    span: node.span,
                },
                _ => node.clone(),
            };
            self.push(key.clone(), node);
        }
        self
    }

    fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        let entry = self.0.iter_mut().find(|(key, _)| key.name == name)?;
        Some(&mut entry.1)
    }
}

/// How a command line's option writes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// As the text itself.
    Text,
    /// As in the file, but that text needs no quotes.
    Toml,
}

/// A value at a path, from whoever tries what an existing scenario does with it: `--vary`, or a value that `calibrate` frees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Varied {
    /// What problems are told of: `--vary`.
    pub option: String,
    /// `path=value`, as `--set` takes it.
    pub argument: String,
}

/// Tables whose entries the scenario names, with what such an entry is; `*` stands for a name.
///
/// An entry that is only mentioned is a misspelling: made anew it would be another provider or model, all at its defaults.
const NAMED: [(&[&str], &str); 5] = [
    (&["providers"], "provider"),
    (&["providers", "*", "deployments"], "deployment"),
    (
        &["providers", "*", "deployments", "*", "traffic"],
        "traffic stream",
    ),
    (&["providers", "*", "links"], "link"),
    (&["benchmark", "sessions"], "session"),
];

/// What the entries of the table at a path are, where the scenario names them.
fn named(path: &[Key]) -> Option<&'static str> {
    let is_at = |pattern: &[&str]| {
        let mut pairs = pattern.iter().zip(path);
        pattern.len() == path.len() && pairs.all(|(one, key)| *one == "*" || *one == key.name)
    };
    let found = NAMED.iter().find(|(pattern, _)| is_at(pattern));
    found.map(|&(_, what)| what)
}

/// A scenario file with the `--set` arguments applied.
#[derive(Clone, Debug)]
pub struct Document {
    pub(super) sources: Sources,
    pub(super) root: Table,
    /// Found so far; reported together with those of the reading.
    pub(super) problems: Vec<Problem>,
}

impl Document {
    /// Parses the text of a scenario; `name` is shown with problems.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        let mut sources = Sources::default();
        if text.len() > MAX_BYTES {
            sources.add(name, "");
            return Err(ScenarioError::new(sources, vec![too_long(text)]));
        }
        let source = sources.add(name, text);
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let problems = errors
                .iter()
                .map(|error| syntax(error, source, 0))
                .collect();
            return Err(ScenarioError::new(sources, problems));
        }
        let mut problems = Vec::new();
        let place = |range: Range<usize>| Span {
            source,
            start: range.start,
            end: range.end,
        };
        let root = Converter {
            place: &place,
            problems: &mut problems,
        }
        .table(table.into_inner(), 0);
        Ok(Self {
            sources,
            root,
            problems,
        })
    }

    /// Applies `path=value`, the argument of `--set`.
    ///
    /// The path names tables and keys with dots between (quotes around a name that has dots of its own), elements of lists
    /// by index, and every entry that exists by `*`. Tables on the way are made when missing, and take the place of a bare
    /// value; but a provider, a deployment or another entry that the scenario names is made only by giving the whole of it.
    /// The value is TOML, or else text, so `keep_alive=5m` needs no quotes. Problems are kept for the reading to report with
    /// its own.
    pub fn set(&mut self, argument: &str) {
        self.put("--set", argument, true);
    }

    /// The same for a value that is tried: every entry that the scenario names must be there.
    pub fn vary(&mut self, varied: &Varied) {
        self.put(&varied.option, &varied.argument, false);
    }

    fn put(&mut self, option: &str, argument: &str, may_add: bool) {
        if argument.len() > MAX_BYTES {
            self.problems.push(too_long(argument));
            return;
        }
        let source = self.sources.add(option, argument);
        if let Err(problem) = self.try_put(option, argument, source, may_add) {
            self.problems.push(problem);
        }
    }

    /// Puts a value at a path, where a command line's `option` gives it; problems point to the option.
    pub fn give(&mut self, option: &str, path: &[&str], text: &str, notation: Notation) {
        if text.len() > MAX_BYTES {
            self.problems.push(too_long(text));
            return;
        }
        let source = self.sources.add(option, text);
        let place = |range: Range<usize>| Span {
            source,
            start: range.start,
            end: range.end,
        };
        let value = match notation {
            Notation::Text => Ok(Node {
                value: Value::String(text.to_owned()),
                span: place(0..text.len()),
            }),
            Notation::Toml => parse_value(text, path.len(), &place, &mut self.problems),
        };
        let span = place(0..text.len());
        let name = |name: &&str| Key {
            name: (*name).to_owned(),
            span,
        };
        let path: Vec<Key> = path.iter().map(name).collect();
        let given = value
            .map_err(|error| syntax(&error, source, 0))
            .and_then(|value| Assignment::new(&path, &value, true).to(&mut self.root));
        self.problems.extend(given.err());
    }

    fn try_put(
        &mut self,
        option: &str,
        argument: &str,
        source: SourceId,
        may_add: bool,
    ) -> Result<(), Problem> {
        let (path, value_start) = parse_path(option, argument, source)?;
        let text = &argument[value_start..];
        let start = value_start + (text.len() - text.trim_start().len());
        let place = |range: Range<usize>| Span {
            source,
            start: start + range.start,
            end: start + range.end,
        };
        let value = parse_value(text.trim(), path.len(), &place, &mut self.problems)
            .map_err(|error| syntax(&error, source, start))?;
        let Some((first, last)) = path.first().zip(path.last()) else {
            return Ok(());
        };
        if Assignment::new(&path, &value, may_add).to(&mut self.root)? == 0 {
            let help = "write the name instead of `*` to make a new entry";
            return Err(Problem {
                message: format!("the path of `{option}` matches nothing"),
                span: Some(Span {
                    end: last.span.end,
                    ..first.span
                }),
                label: "`*` stands for entries that exist".to_owned(),
                help: may_add.then(|| help.to_owned()),
            });
        }
        Ok(())
    }
}

/// Parses a value written outside the file: TOML, or else text.
pub(super) fn parse_value(
    text: &str,
    depth: usize,
    place: &dyn Fn(Range<usize>) -> Span,
    problems: &mut Vec<Problem>,
) -> Result<Node, toml::de::Error> {
    let bare = || Node {
        value: Value::String(text.to_owned()),
        span: place(0..text.len()),
    };
    match DeValue::parse(text) {
        // A time of day is a date to TOML.
        Ok(value) if matches!(value.get_ref(), DeValue::Datetime(_)) => Ok(bare()),
        Ok(value) => Ok(Converter { place, problems }.node(value, depth)),
        Err(error) if text.starts_with(['[', '{', '"', '\'']) => Err(error),
        Err(_) => Ok(bare()),
    }
}

/// Splits `path=value` into the names of the path and where the value starts.
fn parse_path(
    option: &str,
    argument: &str,
    source: SourceId,
) -> Result<(Vec<Key>, usize), Problem> {
    let help = if option.starts_with("--") {
        format!("write path=value, for example {option} benchmark.requests=20")
    } else {
        "write a path, for example benchmark.requests".to_owned()
    };
    let problem = |message: &str, range: Range<usize>, label: &str| Problem {
        message: format!("the path of `{option}` {message}"),
        span: Some(Span {
            source,
            start: range.start,
            end: range.end,
        }),
        label: label.to_owned(),
        help: Some(help.clone()),
    };
    let mut path = Vec::new();
    let mut at = 0;
    loop {
        let rest = &argument[at..];
        at += rest.len() - rest.trim_start().len();
        let rest = &argument[at..];
        let (name, length) = if rest.starts_with(['"', '\'']) {
            let Some(end) = rest[1..].find(&rest[..1]) else {
                let range = at..argument.len();
                return Err(problem("is malformed", range, "quote not closed"));
            };
            (&rest[1..=end], end + 2)
        } else {
            let end = rest.find(['.', '=']).unwrap_or(rest.len());
            let name = rest[..end].trim_end();
            (name, name.len())
        };
        if name.is_empty() {
            return Err(problem("is malformed", at..at + 1, "a name is missing"));
        }
        path.push(Key {
            name: name.to_owned(),
            span: Span {
                source,
                start: at,
                end: at + length,
            },
        });
        if path.len() > MAX_DEPTH {
            return Err(problem("is too long", 0..at, "nested too deeply"));
        }
        at += length;
        let rest = &argument[at..];
        at += rest.len() - rest.trim_start().len();
        match argument[at..].chars().next() {
            Some('.') => at += 1,
            Some('=') => return Ok((path, at + 1)),
            Some(_) => {
                return Err(problem(
                    "is malformed",
                    at..at + 1,
                    "a `.` or `=` is missing",
                ));
            }
            None => {
                return Err(Problem {
                    message: format!("`{option}` has no value"),
                    ..problem("", 0..at, "no `=` here")
                });
            }
        }
    }
}

/// A value on its way to every place that a path names.
struct Assignment<'a> {
    path: &'a [Key],
    value: &'a Node,
    /// Whether the path may end at a new entry of those that the scenario names.
    may_add: bool,
    /// Where a `*` led to tables without the entry that the path goes on with, and the entries that they have.
    lacking: Option<(usize, Vec<String>)>,
}

impl<'a> Assignment<'a> {
    fn new(path: &'a [Key], value: &'a Node, may_add: bool) -> Self {
        Self {
            path,
            value,
            may_add,
            lacking: None,
        }
    }

    /// Puts the value; at how many places.
    fn to(mut self, root: &mut Table) -> Result<usize, Problem> {
        match (self.in_table(root, 0)?, self.lacking.take()) {
            (0, Some((at, names))) => Err(self.no_such(at, &names)),
            (count, _) => Ok(count),
        }
    }

    fn in_table(&mut self, table: &mut Table, at: usize) -> Result<usize, Problem> {
        let Some(key) = self.path.get(at) else {
            return Ok(0);
        };
        if key.name == "*" {
            let all = table.0.iter_mut();
            return all.map(|(_, node)| self.under(node, at + 1, true)).sum();
        }
        if table.get_mut(&key.name).is_none() && !self.make(table, at)? {
            return Ok(0);
        }
        table
            .get_mut(&key.name)
            .map_or(Ok(0), |node| self.under(node, at + 1, false))
    }

    /// Makes the entry that the path goes on with; whether there is one now.
    fn make(&mut self, table: &mut Table, at: usize) -> Result<bool, Problem> {
        let (before, key, rest) = (&self.path[..at], &self.path[at], &self.path[at + 1..]);
        let is_any = |keys: &[Key]| keys.iter().any(|key| key.name == "*");
        if named(before).is_some() && !(self.may_add && rest.is_empty()) {
            let names = table.iter().map(|(key, _)| key.name.clone());
            if !is_any(before) {
                return Err(self.no_such(at, &names.collect::<Vec<_>>()));
            }
            let (_, lacking) = self.lacking.get_or_insert_with(|| (at, Vec::new()));
            lacking.extend(names);
            return Ok(false);
        }
        if is_any(rest) {
            return Ok(false);
        }
        let node = Node {
            value: Value::Table(Table::default()),
            span: key.span,
        };
        table.push(key.clone(), node);
        Ok(true)
    }

    fn under(&mut self, node: &mut Node, at: usize, any: bool) -> Result<usize, Problem> {
        let Some(key) = self.path.get(at) else {
            *node = self.value.clone();
            return Ok(1);
        };
        match &mut node.value {
            Value::Table(table) => self.in_table(table, at),
            Value::Array(items) if key.name == "*" => items
                .iter_mut()
                .map(|item| self.under(item, at + 1, true))
                .sum(),
            Value::Array(items) => {
                let length = items.len();
                let index = key.name.parse().ok();
                match index.and_then(|index: usize| items.get_mut(index)) {
                    Some(item) => self.under(item, at + 1, false),
                    None => Err(no_element(key, length)),
                }
            }
            // Whatever `*` found that cannot hold the rest of the path is not meant.
            _ if any => Ok(0),
            _ => {
                let mut table = Table::default();
                let count = self.in_table(&mut table, at)?;
                if count > 0 {
                    *node = Node {
                        value: Value::Table(table),
                        span: key.span,
                    };
                }
                Ok(count)
            }
        }
    }

    /// The path goes on with a name that none of these is.
    fn no_such(&self, at: usize, names: &[String]) -> Problem {
        let key = &self.path[at];
        let what = named(&self.path[..at]).unwrap_or("entry");
        let near = did_you_mean(&key.name, names.iter().map(String::as_str));
        let help = match near {
            Some(near) => format!("did you mean `{}`?", in_path(near)),
            None if names.is_empty() => format!("there is no {what} at all"),
            None => {
                let all: Vec<String> = names.iter().map(|name| in_path(name)).collect();
                format!("known here: {}", all.join(", "))
            }
        };
        let path: Vec<String> = self.path[..=at]
            .iter()
            .map(|key| in_path(&key.name))
            .collect();
        let whole = format!(
            "; a new one is given whole: --set '{}={{ .. }}'",
            path.join(".")
        );
        let is_new = self.may_add && near.is_none();
        Problem {
            message: format!("there is no {what} `{}`", key.name),
            span: Some(key.span),
            label: "not in the scenario".to_owned(),
            help: Some(help + if is_new { &whole } else { "" }),
        }
    }
}

/// A name as a path has it.
fn in_path(name: &str) -> String {
    if name.contains(['.', '=']) {
        format!("\"{name}\"")
    } else {
        name.to_owned()
    }
}

fn no_element(key: &Key, length: usize) -> Problem {
    Problem {
        message: format!("the list has no element `{}`", key.name),
        span: Some(key.span),
        label: "not an index of the list".to_owned(),
        help: Some(match length {
            0 => "the list is empty; give a whole list, for example [1, 2]".to_owned(),
            _ => format!("it has {length}, counted from 0"),
        }),
    }
}

/// Turns the parser's tree into ours.
struct Converter<'c> {
    place: &'c dyn Fn(Range<usize>) -> Span,
    problems: &'c mut Vec<Problem>,
}

impl Converter<'_> {
    fn table(&mut self, table: DeTable<'_>, depth: usize) -> Table {
        let entry = |(key, node): (Spanned<_>, _)| {
            let span = (self.place)(key.span());
            let name = String::from(key.into_inner());
            (Key { name, span }, self.node(node, depth + 1))
        };
        Table(table.into_iter().map(entry).collect())
    }

    /// The node; one that cannot be has its problem noted and empty text in its place.
    fn node(&mut self, node: Spanned<DeValue<'_>>, depth: usize) -> Node {
        let span = (self.place)(node.span());
        let (message, label, help) = match node.into_inner() {
            _ if depth > MAX_DEPTH => (
                "nested too deeply",
                "here",
                format!("at most {MAX_DEPTH} levels are read"),
            ),
            DeValue::String(text) => {
                return Node {
                    value: Value::String(text.into_owned()),
                    span,
                };
            }
            DeValue::Boolean(value) => {
                return Node {
                    value: Value::Boolean(value),
                    span,
                };
            }
            DeValue::Array(items) => {
                let items = items
                    .into_iter()
                    .map(|item| self.node(item, depth + 1))
                    .collect();
                return Node {
                    value: Value::Array(items),
                    span,
                };
            }
            DeValue::Table(table) => {
                return Node {
                    value: Value::Table(self.table(table, depth)),
                    span,
                };
            }
            DeValue::Integer(integer) => {
                match i64::from_str_radix(integer.as_str(), integer.radix()) {
                    Ok(value) => {
                        return Node {
                            value: Value::Integer(value),
                            span,
                        };
                    }
                    Err(_) => (
                        "the number is too large",
                        "does not fit",
                        "use fewer digits".to_owned(),
                    ),
                }
            }
            DeValue::Float(float) => match float.as_str().parse::<f64>() {
                Ok(value) if value.is_finite() || float.as_str().contains(['i', 'n']) => {
                    return Node {
                        value: Value::Float(value),
                        span,
                    };
                }
                _ => (
                    "the number is too large",
                    "does not fit",
                    "use a smaller exponent".to_owned(),
                ),
            },
            DeValue::Datetime(date) => (
                "dates are not used in scenarios",
                "is a date or a time to TOML",
                format!("write it in quotes: \"{date}\""),
            ),
        };
        self.problems.push(Problem {
            message: message.to_owned(),
            span: Some(span),
            label: label.to_owned(),
            help: Some(help),
        });
        Node {
            value: Value::String(String::new()),
            span,
        }
    }
}

fn syntax(error: &toml::de::Error, source: SourceId, offset: usize) -> Problem {
    Problem {
        message: format!("not valid TOML: {}", error.message()),
        span: error.span().map(|range| Span {
            source,
            start: offset + range.start,
            end: offset + range.end,
        }),
        label: String::new(),
        help: None,
    }
}

fn too_long(text: &str) -> Problem {
    Problem {
        message: format!("the text is too long: {} bytes", text.len()),
        span: None,
        label: String::new(),
        help: Some(format!("at most {MAX_BYTES} bytes are read")),
    }
}
