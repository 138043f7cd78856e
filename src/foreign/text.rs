//! A file as text, with the words that other programs write where JSON has no number.
//!
//! Python's `json` writes `NaN`, `Infinity` and `-Infinity` bare, C programs `nan` and `inf`; strict parsers refuse them. Each
//! is turned into a JSON string of the same length and remembered by its place, so that every position stays that of the file
//! and whoever asks for a number there hears what stood there.

use super::problem::Problem;

/// The words, longest first.
const NON_FINITE: [&str; 6] = ["Infinity", "infinity", "NaN", "nan", "Inf", "inf"];

/// The text of a file.
#[derive(Debug)]
pub(crate) struct Text {
    content: String,
    /// Where each line begins.
    lines: Vec<usize>,
    /// The number of the first line.
    first: usize,
    /// Words that are no JSON, by where they begin, in order.
    non_finite: Vec<(usize, String)>,
}

impl Text {
    /// Reads UTF-8, with or without a byte-order mark.
    pub(crate) fn new(bytes: Vec<u8>) -> Result<Self, Problem> {
        Self::from_line(1, bytes)
    }

    /// Reads a part of a file that begins with this line.
    pub(crate) fn from_line(first: usize, bytes: Vec<u8>) -> Result<Self, Problem> {
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = String::from_utf8_lossy(valid).matches('\n').count() + first;
            Problem::at_line(line, "not UTF-8 text")
        })?;
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        };
        if text.trim().is_empty() {
            return Err(Problem::of_file("empty: there is nothing but blank lines"));
        }
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(breaks).collect();
        Ok(Self {
            content: text,
            lines,
            first,
            non_finite: Vec::new(),
        })
    }

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.content
    }

    /// Line of a byte.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.first - 1 + self.lines.partition_point(|&start| start <= offset)
    }

    /// The file's number of a line of this text, from one.
    pub(crate) fn number(&self, line: usize) -> usize {
        self.first - 1 + line
    }

    /// The line of this text and the column, from one, behind its last word.
    pub(crate) fn end(&self) -> (usize, usize) {
        let text = self.content.trim_end();
        let start = text.rfind('\n').map_or(0, |at| at + 1);
        (
            text.matches('\n').count() + 1,
            text[start..].chars().count() + 1,
        )
    }

    /// The byte at which a part of the text begins.
    pub(crate) fn offset(&self, part: &str) -> usize {
        part.as_ptr() as usize - self.content.as_ptr() as usize
    }

    /// The word that stood where a string stands now.
    pub(crate) fn non_finite_at(&self, offset: usize) -> Option<&str> {
        let found = self.non_finite.binary_search_by_key(&offset, |(at, _)| *at);
        found.ok().map(|index| self.non_finite[index].1.as_str())
    }

    /// Where the first word that is no JSON stands, and how many there are.
    pub(crate) fn non_finite(&self) -> Option<(usize, &str, usize)> {
        let (at, word) = self.non_finite.first()?;
        Some((self.line(*at), word, self.non_finite.len()))
    }

    /// Leaves out a last line that is neither ended nor whole JSON, and says whether there was one.
    pub(crate) fn without_torn_line(mut self) -> (Self, bool) {
        let end = self.content.rfind('\n').map_or(0, |at| at + 1);
        let last = &self.content[end..];
        let is_torn = end > 0
            && !last.trim().is_empty()
            && serde_json::from_str::<serde::de::IgnoredAny>(last).is_err();
        if is_torn {
            self.content.truncate(end);
        }
        (self, is_torn)
    }

    /// Makes JSON of it: words outside strings that stand for no finite number become strings of the same length.
    pub(crate) fn into_json(mut self) -> Self {
        let places = non_finite_places(&self.content);
        let mut bytes = self.content.into_bytes();
        for &(start, end) in &places {
            let word = String::from_utf8_lossy(&bytes[start..end]).into_owned();
            self.non_finite.push((start, word));
            bytes[start] = b'"';
            bytes[end - 1] = b'"';
        }
        self.content = String::from_utf8_lossy(&bytes).into_owned();
        self
    }
}

/// Starts and ends of such words.
fn non_finite_places(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut places = Vec::new();
    let (mut at, mut in_string) = (0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'N' | b'n' | b'I' | b'i' if !in_string => {
                let rest = &bytes[at..];
                let word = NON_FINITE
                    .iter()
                    .find(|word| rest.starts_with(word.as_bytes()));
                if let Some(word) = word {
                    let signed = at > 0 && matches!(bytes[at - 1], b'-' | b'+');
                    places.push((at - usize::from(signed), at + word.len()));
                    at += word.len() - 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_outside_strings_keep_their_places() {
        let text = Text::new(
            b"\xef\xbb\xbf{\"a\": Infinity, \"b\": \"NaN\",\n\"c\": -inf, \"d\": null}".to_vec(),
        );
        let text = text.expect("UTF-8").into_json();
        assert_eq!(
            text.as_str(),
            "{\"a\": \"nfinit\", \"b\": \"NaN\",\n\"c\": \"in\", \"d\": null}"
        );
        assert_eq!(text.non_finite(), Some((1, "Infinity", 2)));
        assert_eq!(text.non_finite_at(6), Some("Infinity"));
        assert_eq!(text.line(text.as_str().find("null").expect("there")), 2);
    }

    #[test]
    fn blank_files_and_other_encodings_are_refused() {
        assert!(Text::new(b"\xef\xbb\xbf \r\n\n".to_vec()).is_err());
        let problem = Text::new(b"a\nb\xff".to_vec()).expect_err("not UTF-8");
        assert_eq!(problem.line, Some(2));
    }
}
