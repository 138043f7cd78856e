//! Where the bytes of a trace are.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor};
use std::path::Path;
use std::sync::Arc;

use crate::foreign::Problem;

/// Read at once \[bytes\].
const CHUNK: usize = 1 << 16;

/// Bytes that can be read again and again.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// A file.
    File(Arc<Path>),
    /// What cannot be read twice, such as standard input, and so is kept.
    Bytes(Arc<[u8]>),
}

impl Source {
    /// Reads from the start, in chunks.
    pub(super) fn read(&self) -> Result<Box<dyn BufRead + Send>, Problem> {
        Ok(match self {
            Self::File(path) => {
                let file = File::open(path).map_err(|error| unreadable(&error))?;
                Box::new(BufReader::with_capacity(CHUNK, file))
            }
            Self::Bytes(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
        })
    }
}

/// What is wrong with a file that the system does not give.
pub(super) fn unreadable(error: &io::Error) -> Problem {
    Problem::of_file(format!("could not be read: {error}"))
}
