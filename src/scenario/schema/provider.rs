//! A provider: its network, its stocks of GPUs, its links and its deployments.

use super::super::{Kind, Reader, Span};
use super::hardware::unknown;
use super::popularity::{Users, known_names};
use super::values::{count_or_unlimited, distribution, seconds};
use super::{deployment, expansion};
use crate::billing::{Billing, TimeRule, TokenRule};
use crate::catalog::Catalog;
use crate::experiment::{Catalogue, Provider};
use crate::fleet::FleetConfig;
use crate::fleet::config::{DeploymentConfig, LinkConfig, Network, NodeConfig, PoolConfig, Spot};
use crate::time::{Duration, Time};

/// What a deployment is read against.
pub(super) struct Context<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) pools: &'a [PoolConfig],
    pub(super) links: &'a [LinkConfig],
}

/// One provider. `phase` and `window` are set by each run.
pub(super) fn read(
    name: String,
    mut reader: Reader<'_>,
    catalog: &Catalog,
    users: Option<&Users>,
) -> Provider {
    let network = network(reader.table("network"), catalog);
    let evict_idle = reader.or_default("evict_idle", &Kind::boolean(), "false");
    let (pools, stocked) = pools(&mut reader, catalog, evict_idle);
    let links = links(reader.table("links"));
    let context = Context {
        catalog,
        pools: &pools,
        links: &links,
    };
    let billing = reader.optional_table("billing");
    let billing = billing.map(billing_rules).unwrap_or_default();
    let entries = reader.entries("deployments");
    let names: Vec<String> = entries.iter().map(|(model, _)| model.clone()).collect();
    let read = entries
        .into_iter()
        .map(|(model, entry)| deployment::read(model, entry, &context));
    let mut deployed: Vec<_> = read.collect();
    let catalogue = catalogue(&mut reader, users, &context, &names).map(|(catalogue, models)| {
        deployed.extend(models);
        catalogue
    });
    if deployed.is_empty() && reader.is_sound("deployments") && reader.is_sound("catalogue") {
        reader.missing("deployments", "{ my-model = {} }");
    }
    let (deployments, predictions): (Vec<DeploymentConfig>, Vec<_>) = deployed.into_iter().unzip();
    if reader.is_sound("deployments") && reader.is_sound("catalogue") {
        stocks(&reader, catalog, &pools, &stocked, &deployments);
    }
    reader.finish();
    let fleet = FleetConfig {
        phase: Duration::ZERO,
        window: Time::ZERO,
        network,
        pools,
        links,
        deployments,
    };
    Provider {
        demand: name.clone(),
        name,
        fleet,
        benchmarked: Vec::new(),
        predictions,
        catalogue,
        billing,
    }
}

/// What customers pay: by GPU time, by token, and for a dedicated endpoint.
fn billing_rules(mut reader: Reader<'_>) -> Billing {
    let price = || Kind::price().non_negative().at_most("1000000usd/h");
    let time = reader.optional_table("time").map(|mut inner| {
        let rule = TimeRule {
            boot: inner.or_default("boot", &Kind::boolean(), "true"),
            run: inner.or_default("run", &Kind::boolean(), "true"),
            idle: inner.or_default("idle", &Kind::boolean(), "true"),
            usd_per_gpu_hour: inner.required("price", &price()),
        };
        inner.finish();
        rule
    });
    let tokens = reader.optional_table("tokens").map(|mut inner| {
        let usd = || Kind::number().non_negative().at_most("1000000");
        let rule = TokenRule {
            input_usd_per_million: inner.required("input_usd_per_million", &usd()),
            output_usd_per_million: inner.required("output_usd_per_million", &usd()),
        };
        inner.finish();
        rule
    });
    let billing = Billing {
        time,
        tokens,
        dedicated_usd_per_gpu_hour: reader.optional("dedicated", &price()),
    };
    reader.finish();
    billing
}

/// The provider's part of the popularity's models, where it has a `catalogue`.
fn catalogue(
    reader: &mut Reader<'_>,
    users: Option<&Users>,
    context: &Context<'_>,
    before: &[String],
) -> Option<(Catalogue, Vec<expansion::Deployed>)> {
    let mut inner = reader.optional_table("catalogue")?;
    let Some(users) = users else {
        inner.take_toml();
        inner.finish();
        reader.problem_at(
            "catalogue",
            "a catalogue needs to know what users ask for",
            "there is no `popularity` table",
            "add one, for example popularity = { models = 400, rate = \"50/s\" }",
        );
        return None;
    };
    Some(expansion::read(inner, users, context, before))
}

/// The way to the fleet: stated, or chosen from the catalogue with `path` (round trip) and `via` (gateway).
fn network(mut reader: Reader<'_>, catalog: &Catalog) -> Network {
    let connections = Kind::one_of(&[("reused", false), ("new", true)]);
    let path = usual(&mut reader, catalog, "path");
    let via = usual(&mut reader, catalog, "via");
    let network = Network {
        rtt: distribution(&mut reader, "rtt", &seconds(), &path),
        gateway: distribution(&mut reader, "gateway", &seconds(), &via),
        new_connection: reader.or_default("connection", &connections, "reused"),
    };
    reader.finish();
    network
}

