//! The `popularity` table: which models users ask for, how often, when, and with what. All providers meet the same users.

use rand::RngExt as _;

use super::super::{Kind, Reader, Variant, did_you_mean};
use super::replay;
use super::traffic::{curve, lengths, refuse_curve, share};
use super::values::{MOST_RATE, cv, optional_span, rate};
use crate::distribution::Distribution;
use crate::fleet::config::{DeploymentConfig, TrafficConfig};
use crate::streams::Streams;
use crate::time::Duration;
use crate::workload::popularity::{Group, Law, Model, dealt};
use crate::workload::{ArrivalProcess, Curve, Pattern, Popularity, Replay};

/// The class of all models where the scenario names none.
const ONLY_CLASS: &str = "model";
/// The name of the stream of the popularity's users at a deployment.
pub(super) const USERS: &str = "users";

/// The users of all providers.
#[derive(Clone, Debug)]
pub(super) struct Users {
    pub(super) popularity: Popularity,
    /// Ranks of the models that the scenario names.
    pub(super) pinned: Vec<usize>,
    arrivals: Vec<ArrivalProcess>,
    prompt_tokens: Distribution,
    output_tokens: Distribution,
    cached_share: f64,
    timeout: Option<Duration>,
}

/// Reads the table.
pub(super) fn read(mut reader: Reader<'_>, seed: u64) -> Users {
    let most = Kind::whole().at_least("1").at_most("10000");
    let models = reader.required("models", &most.example("400")) as usize;
    let total = reader.required("rate", &rate().positive().example("50/s"));
    let shares = law(&mut reader, models).shares(models);
    let classes = classes(&mut reader, models);
    let named = pinned(reader.table("pinned"), models, &classes);
    let (head, tail) = tiers(reader.table("tiers"), models);
    let weekly_shape = curve(&mut reader);
    let shift = reader.or_default("shift", &Kind::duration().at_most("84h"), "0s");
    let mut bursts = bursts(&mut reader, total);
    if let Bursts::Rows(rows) = &bursts
        && (weekly_shape != Curve::FLAT || shift > Duration::ZERO)
    {
        refuse_curve(&mut reader, rows);
    }
    let mut others = ArrivalProcess::none().pattern;
    let rows = match &mut bursts {
        Bursts::Rows(rows) => rows,
        Bursts::Gaps(_) | Bursts::Mmpp { .. } => &mut others,
    };
    let [prompt_tokens, output_tokens] = lengths(&mut reader, rows);
    let dealt_classes = dealt(&classes.weights, models);
    let model = |(index, share): (usize, f64)| {
        let pin = named.iter().find(|pin| pin.rank == index + 1);
        let class = pin
            .and_then(|pin| pin.class)
            .unwrap_or(dealt_classes[index]);
        Model {
            name: pin.map_or_else(|| format!("rank-{}", index + 1), |pin| pin.name.clone()),
            class: classes.names[class].clone(),
            share,
            rate: share * total,
        }
    };
    let popularity = Popularity {
        models: shares.into_iter().enumerate().map(model).collect(),
        head,
        tail,
    };
    let mut before = 0.0;
    let arrivals = popularity.models.iter().map(|model| {
        let from = before;
        before += model.share;
        ArrivalProcess {
            pattern: bursts.pattern(model.rate, [from, before]),
            curve: shifted(&weekly_shape, shift, &model.name, seed),
        }
    });
    let users = Users {
        arrivals: arrivals.collect(),
        pinned: named.iter().map(|pin| pin.rank).collect(),
        prompt_tokens,
        output_tokens,
        cached_share: reader.or_default("cached_share", &share(), "0%"),
        timeout: optional_span(&mut reader, "timeout", "none"),
        popularity,
    };
    reader.finish();
    users
}

impl Users {
    /// Mean lengths of a prompt and of an answer \[tokens\].
    pub(super) fn mean_tokens(&self) -> [f64; 2] {
        [&self.prompt_tokens, &self.output_tokens].map(Distribution::mean)
    }

    /// The users of one model, counted from rank 1, at a deployment of it.
    pub(super) fn of(&self, rank: usize, deployment: &DeploymentConfig) -> TrafficConfig {
        TrafficConfig {
            name: USERS.to_owned(),
            arrivals: self.arrivals[rank - 1].clone(),
            prompt_tokens: self.prompt_tokens.clone(),
            output_tokens: self.output_tokens.clone(),
            prefill: deployment.prefill.clone(),
            decode: deployment.decode.clone(),
            cached_share: self.cached_share,
            model: 0,
            priority: 0,
            wakes: true,
            timeout: self.timeout,
            is_shared: true,
        }
    }
}

/// Exponents that public data imply for 400 models: an open marketplace, one provider's catalogue, a catalogue whose tail hardly
/// exists (`OpenRouter` and Alibaba, in traffic.md).
const EXPONENTS: [(&str, f64); 3] = [("marketplace", 1.0), ("provider", 1.4), ("extreme", 2.1)];

