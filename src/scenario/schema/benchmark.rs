//! The `benchmark` table: what is sent, how it is spread, when, and to which models.

use super::super::{Kind, Reader, Variant};
use super::popularity::known_names;
use super::values::{count, optional_span};
use crate::experiment::{Provider, Session};
use crate::measure::protocol::{GapPlan, Protocol};
use crate::time::Duration;

/// The models that are measured, if they are named.
pub(super) struct Wanted {
    names: Vec<String>,
    /// Of catalogues, from 1.
    ranks: Vec<u64>,
}

/// The protocol, its sessions, and the models it is limited to. `begin` is the end of the warm-up.
pub(super) fn read(
    mut reader: Reader<'_>,
    begin: Duration,
    horizon: Duration,
) -> (Protocol, Vec<Session>, Wanted) {
    let schedule = Schedule::read(&mut reader);
    let tokens = Kind::whole().at_least("1").at_most("10000000");
    let protocol = Protocol {
        requests: schedule.requests,
        discard: schedule.discard,
        concurrency: schedule.concurrency,
        gaps: schedule.gaps,
        jitter: schedule.jitter,
        prompt_tokens: reader.or_default("prompt_tokens", &tokens, "64") as u32,
        output_tokens: reader.or_default("output_tokens", &tokens, "64") as u32,
        timeout: optional_span(&mut reader, "timeout", "5m"),
    };
    let wanted = Wanted {
        names: reader.or_default("models", &Kind::text().list(), "[]"),
        ranks: reader.or_default("ranks", &Kind::whole().at_least("1").list(), "[]"),
    };
    let sessions = sessions(reader.table("sessions"), begin, &protocol);
    if horizon == Duration::ZERO && sessions.iter().any(|session| session.requests == 0) {
        reader.problem_at(
            "requests",
            "without requests nothing says for how long to measure",
            "sends none",
            "set time.horizon, for example time.horizon = \"6h\"",
        );
    }
    reader.finish();
    (protocol, sessions, wanted)
}

/// How many requests are sent, and when: the keys that a real benchmark shares with a simulated one.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Requests that count.
    pub requests: u32,
    /// Requests sent before them and thrown away.
    pub discard: u32,
    /// Requests under way at once, at most.
    pub concurrency: u32,
    /// When they are sent.
    pub gaps: GapPlan,
    /// By how much an instant may be moved either way, at random.
    pub jitter: Duration,
}

impl Schedule {
    /// Reads `requests`, `discard`, `gaps`, `concurrency` and `jitter`.
    pub fn read(reader: &mut Reader<'_>) -> Self {
        let requests = count(reader, "requests", "0", "75");
        let discard = count(reader, "discard", "0", "1");
        let gaps = gaps(reader);
        let is_listed = matches!(gaps, GapPlan::At(_));
        if let GapPlan::At(times) = &gaps
            && reader.is_sound("requests")
            && times.len() != (requests + discard) as usize
            && reader.is_sound("gaps")
        {
            let found = format!(
                "lists {} times for {requests} requests and {discard} discarded",
                times.len()
            );
            reader.problem_at(
                "gaps",
                "`at` must list a time for each request",
                found,
                "set requests and discard to match",
            );
        }
        let one_to_million = Kind::whole().at_least("1").at_most("1000000");
        let concurrency = reader.optional("concurrency", &one_to_million);
        let jitter = reader.optional("jitter", &Kind::duration().at_most("364d"));
        if is_listed && jitter.is_some_and(|jitter| jitter > Duration::ZERO) {
            reader.problem_at(
                "jitter",
                "listed times have no jitter",
                "is given beside `at`",
                "leave it out, or list other times",
            );
        }
        Self {
            requests,
            discard,
            // Listed times are kept whatever happens: an open load. All else is one request after the other.
            concurrency: concurrency
                .map_or(if is_listed { u32::MAX } else { 1 }, |most| most as u32),
            gaps,
            jitter: jitter.unwrap_or_default(),
        }
    }
}

/// A lap of gaps around the usual keep-alives, from 20 s to 15 min.
const LADDER: &str = "[\"20s\", \"40s\", \"80s\", \"160s\", \"5m\", \"10m\", \"15m\"]";

