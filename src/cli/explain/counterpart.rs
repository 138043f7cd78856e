//! The decisions about a deployment, and for each its best-supported counterpart: that of the deployment which serves its users
//! best in the scenario, else what the catalogue holds best.
//!
//! A counterpart is a list of values at paths below the deployment, as `--set` takes them, so that replacing a decision is
//! nothing else than an override. Hardware is taken from a deployment of the same model alone: what suits one model need not
//! fit another.

use toml::{Table, Value};

use crate::experiment::{Plan, Prediction};
use crate::report::explain::Decision;
use crate::scenario::{Understood, did_you_mean};

/// A deployment's place in a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) provider: String,
    pub(super) model: String,
}

/// What belongs to one decision.
struct Kind {
    name: &'static str,
    /// Paths below the deployment.
    keys: &'static [&'static str],
    /// Whether it means the same for another model.
    is_hardware: bool,
    /// Whether it is written differently with an engine and without.
    needs_like_service: bool,
    /// What is said where the catalogue decides, and the choices it has.
    catalogue: Catalogue,
}

/// How the catalogue finds a counterpart.
enum Catalogue {
    /// These values, whatever the deployment.
    Fixed(&'static [(&'static str, &'static str)]),
    /// The entry of this kind, put at the first key, with which the deployment's prefill is shortest.
    LeastPrefill(&'static str),
    /// The entry of this kind, put at the path, with which a start from remote storage is shortest.
    LeastStart(&'static str, &'static str),
}

const KINDS: [Kind; 10] = [
    Kind {
        name: "warm pool",
        keys: &[
            "scaling.min",
            "scaling.max",
            "scaling.initial",
            "scaling.buffer",
            "scaling.warm_hours",
        ],
        is_hardware: false,
        needs_like_service: false,
        catalogue: Catalogue::Fixed(&[("scaling.min", "1"), ("scaling.initial", "1")]),
    },
    Kind {
        name: "keep-alive",
        keys: &["scaling.keep_alive", "losses.eviction"],
        is_hardware: false,
        needs_like_service: false,
        catalogue: Catalogue::Fixed(&[
            ("scaling.keep_alive", "infinite"),
            ("losses.eviction", "0/s"),
        ]),
    },
    Kind {
        name: "GPU tier",
        keys: &["gpu", "gpus", "fallback"],
        is_hardware: true,
        needs_like_service: true,
        catalogue: Catalogue::LeastPrefill("gpu"),
    },
    Kind {
        name: "format",
        keys: &["engine.format", "engine.kv_format"],
        is_hardware: true,
        needs_like_service: true,
        catalogue: Catalogue::LeastPrefill("format"),
    },
    Kind {
        name: "engine",
        keys: &["engine.name", "engine.speculation", "engine.draft_tokens"],
        is_hardware: true,
        needs_like_service: true,
        catalogue: Catalogue::LeastPrefill("engine"),
    },
    Kind {
        name: "cold start",
        keys: &["cold_start", "warmth"],
        is_hardware: false,
        needs_like_service: true,
        catalogue: Catalogue::LeastStart("storage", "cold_start.storage"),
    },
    Kind {
        name: "queueing",
        keys: &["queue", "router", "idle_order"],
        is_hardware: false,
        needs_like_service: false,
        catalogue: Catalogue::Fixed(&[("queue", "{}"), ("router", "shared-queue")]),
    },
    Kind {
        name: "GPU priority",
        keys: &["gpu_priority"],
        is_hardware: false,
        needs_like_service: false,
        catalogue: Catalogue::Fixed(&[("gpu_priority", "255")]),
    },
    Kind {
        name: "sharing",
        keys: &["sharing"],
        is_hardware: false,
        needs_like_service: true,
        catalogue: Catalogue::Fixed(&[
            ("sharing.models.switch", "0s"),
            ("sharing.models.at_once", "1000"),
            ("sharing.adapters.switch", "0s"),
            ("sharing.adapters.at_once", "1000"),
        ]),
    },
    Kind {
        name: "batching",
        keys: &["service"],
        is_hardware: false,
        needs_like_service: true,
        catalogue: Catalogue::Fixed(&[]),
    },
];

/// What counterparts are sought in.
pub(super) struct Search<'a> {
    understood: Table,
    subject: &'a Place,
    peer: Option<&'a Place>,
    /// The scenario with some values set, if it can be.
    load: &'a dyn Fn(&[String]) -> Option<Plan>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        understood: &Understood,
        subject: &'a Place,
        peer: Option<&'a Place>,
        load: &'a dyn Fn(&[String]) -> Option<Plan>,
    ) -> Self {
        Self {
            // What `check` prints is a scenario, and so TOML.
            understood: understood.to_plain_toml().parse().unwrap_or_default(),
            subject,
            peer,
            load,
        }
    }

