//! Reading a document table by table, with every problem collected.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::did_you_mean;
use super::document::{Document, Key, Node, Table, Value, to_toml};
use super::kind::{Kind, default_node, describe, is_override};
use super::problem::{Complaint, Problem, ScenarioError, SourceId, Sources, Span, suggest};
use super::understood::{TableId, Understood};
use super::units::quoted;

/// One pass over a document: the problems found so far and what was understood.
#[derive(Debug)]
pub struct Reading {
    sources: Sources,
    root: RefCell<Table>,
    problems: RefCell<Vec<Problem>>,
    /// Where the document has problems of its own; another there would only be a consequence.
    refused: BTreeSet<Span>,
    understood: RefCell<Understood>,
    /// Readers not yet finished.
    open: Cell<usize>,
}

impl Reading {
    /// Starts to read a document.
    pub fn new(document: Document) -> Self {
        Self {
            sources: document.sources,
            root: RefCell::new(document.root),
            refused: document
                .problems
                .iter()
                .filter_map(|problem| problem.span)
                .collect(),
            problems: RefCell::new(document.problems),
            understood: RefCell::default(),
            open: Cell::new(0),
        }
    }

    /// The top level of the document. It can be had once; a second one is empty.
    pub fn root(&self) -> Reader<'_> {
        self.reader(
            self.root.take(),
            String::new(),
            Span::FILE,
            Understood::ROOT,
        )
    }

    /// The value that was read and the scenario as understood, or every problem.
    pub fn into_result<T>(self, value: T) -> Result<(T, Understood), ScenarioError> {
        debug_assert_eq!(self.open.get(), 0, "tables read without `finish`");
        let problems = self.problems.into_inner();
        if problems.is_empty() {
            Ok((value, self.understood.into_inner()))
        } else {
            Err(ScenarioError::new(self.sources, problems))
        }
    }

    fn reader(&self, left: Table, path: String, header: Span, table: TableId) -> Reader<'_> {
        self.open.set(self.open.get() + 1);
        Reader {
            reading: self,
            left,
            asked: Vec::new(),
            path,
            header,
            table,
            defaulted: false,
            muted: false,
            shorthand: None,
        }
    }
}

/// One of the forms that a value can take.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    name: &'static str,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Table,
    Unit,
    Shorthand(&'static str),
}

impl Variant {
    /// Written as a table: `key.name = {..}`.
    pub const fn table(name: &'static str) -> Self {
        let form = Form::Table;
        Self { name, form }
    }

    /// Has nothing to say but its name: `key = "name"`.
    pub const fn unit(name: &'static str) -> Self {
        let form = Form::Unit;
        Self { name, form }
    }

    /// Written as a table, or as a bare value that stands for `key.name = { value_key = value }`; the first of several is
    /// the one that a bare value means.
    pub const fn shorthand(name: &'static str, value_key: &'static str) -> Self {
        let form = Form::Shorthand(value_key);
        Self { name, form }
    }
}

/// Reads one table. Every key that is asked for is known; [`finish`](Self::finish) reports the others.
///
/// Whatever goes wrong, a value comes back so that reading goes on; [`Reading::into_result`] gives no result then.
#[derive(Debug)]
#[must_use = "call `finish`, or unknown keys go unnoticed"]
pub struct Reader<'a> {
    reading: &'a Reading,
    left: Table,
    asked: Vec<Asked>,
    path: String,
    header: Span,
    table: TableId,
    /// The table itself comes from a default.
    defaulted: bool,
    /// The table could not be read, so what it lacks is no news.
    muted: bool,
    /// The bare value that the table stands for.
    shorthand: Option<Bare>,
}

/// A bare value that stands for a table with one key.
#[derive(Debug)]
struct Bare {
    key: String,
    /// What it may be instead.
    names: Vec<&'static str>,
}

#[derive(Debug)]
struct Asked {
    key: String,
    span: Option<Span>,
    sound: bool,
}

