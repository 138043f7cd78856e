//! The `catalog` table: entries that a scenario changes or adds.

use super::super::Reader;
use crate::catalog::Catalog;

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
            if let Err(problem) = catalog.overlay(kind, &id, &table) {
                let key = problem.key.clone().unwrap_or_default();
                let help = problem
                    .help
                    .clone()
                    .unwrap_or_else(|| format!("`catalog {kind}` shows the shipped entries"));
                entry.problem_at(&key, problem.message.clone(), "in this entry", help);
            }
            entry.finish();
        }
    }
    reader.finish();
    catalog
}