/// Which share each rank gets.
fn law(reader: &mut Reader<'_>, models: usize) -> Law {
    let forms = [
        Variant::shorthand("zipf", "exponent"),
        Variant::table("shares"),
        Variant::table("groups"),
    ];
    let (form, mut inner) = reader.variant("law", &forms, "1.0");
    let law = match form {
        "shares" => stated_shares(&mut inner, models),
        "groups" => groups(&mut inner, models),
        _ => Law::Zipf {
            exponent: inner.required(
                "exponent",
                &Kind::number_or(&EXPONENTS).non_negative().at_most("10"),
            ),
            offset: inner.or_default(
                "offset",
                &Kind::number().non_negative().at_most("10000"),
                "0",
            ),
        },
    };
    inner.finish();
    law
}

fn stated_shares(inner: &mut Reader<'_>, models: usize) -> Law {
    let kind = Kind::percent().positive().at_most("100%").list();
    let kind = kind.must("not rise", |shares| {
        shares.windows(2).all(|pair| pair[0] >= pair[1])
    });
    let shares = inner.required("values", &kind.example("[\"60%\", \"40%\"]"));
    if shares.len() == models {
        return Law::Shares(shares);
    }
    let found = format!("lists {} for {models} models", shares.len());
    inner.problem_at(
        "values",
        "`values` must have a share for each model",
        found,
        "list one for each, or use groups",
    );
    Law::Shares(vec![1.0; models])
}

fn groups(inner: &mut Reader<'_>, models: usize) -> Law {
    let mut groups = Vec::new();
    for mut row in inner.list("rows") {
        groups.push(Group {
            models: row.required("models", &Kind::whole().at_least("1").at_most("10000")) as usize,
            share: row.required("share", &Kind::percent().positive().at_most("100%")),
        });
        row.finish();
    }
    let each = |group: &Group| group.share / group.models as f64;
    let falls = groups
        .windows(2)
        .all(|pair| each(&pair[0]) >= each(&pair[1]));
    let count: usize = groups.iter().map(|group| group.models).sum();
    if count == models && falls {
        return Law::Groups(groups);
    }
    let (says, found) = if falls {
        ("must have all models", format!("have {count} of {models}"))
    } else {
        (
            "must go from popular to unpopular",
            "a later one gets more a model".to_owned(),
        )
    };
    inner.problem_at(
        "rows",
        format!("the groups {says}"),
        found,
        "for example rows = [{ models = 24, share = \"98.65%\" }, { models = 376, share = \"1.35%\" }]",
    );
    Law::Shares(vec![1.0; models])
}

/// Kinds of models, and how large a part of the catalogue each is.
struct Classes {
    names: Vec<String>,
    weights: Vec<f64>,
}

fn classes(reader: &mut Reader<'_>, models: usize) -> Classes {
    let mut table = reader.table("classes");
    let mut classes = Classes {
        names: table.names(),
        weights: Vec::new(),
    };
    let share = || Kind::percent().positive().at_most("100%");
    for name in &classes.names {
        let weight = table.required(name, &share());
        classes.weights.push(weight);
    }
    let total: f64 = classes.weights.iter().sum();
    let is_whole = classes.names.is_empty() || (total - 1.0).abs() < 1e-9;
    let is_sound = classes.names.iter().all(|name| table.is_sound(name));
    table.finish();
    if !is_whole && is_sound {
        reader.problem_at(
            "classes",
            "the shares of the classes must add up to 100 %",
            format!("add up to {} %", (total * 1e6).round() / 1e4),
            "for example { small = \"70%\", large = \"30%\" }",
        );
    }
    if classes.names.len() > models {
        let found = format!("there are {models}");
        reader.problem_at("classes", "more classes than models", found, "name fewer");
    }
    if classes.names.is_empty() {
        classes = Classes {
            names: vec![ONLY_CLASS.to_owned()],
            weights: vec![1.0],
        };
    }
    classes
}

/// A model that the scenario names.
struct Pin {
    name: String,
    rank: usize,
    class: Option<usize>,
}

/// Names for certain ranks; all others are called after their rank.
fn pinned(mut reader: Reader<'_>, models: usize, classes: &Classes) -> Vec<Pin> {
    let mut pins: Vec<Pin> = Vec::new();
    for name in reader.names() {
        let mut inner = reader.table(&name);
        let kind = Kind::whole().at_least("1").at_most(&models.to_string());
        let rank = inner.required("rank", &kind) as usize;
        if pins.iter().any(|pin| pin.rank == rank) {
            inner.problem_at(
                "rank",
                "two models of the same rank",
                "is taken",
                "pick another",
            );
        }
        let own_rank = name.strip_prefix("rank-").map(str::parse);
        if own_rank.is_some_and(|own: Result<usize, _>| own.is_ok_and(|own| own != rank)) {
            let found = format!("`{name}` is the name of another one");
            inner.problem_at(
                "rank",
                "a rank has this name already",
                found,
                "pick another name",
            );
        }
        let class = inner.optional("class", &Kind::text());
        let class = class.and_then(|class| {
            let known = classes.names.iter().map(String::as_str);
            let found = classes.names.iter().position(|name| *name == class);
            if found.is_none() {
                inner.problem_at(
                    "class",
                    format!("there is no class `{class}`"),
                    "not under popularity.classes",
                    known_names(&class, known),
                );
            }
            found
        });
        inner.finish();
        pins.push(Pin { name, rank, class });
    }
    reader.finish();
    pins
}

