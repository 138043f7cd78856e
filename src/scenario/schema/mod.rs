//! What a scenario may say, and the plan that it becomes.
//!
//! Each function reads one table and returns the finished configuration; ranges are checked as values are read, combinations
//! right after. So this folder is also the reference of keys and defaults, and `check` prints both.

mod allotment;
mod benchmark;
mod calibrate;
mod catalogue;
mod cold_start;
mod deployment;
mod expansion;
mod hardware;
mod investment;
mod popularity;
mod provider;
mod replay;
mod scaling;
mod service;
mod traffic;
mod values;

pub use benchmark::Schedule;
pub use expansion::deployment_of;
pub use values::optional_span;

use super::{Document, Kind, Reader, Reading, ScenarioError, Understood, Varied};
use crate::calibrate::free::Free;
use crate::experiment::{Plan, Provider, Published};
use crate::stats::PercentileMethod;
use crate::time::Duration;
use calibrate::Freed;

/// What a command line adds to a scenario.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `path=value` arguments, applied in order.
    pub set: Vec<String>,
    /// Values that are tried, applied behind those.
    pub varied: Vec<Varied>,
    /// A seed that wins over the scenario's.
    pub seed: Option<u64>,
    /// How percentiles are read off.
    pub percentile: PercentileMethod,
}

/// Reads the scenario `text`, called `name` in messages, or says everything that is wrong with it.
pub fn load(
    name: &str,
    text: &str,
    overrides: &Overrides,
) -> Result<(Plan, Understood), ScenarioError> {
    let (plan, _, understood) = load_with_free(name, text, overrides)?;
    Ok((plan, understood))
}

/// The same, with the values that its `calibrate` table frees.
pub fn load_with_free(
    name: &str,
    text: &str,
    overrides: &Overrides,
) -> Result<(Plan, Vec<Free>, Understood), ScenarioError> {
    let mut document = Document::parse(name, text)?;
    for argument in &overrides.set {
        document.set(argument);
    }
    for varied in &overrides.varied {
        document.vary(varied);
    }
    if let Some(seed) = overrides.seed {
        document.set(&format!("seed={seed}"));
    }
    // Paths are as wrong with other values, and a calibration tries thousands.
    let unchecked = overrides.varied.is_empty().then(|| document.clone());
    let ((plan, freed), understood) = read(document, overrides.percentile)?;
    if let Some(document) = unchecked {
        let tried = |document| read(document, overrides.percentile).err();
        calibrate::check(&document, &freed, tried)?;
    }
    let free = freed.into_iter().map(|one| one.free).collect();
    Ok((plan, free, understood))
}

/// Reads a document to its end.
fn read(
    document: Document,
    percentile: PercentileMethod,
) -> Result<((Plan, Vec<Freed>), Understood), ScenarioError> {
    let reading = Reading::new(document);
    let plan = plan(reading.root(), percentile);
    reading.into_result(plan)
}

/// The whole scenario.
fn plan(mut root: Reader<'_>, percentile: PercentileMethod) -> (Plan, Vec<Freed>) {
    let title = root.or_default("title", &Kind::text(), "untitled");
    let seed = root.or_default("seed", &Kind::whole(), "1");
    let (start, warm_up, horizon) = time(root.table("time"));
    let (benchmark, sessions, wanted) =
        benchmark::read(root.table("benchmark"), start + warm_up, horizon);
    let catalog = catalogue::read(root.table("catalog"));
    let users = root.optional_table("popularity");
    let users = users.map(|inner| popularity::read(inner, seed));
    let mut providers: Vec<Provider> = Vec::new();
    let entries = root.entries("providers");
    if entries.is_empty() && root.is_sound("providers") {
        root.missing(
            "providers",
            "{ acme = { deployments = { my-model = {} } } }",
        );
    }
    for (name, entry) in entries {
        providers.push(provider::read(name, entry, &catalog, users.as_ref()));
    }
    if users.is_some() && providers.iter().all(|one| one.catalogue.is_none()) {
        let help = "give one a catalogue, for example catalogue.deployment.gpu = \"h100-sxm\"";
        root.problem_at(
            "popularity",
            "no provider has its models",
            "for nobody",
            help,
        );
    }
    let requests = sessions.iter().any(|session| session.requests > 0);
    let pinned = users.as_ref().map(|users| users.pinned.as_slice());
    benchmark::choose(
        &mut root,
        &wanted,
        pinned.filter(|_| requests),
        &mut providers,
    );
    let published = published(&mut root, &providers);
    for provider in &providers {
        let popularity = users.as_ref().map(|users| &users.popularity);
        root.remark(popularity.map_or_else(Vec::new, |one| allotment::lines(provider, one)));
    }
    let free = calibrate::read(root.entries("calibrate"));
    calibrate::refuse_repeats(&mut root, &free);
    root.finish();
    let plan = Plan {
        title,
        seed,
        percentile,
        warm_up,
        horizon,
        sessions,
        benchmark,
        providers,
        popularity: users.map(|users| users.popularity),
        published,
        catalog,
    };
    (plan, free)
}

/// When the run begins, its warm-up and its shortest window.
fn time(mut time: Reader<'_>) -> (Duration, Duration, Duration) {
    let longest = Kind::duration().at_most("364d");
    let start = time.or_default("start", &Kind::time_of_week(), "Mon 00:00");
    let warm_up = time.or_default("warm_up", &longest, "1h");
    let horizon = time.or_default("horizon", &longest, "0s");
    time.finish();
    (start, warm_up, horizon)
}

fn published(root: &mut Reader<'_>, providers: &[Provider]) -> Vec<Published> {
    let positive = || Kind::duration().positive();
    let mut rows = Vec::new();
    for mut row in root.list("published") {
        let provider = row.required("provider", &Kind::text());
        let model = row.required("model", &Kind::text());
        let known = |row: &Provider| {
            row.name == provider && row.fleet.deployments.iter().any(|one| one.name == model)
        };
        if row.is_sound("provider") && row.is_sound("model") && !providers.iter().any(known) {
            let found = format!("{provider} has no {model}");
            row.problem_at(
                "model",
                "published figures of a model that is not in the scenario",
                found,
                "name one that is",
            );
        }
        rows.push(Published {
            cv_percent: row.required("cv", &Kind::percent().positive()) * 100.0,
            ttft_median_s: row.required("ttft_median", &positive()).as_secs(),
            ttft_p95_s: row.required("ttft_p95", &positive()).as_secs(),
            ttft_std_s: row.optional("ttft_std", &positive()).map(Duration::as_secs),
            provider,
            model,
        });
        row.finish();
    }
    rows
}
