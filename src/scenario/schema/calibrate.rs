//! The `calibrate` table: which values are free, and between what.

use super::super::{Document, Kind, Problem, Reader, ScenarioError, Span, Variant, Varied};
use crate::calibrate::free::{Ends, Free, Place, Range};

/// A free value, and where its path and its range stand.
pub(super) struct Freed {
    pub(super) free: Free,
    path: Span,
    range: Span,
}

/// Free values, in the order of the file.
pub(super) fn read(entries: Vec<(String, Reader<'_>)>) -> Vec<Freed> {
    entries
        .into_iter()
        .map(|(name, reader)| free(name, reader))
        .collect()
}

fn free(name: String, mut reader: Reader<'_>) -> Freed {
    let path = reader.required(
        "path",
        &Kind::text().example("\"providers.acme.deployments.m.scaling.min\""),
    );
    let forms = [
        Variant::shorthand("choice", "values"),
        Variant::table("log"),
        Variant::table("linear"),
        Variant::table("integer"),
    ];
    let range = if let Some((form, inner)) = reader.optional_variant("range", &forms) {
        range(form, inner)
    } else {
        if reader.is_sound("range") {
            reader.missing("range", "{ log = { from = \"1m\", to = \"2h\" } }");
        }
        Range::Integer { from: 0, to: 1 }
    };
    let freed = Freed {
        free: Free {
            name,
            place: Place::Path(path),
            range,
        },
        path: reader.span("path"),
        range: reader.span("range"),
    };
    reader.finish();
    freed
}

/// Whether the scenario knows what every path leads to, by reading it with values that are allowed there.
pub(super) fn check(
    document: &Document,
    freed: &[Freed],
    tried: impl Fn(Document) -> Option<ScenarioError>,
) -> Result<(), ScenarioError> {
    // One value may be impossible beside the scenario's others; a path that leads nowhere is wrong with all of them.
    let places = [0.5, 0.0, 0.999];
    let mut problems = Vec::new();
    for one in freed {
        let mut found = places.map(|place| one.problems_at(place, document, &tried));
        if found.iter().all(|problems| !problems.is_empty()) {
            problems.append(&mut found[0]);
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(ScenarioError::new(document.sources.clone(), problems))
    }
}

impl Freed {
    /// What is wrong with the path, or with what it leads to, at a place of the range.
    fn problems_at(
        &self,
        place: f64,
        document: &Document,
        tried: impl Fn(Document) -> Option<ScenarioError>,
    ) -> Vec<Problem> {
        let Place::Path(path) = &self.free.place else {
            return Vec::new();
        };
        let varied = Varied {
            option: format!("calibrate.{}", self.free.name),
            argument: format!("{path}={}", self.free.text(place)),
        };
        let mut document = document.clone();
        document.vary(&varied);
        let error = tried(document.clone());
        let own = |problem: &Problem| Problem {
            span: problem.span.map(|span| self.written(&document, path, span)),
            ..problem.clone()
        };
        let problems = error
            .iter()
            .flat_map(|error| error.problems_in(&varied.option));
        problems.map(own).collect()
    }

    /// Where a part of `path=value` is written in the scenario: within the path, or else where the range is.
    fn written(&self, document: &Document, path: &str, part: Span) -> Span {
        if part.start >= path.len() {
            return self.range;
        }
        let text = document.sources.text(self.path.source);
        let written = text.get(self.path.start..self.path.end).unwrap_or("");
        // With escapes within the quotes, or over several lines, the whole of it will do.
        let inner = written.trim_matches(['"', '\'']);
        let Some(at) = written.find(inner).filter(|_| inner == path) else {
            return self.path;
        };
        let start = self.path.start + at;
        Span {
            start: start + part.start,
            end: start + part.end.min(path.len()),
            ..self.path
        }
    }
}

fn range(form: &str, mut inner: Reader<'_>) -> Range {
    let read = match form {
        "choice" => {
            let several = |values: &Vec<String>| values.len() > 1;
            let values = Kind::toml()
                .list()
                .must("have at least two values", several);
            Range::Choice(inner.required("values", &values.example("[0, 1]")))
        }
        "integer" => {
            let whole = || Kind::whole().at_most("1000000");
            let from = inner.required("from", &whole());
            let to = inner.required("to", &whole().example("10"));
            in_order(&mut inner, from < to);
            Range::Integer {
                from,
                to: to.max(from + 1),
            }
        }
        "log" => Range::Log(ends(&mut inner, true)),
        _ => Range::Linear(ends(&mut inner, false)),
    };
    inner.finish();
    read
}

/// Two quantities of one kind, the lower first; both in the unit of the lower.
fn ends(inner: &mut Reader<'_>, is_log: bool) -> Ends {
    let from = inner.required("from", &Kind::quantity().example("\"1m\""));
    let to = inner.required("to", &Kind::quantity().example("\"2h\""));
    let sound = Ends {
        from: 1.0,
        to: 2.0,
        unit: String::new(),
    };
    let Some(upper) = to.in_unit_of(&from) else {
        inner.problem_at(
            "to",
            "`from` and `to` must be of one kind",
            "cannot be put into the unit of `from`",
            "write both with a unit of the same kind, for example \"1m\" and \"2h\"",
        );
        return sound;
    };
    in_order(inner, from.number < upper);
    if is_log && from.number <= 0.0 {
        inner.problem_at(
            "from",
            "a logarithmic range begins above zero",
            "has no logarithm",
            "begin above zero, or write range.linear",
        );
        return sound;
    }
    Ends {
        from: from.number,
        to: upper,
        unit: from.unit,
    }
}

fn in_order(inner: &mut Reader<'_>, is_in_order: bool) {
    if !is_in_order {
        inner.problem_at(
            "to",
            "`to` must be above `from`",
            "is not above it",
            "swap the two, or leave the value out of `calibrate`",
        );
    }
}

/// Values that are in the scenario twice would be set twice.
pub(super) fn refuse_repeats(root: &mut Reader<'_>, freed: &[Freed]) {
    for (index, one) in freed.iter().enumerate() {
        let is_it = |other: &Freed| other.free.place == one.free.place;
        if freed[..index].iter().any(is_it) {
            let message = format!(
                "`calibrate.{}` frees a value that is free already",
                one.free.name
            );
            root.problem_at("calibrate", message, "here", "leave one of them out");
        }
    }
}
