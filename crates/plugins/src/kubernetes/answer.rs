//! The records of a name: addresses and SRV.

use std::net::IpAddr;

use wire::{Name, Owner, Question, Reply, Rtype, Section};

use super::apex;
use super::find::{Ask, Found, Services};
use super::target::{Identity, Target, owner};
use crate::distinct::Distinct;
use crate::records::{push_address, push_srv, rtype, share};

/// More records than any message can hold; what is beyond would only be cut off again.
const MOST_RECORDS: usize = 4700;

/// Answers with the addresses of a name that are of the type. Tells how many there are.
pub(super) fn found(
    ask: &Ask<'_>,
    found: &Found<'_>,
    reply: &mut Reply,
    owner: Owner,
    qtype: Rtype,
) -> usize {
    let ttl = ask.plugin.options.ttl;
    match found {
        _ if ask.is_name_server() => addresses(reply, owner, qtype, ttl, apex::addresses(ask).into_iter()),
        Found::Services(services) => {
            addresses(reply, owner, qtype, ttl, services.hits().map(|hit| hit.address))
        }
        Found::Pod { address, .. } => addresses(reply, owner, qtype, ttl, std::iter::once(*address)),
        Found::Nothing | Found::Empty => 0,
    }
}

/// Each address once.
fn addresses(
    reply: &mut Reply,
    owner: Owner,
    qtype: Rtype,
    ttl: u32,
    addresses: impl Iterator<Item = IpAddr>,
) -> usize {
    let mut seen = Distinct::new();
    let fitting =
        addresses.filter(|address| rtype(*address) == qtype).filter(|address| seen.is_new(*address));
    let mut count = 0;
    // Iterators in iterators run best from the inside.
    fitting.take(MOST_RECORDS).for_each(|address| {
        push_address(reply, Section::Answer, owner, ttl, address);
        count += 1;
    });
    count
}

/// Answers with SRV records of all ports of all addresses, and with the addresses of their targets.
pub(super) fn srv(ask: &Ask<'_>, reply: &mut Reply, question: &Question, services: &Services<'_>) {
    let options = &ask.plugin.options;
    let zone = question.name().wire().get(ask.at..).unwrap_or_default();
    let candidates = services.hits().map(|hit| services.filter.ports(hit.ports).count()).sum();
    let weight = share(candidates);

    let mut seen = Distinct::new();
    let mut pushed = 0;
    services.hits().for_each(|hit| {
        let identity = Identity::of(&hit, options.endpoint_pod_names);
        let mut target: Option<Target> = None;
        for port in services.filter.ports(hit.ports).flatten() {
            if pushed == MOST_RECORDS || !seen.is_new((identity, port)) {
                continue;
            }
            if target.is_none() {
                target = identity.target(zone);
            }
            let Some(name) = target.as_ref().and_then(Target::name) else { break };
            push_srv(reply, options.ttl, weight, port, name);
            pushed += 1;
        }
    });

    let mut seen = Distinct::new();
    let mut pushed = 0;
    services.hits().for_each(|hit| {
        let identity = Identity::of(&hit, options.endpoint_pod_names);
        let has_port = services.filter.ports(hit.ports).flatten().next().is_some();
        if !has_port || pushed == MOST_RECORDS || !seen.is_new((identity, hit.address)) {
            return;
        }
        let target = identity.target(zone);
        let Some(name) = target.as_ref().and_then(Target::name) else { return };
        let owner = owner(reply, question, name);
        push_address(reply, Section::Additional, owner, options.ttl, hit.address);
        pushed += 1;
    });
}

/// A pod has an SRV record too, without a port.
pub(super) fn pod_srv(
    ask: &Ask<'_>,
    reply: &mut Reply,
    question: &Question,
    address: IpAddr,
    pods: usize,
) -> Option<()> {
    // What stands left of the pod's address is not part of the target.
    let labels = Name::labels(ask.name).count() - Name::labels(ask.zone.name.as_name()).count();
    let skipped: usize = ask.name.labels().take(labels.saturating_sub(3)).map(|label| label.len() + 1).sum();
    let mut target = Target::new();
    target.octets(ask.front().get(skipped..)?)?.octets(question.name().wire().get(ask.at..)?)?;
    let name = target.name()?;
    let ttl = ask.plugin.options.ttl;
    push_srv(reply, ttl, share(pods), 0, name);
    let owner = owner(reply, question, name);
    push_address(reply, Section::Additional, owner, ttl, address);
    Some(())
}