fn gaps(reader: &mut Reader<'_>) -> GapPlan {
    let forms = [
        Variant::shorthand("fixed", "gap"),
        Variant::table("even"),
        Variant::table("bursts"),
        Variant::shorthand("ladder", "gaps"),
        Variant::table("at"),
    ];
    let span = || Kind::duration().at_most("364d");
    let (form, mut inner) = reader.variant("gaps", &forms, "5s");
    let plan = match form {
        "even" => GapPlan::Even {
            over: inner.or_default("over", &span(), "3h"),
        },
        "bursts" => GapPlan::Bursts {
            size: count(&mut inner, "size", "1", "5"),
            gap: inner.or_default("gap", &span(), "3s"),
            every: inner.or_default("every", &span(), "10m"),
        },
        "ladder" => {
            let gaps = span().list().must("not be empty", |gaps| !gaps.is_empty());
            GapPlan::Ladder(inner.or_default("gaps", &gaps, LADDER))
        }
        "at" => {
            let times = span().list().must("be in order", |times| times.is_sorted());
            GapPlan::At(inner.required("times", &times.example("[\"0s\", \"1m\"]")))
        }
        _ => GapPlan::Fixed(inner.required("gap", &span())),
    };
    inner.finish();
    plan
}

/// Named times of the week, each with its own number of requests if it likes; without any, one session right after the
/// warm-up.
fn sessions(mut reader: Reader<'_>, otherwise: Duration, protocol: &Protocol) -> Vec<Session> {
    let mut sessions = Vec::new();
    let is_listed = matches!(protocol.gaps, GapPlan::At(_));
    for name in reader.names() {
        let (_, mut inner) =
            reader.variant(&name, &[Variant::shorthand("start", "time")], "Mon 00:00");
        let at = inner.required("time", &Kind::time_of_week());
        let requests = count(&mut inner, "requests", "0", &protocol.requests.to_string());
        if is_listed && requests != protocol.requests {
            inner.problem_at(
                "requests",
                "a session cannot change the number of listed times",
                "differs",
                "leave it out",
            );
        }
        inner.finish();
        sessions.push(Session { name, at, requests });
    }
    reader.finish();
    if sessions.is_empty() {
        sessions.push(Session {
            name: "once".to_owned(),
            at: otherwise,
            requests: protocol.requests,
        });
    }
    sessions
}

/// Says which deployments of each provider the benchmark measures: those it names, else all but those of catalogues, of which it
/// measures the models that the scenario `pinned` a name to; there must be one.
pub(super) fn choose(
    root: &mut Reader<'_>,
    wanted: &Wanted,
    pinned: Option<&[usize]>,
    providers: &mut [Provider],
) {
    let Wanted { names, ranks } = wanted;
    let is_open = names.is_empty() && ranks.is_empty();
    for provider in &mut *providers {
        let is_wanted = |index: u32, name: &String| {
            let catalogue = provider.catalogue.as_ref();
            match catalogue.and_then(|catalogue| catalogue.rank(index)) {
                _ if names.contains(name) => true,
                None => is_open,
                Some(rank) if is_open => pinned.is_some_and(|pinned| pinned.contains(&rank)),
                Some(rank) => ranks.contains(&(rank as u64)),
            }
        };
        let deployments = (0..).zip(&provider.fleet.deployments);
        let chosen = deployments.filter(|(index, one)| is_wanted(*index, &one.name));
        provider.benchmarked = chosen.map(|(index, _)| index).collect();
    }
    if is_open && pinned.is_some_and(<[usize]>::is_empty) {
        let message = "the benchmark must say which models of the catalogues it measures";
        let help = "for example benchmark.ranks = [1, 40, 300]";
        root.problem_at("benchmark", message, "names none", help);
    }
    let most = providers.iter().filter_map(|one| one.catalogue.as_ref());
    let most = most.map(|catalogue| catalogue.models).max().unwrap_or(0);
    for rank in ranks.iter().filter(|&&rank| rank > u64::from(most)) {
        let message = format!("`benchmark.ranks` has rank {rank}, which no catalogue has");
        let help = format!("the longest catalogue has {most} models");
        root.problem_at("benchmark", message, "the models are chosen here", help);
    }
    let known = providers.iter().flat_map(|one| &one.fleet.deployments);
    let known: Vec<&str> = known.map(|one| one.name.as_str()).collect();
    for model in names
        .iter()
        .filter(|model| !known.contains(&model.as_str()))
    {
        let message = format!("`benchmark.models` names `{model}`, which no provider has");
        let help = known_names(model, known.iter().copied());
        root.problem_at("benchmark", message, "the models are chosen here", help);
    }
}
