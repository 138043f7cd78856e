//! The `catalogue` table of a provider: one deployment for each of the most popular models, without a table for each.
//!
//! A model's deployment is made of tables laid over one another: `deployment`, that of its class under `classes`, that of what a
//! policy makes of it (`backed` with warm replicas, `rest` without), and its own under `exceptions`. Models that are made of the
//! same tables are read once.

use super::super::{Kind, Reader, Template, Understood};
use super::deployment;
use super::investment::{self, Choices};
use super::popularity::{USERS, Users, known_names};
use super::provider::Context;
use crate::experiment::{Catalogue, Prediction, Provider};
use crate::fleet::config::DeploymentConfig;
use crate::workload::popularity::Model;

/// Tables of a deployment that are laid over one another key by key.
const JOINED: [&str; 6] = [
    "engine",
    "scaling",
    "cold_start",
    "warmth",
    "queue",
    "losses",
];

/// A deployment, and what the catalogue predicts of it.
pub(super) type Deployed = (DeploymentConfig, Vec<Prediction>);

/// Reads the table; `before` deployments of the provider have been read, with these names.
pub(super) fn read(
    mut reader: Reader<'_>,
    users: &Users,
    context: &Context<'_>,
    before: &[String],
) -> (Catalogue, Vec<Deployed>) {
    let all = &users.popularity.models;
    let most = all.len().to_string();
    let count = reader.or_default("models", &Kind::whole().at_least("1").at_most(&most), &most);
    let offered = &all[..count as usize];
    for model in offered.iter().filter(|model| before.contains(&model.name)) {
        let message = format!("the model `{}` is deployed twice", model.name);
        let help = format!("write catalogue.exceptions.{} instead", model.name);
        reader.problem_at("models", message, "once by the catalogue", help);
    }
    let investment = investment::read(&mut reader, users);
    let mut templates = Templates::read(&mut reader, users, offered, investment.is_some());
    let mut each = |treatment| -> Vec<Deployed> {
        let made = offered.iter();
        made.map(|model| templates.deployment(&reader, model, treatment, context))
            .collect()
    };
    let (mut deployed, bet) = match investment {
        None => (each(Treatment::Alike), None),
        Some(investment) => {
            let (backed, rest) = (each(Treatment::Backed), each(Treatment::Rest));
            let choices = offered.iter().zip(&backed).zip(&rest);
            let choices: Vec<Choices<'_>> = choices
                .map(|((model, backed), rest)| Choices {
                    model,
                    backed: &backed.0,
                    rest: &rest.0,
                })
                .collect();
            let (warm, bet) = investment.spend(&mut reader, &choices, users, context);
            let chosen = backed.into_iter().zip(rest).zip(warm);
            let chosen = chosen.map(|((backed, rest), warm)| match warm {
                0 => rest,
                _ => with_warm(backed, warm),
            });
            (chosen.collect(), Some(bet))
        }
    };
    for ((rank, model), (config, _)) in (1..).zip(offered).zip(&mut deployed) {
        config.name.clone_from(&model.name);
        let stream = users.of(rank, config);
        config.traffic.push(stream);
    }
    reader.finish();
    let catalogue = Catalogue {
        first: before.len() as u32,
        models: count as u32,
        bet,
    };
    (catalogue, deployed)
}

fn with_warm((mut config, predictions): Deployed, warm: u32) -> Deployed {
    config.scaling.min = warm;
    config.scaling.initial = warm;
    (config, predictions)
}

/// What a policy makes of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    /// There is no policy.
    Alike,
    /// It has warm replicas.
    Backed,
    /// It has none.
    Rest,
}

impl Treatment {
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Alike => None,
            Self::Backed => Some("backed"),
            Self::Rest => Some("rest"),
        }
    }
}

/// The tables that deployments are made of, and the deployments made so far.
struct Templates {
    base: Option<Template>,
    classes: Vec<(String, Template)>,
    backed: Option<Template>,
    rest: Option<Template>,
    exceptions: Vec<(String, Template)>,
    /// By class and treatment.
    made: Vec<((String, Treatment), Deployed)>,
}

