//! A parser of `text/event-stream`, byte by byte.
//!
//! Invariant: how a stream is cut into reads changes neither its events nor their order; only their stamps, each that of the
//! read which completed it. No input makes it panic, and it holds at most one event of the allowed size.
//!
//! Source: WHATWG HTML, "Server-sent events", §9.2.5 and §9.2.6: lines end in CR, LF or CRLF; a byte-order mark opens the stream
//! unseen; one space after the colon belongs to the field; a blank line ends an event, the end of the stream does not.

use thiserror::Error;

/// An event or a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A line that began with a colon, without it.
    Comment(String),
    /// A blank line ended an event that has data.
    Event(Event),
}

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its type; empty for the default, `message`.
    pub kind: String,
    /// Its lines of data, joined by LF.
    pub data: String,
    /// The last identifier that the stream gave.
    pub id: String,
}

/// An event longer than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an event of more than {limit} bytes")]
pub struct TooLong {
    /// What is allowed \[bytes\].
    pub limit: usize,
}

/// The state between two reads.
#[derive(Clone, Debug)]
pub struct Parser {
    limit: usize,
    /// The line under way.
    line: Vec<u8>,
    /// Whether the byte before was CR, so that an LF now belongs to it.
    after_cr: bool,
    /// Whether no line has ended yet: only then a byte-order mark is one.
    at_start: bool,
    kind: String,
    /// Each line followed by LF.
    data: String,
    id: String,
    retry_ms: Option<u64>,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Parser {
    /// A parser of one stream, whose events may have `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            kind: String::new(),
            data: String::new(),
            id: String::new(),
            retry_ms: None,
        }
    }

    /// Reads `bytes` and hands over what they complete.
    pub fn read(&mut self, bytes: &[u8], complete: &mut dyn FnMut(Item)) -> Result<(), TooLong> {
        for &byte in bytes {
            let ends_crlf = std::mem::take(&mut self.after_cr) && byte == b'\n';
            match byte {
                // The line ended at the CR.
                _ if ends_crlf => {}
                b'\r' | b'\n' => {
                    self.after_cr = byte == b'\r';
                    self.end_line(complete);
                }
                _ => self.push(byte)?,
            }
        }
        Ok(())
    }

    /// How long the server asks a client to wait before it connects again \[ms\].
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    fn push(&mut self, byte: u8) -> Result<(), TooLong> {
        if self.line.len() + self.data.len() >= self.limit {
            return Err(TooLong { limit: self.limit });
        }
        self.line.push(byte);
        Ok(())
    }

    fn end_line(&mut self, complete: &mut dyn FnMut(Item)) {
        let taken = std::mem::take(&mut self.line);
        let mut line = taken.as_slice();
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            if let Some(event) = self.end_event() {
                complete(Item::Event(event));
            }
        } else {
            // Lines are cut at ASCII bytes, so no character is ever cut: what is invalid here is invalid in the stream.
            let text = String::from_utf8_lossy(line);
            match text.split_once(':') {
                Some(("", comment)) => complete(Item::Comment(comment.to_owned())),
                Some((field, value)) => self.field(field, value.strip_prefix(' ').unwrap_or(value)),
                None => self.field(&text, ""),
            }
        }
        // The allocation serves the next line.
        self.line = taken;
        self.line.clear();
    }

    fn field(&mut self, name: &str, value: &str) {
        match name {
            "event" => value.clone_into(&mut self.kind),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if !value.is_empty() && value.bytes().all(|digit| digit.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok();
            }
            _ => {}
        }
    }

    /// The event that a blank line ends, if it has data.
    fn end_event(&mut self) -> Option<Event> {
        let kind = std::mem::take(&mut self.kind);
        let mut data = std::mem::take(&mut self.data);
        // An event of one empty line of data is an event; one without any is not.
        data.pop()?;
        Some(Event {
            kind,
            data,
            id: self.id.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What `stream` holds when it comes in `reads`.
    fn parsed<'a>(reads: impl IntoIterator<Item = &'a [u8]>) -> Vec<Item> {
        let mut parser = Parser::new(1 << 20);
        let mut items = Vec::new();
        for read in reads {
            let read = parser.read(read, &mut |item| items.push(item));
            read.expect("short events");
        }
        items
    }

    fn event(kind: &str, data: &str, id: &str) -> Item {
        Item::Event(Event {
            kind: kind.into(),
            data: data.into(),
            id: id.into(),
        })
    }

    fn data(text: &str) -> Item {
        event("", text, "")
    }

    #[test]
    fn the_rules_of_the_standard() {
        let comment = |text: &str| Item::Comment(text.into());
        let cases: &[(&str, &str, Vec<Item>)] = &[
            (
                "the standard's first example",
                "data: YHOO\ndata: +2\ndata: 10\n\n",
                vec![data("YHOO\n+2\n10")],
            ),
            (
                "its second: comments, identifiers, one space only",
                ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
                vec![
                    comment(" test stream"),
                    event("", "first event", "1"),
                    data("second event"),
                    data(" third event"),
                ],
            ),
            (
                "its third: empty data is data, an open end is not",
                "data\n\ndata\ndata\n\ndata:",
                vec![data(""), data("\n")],
            ),
            (
                "its fourth",
                "data:test\n\ndata: test\n\n",
                vec![data("test"), data("test")],
            ),
            (
                "CRLF",
                "event: a\r\ndata: b\r\n\r\n",
                vec![event("a", "b", "")],
            ),
            ("CR", "data: a\r\rdata: b\r\r", vec![data("a"), data("b")]),
            (
                "mixed ends",
                "data: a\r\n\rdata: b\n\r\n",
                vec![data("a"), data("b")],
            ),
            (
                "a byte-order mark, once",
                "\u{feff}data: a\n\n\u{feff}data: b\n\n",
                vec![data("a")],
            ),
            (
                "a comment next to data",
                ": wait\ndata: a\n\n",
                vec![comment(" wait"), data("a")],
            ),
            ("a bare comment", ":\n\n:\n", vec![comment(""), comment("")]),
            (
                "a type without data is no event and is forgotten",
                "event: a\n\ndata: b\n\n",
                vec![data("b")],
            ),
            (
                "unknown fields",
                "date: a\nDATA: b\n data: c\ndata: d\n\n",
                vec![data("d")],
            ),
            (
                "an identifier stays, one with NUL does not count",
                "id: 7\n\nid: 8\0\ndata: a\n\n",
                vec![event("", "a", "7")],
            ),
            (
                "other separators are content",
                "data: a\u{2028}b\u{85}c\u{b}d\n\n",
                vec![data("a\u{2028}b\u{85}c\u{b}d")],
            ),
            ("nothing", "", vec![]),
        ];
        for (name, stream, expected) in cases {
            assert_eq!(&parsed([stream.as_bytes()]), expected, "{name}");
        }
    }

    #[test]
    fn a_time_to_wait_is_digits_only() {
        let retry = |stream: &str| {
            let mut parser = Parser::new(100);
            parser.read(stream.as_bytes(), &mut |_| ()).expect("short");
            parser.retry_ms()
        };
        assert_eq!(retry("retry: 3000\n"), Some(3000));
        assert_eq!(retry("retry: 3s\nretry:\n"), None);
    }

    #[test]
    fn invalid_bytes_become_replacement_characters() {
        assert_eq!(
            parsed([&b"data: \xff\xe4\xbd\n\n"[..]]),
            [data("\u{fffd}\u{fffd}")]
        );
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut parser = Parser::new(8);
        let mut read = |bytes: &[u8]| parser.read(bytes, &mut |_| ());
        assert_eq!(read(b"data: 1\n\ndata: 2\n"), Ok(()));
        assert_eq!(read(b"data: 3\n"), Err(TooLong { limit: 8 }));
        assert_eq!(
            Parser::new(4).read(b"12345", &mut |_| ()),
            Err(TooLong { limit: 4 })
        );
    }

    #[test]
    fn an_event_is_complete_with_the_byte_that_ends_it() {
        let stream = b"data: a\r\r\ndata: b\r\n\r\n";
        let mut parser = Parser::new(100);
        let mut completed = Vec::new();
        for (index, byte) in stream.iter().enumerate() {
            let read = parser.read(&[*byte], &mut |_| completed.push(index));
            read.expect("short");
        }
        // The second CR ends the first event: it does not wait for the LF that may follow.
        assert_eq!(completed, [8, 19]);
    }

    /// Streams of pieces that matter, with noise between.
    fn streams() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(&b"data: {\"a\":1}"[..]),
            Just(&b"data:"[..]),
            Just(&b"event: ping"[..]),
            Just(&b"id: 1"[..]),
            Just(&b": wait"[..]),
            Just(&b"\r"[..]),
            Just(&b"\n"[..]),
            Just(&b"\r\n"[..]),
            Just(&b"\n\n"[..]),
            Just(&b"\xef\xbb\xbf"[..]),
            Just(&b"data: \xe4\xbd\xa0"[..]),
            Just(&b"\xff\0"[..]),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn every_split_gives_the_same_events(stream in streams(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let reads = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]);
            let whole = parsed([stream.as_slice()]);
            prop_assert_eq!(parsed(reads), whole.clone());
            prop_assert_eq!(parsed(stream.chunks(1)), whole);
        }

        #[test]
        fn no_bytes_make_it_panic(stream in prop::collection::vec(any::<u8>(), 0..512), limit in 0_usize..64) {
            let mut parser = Parser::new(limit);
            let mut longest = 0;
            let _ = parser.read(&stream, &mut |item| {
                if let Item::Event(event) = item {
                    longest = longest.max(event.data.len());
                }
            });
            // A replacement character has three bytes where the stream had one.
            prop_assert!(longest <= 3 * limit);
        }
    }
}
