//! The scenario as understood: everything that was read, defaults included.

use std::fmt::Write as _;
use std::path::Path;

use super::problem::{SourceId, Span};
use super::units::quoted;

/// Longest line on which a variant is written instead of under a header \[characters\].
const LINE: usize = 100;

/// What was read, in the order of reading. Printed as TOML it is a scenario that means the same and leaves nothing to defaults.
#[derive(Clone, Debug)]
pub struct Understood {
    /// The top level first; tables refer to others by index.
    tables: Vec<Vec<(String, Slot)>>,
    /// What stands behind the scenario, as comments.
    remarks: Vec<Remark>,
    /// Files that the scenario names.
    files: Vec<File>,
}

/// A file that the scenario names.
#[derive(Clone, Debug)]
struct File {
    table: TableId,
    key: String,
    span: Span,
    /// Where it is, whatever the working folder.
    path: String,
}

#[derive(Clone, Debug)]
enum Remark {
    /// A table that is not part of the scenario, under its title.
    Table(String, TableId),
    Lines(Vec<String>),
}

/// A table of [`Understood`].
pub(super) type TableId = usize;

#[derive(Clone, Debug)]
enum Slot {
    Value {
        text: String,
        defaulted: bool,
    },
    Table(TableId),
    /// `shorthand` names the value that may stand for the whole.
    Variant {
        name: String,
        payload: TableId,
        shorthand: Option<&'static str>,
    },
    List(Vec<TableId>),
}

impl Default for Understood {
    fn default() -> Self {
        Self {
            tables: vec![Vec::new()],
            remarks: Vec::new(),
            files: Vec::new(),
        }
    }
}

impl Understood {
    /// The top level.
    pub(super) const ROOT: TableId = 0;

    /// Notes a value, given as TOML.
    pub(super) fn value(&mut self, table: TableId, key: &str, text: String, defaulted: bool) {
        self.put(table, key, Slot::Value { text, defaulted });
    }

    /// Notes a table.
    pub(super) fn table(&mut self, table: TableId, key: &str) -> TableId {
        let id = self.detached();
        self.put(table, key, Slot::Table(id));
        id
    }

    /// Notes which variant was chosen; its own table is returned.
    pub(super) fn variant(
        &mut self,
        table: TableId,
        key: &str,
        name: &str,
        shorthand: Option<&'static str>,
    ) -> TableId {
        let payload = self.detached();
        let name = name.to_owned();
        self.put(
            table,
            key,
            Slot::Variant {
                name,
                payload,
                shorthand,
            },
        );
        payload
    }

    /// Notes a list of tables; an empty one is a value.
    pub(super) fn list(&mut self, table: TableId, key: &str, length: usize) -> Vec<TableId> {
        let items: Vec<TableId> = (0..length).map(|_| self.detached()).collect();
        self.put(table, key, Slot::List(items.clone()));
        items
    }

    /// A table that is not part of the scenario.
    pub(super) fn detached(&mut self) -> TableId {
        self.tables.push(Vec::new());
        self.tables.len() - 1
    }

    /// A table that is not part of the scenario but is shown behind it.
    pub(super) fn appended(&mut self, title: String) -> TableId {
        let id = self.detached();
        self.remarks.push(Remark::Table(title, id));
        id
    }

    /// Lines behind the scenario, if there are any.
    pub(super) fn remark(&mut self, lines: Vec<String>) {
        if !lines.is_empty() {
            self.remarks.push(Remark::Lines(lines));
        }
    }

