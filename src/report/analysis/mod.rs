//! What measured requests say, for people and for programs: one report for our own measurements and for other tools' files.

mod json;
pub mod reported;
mod table;
mod text;

use std::io::{self, Write};

use super::Format;
use super::figures::Line;
use super::text::Names;
use crate::import::{Imported, Series, Stated};
use crate::measure::analysis::{Analysis, Method};
use crate::measure::compare::Comparison;
use crate::observation::Observation;
use crate::streams::Streams;

/// With more series than this, each is compared with the first one only.
const ALL_PAIRS: usize = 5;
/// Cold shares for which the number of requests that show one is given.
const SHARES: [f64; 4] = [0.01, 0.02, 0.04, 0.05];

/// What an analysis is asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How figures are computed.
    pub method: Method,
    /// Seed of the resampling that tells how sure things are.
    pub seed: u64,
    /// The zone of the hours of the day, for the reader.
    pub zone: String,
    /// A cold share of which the number of requests that show one is wanted too.
    pub cold_share: Option<f64>,
    /// Whether all requests together are a row of their own.
    pub merge: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            method: Method::default(),
            seed: 0,
            zone: "UTC".to_owned(),
            cold_share: None,
            merge: false,
        }
    }
}

/// What is found in files.
#[derive(Debug)]
pub struct Findings<'a> {
    files: &'a [Imported],
    settings: &'a Settings,
    found: Vec<Found>,
    stated: Vec<(Name, &'a Stated)>,
    pairs: Vec<Pair>,
}

/// What is found in one series.
#[derive(Debug)]
struct Found {
    /// Index of the file; `None` for all together.
    file: Option<usize>,
    name: Name,
    series: Series,
    analysis: Analysis,
}

/// What a row is called.
#[derive(Clone, Debug, PartialEq)]
struct Name {
    target: String,
    model: String,
    session: String,
}

/// Two series side by side, by their indices.
#[derive(Debug)]
struct Pair {
    first: usize,
    second: usize,
    comparison: Comparison,
}

impl<'a> Findings<'a> {
    /// Analyses every series of the files.
    pub fn of(files: &'a [Imported], settings: &'a Settings) -> Self {
        let mut found = Vec::new();
        let mut stated = Vec::new();
        for (index, file) in files.iter().enumerate() {
            for series in &file.series {
                let name = name(
                    files,
                    index,
                    [&series.target, &series.model, &series.session],
                );
                found.push(Found::of(Some(index), name, series.clone(), settings));
            }
            for one in &file.stated {
                let name = name(files, index, [&one.target, &one.model, &one.session]);
                stated.push((name, one));
            }
        }
        let pairs = pairs(&found, settings);
        if settings.merge && found.len() > 1 {
            found.push(merged(&found, settings));
        }
        Self {
            files,
            settings,
            found,
            stated,
            pairs,
        }
    }

    /// Writes the findings. Text is `width` characters wide.
    pub fn write(&self, format: Format, width: usize, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Text => text::write(self, width, out),
            Format::Json => json::write(self, out),
            Format::Csv => table::csv(self, out),
            Format::Markdown => table::markdown(self, out),
        }
    }

    /// The series as the table takes them.
    fn lines(&self) -> Vec<Line<'_>> {
        self.found.iter().map(Found::line).collect()
    }

    /// Cold shares of which the reader learns how many requests show one, in order.
    fn shares(&self) -> Vec<f64> {
        let mut shares = SHARES.to_vec();
        shares.extend(self.settings.cold_share);
        shares.sort_by(f64::total_cmp);
        shares.dedup();
        shares
    }

    /// A series' name in one line, without what all series share.
    fn label(&self, found: &Found) -> String {
        let target = &self.found[0].name.target;
        let is_shared = self.found.iter().all(|one| one.name.target == *target);
        if is_shared && !found.name.model.is_empty() && self.found.len() > 1 {
            let short = Name {
                target: String::new(),
                ..found.name.clone()
            };
            return short.label();
        }
        found.name.label()
    }

    /// The same by the series' index.
    fn label_of(&self, index: usize) -> String {
        self.label(&self.found[index])
    }
}

impl Found {
    fn of(file: Option<usize>, name: Name, series: Series, settings: &Settings) -> Self {
        let stream = format!("analysis/{}", name.label());
        let mut rng = Streams::new(settings.seed, 0).stream(&stream);
        let analysis = Analysis::of(&series.rows, settings.method, &mut rng);
        Self {
            file,
            name,
            series,
            analysis,
        }
    }

    fn line(&self) -> Line<'_> {
        Line {
            names: self.name.names(),
            summary: &self.analysis.summary,
            verdict: self.analysis.verdict,
            classes: self.analysis.classes.as_ref(),
        }
    }

    fn seen(&self) -> Vec<Observation> {
        self.series.rows.iter().map(|row| row.seen).collect()
    }
}

impl Name {
    fn names(&self) -> Names<'_> {
        Names {
            provider: &self.target,
            model: &self.model,
            session: &self.session,
        }
    }

    fn label(&self) -> String {
        let parts = [&self.target, &self.model, &self.session];
        let parts: Vec<&str> = parts
            .into_iter()
            .map(String::as_str)
            .filter(|part| !part.is_empty())
            .collect();
        parts.join(" · ")
    }
}

/// What a series of a file is called: by its file where nothing else tells it from another file's.
fn name(files: &[Imported], file: usize, parts: [&String; 3]) -> Name {
    let [target, model, session] = parts;
    let is_taken = |other: &Imported| {
        let series = other
            .series
            .iter()
            .map(|one| [&one.target, &one.model, &one.session]);
        let stated = other
            .stated
            .iter()
            .map(|one| [&one.target, &one.model, &one.session]);
        series.chain(stated).any(|other| other == parts)
    };
    let others = || files.iter().enumerate().filter(|(index, _)| *index != file);
    let target = match target.as_str() {
        "" => label(files, file),
        target if others().any(|(_, other)| is_taken(other)) => {
            format!("{target} ({})", label(files, file))
        }
        target => target.to_owned(),
    };
    Name {
        target,
        model: model.clone(),
        session: session.clone(),
    }
}

/// What a file is called: the last part of its path, where that is enough.
fn label(files: &[Imported], file: usize) -> String {
    let short = |path: &'_ str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
    let own = short(&files[file].file);
    let same = files.iter().filter(|other| short(&other.file) == own);
    if same.count() > 1 {
        files[file].file.clone()
    } else {
        own
    }
}

/// All requests of all series: figures of the whole come from its requests, never from figures of its parts.
fn merged(found: &[Found], settings: &Settings) -> Found {
    let name = Name {
        target: "all together".to_owned(),
        model: String::new(),
        session: String::new(),
    };
    let series = Series {
        rows: found
            .iter()
            .flat_map(|one| one.series.rows.clone())
            .collect(),
        ..Series::default()
    };
    Found::of(None, name, series, settings)
}

fn pairs(found: &[Found], settings: &Settings) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for first in 0..found.len() {
        if first > 0 && found.len() > ALL_PAIRS {
            break;
        }
        for second in first + 1..found.len() {
            let (one, other) = (&found[first], &found[second]);
            let stream = format!("compare/{}/{}", one.name.label(), other.name.label());
            let mut rng = Streams::new(settings.seed, 0).stream(&stream);
            let method = settings.method.percentile;
            let comparison = Comparison::of(&one.seen(), &other.seen(), method, &mut rng);
            pairs.extend(comparison.map(|comparison| Pair {
                first,
                second,
                comparison,
            }));
        }
    }
    pairs
}