impl Reader<'_> {
    /// The value, or a problem when the key is missing. The kind's example stands in for what cannot be read.
    pub fn required<T: 'static>(&mut self, key: &str, kind: &Kind<T>) -> T {
        let value = if let Some((_, node)) = self.take(key) {
            self.read(key, &node, kind)
        } else {
            self.missing(key, kind.example_text());
            None
        };
        value.unwrap_or_else(|| kind.default_value(kind.example_text()))
    }

    /// The value, if the key is there and can be read.
    pub fn optional<T: 'static>(&mut self, key: &str, kind: &Kind<T>) -> Option<T> {
        let (_, node) = self.take(key)?;
        self.read(key, &node, kind)
    }

    /// The value, or the default, which is written as in a scenario.
    ///
    /// Of a default list, `--set` can change elements by index.
    ///
    /// # Panics
    /// If the default is not of this kind.
    pub fn or_default<T: 'static>(&mut self, key: &str, kind: &Kind<T>, default: &str) -> T {
        let value = self.take(key).and_then(|(_, node)| {
            let value = overlay(&node, default).unwrap_or(node.value);
            self.read(
                key,
                &Node {
                    value,
                    span: node.span,
                },
                kind,
            )
        });
        value.unwrap_or_else(|| {
            let value = kind.default_value(default);
            self.note(key, kind.show(&value), true);
            value
        })
    }

    /// A table of the scenario's schema; when missing, an empty one, whose every value takes its default.
    pub fn table(&mut self, key: &str) -> Self {
        let id = self.reading.understood.borrow_mut().table(self.table, key);
        match self.take(key) {
            Some((name, node)) => self.inside(key, name.span, node, id),
            None => self.child(Table::default(), key, self.header, id),
        }
    }

    /// A table that may be missing.
    pub fn optional_table(&mut self, key: &str) -> Option<Self> {
        let (name, node) = self.take(key)?;
        let id = self.reading.understood.borrow_mut().table(self.table, key);
        Some(self.inside(key, name.span, node, id))
    }

    /// A table that is not read here but laid over others ([`laid`](Self::laid)); shown as given.
    pub fn template(&mut self, key: &str) -> Option<Template> {
        let (name, node) = self.take(key)?;
        let header = name.span;
        let mut understood = self.reading.understood.borrow_mut();
        let id = understood.table(self.table, key);
        if let Value::Table(table) = node.value {
            note_given(&mut understood, id, &table);
            return Some(Template { table, header });
        }
        drop(understood);
        let _ = self.inside(key, header, node, id);
        None
    }

    /// Reads templates laid over one another, the last one on top: its values take the place of those below, and the tables
    /// called `joined` are laid over one another key by key. What was understood stands under `title` behind the scenario.
    pub fn laid(&self, layers: &[&Template], joined: &[&str], title: String) -> Self {
        let laid = layers.iter().fold(Table::default(), |below, template| {
            below.laid_under(&template.table, joined)
        });
        let header = layers
            .iter()
            .find(|template| !template.table.is_empty())
            .map_or(self.header, |template| template.header);
        let id = self.reading.understood.borrow_mut().appended(title);
        let mut reader = self
            .reading
            .reader(laid, self.path_of("deployment"), header, id);
        reader.muted = self.muted;
        reader
    }

    /// Writes lines behind the scenario as understood, each as a comment.
    pub fn remark(&self, lines: Vec<String>) {
        self.reading.understood.borrow_mut().remark(lines);
    }

    /// A table of tables that the user names, in the order of the file; empty when missing.
    pub fn entries(&mut self, key: &str) -> Vec<(String, Self)> {
        let mut table = self.table(key);
        let all = table.left.iter().count();
        let names = table.names();
        if names.len() < all {
            // One with a bad name is not missing.
            self.entry(key).sound = false;
        }
        let entries = names.into_iter().map(|name| {
            let entry = table.table(&name);
            (name, entry)
        });
        let entries = entries.collect();
        table.finish();
        entries
    }

    /// The names that the user chose and nobody asked for yet, in the order of the file; bad ones are reported.
    pub fn names(&mut self) -> Vec<String> {
        let good = |name: &str| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'))
        };
        let bad: Vec<Key> = self
            .left
            .iter()
            .map(|(key, _)| key.clone())
            .filter(|key| !good(&key.name))
            .collect();
        for key in bad {
            self.left.take(&key.name);
            let message = format!("{} cannot be a name", quoted(&key.name));
            let help = "names are made of ASCII letters, digits, and . _ - /";
            self.push(
                message,
                Some(key.span),
                String::new(),
                Some(help.to_owned()),
            );
        }
        self.left.iter().map(|(key, _)| key.name.clone()).collect()
    }

    /// A list of tables; empty when missing.
    pub fn list(&mut self, key: &str) -> Vec<Self> {
        let (items, given) = match self.take(key) {
            None => (Vec::new(), false),
            Some((
                _,
                Node {
                    value: Value::Array(items),
                    ..
                },
            )) => (items, true),
            Some((_, node)) => {
                let found = format!("is {}", describe(&node));
                let help = format!("write {key} = [{{ .. }}, {{ .. }}]");
                self.complain(
                    key,
                    node.span,
                    Complaint::new("must be a list of tables", found, help),
                );
                (Vec::new(), true)
            }
        };
        if items.is_empty() {
            self.note(key, "[]".to_owned(), self.defaulted || !given);
            return Vec::new();
        }
        let ids = self
            .reading
            .understood
            .borrow_mut()
            .list(self.table, key, items.len());
        let items = items.into_iter().zip(ids).enumerate();
        items
            .map(|(index, (item, id))| self.inside(&format!("{key}.{index}"), item.span, item, id))
            .collect()
    }

    /// Which variant the value takes, and its table. The default is written as in a scenario: `none`, `{ arrival = {} }`.
    ///
    /// Exactly one may be given; but one that `--set` made wins over those of the file.
    ///
    /// # Panics
    /// If the default is none of the variants.
    pub fn variant(
        &mut self,
        key: &str,
        variants: &[Variant],
        default: &str,
    ) -> (&'static str, Self) {
        if let Some(chosen) = self.optional_variant(key, variants) {
            return chosen;
        }
        match pick(default_node(default, self.header), variants) {
            Ok(picked) => self.open(key, variants, picked, self.header, true),
            Err((_, complaint)) => panic!(
                "the default {default} {}: it {}",
                complaint.says, complaint.found
            ),
        }
    }

    /// Which variant the value takes, and its table, if the key is there and can be read.
    pub fn optional_variant(
        &mut self,
        key: &str,
        variants: &[Variant],
    ) -> Option<(&'static str, Self)> {
        let (name, node) = self.take(key)?;
        let span = node.span;
        match pick(node, variants) {
            Ok(picked) => Some(self.open(key, variants, picked, name.span, self.defaulted)),
            Err((place, complaint)) => {
                self.complain(key, place.unwrap_or(span), complaint);
                None
            }
        }
    }

    /// Reports that a key is missing, for keys that only sometimes have to be there; the example is TOML.
    pub fn missing(&mut self, key: &str, example: &str) {
        self.entry(key).sound = false;
        let message = format!("`{}` is missing", self.path_of(key));
        let help = format!("add it, for example {key} = {example}");
        self.push(message, Some(self.header), String::new(), Some(help));
    }

    /// Reports a problem at a key that was read, or at the table's header when the key was not given. Nothing is reported
    /// when the key has a problem already.
    pub fn problem_at(
        &mut self,
        key: &str,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        if !self.is_sound(key) {
            return;
        }
        let span = self.span(key);
        self.push(message.into(), Some(span), label.into(), Some(help.into()));
    }

    /// Reports a problem in a template.
    pub fn problem_in(&self, at: Span, message: String, label: &str, help: &str) {
        self.push(message, Some(at), label.to_owned(), Some(help.to_owned()));
    }

    /// Whether a key has no problem so far, so that its value can be compared with others.
    pub fn is_sound(&self, key: &str) -> bool {
        !self.muted
            && self
                .asked
                .iter()
                .all(|asked| asked.key != key || asked.sound)
    }

    /// Whether the scenario itself gives the key.
    pub fn is_given(&self, key: &str) -> bool {
        !self.defaulted
            && self
                .asked
                .iter()
                .any(|asked| asked.key == key && asked.span.is_some())
    }

    /// Where the value of a key stands, or the name of its table; the table's header when the key was not given.
    pub fn span(&self, key: &str) -> Span {
        let asked = self.asked.iter().find(|asked| asked.key == key);
        asked.and_then(|asked| asked.span).unwrap_or(self.header)
    }

    /// Where a file is that the scenario names at a key: paths count from the scenario's own folder.
    pub fn beside(&self, key: &str, file: &str) -> PathBuf {
        let scenario = Path::new(self.reading.sources.name(SourceId::FILE));
        let path = scenario.parent().unwrap_or(Path::new("")).join(file);
        let mut understood = self.reading.understood.borrow_mut();
        understood.file(self.table, key, self.span(key), &path);
        path
    }

    /// Where the table is in the scenario: `providers.a.deployments.m`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Takes all that is left as plain TOML, for tables whose keys somebody else knows.
    pub fn take_toml(&mut self) -> toml::Table {
        let keys: Vec<String> = self.left.iter().map(|(key, _)| key.name.clone()).collect();
        let mut table = toml::Table::new();
        for name in keys {
            if let Some((_, node)) = self.take(&name) {
                let value = to_toml(&node.value);
                self.note(&name, value.to_string(), self.defaulted);
                table.insert(name, value);
            }
        }
        table
    }

    /// Ends the reading of this table: keys that nobody asked for are problems.
    pub fn finish(self) {
        self.reading
            .open
            .set(self.reading.open.get().saturating_sub(1));
        let known: Vec<String> = self.asked.iter().map(|asked| asked.key.clone()).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        for (key, _) in self.left.iter() {
            self.unknown(key, &known);
        }
    }

    fn unknown(&self, key: &Key, known: &[&str]) {
        let place = if self.path.is_empty() {
            "at the top level".to_owned()
        } else {
            format!("in `{}`", self.path)
        };
        let message = format!("unknown key `{}`", key.name);
        let help = suggest(&key.name, known);
        self.push(
            message,
            Some(key.span),
            format!("not known {place}"),
            Some(help),
        );
    }

    /// Takes the entry out and remembers that it was asked for.
    fn take(&mut self, key: &str) -> Option<(Key, Node)> {
        let found = self.left.take(key);
        let span = found.as_ref().map(|(key, node)| match node.value {
            Value::Table(_) => key.span,
            _ => node.span,
        });
        let asked = self.entry(key);
        asked.span = asked.span.or(span);
        found
    }

    fn entry(&mut self, key: &str) -> &mut Asked {
        let at = self
            .asked
            .iter()
            .position(|asked| asked.key == key)
            .unwrap_or_else(|| {
                let key = key.to_owned();
                self.asked.push(Asked {
                    key,
                    span: None,
                    sound: true,
                });
                self.asked.len() - 1
            });
        &mut self.asked[at]
    }

    fn read<T: 'static>(&mut self, key: &str, node: &Node, kind: &Kind<T>) -> Option<T> {
        match kind.read(node) {
            Ok(value) => {
                self.note(key, kind.show(&value), self.defaulted);
                Some(value)
            }
            Err(complaint) => {
                self.complain(key, node.span, self.or_named(node, complaint));
                None
            }
        }
    }

    /// The complaint about a word where a name would do as well, with the names.
    fn or_named(&self, node: &Node, complaint: Complaint) -> Complaint {
        let names = self.shorthand.as_ref().map(|bare| &bare.names);
        match (&node.value, names) {
            (Value::String(text), Some(names))
                if !names.is_empty() && text.starts_with(char::is_alphabetic) =>
            {
                let near = did_you_mean(text, names.iter().copied());
                let near = near.map(|near| format!("did you mean `{near}`?"));
                Complaint {
                    says: format!("{}, or one of {}", complaint.says, names.join(", ")),
                    help: near.or(complaint.help),
                    ..complaint
                }
            }
            _ => complaint,
        }
    }

    fn note(&self, key: &str, text: String, defaulted: bool) {
        self.reading
            .understood
            .borrow_mut()
            .value(self.table, key, text, defaulted);
    }

    fn complain(&mut self, key: &str, span: Span, complaint: Complaint) {
        if let Some(asked) = self.asked.iter_mut().find(|asked| asked.key == key) {
            asked.sound = false;
        }
        let key = self.shorthand.as_ref().map_or(key, |bare| &bare.key);
        let (part, span) = complaint
            .part
            .map_or((String::new(), span), |part| (part.path, part.span));
        let message = format!("`{key}{part}` {}", complaint.says);
        self.push(message, Some(span), complaint.found, complaint.help);
    }

    fn push(&self, message: String, span: Option<Span>, label: String, help: Option<String>) {
        if !self.muted && span.is_none_or(|span| !self.reading.refused.contains(&span)) {
            let problem = Problem {
                message,
                span: span.filter(|&span| span != Span::FILE),
                label,
                help,
            };
            // A template is read once for each use of it.
            let mut problems = self.reading.problems.borrow_mut();
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    fn child(&self, left: Table, key: &str, header: Span, id: TableId) -> Self {
        let mut reader = self.reading.reader(left, self.path_of(key), header, id);
        reader.muted = self.muted;
        reader.defaulted = self.defaulted;
        reader
    }

    /// A reader for a node that has to be a table.
    fn inside(&mut self, key: &str, header: Span, node: Node, id: TableId) -> Self {
        if let Value::Table(table) = node.value {
            return self.child(table, key, header, id);
        }
        let found = format!("is {}", describe(&node));
        let help = format!("write {key} = {{ .. }}");
        self.complain(
            key,
            node.span,
            Complaint::new("must be a table", found, help),
        );
        let mut reader = self.child(Table::default(), key, header, id);
        reader.muted = true;
        reader
    }

    /// A reader for the variant's own table.
    fn open(
        &mut self,
        key: &str,
        variants: &[Variant],
        picked: Picked,
        at: Span,
        defaulted: bool,
    ) -> (&'static str, Self) {
        let Variant { name, form } = picked.variant;
        let units = variants.iter().filter(|one| one.form == Form::Unit);
        let shorthand = picked.key.is_none().then(|| Bare {
            key: key.to_owned(),
            names: units.map(|one| one.name).collect(),
        });
        let header = picked.key.as_ref().map_or(at, |key| key.span);
        for stray in &picked.strays {
            self.unknown(stray, &[name]);
        }
        let id = if form == Form::Unit {
            self.note(key, quoted(name), defaulted);
            self.reading.understood.borrow_mut().detached()
        } else {
            let bare = variants
                .iter()
                .find(|variant| matches!(variant.form, Form::Shorthand(_)));
            let shorthand = match form {
                Form::Shorthand(value_key) if bare.is_some_and(|bare| bare.name == name) => {
                    Some(value_key)
                }
                _ => None,
            };
            self.reading
                .understood
                .borrow_mut()
                .variant(self.table, key, name, shorthand)
        };
        let mut reader = self.inside(&format!("{key}.{name}"), header, picked.payload, id);
        reader.defaulted = defaulted;
        reader.shorthand = shorthand;
        (name, reader)
    }
}

/// A part of a table that is read later, once for each use of it.
#[derive(Clone, Debug)]
pub struct Template {
    table: Table,
    header: Span,
}

impl Template {
    /// A single number in a table, which the program itself states.
    pub fn of(table: &str, key: &str, number: i64) -> Self {
        let entry = |name: &str, value| {
            let (name, span) = (name.to_owned(), Span::FILE);
            let mut table = Table::default();
            table.push(Key { name, span }, Node { value, span });
            table
        };
        let inner = entry(key, Value::Integer(number));
        Self {
            table: entry(table, Value::Table(inner)),
            header: Span::FILE,
        }
    }

    /// Where the template gives a key of one of its tables.
    pub fn given(&self, table: &str, key: &str) -> Option<Span> {
        let found = |table: &Table, name: &str| {
            let entry = table.iter().find(|(key, _)| key.name == name);
            entry.map(|(key, node)| (key.span, node.value.clone()))
        };
        match found(&self.table, table)? {
            (_, Value::Table(inner)) => found(&inner, key).map(|(span, _)| span),
            _ => None,
        }
    }
}

/// Notes a table as it stands in the scenario.
fn note_given(understood: &mut Understood, id: TableId, table: &Table) {
    for (key, node) in table.iter() {
        if let Value::Table(inner) = &node.value {
            let id = understood.table(id, &key.name);
            note_given(understood, id, inner);
        } else {
            understood.value(id, &key.name, to_toml(&node.value).to_string(), false);
        }
    }
}

/// A variant as it was found.
struct Picked {
    variant: Variant,
    payload: Node,
    /// The variant's name in the scenario, unless the value stands for itself.
    key: Option<Key>,
    /// Keys beside it.
    strays: Vec<Key>,
}

/// Finds which of the variants a value is.
fn pick(node: Node, variants: &[Variant]) -> Result<Picked, (Option<Span>, Complaint)> {
    let names: Vec<&str> = variants.iter().map(|variant| variant.name).collect();
    let must = format!("must be one of {}", names.join(", "));
    let span = node.span;
    let bare = |variant: Variant, table: Table| Picked {
        variant,
        payload: Node {
            value: Value::Table(table),
            span,
        },
        key: None,
        strays: Vec::new(),
    };
    let Value::Table(table) = node.value else {
        if let Value::String(text) = &node.value
            && let Some(&variant) = variants.iter().find(|variant| variant.name == text)
        {
            if variant.form == Form::Unit {
                return Ok(bare(variant, Table::default()));
            }
            let help = format!("write it as a table: {text} = {{ .. }}");
            return Err((
                None,
                Complaint::new(must, format!("is only the name {}", quoted(text)), help),
            ));
        }
        if let Some((&variant, value_key)) =
            variants.iter().find_map(|variant| match variant.form {
                Form::Shorthand(value_key) => Some((variant, value_key)),
                Form::Table | Form::Unit => None,
            })
        {
            let mut table = Table::default();
            table.push(
                Key {
                    name: value_key.to_owned(),
                    span,
                },
                node,
            );
            return Ok(bare(variant, table));
        }
        let help = match &node.value {
            Value::String(text) => suggest(text, &names),
            _ => format!("known here: {}", names.join(", ")),
        };
        return Err((
            None,
            Complaint::new(must, format!("is {}", describe(&node)), help),
        ));
    };
    let (given, strays): (Vec<_>, Vec<_>) = table
        .into_entries()
        .partition(|(key, _)| names.contains(&key.name.as_str()));
    // What `--set` made replaces what the file says.
    let newest = given.iter().map(|(key, _)| key.span.source).max();
    let mut given = given
        .into_iter()
        .filter(|(key, _)| Some(key.span.source) == newest);
    match (given.next(), given.next()) {
        (Some((first, _)), Some((second, _))) => {
            let says = format!("cannot be both `{}` and `{}`", first.name, second.name);
            Err((
                Some(second.span),
                Complaint::new(says, "the second one", "keep one of them"),
            ))
        }
        (Some((key, payload)), None) => {
            let found = variants.iter().find(|variant| variant.name == key.name);
            let variant = *found.ok_or_else(|| (None, Complaint::new(&must, "is unknown", "")))?;
            let strays = strays.into_iter().map(|(key, _)| key).collect();
            Ok(Picked {
                variant,
                payload,
                key: Some(key),
                strays,
            })
        }
        (None, _) => match strays.first() {
            Some((key, _)) => {
                let found = format!("`{}` is none of them", key.name);
                Err((
                    Some(key.span),
                    Complaint::new(must, found, suggest(&key.name, &names)),
                ))
            }
            None => Err((
                None,
                Complaint::new(
                    must,
                    "is empty",
                    format!("known here: {}", names.join(", ")),
                ),
            )),
        },
    }
}

/// Puts what `--set` gave by index into the default list.
fn overlay(node: &Node, default: &str) -> Option<Value> {
    let Value::Table(table) = &node.value else {
        return None;
    };
    let Value::Array(mut items) = default_node(default, node.span).value else {
        return None;
    };
    for (key, item) in table.iter() {
        match key
            .name
            .parse()
            .ok()
            .and_then(|index: usize| items.get_mut(index))
        {
            Some(place) if is_override(key.span.source) => *place = item.clone(),
            _ => return None,
        }
    }
    Some(Value::Array(items))
}