    /// Notes a file that the scenario names at a key.
    pub(super) fn file(&mut self, table: TableId, key: &str, span: Span, path: &Path) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.files.push(File {
            table,
            key: key.to_owned(),
            span,
            path: path.to_string_lossy().into_owned(),
        });
    }

    fn put(&mut self, table: TableId, key: &str, slot: Slot) {
        let entries = &mut self.tables[table];
        match entries.iter_mut().find(|(name, _)| name == key) {
            Some(entry) => entry.1 = slot,
            None => entries.push((key.to_owned(), slot)),
        }
    }

    /// The same with whole paths instead of those that count from the scenario's folder: it can be read anywhere.
    #[must_use]
    pub fn relocatable(&self) -> Self {
        let mut whole = self.clone();
        for file in &self.files {
            whole.value(file.table, &file.key, quoted(&file.path), false);
        }
        whole
    }

    /// The scenario's own text with whole paths.
    pub fn relocatable_text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let mut files: Vec<&File> = self.files.iter().collect();
        files.retain(|file| file.span.source == SourceId::FILE);
        // The last first, so that the others stay where they are; a template's file is read more than once.
        files.sort_by_key(|file| std::cmp::Reverse(file.span.start));
        files.dedup_by_key(|file| file.span.start);
        for file in files {
            text.replace_range(file.span.start..file.span.end, &quoted(&file.path));
        }
        text
    }

    /// As TOML, with `# default` after whatever the scenario did not say.
    pub fn to_toml(&self) -> String {
        self.print(true)
    }

    /// As TOML, without a word on what was a default: equal for scenarios that mean the same.
    pub fn to_plain_toml(&self) -> String {
        self.print(false)
    }

    /// The same, and of tables that many deployments are made of no more than how many there are.
    pub fn to_short_toml(&self) -> String {
        let is_table = |remark: &Remark| matches!(remark, Remark::Table(..));
        let mut short = self.clone();
        short.remarks.retain(|remark| !is_table(remark));
        let tables = self.remarks.len() - short.remarks.len();
        if tables > 0 {
            short.remark(vec![format!(
                "{tables} kinds of deployments of catalogues are understood in full with --all"
            )]);
        }
        short.to_toml()
    }

    /// A table that is shown behind the scenario, by its title, as TOML without a word on defaults.
    pub fn behind(&self, title: &str) -> Option<String> {
        let id = self.remarks.iter().find_map(|remark| match remark {
            Remark::Table(own, id) if own == title => Some(*id),
            _ => None,
        })?;
        let mut out = String::new();
        self.write_table(&mut out, id, "", "", false);
        Some(out)
    }

    fn print(&self, marks: bool) -> String {
        let mut out = String::new();
        self.write_table(&mut out, Self::ROOT, "", "", marks);
        if marks {
            self.write_remarks(&mut out);
        }
        out
    }

    fn write_remarks(&self, out: &mut String) {
        let is_table = |remark: &&Remark| matches!(remark, Remark::Table(..));
        let (tables, lines): (Vec<_>, Vec<_>) = self.remarks.iter().partition(is_table);
        for remark in lines.into_iter().chain(tables) {
            let lines = match remark {
                Remark::Lines(lines) => lines.clone(),
                Remark::Table(title, id) => {
                    let mut text = String::new();
                    self.write_table(&mut text, *id, "", "", true);
                    let lines = std::iter::once(title.as_str()).chain(text.lines());
                    lines.map(str::to_owned).collect()
                }
            };
            let lines = lines.iter().map(|line| format!("# {line}"));
            let block: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
            let _ = writeln!(out, "\n{}", block.join("\n"));
        }
    }

    /// Writes a table under its header: first values, because after the next header they would belong there.
    fn write_table(&self, out: &mut String, id: TableId, path: &str, header: &str, marks: bool) {
        let (lines, rest): (Vec<_>, Vec<_>) = self.tables[id]
            .iter()
            .map(|(name, slot)| (key(name), slot))
            .map(|(key, slot)| {
                (
                    self.line(&key, slot).filter(|line| fits(line, slot)),
                    key,
                    slot,
                )
            })
            .partition(|(line, ..)| line.is_some());
        if !header.is_empty() && (!lines.is_empty() || header.starts_with("[[")) {
            let gap = if out.is_empty() { "" } else { "\n" };
            let _ = writeln!(out, "{gap}{header}");
        }
        for line in lines.into_iter().filter_map(|(line, ..)| line) {
            let _ = match line.mark() {
                Some(mark) if marks => writeln!(out, "{}  # {mark}", line.text),
                _ => writeln!(out, "{}", line.text),
            };
        }
        for (_, key, slot) in rest {
            let path = if path.is_empty() {
                key
            } else {
                format!("{path}.{key}")
            };
            match slot {
                Slot::Value { .. } => {}
                Slot::Table(id) => self.write_table(out, *id, &path, &format!("[{path}]"), marks),
                Slot::Variant { name, payload, .. } => {
                    let path = format!("{path}.{}", self::key(name));
                    self.write_table(out, *payload, &path, &format!("[{path}]"), marks);
                }
                Slot::List(items) => {
                    for id in items {
                        self.write_table(out, *id, &path, &format!("[[{path}]]"), marks);
                    }
                }
            }
        }
    }

    /// The entry on one line, if it has no tables but variants in it.
    fn line(&self, key: &str, slot: &Slot) -> Option<Line> {
        match slot {
            Slot::Value { text, defaulted } => Some(Line {
                text: format!("{key} = {text}"),
                defaults: if *defaulted {
                    vec![key.to_owned()]
                } else {
                    Vec::new()
                },
                values: 1,
            }),
            Slot::Variant {
                payload, shorthand, ..
            } if self.is_only(*payload, *shorthand) => {
                let (_, value) = &self.tables[*payload][0];
                self.line(key, value)
            }
            Slot::Variant { name, payload, .. } => {
                let lines = self.tables[*payload]
                    .iter()
                    .map(|(name, slot)| self.line(&self::key(name), slot));
                let lines = lines.collect::<Option<Vec<Line>>>()?;
                let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
                let inside = if texts.is_empty() {
                    "{}".to_owned()
                } else {
                    format!("{{ {} }}", texts.join(", "))
                };
                Some(Line {
                    text: format!("{key}.{} = {inside}", self::key(name)),
                    values: lines.iter().map(|line| line.values).sum(),
                    defaults: lines.into_iter().flat_map(|line| line.defaults).collect(),
                })
            }
            Slot::Table(_) | Slot::List(_) => None,
        }
    }

    /// Whether a variant's table holds nothing but the value that may stand for it.
    fn is_only(&self, payload: TableId, shorthand: Option<&str>) -> bool {
        match self.tables[payload].as_slice() {
            [(name, Slot::Value { .. })] => shorthand == Some(name),
            _ => false,
        }
    }
}

/// An entry on one line.
struct Line {
    text: String,
    /// Which values in it are defaults.
    defaults: Vec<String>,
    values: usize,
}

impl Line {
    fn mark(&self) -> Option<String> {
        match self.defaults.len() {
            0 => None,
            all if all == self.values => Some("default".to_owned()),
            _ => Some(format!("default: {}", self.defaults.join(", "))),
        }
    }
}

/// Long variants go under a header; values have no choice.
fn fits(line: &Line, slot: &Slot) -> bool {
    !matches!(slot, Slot::Variant { .. }) || line.text.chars().count() <= LINE
}

/// A name as a TOML key.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(bare) {
        name.to_owned()
    } else {
        quoted(name)
    }
}
