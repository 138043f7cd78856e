//! Traces: when requests really came and how long they were, read from files that others published.
//!
//! A file is read row by row and never held, so its length does not matter. It is known by its head, or its columns are named.
//! Rows stand in order of time and count from the first one's stamp. What a file lacks or states impossibly is refused with its
//! line, what was found and what is allowed; what is odd but usable is counted by a [`Survey`].
//!
//! Sources of the formats: Azure/AzurePublicDataset (LLM inference traces 2023, 2024 and, with images, 2025), HPMLL/BurstGPT,
//! kvcache-ai/Mooncake (FAST'25), microsoft/vidur.

mod fit;
mod layout;
mod lines;
mod replay;
mod rows;
mod source;
mod survey;

use std::path::Path;

pub use crate::foreign::{ImportError, Unit};
pub use fit::{Fit, Fits, Law};
pub use layout::{Format, Options};
pub use replay::{Broken, Extent, Replayed};
pub use rows::{Row, Rows};
pub use survey::{Course, Dispersion, Gaps, Hours, Lengths, Silence, Step, Survey};

use crate::foreign::Problem;
use layout::Layout;
use source::Source;

/// A file of requests, its head understood.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The file as the user named it.
    file: String,
    source: Source,
    layout: Layout,
}

impl Trace {
    /// The trace in the file at `path`, called `file` in messages.
    pub fn open(file: &str, path: &Path, options: &Options) -> Result<Self, ImportError> {
        Self::of(file, Source::File(path.into()), options)
    }

    /// The trace that these bytes are.
    pub fn of_bytes(file: &str, bytes: Vec<u8>, options: &Options) -> Result<Self, ImportError> {
        Self::of(file, Source::Bytes(bytes.into()), options)
    }

    fn of(file: &str, source: Source, options: &Options) -> Result<Self, ImportError> {
        let layout =
            Layout::of(&source, options).map_err(|problem| refused(file, vec![problem]))?;
        Ok(Self {
            file: file.to_owned(),
            source,
            layout,
        })
    }

    /// The file as the user named it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// What kind of file it is.
    pub fn format(&self) -> Format {
        self.layout.format
    }

    /// Reads it from the start.
    pub fn rows(&self) -> Result<Rows, ImportError> {
        let rows = Rows::new(&self.source, &self.layout);
        rows.map_err(|problem| refused(&self.file, vec![problem]))
    }

    /// Reads all of it: what it holds, or everything that is wrong with it.
    pub fn survey(&self) -> Result<Survey, ImportError> {
        survey::of(self.rows()?).map_err(|problems| refused(&self.file, problems))
    }
}

fn refused(file: &str, problems: Vec<Problem>) -> ImportError {
    ImportError {
        file: file.to_owned(),
        problems,
    }
}
