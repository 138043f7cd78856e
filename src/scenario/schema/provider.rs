//! A provider: its network and its deployments.

use super::super::{Kind, Reader};
use super::deployment;
use super::values::{distribution, seconds};
use crate::experiment::Provider;
use crate::fleet::FleetConfig;
use crate::fleet::config::Network;
use crate::time::{Duration, Time};

/// One provider. `phase` and `window` are set by each run.
pub(super) fn read(name: String, mut reader: Reader<'_>) -> Provider {
    let network = network(reader.table("network"));
    let mut deployments = Vec::new();
    let entries = reader.entries("deployments");
    if entries.is_empty() && reader.is_sound("deployments") {
        reader.missing("deployments", "{ my-model = {} }");
    }
    for (model, entry) in entries {
        deployments.push(deployment::read(model, entry));
    }
    reader.finish();
    let fleet = FleetConfig {
        phase: Duration::ZERO,
        window: Time::ZERO,
        network,
        pools: Vec::new(),
        links: Vec::new(),
        deployments,
    };
    Provider {
        name,
        fleet,
        benchmarked: Vec::new(),
    }
}

fn network(mut reader: Reader<'_>) -> Network {
    let network = Network {
        rtt: distribution(&mut reader, "rtt", &seconds(), "0s"),
        gateway: distribution(&mut reader, "gateway", &seconds(), "0s"),
        new_connection: reader.or_default(
            "connection",
            &Kind::one_of(&[("reused", false), ("new", true)]),
            "reused",
        ),
    };
    reader.finish();
    network
}
