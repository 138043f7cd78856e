//! The `catalog` table: entries that a scenario changes or adds.

use super::super::Reader;
use crate::catalog::{Catalog, EntryProblem};

/// The shipped catalogue with the scenario's entries over it.
pub(super) fn read(mut reader: Reader<'_>) -> Catalog {
    let mut catalog = Catalog::shipped();
    for kind in Catalog::kinds() {
        for (id, mut entry) in reader.entries(kind) {
            let table = entry.take_toml();
            if table.is_empty() {
                entry.finish();
                continue;
            }
            let problems = catalog.overlay(kind, &id, &table).err();
            for problem in problems.into_iter().flatten() {
                report(&mut entry, problem);
            }
            entry.finish();
        }
    }
    reader.finish();
    catalog
}

/// Reports a problem of an entry at its key, by the key's whole name.
fn report(entry: &mut Reader<'_>, problem: EntryProblem) {
    let EntryProblem {
        kind,
        key,
        message,
        help,
        ..
    } = problem;
    let help = help.unwrap_or_else(|| format!("`catalog {kind}` shows the shipped entries"));
    let key = key.unwrap_or_default();
    let name = [entry.path(), &key].join(".");
    let name = name.trim_end_matches('.');
    entry.problem_at(&key, format!("`{name}` {message}"), "in this entry", help);
}
