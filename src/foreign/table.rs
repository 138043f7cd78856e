//! CSV with a head, and columns that the user names.

use std::io::{self, BufRead, Chain};

use super::decimal::{Unit, nanos};
use super::did_you_mean;
use super::problem::Problem;
use super::stamp::Stamp;

/// CSV with a head, a byte-order mark or not, and every line end; each record with its line.
pub(crate) struct Records<R> {
    reader: csv::Reader<Chain<R, &'static [u8]>>,
    /// Whether lines end in CR and LF.
    is_crlf: bool,
    /// Fields of the head.
    width: usize,
}

impl<R: BufRead> Records<R> {
    /// Looks at the first line's end.
    pub(crate) fn new(mut from: R) -> io::Result<Self> {
        let start = from.fill_buf()?;
        let end = start.iter().position(|byte| *byte == b'\n');
        let is_crlf = end.is_some_and(|end| start[..end].ends_with(b"\r"));
        let reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            // A line of blanks is no record, but has a field: records are counted here.
            .flexible(true)
            .from_reader(from.chain(if is_crlf { b"\r\n" } else { b"\n" as &[u8] }));
        Ok(Self {
            reader,
            is_crlf,
            width: 0,
        })
    }

    /// The names of the columns.
    pub(crate) fn head(&mut self) -> Result<Vec<String>, Problem> {
        let line = 1;
        let head = self.reader.headers();
        let head = head.map_err(|error| broken(line, &error))?;
        self.width = head.len();
        Ok(head.iter().map(str::to_owned).collect())
    }

    /// The next record and its line, from one. Blank lines are passed over.
    pub(crate) fn read(
        &mut self,
        record: &mut csv::StringRecord,
    ) -> Option<Result<usize, Problem>> {
        let mut read = self.reader.read_record(record);
        while matches!(read, Ok(true)) && record.len() == 1 && record[0].is_empty() {
            read = self.reader.read_record(record);
        }
        // The lines that the reader gives its records are those before blank lines, and before the LF of a CR LF. It has passed
        // a record's lone LF when it gives the record, but not yet the LF of a CR LF. Each record has one: `new` adds the last.
        let behind = u64::from(!self.is_crlf);
        let line = usize::try_from(self.reader.position().line() - behind).unwrap_or(0);
        match read {
            Ok(false) => None,
            Ok(true) if record.len() != self.width => {
                let (found, width) = (record.len(), self.width);
                let why = format!("found {found} fields, the head has {width}");
                Some(Err(Problem::at_line(line, why)))
            }
            Ok(true) => Some(Ok(line)),
            Err(error) => Some(Err(broken(line, &error))),
        }
    }
}

/// The line at which a quoted field opens that never closes, if there is one: it takes in all that follows.
pub(crate) fn open_quote(text: &str) -> Option<usize> {
    let (mut line, mut opened) = (1, None);
    let (mut at_start, mut bytes) = (true, text.bytes().peekable());
    while let Some(byte) = bytes.next() {
        let was_start = std::mem::replace(&mut at_start, false);
        match byte {
            b'\n' => {
                line += 1;
                at_start = opened.is_none();
            }
            b'"' if opened.is_none() => opened = was_start.then_some(line),
            b'"' if bytes.peek() == Some(&b'"') => drop(bytes.next()),
            b'"' => opened = None,
            b',' | b'\r' => at_start = opened.is_none(),
            _ => {}
        }
    }
    opened
}

/// What is wrong with a line that the reader does not take.
fn broken(line: usize, error: &csv::Error) -> Problem {
    let why = match error.kind() {
        csv::ErrorKind::Utf8 { .. } => "not UTF-8 text".to_owned(),
        _ => format!("not CSV: {error}"),
    };
    Problem::at_line(line, why)
}

/// Refuses a second column called `name`: nobody can know which of the two is meant.
pub(crate) fn only_one(names: &[String], name: &str) -> Result<(), Problem> {
    let places = names.iter().enumerate();
    let mut places = places.filter(|(_, known)| *known == name);
    match (places.next(), places.next()) {
        (Some((first, _)), Some((second, _))) => Err(Problem::of_file(format!(
            "columns {} and {} are both called `{name}`\nhelp: rename or remove one of them",
            first + 1,
            second + 1
        ))),
        _ => Ok(()),
    }
}

/// The place of the column called `name`, of which there may be one only.
pub(crate) fn column(names: &[String], name: &str) -> Result<usize, Problem> {
    only_one(names, name)?;
    let found = names.iter().position(|known| known == name);
    found.ok_or_else(|| {
        let help = did_you_mean(name, names.iter().map(String::as_str)).map_or_else(
            || format!("it has {}", names.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        Problem::of_file(format!("there is no column `{name}`\nhelp: {help}"))
    })
}

/// When something happened, by the cell of a column of times; the unit is of those that hold numbers, and `option` says how to
/// state it.
pub(crate) fn stamp(cell: Option<&str>, unit: Option<Unit>, option: &str) -> Result<Stamp, String> {
    let Some(cell) = cell else {
        return Err("missing".to_owned());
    };
    if let Some(stamp) = Stamp::of_date(cell) {
        return Ok(stamp);
    }
    let Some(unit) = unit else {
        return Err(if nanos(cell, Unit::Seconds).is_some() {
            format!("a number whose unit its name does not tell\nhelp: {option}")
        } else {
            format!("found `{cell}`, a date or a number is needed")
        });
    };
    Stamp::of_number(cell, unit).ok_or_else(|| {
        let unit = unit.name();
        format!("found `{cell}`, a date or a finite number that is not negative [{unit}] is needed")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_that_never_closes_is_found_where_it_opens() {
        for (text, expected) in [
            ("a,b\n\"1\",2\n", None),
            ("a,b\n1,\"2\n3,4\n5,6\n", Some(2)),
            ("a,b\r\n\"x\ny\",2\r\n\"3,4\r\n", Some(4)),
            // A doubled quote stands for itself, and so does one within a bare field.
            ("a,b\n\"1 \"\" 2\",5\" long\n", None),
            ("a,b\n\"1\"\",2\n", Some(2)),
        ] {
            assert_eq!(open_quote(text), expected, "{text}");
        }
    }
}
