//! The `calibrate` table: which values are free, and between what.

use super::super::{Kind, Reader, Variant};
use crate::calibrate::free::{Ends, Free, Place, Range};

/// Free values, in the order of the file.
pub(super) fn read(entries: Vec<(String, Reader<'_>)>) -> Vec<Free> {
    entries
        .into_iter()
        .map(|(name, reader)| free(name, reader))
        .collect()
}

fn free(name: String, mut reader: Reader<'_>) -> Free {
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
    reader.finish();
    Free {
        name,
        place: Place::Path(path),
        range,
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
pub(super) fn refuse_repeats(root: &mut Reader<'_>, free: &[Free]) {
    for (index, one) in free.iter().enumerate() {
        if free[..index].iter().any(|other| other.place == one.place) {
            let message = format!(
                "`calibrate.{}` frees a value that is free already",
                one.name
            );
            root.problem_at("calibrate", message, "here", "leave one of them out");
        }
    }
}