/// What may have been meant, or what there is.
pub(super) fn known_names<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    did_you_mean(name, known.iter().copied()).map_or_else(
        || format!("known: {}", known.join(", ")),
        |near| format!("did you mean `{near}`?"),
    )
}

/// How many models are the head and the tail: shares of the ranks, rounded up and down.
fn tiers(mut reader: Reader<'_>, models: usize) -> (usize, usize) {
    let head = reader.or_default("head", &share(), "5%");
    let tail = reader.or_default("tail", &share(), "50%");
    if head + tail > 1.0 {
        reader.problem_at(
            "tail",
            "head and tail overlap",
            "more than all ranks",
            "lower one",
        );
    }
    reader.finish();
    let of = |share: f64| share * models as f64;
    (of(head).ceil() as usize, of(tail).floor() as usize)
}

/// How a model's requests cluster, whatever its rate.
enum Bursts {
    /// Independent gaps of this law with mean 1.
    Gaps(Distribution),
    /// Calm and bursts: the rate in each over the mean, and mean lengths \[s\].
    Mmpp {
        factors: [f64; 2],
        sojourns: [f64; 2],
    },
    /// The rows of a trace, each dealt to one model; or none, where the file cannot be replayed.
    Rows(Pattern),
}

fn bursts(reader: &mut Reader<'_>, total: f64) -> Bursts {
    let forms = [
        Variant::unit("poisson"),
        Variant::unit("deterministic"),
        Variant::table("gamma"),
        Variant::table("weibull"),
        Variant::table("mmpp"),
        Variant::table("trace"),
    ];
    let (form, mut inner) = reader.variant("arrivals", &forms, "poisson");
    let bursts = match form {
        "gamma" => Bursts::Gaps(Distribution::Gamma {
            mean: 1.0,
            cv: inner.required("cv", &cv()),
        }),
        "weibull" => Bursts::Gaps(Distribution::weibull_by_cv(
            1.0,
            inner.required("cv", &cv()),
        )),
        "mmpp" => mmpp(&mut inner),
        "trace" => {
            let replay = replay::of_all_models(&mut inner, total);
            let pattern = replay.map(|replay| Pattern::Trace(Box::new(replay)));
            Bursts::Rows(pattern.unwrap_or_else(|| ArrivalProcess::none().pattern))
        }
        "deterministic" => Bursts::Gaps(Distribution::Constant(1.0)),
        _ => Bursts::Gaps(Distribution::Exponential { mean: 1.0 }),
    };
    inner.finish();
    bursts
}

/// The rate in calm follows, so that the mean stays.
fn mmpp(inner: &mut Reader<'_>) -> Bursts {
    let span = Kind::duration().at_least("1s").at_most("364d");
    let sojourns = ["calm_mean", "burst_mean"].map(|key| inner.required(key, &span).as_secs());
    let in_bursts = sojourns[1] / (sojourns[0] + sojourns[1]);
    let most = Kind::number().at_least("1").at_most("1000000");
    let factor = inner.required("burst_factor", &most);
    if factor * in_bursts > 1.0 && inner.is_sound("calm_mean") && inner.is_sound("burst_mean") {
        inner.problem_at(
            "burst_factor",
            "bursts must not bring more than all requests",
            format!("with bursts {:.1} % of the time", 100.0 * in_bursts),
            format!("at most {:.4}", 1.0 / in_bursts),
        );
    }
    let calm = ((1.0 - factor * in_bursts) / (1.0 - in_bursts)).max(0.0);
    Bursts::Mmpp {
        factors: [calm, factor],
        sojourns,
    }
}

impl Bursts {
    /// The requests of a model at this rate, whose share of all lies between those of more popular and of less popular ones.
    fn pattern(&self, rate: f64, [from, to]: [f64; 2]) -> Pattern {
        match self {
            Self::Rows(Pattern::Trace(replay)) => Pattern::Trace(Box::new(Replay {
                // Numbers are below one, so the last model takes what rounding leaves.
                slice: [from, if to > 1.0 - 1e-9 { 1.0 } else { to }],
                ..Replay::clone(replay)
            })),
            Self::Rows(pattern) => pattern.clone(),
            Self::Gaps(gap) => Pattern::Renewal {
                rate,
                gap: gap.clone(),
            },
            Self::Mmpp { factors, sojourns } => Pattern::Mmpp {
                rates: factors.map(|factor| (factor * rate).min(MOST_RATE)),
                sojourns: *sojourns,
            },
        }
    }
}

/// A model's own curve: the same one, earlier or later by whole hours, drawn once for each model.
fn shifted(curve: &Curve, most: Duration, model: &str, seed: u64) -> Curve {
    let hours = (most.as_secs() / 3600.0).floor() as i64;
    let mut draws = Streams::new(seed, 0).stream(&format!("users/{model}/shift"));
    curve.clone().shifted(draws.random_range(-hours..=hours))
}