/// The catalogue's `network` entry that a key names, as a default in scenario notation; no time at all without one.
fn usual(reader: &mut Reader<'_>, catalog: &Catalog, key: &str) -> String {
    let none = "0s".to_owned();
    let Some(id) = reader.optional(key, &Kind::text()) else {
        return none;
    };
    let Some(entry) = catalog.networks.get(&id) else {
        unknown(reader, catalog, key, "network", &id);
        return none;
    };
    format!(
        "{{ lognormal = {{ median = \"{}ms\", sigma = {} }} }}",
        entry.median_ms, entry.log_sd
    )
}

/// Refuses stocks that no deployment can be meant by, and those that hold not even one replica.
fn stocks(
    reader: &Reader<'_>,
    catalog: &Catalog,
    pools: &[PoolConfig],
    stocked: &[Span],
    deployments: &[DeploymentConfig],
) {
    let placements = || deployments.iter().flat_map(|one| &one.placements);
    for (index, (pool, span)) in pools.iter().zip(stocked).enumerate() {
        let name = &pool.name;
        let is_used = placements().any(|placement| placement.pool == Some(index));
        if !is_used && catalog.gpus.get(name).is_none() {
            let used = placements().map(|placement| placement.name.as_str());
            let mut known: Vec<&str> = used.chain(catalog.ids("gpu")).collect();
            known.sort_unstable();
            known.dedup();
            let help = known_names(name, known.into_iter());
            let message = format!("there is no GPU `{name}`");
            let found = "neither in the catalogue nor used by a deployment";
            reader.problem_in(*span, message, found, &help);
        }
        let lacks = |one: &&DeploymentConfig| {
            let first = one.placements.first();
            first.is_some_and(|first| first.pool == Some(index)) && never_starts(one, pools)
        };
        // Of a catalogue's many models one will do.
        if let Some(one) = deployments.iter().find(lacks) {
            let message = format!(
                "no replica of `{}` can ever start: it needs {} {name}, and there are {}",
                one.name, one.placements[0].gpus, pool.gpus
            );
            let found = "is less than one replica";
            let help = "raise the stock, or let the deployment use fewer GPUs";
            reader.problem_in(*span, message, found, help);
        }
    }
}

/// Whether every place for a replica is larger than its whole stock.
fn never_starts(deployment: &DeploymentConfig, pools: &[PoolConfig]) -> bool {
    let mut placements = deployment.placements.iter();
    placements.all(|one| one.pool.is_some_and(|pool| one.gpus > pools[pool].gpus))
}

/// Stocks by tier, and the nodes that they are in, and where each stands; a tier that is not listed never runs out.
fn pools(
    reader: &mut Reader<'_>,
    catalog: &Catalog,
    evict_idle: bool,
) -> (Vec<PoolConfig>, Vec<Span>) {
    let mut stocks = reader.table("gpus");
    let mut nodes = reader.table("nodes");
    let (mut pools, mut stocked) = (Vec::new(), Vec::new());
    for name in stocks.names() {
        let gpus = stocks.required(&name, &Kind::whole().at_most("1000000")) as u32;
        let node = nodes.table(&name);
        stocked.push(stocks.span(&name));
        pools.push(pool(name, gpus, node, catalog, evict_idle));
    }
    stocks.finish();
    nodes.finish();
    (pools, stocked)
}

/// A stock and its nodes. The catalogue knows the GPUs' memory and the nodes' size of its own tiers; all GPUs of another are in
/// one node unless the scenario says otherwise.
fn pool(
    name: String,
    gpus: u32,
    mut node: Reader<'_>,
    catalog: &Catalog,
    evict_idle: bool,
) -> PoolConfig {
    let gpu = catalog.gpus.get(&name);
    let most = gpu.map_or_else(
        || "unlimited".to_owned(),
        |gpu| gpu.gpus_per_node_max.to_string(),
    );
    let bytes = || Kind::bytes().at_most("1000TB");
    let gpu_bytes = match gpu {
        Some(gpu) => Some(gpu.mem_bytes()),
        None => node.optional("memory", &bytes().positive()),
    };
    let pool = PoolConfig {
        name,
        gpus,
        gpu_bytes: gpu_bytes.unwrap_or(1),
        node: NodeConfig {
            gpus: count_or_unlimited(&mut node, "gpus", "1", &most),
            ram_cache: node.or_default("ram_cache", &bytes(), "0GB"),
            disk_cache: node.or_default("disk_cache", &bytes(), "0GB"),
        },
        evict_idle,
        spot: node.optional_table("spot").map(spot),
    };
    node.finish();
    pool
}

/// How nodes are taken back by their owner.
fn spot(mut reader: Reader<'_>) -> Spot {
    let times = Kind::duration()
        .at_most("364d")
        .list()
        .must("be in order", |times| times.is_sorted());
    let spot = Spot {
        hazard: reader.or_default("hazard", &Kind::rate().non_negative().at_most("1/s"), "0/s"),
        reclaims_at: reader.or_default("reclaims_at", &times, "[]"),
        notice: reader.or_default("notice", &Kind::duration().at_most("364d"), "0s"),
        away: distribution(&mut reader, "away", &seconds(), "1h"),
    };
    reader.finish();
    spot
}

/// Links by name, each with its bandwidth.
fn links(mut reader: Reader<'_>) -> Vec<LinkConfig> {
    let mut links = Vec::new();
    for name in reader.names() {
        let bytes_per_s = reader.required(&name, &Kind::bandwidth().positive());
        links.push(LinkConfig { name, bytes_per_s });
    }
    reader.finish();
    links
}
