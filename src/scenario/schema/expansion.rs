//! The `catalogue` table of a provider: one deployment for each of the most popular models, without a table for each.
//!
//! A model's deployment is made of tables laid over one another: `deployment`, that of its class under `classes`, and its own
//! under `exceptions`. Models that are made of the same tables are read once.

use super::super::{Kind, Reader, Template};
use super::deployment;
use super::popularity::{USERS, Users, known_names};
use super::provider::Context;
use crate::experiment::{Catalogue, Prediction};
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
    let mut templates = Templates::read(&mut reader, users, offered);
    for model in offered.iter().filter(|model| before.contains(&model.name)) {
        let message = format!("the model `{}` is deployed twice", model.name);
        let help = format!("write catalogue.exceptions.{} instead", model.name);
        reader.problem_at("models", message, "once by the catalogue", help);
    }
    let deployed = offered.iter().zip(1..).map(|(model, rank)| {
        let (mut config, predictions) = templates.deployment(&reader, model, context);
        config.name.clone_from(&model.name);
        config.traffic.push(users.of(rank, &config));
        (config, predictions)
    });
    let deployed: Vec<Deployed> = deployed.collect();
    reader.finish();
    let catalogue = Catalogue {
        first: before.len() as u32,
        models: count as u32,
    };
    (catalogue, deployed)
}

/// The tables that deployments are made of, and the deployments made so far.
struct Templates {
    base: Option<Template>,
    classes: Vec<(String, Template)>,
    exceptions: Vec<(String, Template)>,
    /// By class.
    made: Vec<(String, Deployed)>,
}

impl Templates {
    fn read(reader: &mut Reader<'_>, users: &Users, offered: &[Model]) -> Self {
        let all = &users.popularity.models;
        let base = reader.template("deployment");
        let mut known: Vec<&str> = all.iter().map(|model| model.class.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        let classes = named(reader.table("classes"), "class", &known);
        let known: Vec<&str> = offered.iter().map(|model| model.name.as_str()).collect();
        let exceptions = named(
            reader.table("exceptions"),
            "model in this catalogue",
            &known,
        );
        if base.is_none() && classes.is_empty() && reader.is_sound("deployment") {
            reader.missing("deployment", "{ gpu = \"h100-sxm\" }");
        }
        Self {
            base,
            classes,
            exceptions,
            made: Vec::new(),
        }
    }

    /// The deployment of a model but for its name and its users.
    fn deployment(
        &mut self,
        reader: &Reader<'_>,
        model: &Model,
        context: &Context<'_>,
    ) -> Deployed {
        let own = find(&self.exceptions, &model.name);
        let made = self.made.iter().find(|(class, _)| *class == model.class);
        if let (None, Some((_, made))) = (own, made) {
            return made.clone();
        }
        let class = find(&self.classes, &model.class);
        let layers: Vec<&Template> = self.base.iter().chain(class).chain(own).collect();
        let whose = own.map_or_else(
            || format!("class {}", model.class),
            |_| format!("model {}", model.name),
        );
        let title = format!("as understood: {}, {whose}", reader.path());
        let inner = reader.laid(&layers, &JOINED, title);
        let mut made = deployment::read(model.class.clone(), inner, context);
        made.0.traffic.retain(|stream| stream.name != USERS);
        if own.is_none() {
            self.made.push((model.class.clone(), made.clone()));
        }
        made
    }
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
            reader.problem_at(
                &name,
                message,
                "not known",
                known_names(&name, known.iter().copied()),
            );
        }
        templates.extend(template.map(|template| (name, template)));
    }
    reader.finish();
    templates
}
