//! Reading scenario files: TOML with units, every problem found at once, every default made visible.
//!
//! A deserialiser stops at its first error, so a scenario is read by hand. A [`Document`] is the file with the `--set`
//! arguments applied, as a tree that remembers where each value stands. A [`Reader`] walks one table of it: it asks for keys
//! by name with a [`Kind`] that says how the value is written, and with the default in that same notation. What it read,
//! defaults included, goes into [`Understood`], and what it could not read becomes a [`Problem`] while reading goes on; so
//! reading, defaults and the printed scenario cannot disagree.
//!
//! Variants are table names (`scaling.arrival = {..}`); there is no `kind = "arrival"`.

mod document;
mod kind;
mod problem;
mod reader;
mod schema;
mod understood;
pub mod units;

pub use crate::foreign::did_you_mean;
pub use document::{Document, Key, Node, Notation, Table, Value, Varied};
pub use kind::Kind;
pub use problem::{Complaint, Part, Problem, ScenarioError, SourceId, Sources, Span};
pub use reader::{Reader, Reading, Template, Variant};
pub use schema::{Overrides, Schedule, deployment_of, load, load_with_free, optional_span};
pub use understood::Understood;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests;
