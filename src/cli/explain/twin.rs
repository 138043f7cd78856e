//! A scenario in which models of catalogues are deployments of their own, so that each decision about them has a path.
//!
//! Only what the twin says of the subject is taken over: its deployment goes into the plan, whose users, policies and other models
//! stay as they are. Where models share neither GPUs nor links, the others have no part in what its users meet, and are left out.

use toml::{Table, Value};

use super::Place;
use crate::cli::builtin::Text;
use crate::experiment::explain::Subject;
use crate::experiment::{Plan, Provider};
use crate::scenario::{Understood, deployment_of};

/// The twin, where the scenario has a catalogue.
pub(super) fn twin(text: &Text, plan: &Plan, understood: &Understood) -> Option<Text> {
    let popularity = plan.popularity.as_ref()?;
    let mut twin: Table = understood.to_plain_toml().parse().ok()?;
    for key in ["popularity", "published", "calibrate"] {
        twin.remove(key);
    }
    // A window must have a length, though this one is never simulated.
    let time = twin.get_mut("time").and_then(Value::as_table_mut);
    time?.insert("horizon".to_owned(), "1h".into());
    let silent = [("requests", 0), ("discard", 0)].map(|(key, none)| (key.to_owned(), none.into()));
    twin.insert(
        "benchmark".to_owned(),
        Value::Table(silent.into_iter().collect()),
    );
    let providers = twin.get_mut("providers")?.as_table_mut()?;
    for provider in &plan.providers {
        let table = providers.get_mut(&provider.name)?.as_table_mut()?;
        table.remove("catalogue");
        let deployments = table.entry("deployments");
        let deployments = deployments.or_insert_with(|| Value::Table(Table::new()));
        let deployments = deployments.as_table_mut()?;
        for (name, own) in measured(provider, &popularity.models, understood) {
            deployments.insert(name, Value::Table(own));
        }
        if deployments.is_empty() {
            providers.remove(&provider.name);
        }
    }
    Some(Text {
        name: text.name.clone(),
        text: twin.to_string(),
    })
}

/// The measured models of a provider's catalogue, each with the tables of its deployment.
fn measured<'a>(
    provider: &'a Provider,
    models: &'a [crate::workload::popularity::Model],
    understood: &'a Understood,
) -> impl Iterator<Item = (String, Table)> + 'a {
    provider.benchmarked.iter().filter_map(move |&index| {
        let rank = provider.catalogue.as_ref()?.rank(index)?;
        let model = &models[rank - 1];
        let warm = provider.fleet.deployments[index as usize].scaling.min;
        let own = deployment_of(understood, provider, model, warm > 0)?;
        let mut own: Table = own.parse().ok()?;
        if warm > 0 {
            let scaling = own.get_mut("scaling")?.as_table_mut()?;
            for key in ["min", "initial"] {
                scaling.insert(key.to_owned(), i64::from(warm).into());
            }
        }
        Some((model.name.clone(), own))
    })
}

/// The plan with the subject as the twin has it.
pub(super) fn transplanted(mut plan: Plan, subject: Subject, place: &Place, twin: &Plan) -> Plan {
    let Some(other) = twin.providers.iter().find(|one| one.name == place.provider) else {
        return plan;
    };
    let mut theirs = other.fleet.deployments.iter().zip(&other.predictions);
    let Some((config, predictions)) = theirs.find(|(one, _)| one.name == place.model) else {
        return plan;
    };
    let own = &mut plan.providers[subject.provider];
    let deployment = &mut own.fleet.deployments[subject.deployment as usize];
    let mut traffic = std::mem::take(&mut deployment.traffic);
    for stream in &mut traffic {
        stream.prefill = config.prefill.clone();
        stream.decode = config.decode.clone();
    }
    *deployment = config.clone();
    deployment.traffic = traffic;
    own.predictions[subject.deployment as usize].clone_from(predictions);
    plan
}

/// The plan with nobody but the subject, where others cannot matter to it; and where the subject is in it.
pub(super) fn alone(plan: Plan, subject: Subject) -> (Plan, Subject) {
    let provider = &plan.providers[subject.provider];
    if !provider.fleet.pools.is_empty() || !provider.fleet.links.is_empty() {
        return (plan, subject);
    }
    let at = subject.deployment as usize;
    let mut own = provider.clone();
    own.fleet.deployments = vec![provider.fleet.deployments[at].clone()];
    own.predictions = vec![provider.predictions[at].clone()];
    let is_measured = own.benchmarked.contains(&subject.deployment);
    own.benchmarked = is_measured.then_some(0).into_iter().collect();
    own.catalogue = None;
    let plan = Plan {
        providers: vec![own],
        popularity: None,
        ..plan
    };
    let subject = Subject {
        provider: 0,
        deployment: 0,
        ..subject
    };
    (plan, subject)
}