impl Templates {
    fn read(reader: &mut Reader<'_>, users: &Users, offered: &[Model], is_bet: bool) -> Self {
        let all = &users.popularity.models;
        let base = reader.template("deployment");
        let mut known: Vec<&str> = all.iter().map(|model| model.class.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        let classes = named(reader.table("classes"), "class", &known);
        let [backed, rest] = ["backed", "rest"].map(|key| reader.template(key));
        let known: Vec<&str> = offered.iter().map(|model| model.name.as_str()).collect();
        let exceptions = named(
            reader.table("exceptions"),
            "model in this catalogue",
            &known,
        );
        if base.is_none() && classes.is_empty() && reader.is_sound("deployment") {
            reader.missing("deployment", "{ gpu = \"h100-sxm\" }");
        }
        let templates = Self {
            base,
            classes,
            backed,
            rest,
            exceptions,
            made: Vec::new(),
        };
        let users_are = "is for the popularity to say";
        templates.refuse(
            reader,
            "traffic",
            USERS,
            users_are,
            "give the stream another name",
        );
        if is_bet {
            let help = "leave it out, or state who is warm with policy.table";
            for key in ["min", "initial"] {
                templates.refuse(reader, "scaling", key, "is for the policy to decide", help);
            }
        } else if templates.backed.is_some() || templates.rest.is_some() {
            let help = "add one, for example policy = \"proportional\"";
            let message = "`backed` and `rest` are for models that a policy chooses";
            reader.problem_at("backed", message, "there is no policy", help);
        }
        templates
    }

    /// Reports a key that no template may give.
    fn refuse(&self, reader: &Reader<'_>, table: &str, key: &str, says: &str, help: &str) {
        let named = self.classes.iter().chain(&self.exceptions);
        let plain = [&self.base, &self.backed, &self.rest];
        let all = plain.into_iter().flatten();
        for template in all.chain(named.map(|(_, template)| template)) {
            if let Some(span) = template.given(table, key) {
                let message = format!("`{table}.{key}` {says}");
                reader.problem_in(span, message, "stated in a catalogue", help);
            }
        }
    }

    /// The deployment of a model but for its name and its users.
    fn deployment(
        &mut self,
        reader: &Reader<'_>,
        model: &Model,
        treatment: Treatment,
        context: &Context<'_>,
    ) -> Deployed {
        let own = find(&self.exceptions, &model.name);
        let key = (model.class.clone(), treatment);
        if let (None, Some((_, made))) = (own, self.made.iter().find(|(known, _)| *known == key)) {
            return made.clone();
        }
        let class = find(&self.classes, &model.class);
        let treated = match treatment {
            Treatment::Alike => None,
            Treatment::Backed => self.backed.as_ref(),
            Treatment::Rest => self.rest.as_ref(),
        };
        // A pool that only stands, by the rule `fixed`, needs somebody in it.
        let some = (treatment == Treatment::Backed).then(|| Template::of("scaling", "min", 1));
        let layers = self.base.iter().chain(class).chain(treated).chain(own);
        let layers: Vec<&Template> = layers.chain(&some).collect();
        let title = title(reader.path(), model, own.is_some(), treatment.name());
        let inner = reader.laid(&layers, &JOINED, title);
        let made = deployment::read(model.class.clone(), inner, context);
        if own.is_none() {
            self.made.push((key, made.clone()));
        }
        made
    }
}

/// Under what a kind of deployment is shown behind the scenario.
fn title(path: &str, model: &Model, is_exception: bool, treatment: Option<&str>) -> String {
    let whose = if is_exception {
        format!("model {}", model.name)
    } else {
        format!("class {}", model.class)
    };
    let whose: Vec<&str> = std::iter::once(whose.as_str()).chain(treatment).collect();
    format!("as understood: {path}, {}", whose.join(", "))
}

/// What is understood of a model of a provider's catalogue: the tables of a deployment, as TOML.
pub fn deployment_of(
    understood: &Understood,
    provider: &Provider,
    model: &Model,
    is_warm: bool,
) -> Option<String> {
    let has_bet = provider.catalogue.as_ref()?.bet.is_some();
    let treatment = match (has_bet, is_warm) {
        (false, _) => Treatment::Alike,
        (true, true) => Treatment::Backed,
        (true, false) => Treatment::Rest,
    };
    let path = format!("providers.{}.catalogue", provider.name);
    // Its own table wins over that of its class.
    [true, false].into_iter().find_map(|is_exception| {
        understood.behind(&title(&path, model, is_exception, treatment.name()))
    })
}

fn find<'t>(templates: &'t [(String, Template)], name: &str) -> Option<&'t Template> {
    let found = templates.iter().find(|(known, _)| known == name);
    found.map(|(_, template)| template)
}

/// Templates by name; each must be the name of something.
fn named(mut reader: Reader<'_>, what: &str, known: &[&str]) -> Vec<(String, Template)> {
    let mut templates = Vec::new();
    for name in reader.names() {
        let template = reader.template(&name);
        if !known.contains(&name.as_str()) {
            let message = format!("there is no {what} called `{name}`");
            let help = known_names(&name, known.iter().copied());
            reader.problem_at(&name, message, "not known", help);
        }
        templates.extend(template.map(|template| (name, template)));
    }
    reader.finish();
    templates
}
