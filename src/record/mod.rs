//! A run folder: what was asked, the scenario, the results, and every request.
//!
//! A folder appears whole or not at all: it is written beside its place under another name and then renamed. No file says when
//! it was made, so the same command gives the same bytes.

mod replicas;
mod requests;

use std::fs;
use std::hash::Hasher as _;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::experiment::Measured;
use crate::report::calibrate::CalibrationReport;
use crate::report::sweep::SweepReport;
use crate::report::{Format, Report, SCHEMA, VERSION};
use crate::time::Time;

/// The file that makes a folder ours.
const MANIFEST: &str = "manifest.json";
/// What its `program` says.
const PROGRAM: &str = "thermocline";

/// Whose requests a folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The benchmark's counted ones.
    Benchmark,
    /// Every user's that ended in the measured window, and the benchmark's that were thrown away.
    Everybody,
}

/// What a folder is written from.
#[derive(Debug)]
pub struct Record<'a> {
    /// The command line.
    pub command: &'a [String],
    /// The scenario as given.
    pub text: &'a str,
    /// The scenario as understood.
    pub understood: &'a str,
    /// The scenario as the user named it.
    pub name: &'a str,
    /// The results.
    pub results: Results<'a>,
}

/// What a folder tells of.
#[derive(Clone, Copy, Debug)]
pub enum Results<'a> {
    /// One setting, and whose requests to write.
    Simulation(&'a Report<'a>, Whose),
    /// Several settings.
    Sweep(&'a SweepReport<'a>),
    /// A calibration, and its scenario with the values found.
    Calibration(&'a CalibrationReport<'a>, &'a str),
}

/// Why a folder could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It holds something that this program did not write.
    #[error(
        "`{}` holds something else (`{found}`)\nhelp: name another folder, or add --force to write beside it",
        path.display()
    )]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// Something in it.
        found: String,
    },
    /// A file or folder could not be read or written.
    #[error("could not write the run folder `{}`", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    program: String,
    schema: u32,
    version: String,
    command: Vec<String>,
    scenario: Named,
    seed: u64,
    replications: u64,
    percentile_method: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cv_definition: Option<String>,
    files: Vec<File>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Named {
    name: String,
    title: String,
    /// FNV-1a, 64 bits, of the scenario's text.
    fnv1a: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct File {
    name: String,
    bytes: u64,
    /// FNV-1a, 64 bits, of the file.
    fnv1a: String,
}

/// What is at a place where a folder shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing, or an empty folder.
    Free,
    /// An earlier run folder, and nothing else in it.
    Ours,
    /// Something else, to be written beside.
    Shared,
}

/// A folder to write.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    place: Place,
}

impl Folder {
    /// A run folder at `path`, which must be free, or a run folder, or `force`d.
    pub fn new(path: &Path, force: bool) -> Result<Self, RecordError> {
        let place = match foreign(path).map_err(|source| failed(path, source))? {
            Content::Nothing => Place::Free,
            Content::Ours => Place::Ours,
            Content::Foreign(_) if force && path.is_dir() => Place::Shared,
            Content::Foreign(found) => {
                let path = path.to_owned();
                return Err(RecordError::Occupied { path, found });
            }
        };
        let path = path.to_owned();
        Ok(Self { path, place })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the folder.
    pub fn write(&self, record: &Record<'_>) -> Result<(), RecordError> {
        let draft = self.beside("draft");
        self.written(record, &draft).map_err(|source| {
            // The first error is the one to show.
            let _ = fs::remove_dir_all(&draft);
            failed(&self.path, source)
        })
    }

    fn written(&self, record: &Record<'_>, draft: &Path) -> io::Result<()> {
        if draft.exists() {
            fs::remove_dir_all(draft)?;
        }
        fs::create_dir_all(draft)?;
        let names = write_files(record, draft)?;
        match self.place {
            Place::Free => {
                if self.path.exists() {
                    fs::remove_dir(&self.path)?;
                }
                fs::rename(draft, &self.path)
            }
            Place::Ours => {
                let old = self.beside("old");
                fs::rename(&self.path, &old)?;
                fs::rename(draft, &self.path)?;
                fs::remove_dir_all(old)
            }
            Place::Shared => {
                for name in &names {
                    fs::rename(draft.join(name), self.path.join(name))?;
                }
                fs::remove_dir(draft)
            }
        }
    }

    /// A name for this process alone, in the same folder.
    fn beside(&self, what: &str) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!(".{name}.{what}.{}", std::process::id());
        self.path.with_file_name(name)
    }
}

fn failed(path: &Path, source: io::Error) -> RecordError {
    let path = path.to_owned();
    RecordError::Io { path, source }
}

/// What a path holds.
enum Content {
    Nothing,
    Ours,
    Foreign(String),
}

