//! Writing an observation file so that nothing is lost.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::{Header, Observations, ObservationsError, Row};

/// An observation file that is being written, by this process alone.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes up to the end of the last whole line.
    whole: u64,
}

/// A file that was opened to go on in.
#[derive(Debug)]
pub struct Opened {
    /// To write to.
    pub journal: Journal,
    /// What it holds.
    pub observations: Observations,
}

/// Why an observation file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// There is one already.
    #[error(
        "`{}` is there already\nhelp: go on in it with --resume {}, name another file with --out, or add --force to replace it",
        path.display(), path.display()
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another process is writing it.
    #[error("`{}` is being written by another process", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be opened, read, written or synced.
    #[error("could not {doing} `{}`", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What it holds is no observation file.
    #[error(transparent)]
    Malformed(#[from] ObservationsError),
}

impl Journal {
    /// A new file with this header. One that is there already is replaced only by `force`.
    pub fn create(path: &Path, header: &Header, force: bool) -> Result<Self, JournalError> {
        let fail = |source: io::Error| failed("create", path, source);
        let mut options = OpenOptions::new();
        // What is there stays until the lock says that nobody writes it.
        let options = options.write(true).truncate(false);
        let options = if force {
            options.create(true)
        } else {
            options.create_new(true)
        };
        let file = options.open(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => JournalError::Exists {
                path: path.to_owned(),
            },
            _ => fail(source),
        })?;
        lock(&file, path)?;
        file.set_len(0).map_err(fail)?;
        let mut journal = Self {
            path: path.to_owned(),
            file,
            whole: 0,
        };
        journal.line(header)?;
        // A new name is safe only once its folder is.
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = File::open(folder.unwrap_or(Path::new("."))).map_err(fail)?;
        // Not every file system can sync a folder.
        let _ = folder.sync_all();
        Ok(journal)
    }

    /// Opens a file to go on in. Half a line at its end is cut off.
    pub fn resume(path: &Path) -> Result<Opened, JournalError> {
        let open = OpenOptions::new().read(true).write(true).open(path);
        let mut file = open.map_err(|source| failed("open", path, source))?;
        lock(&file, path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(|source| failed("read", path, source))?;
        // A character that was cut in two is part of the torn line.
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        };
        let observations = Observations::read(&path.display().to_string(), text)?;
        let mut journal = Self {
            path: path.to_owned(),
            file,
            whole: observations.whole_bytes,
        };
        let is_ended = bytes[..journal.whole as usize].ends_with(b"\n");
        journal
            .cut()
            .map_err(|source| failed("write to", path, source))?;
        if !is_ended {
            journal.write(b"\n")?;
        }
        Ok(Opened {
            journal,
            observations,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a request and waits until the disk has it.
    pub fn append(&mut self, row: &Row) -> Result<(), JournalError> {
        self.line(row)
    }

    fn line<T: serde::Serialize>(&mut self, value: &T) -> Result<(), JournalError> {
        let mut line = serde_json::to_vec(value)
            .map_err(|error| failed("write to", &self.path, io::Error::from(error)))?;
        line.push(b'\n');
        self.write(&line)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let written = self
            .file
            .write_all(bytes)
            .and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // The disk may be full: what got there of the line goes, so that the file stays whole. The first error is the one to
            // show.
            let _ = self.cut();
            return Err(failed("write to", &self.path, source));
        }
        self.whole += bytes.len() as u64;
        Ok(())
    }

    /// Ends the file after its last whole line.
    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.whole)?;
        self.file.seek(SeekFrom::Start(self.whole))?;
        Ok(())
    }
}

fn lock(file: &File, path: &Path) -> Result<(), JournalError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(JournalError::Locked {
            path: path.to_owned(),
        }),
        // Not every file system has locks.
        Err(TryLockError::Error(source)) if source.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(source)) => Err(failed("lock", path, source)),
    }
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> JournalError {
    JournalError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}