    /// Every decision whose counterpart is another; `stated` are `PATH=VALUE` that win, each in the decision it belongs to.
    pub(super) fn decisions(
        &self,
        stated: &[String],
        kept: &[String],
    ) -> anyhow::Result<Vec<Decision>> {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        if let Some(wrong) = kept.iter().find(|one| !known.contains(&one.as_str())) {
            let near = did_you_mean(wrong, known.iter().copied());
            let near = near.map_or_else(String::new, |near| {
                format!("\nhelp: did you mean `{near}`?")
            });
            anyhow::bail!(
                "there is no decision `{wrong}`: they are {}{near}",
                known.join(", ")
            );
        }
        let mut decisions: Vec<Decision> = Vec::new();
        for kind in KINDS
            .iter()
            .filter(|kind| !kept.iter().any(|one| one == kind.name))
        {
            let own = stated
                .iter()
                .filter(|one| kind.owns(one))
                .cloned()
                .collect::<Vec<String>>();
            decisions.extend(if own.is_empty() {
                self.counterpart(kind)
            } else {
                Some(self.decision(kind.name, &pairs(&own)?, "stated"))
            });
        }
        for one in stated
            .iter()
            .filter(|one| !KINDS.iter().any(|kind| kind.owns(one)))
        {
            let pair = pairs(std::slice::from_ref(one))?;
            let name = pair[0].0.clone();
            decisions.push(self.decision(&name, &pair, "stated"));
        }
        Ok(decisions)
    }

    fn counterpart(&self, kind: &Kind) -> Option<Decision> {
        if kind.needs_like_service && kind.is_hardware && !self.has_engine(self.subject) {
            return None;
        }
        if let Some(peer) = self.peer {
            let is_alike =
                !kind.needs_like_service || self.has_engine(peer) == self.has_engine(self.subject);
            let is_same_model = self.model_of(peer) == self.model_of(self.subject);
            let is_usable =
                is_alike && (is_same_model || !kind.is_hardware) && !kind.is_among_tenants();
            if is_usable && self.is_support(kind, peer) {
                let values = self.of_peer(kind, peer);
                let source = format!("as {} of {}", peer.model, peer.provider);
                return (!values.is_empty()).then(|| self.decision(kind.name, &values, &source));
            }
        }
        let (values, source) = self.of_catalogue(kind)?;
        Some(self.decision(kind.name, &values, &source))
    }

    /// Whether a peer's way is more support: one that never sleeps may have a slow start that nobody meets.
    fn is_support(&self, kind: &Kind, peer: &Place) -> bool {
        let Catalogue::LeastStart(..) = kind.catalogue else {
            return true;
        };
        let plan = (self.load)(&[]);
        let warmest = |place: &Place| {
            let start = prediction(plan.as_ref()?, place)?.starts.first();
            start.map(|(_, start)| start.median_s())
        };
        match (warmest(peer), warmest(self.subject)) {
            (Some(theirs), Some(own)) => theirs < own,
            _ => true,
        }
    }

    /// The peer's values that differ.
    fn of_peer(&self, kind: &Kind, peer: &Place) -> Vec<(String, String)> {
        let differing = kind.keys.iter().filter_map(|key| {
            let (own, theirs) = (self.value(self.subject, key), self.value(peer, key));
            if own == theirs {
                return None;
            }
            // A table that the peer lacks is one without entries.
            let theirs = theirs.map_or_else(|| self.absent(key), |one| Some(one.to_string()));
            Some(((*key).to_owned(), theirs?))
        });
        differing.collect()
    }

    /// What stands for a key that is not there; there is nothing to set where a single value is absent.
    fn absent(&self, key: &str) -> Option<String> {
        match self.value(self.subject, key)? {
            Value::Table(_) => Some("{}".to_owned()),
            Value::Array(_) => Some("[]".to_owned()),
            _ => None,
        }
    }

    /// The catalogue's best, and why it is.
    fn of_catalogue(&self, kind: &Kind) -> Option<(Vec<(String, String)>, String)> {
        match kind.catalogue {
            Catalogue::Fixed(values) => {
                let is_moot = kind.name == "GPU priority" && !self.has_stock();
                let values = values
                    .iter()
                    .filter(|(key, value)| !is_moot && self.differs(key, value));
                let values: Vec<(String, String)> = values
                    .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                    .collect();
                (!values.is_empty()).then(|| (values, "full support".to_owned()))
            }
            Catalogue::LeastPrefill(entries) => {
                let score = |prediction: &Prediction| prediction.performance.prefill(PROMPT, 0);
                let value = self.least(entries, kind.keys[0], &score)?;
                Some((
                    value,
                    format!("least prefill of any {entries} in the catalogue"),
                ))
            }
            Catalogue::LeastStart(entries, path) => {
                self.has_engine(self.subject).then_some(())?;
                let score = |prediction: &Prediction| {
                    let start = prediction.starts.last();
                    start.map_or(f64::INFINITY, |(_, start)| start.median_s())
                };
                let value = self.least(entries, path, &score)?;
                Some((
                    value,
                    format!("shortest start of any {entries} in the catalogue"),
                ))
            }
        }
    }