/// Looks for anything that a run folder would not hold.
fn foreign(path: &Path) -> io::Result<Content> {
    if !path.exists() {
        return Ok(Content::Nothing);
    }
    if !path.is_dir() {
        return Ok(Content::Foreign("a file".to_owned()));
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let manifest = fs::read(path.join(MANIFEST)).unwrap_or_default();
    let known: Vec<String> = match serde_json::from_slice::<Manifest>(&manifest) {
        Ok(manifest) if manifest.program == PROGRAM => {
            let files = manifest.files.into_iter().map(|file| file.name);
            files.chain([MANIFEST.to_owned()]).collect()
        }
        _ => Vec::new(),
    };
    let content = match names.iter().find(|name| !known.contains(name)) {
        Some(stranger) => Content::Foreign(stranger.clone()),
        None if names.is_empty() => Content::Nothing,
        None => Content::Ours,
    };
    Ok(content)
}

/// Writes every file, the manifest last, and names them in that order.
fn write_files(record: &Record<'_>, folder: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    let mut write = |name: &str, fill: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
        let target = fs::File::create(folder.join(name))?;
        let mut out = Counted::new(BufWriter::new(target));
        fill(&mut out)?;
        files.push(out.into_file(name)?);
        io::Result::Ok(())
    };
    write("scenario.toml", &|out| {
        out.write_all(record.text.as_bytes())
    })?;
    write("scenario.understood.toml", &|out| {
        out.write_all(record.understood.as_bytes())
    })?;
    match record.results {
        Results::Simulation(report, whose) => {
            write("summary.json", &|out| report.write(Format::Json, 0, out))?;
            write("requests.csv", &|out| requests::write(report, whose, out))?;
            write("replicas.csv", &|out| replicas::write(report, out))?;
        }
        Results::Sweep(report) => {
            write("summary.json", &|out| report.write(Format::Json, 0, out))?;
            write("settings.csv", &|out| report.write(Format::Csv, 0, out))?;
            for (name, picture) in report.pictures()? {
                write(&name, &|out| out.write_all(picture.as_bytes()))?;
            }
        }
        Results::Calibration(report, fitted) => {
            write("fitted.toml", &|out| out.write_all(fitted.as_bytes()))?;
            write("summary.json", &|out| report.write(Format::Json, 0, out))?;
            write("checks.csv", &|out| report.write_checks(out))?;
            for (name, picture) in report.pictures()? {
                write(&name, &|out| out.write_all(picture.as_bytes()))?;
            }
        }
    }
    let names = files.iter().map(|file| file.name.clone());
    let names = names.chain([MANIFEST.to_owned()]).collect();
    let manifest = manifest(record, files);
    let mut out = BufWriter::new(fs::File::create(folder.join(MANIFEST))?);
    serde_json::to_writer_pretty(&mut out, &manifest).map_err(io::Error::from)?;
    writeln!(out)?;
    out.into_inner()?.sync_all()?;
    Ok(names)
}

fn manifest(record: &Record<'_>, files: Vec<File>) -> Manifest {
    let (plan, replications, definition) = match record.results {
        Results::Simulation(report, _) => {
            let definition = report.definition.name().to_owned();
            (report.plan, report.outcome.replications, Some(definition))
        }
        Results::Sweep(report) => (report.plan, report.replications, None),
        Results::Calibration(report, _) => {
            let replications = report.prediction.predictions as u64;
            (report.plan, replications, None)
        }
    };
    Manifest {
        program: PROGRAM.to_owned(),
        schema: SCHEMA,
        version: VERSION.to_owned(),
        command: record.command.to_vec(),
        scenario: Named {
            name: record.name.to_owned(),
            title: plan.title.clone(),
            fnv1a: hash(record.text.as_bytes()),
        },
        seed: plan.seed,
        replications,
        percentile_method: plan.percentile.name().to_owned(),
        cv_definition: definition,
        files,
    }
}

fn hash(bytes: &[u8]) -> String {
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(bytes);
    format!("{:016x}", hasher.finish())
}

/// A file that counts and hashes what is written to it.
struct Counted {
    out: BufWriter<fs::File>,
    bytes: u64,
    hasher: fnv::FnvHasher,
}

impl Counted {
    fn new(out: BufWriter<fs::File>) -> Self {
        let hasher = fnv::FnvHasher::default();
        Self {
            out,
            bytes: 0,
            hasher,
        }
    }

    fn into_file(self, name: &str) -> io::Result<File> {
        self.out.into_inner()?.sync_all()?;
        Ok(File {
            name: name.to_owned(),
            bytes: self.bytes,
            fnv1a: format!("{:016x}", self.hasher.finish()),
        })
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        self.hasher.write(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// An instant relative to the window's opening, in seconds with all nine decimals; negative before it.
fn since(time: Time, opened: Time) -> String {
    exact(i128::from(time.as_nanos()) - i128::from(opened.as_nanos()))
}

/// Nanoseconds as seconds, exactly.
fn exact(nanos: i128) -> String {
    const NANOS: u128 = 1_000_000_000;
    let sign = if nanos < 0 { "-" } else { "" };
    let size = nanos.unsigned_abs();
    format!("{sign}{}.{:09}", size / NANOS, size % NANOS)
}

/// The number of a counted request, from one, in what was measured.
fn number(measured: &Measured, index: usize) -> u64 {
    Measured::number(measured.requests[index].0.id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact_to_the_nanosecond() {
        assert_eq!(exact(1), "0.000000001");
        assert_eq!(exact(-1_500_000_000), "-1.500000000");
        assert_eq!(exact(27_552_404_448), "27.552404448");
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        // Fowler, Noll and Vo's test vectors.
        assert_eq!(hash(b""), "cbf29ce484222325");
        assert_eq!(hash(b"foobar"), "85944171f73967e8");
    }
}