    /// Whether the fixed value is more support than what is there: a warm pool is never made smaller.
    fn differs(&self, key: &str, value: &str) -> bool {
        match self.value(self.subject, key) {
            Some(Value::Integer(own)) => value.parse::<i64>().is_ok_and(|one| *own < one),
            Some(Value::String(own)) => own != value,
            Some(Value::Table(own)) => own.values().any(|one| !is_unlimited(one)),
            _ => false,
        }
    }

    /// The entry of the catalogue with the least score at a path, unless what is there is as good.
    fn least(
        &self,
        entries: &str,
        path: &str,
        score: &dyn Fn(&Prediction) -> f64,
    ) -> Option<Vec<(String, String)>> {
        let score = |set: &[String]| {
            let plan = (self.load)(set)?;
            prediction(&plan, self.subject).map(score)
        };
        let present = score(&[])?;
        let plan = (self.load)(&[])?;
        let ids = plan.catalog.ids(entries);
        let scored = ids.iter().filter_map(|id| {
            let value = format!("\"{id}\"");
            let score = score(&[self.full(path, &value)])?;
            Some((score, value))
        });
        let (least, value) = scored.min_by(|a, b| a.0.total_cmp(&b.0))?;
        (least < present).then(|| vec![(path.to_owned(), value)])
    }

    fn decision(&self, name: &str, values: &[(String, String)], source: &str) -> Decision {
        let now = values.iter().map(|(key, _)| {
            let value = self.value(self.subject, key);
            value.map_or_else(|| "not set".to_owned(), ToString::to_string)
        });
        Decision {
            name: name.to_owned(),
            now: now.collect(),
            counterpart: values.iter().map(|(_, value)| value.clone()).collect(),
            paths: values.iter().map(|(key, _)| key.clone()).collect(),
            source: source.to_owned(),
            set: values
                .iter()
                .map(|(key, value)| self.full(key, value))
                .collect(),
        }
    }

    fn full(&self, path: &str, value: &str) -> String {
        let Place { provider, model } = self.subject;
        format!("providers.\"{provider}\".deployments.\"{model}\".{path}={value}")
    }

    fn value(&self, place: &Place, path: &str) -> Option<&Value> {
        let deployment = self.understood.get("providers")?.get(&place.provider)?;
        let deployment = deployment.get("deployments")?.get(&place.model)?;
        path.split('.')
            .try_fold(deployment, |value, key| value.get(key))
    }

    /// Whether the subject's provider may run out of GPUs, so that it matters who gets them first.
    fn has_stock(&self) -> bool {
        let provider = self.understood.get("providers");
        let provider = provider.and_then(|all| all.get(&self.subject.provider));
        let stock = provider.and_then(|one| one.get("gpus")?.as_table());
        stock.is_some_and(|stock| !stock.is_empty())
    }

    fn has_engine(&self, place: &Place) -> bool {
        self.value(place, "engine").is_some()
    }

    fn model_of<'p>(&'p self, place: &'p Place) -> &'p str {
        let named = self.value(place, "engine.model").and_then(Value::as_str);
        named.unwrap_or(&place.model)
    }
}

/// What the catalogue predicts of a deployment on its own GPUs.
fn prediction<'p>(plan: &'p Plan, place: &Place) -> Option<&'p Prediction> {
    let provider = plan
        .providers
        .iter()
        .find(|one| one.name == place.provider)?;
    let mut deployments = provider.fleet.deployments.iter();
    let index = deployments.position(|one| one.name == place.model)?;
    provider.predictions[index].first()
}

/// The prompt for which prefill is compared \[tokens\].
const PROMPT: u32 = 512;

/// Whether a value of `queue` limits nothing.
fn is_unlimited(value: &Value) -> bool {
    match value {
        Value::String(text) => ["unlimited", "none", "503"].contains(&text.as_str()),
        Value::Boolean(holds) => *holds,
        _ => false,
    }
}

impl Kind {
    /// Whether it is about those who share GPUs or replicas with the subject: another deployment's tenants are no counterpart.
    fn is_among_tenants(&self) -> bool {
        ["GPU priority", "sharing"].contains(&self.name)
    }

    /// Whether `PATH=VALUE` belongs to this decision.
    fn owns(&self, stated: &str) -> bool {
        let path = stated.split('=').next().unwrap_or_default().trim();
        self.keys.iter().any(|key| {
            path.strip_prefix(key)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

/// The paths and values of `PATH=VALUE`.
fn pairs(stated: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let pair = |one: &String| match one.split_once('=') {
        Some((path, value)) => Ok((path.trim().to_owned(), value.trim().to_owned())),
        None => anyhow::bail!(
            "`{one}` has no `=`\nhelp: write PATH=VALUE with a path below the deployment, such as scaling.min=2"
        ),
    };
    stated.iter().map(pair).collect()
}
