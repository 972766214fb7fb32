//! The records of a name: addresses and SRV.

use std::net::IpAddr;

use smallvec::SmallVec;
use wire::{Name, Owner, Question, Reply, Rtype, Section};

use super::apex;
use super::filter::Chosen;
use super::find::{Ask, Found, Services};
use super::target::{Identity, Target, asked_or, owner};
use crate::distinct::Distinct;
use crate::records::{push_address, push_srv, rtype, share};

/// More records than any message can hold; what is beyond would only be cut off again.
const MOST_RECORDS: usize = 4700;

/// Most answers have no more hits; more go to the heap.
const FEW: usize = 24;

/// Where in the data of an SRV record its target begins.
const SRV_TARGET: u16 = 6;

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

/// The same for the one or two addresses of a Service.
pub(super) fn own_addresses(reply: &mut Reply, qtype: Rtype, ttl: u32, own: &[IpAddr]) -> usize {
    let mut count = 0;
    for (at, address) in own.iter().enumerate() {
        if rtype(*address) == qtype && !own[..at].contains(address) {
            push_address(reply, Section::Answer, Owner::Question(0), ttl, *address);
            count += 1;
        }
    }
    count
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
    let mut ports = Chosen::new(&services.filter);
    let candidates = services.hits().map(|hit| ports.of(hit.ports).len()).sum();
    let weight = share(candidates);

    let mut target = Target::new();
    // For each hit, where its target stands in its first SRV record.
    let mut targets: SmallVec<[Option<Owner>; FEW]> = SmallVec::new();
    let mut seen = Distinct::new();
    let mut pushed = 0;
    services.hits().for_each(|hit| {
        let identity = Identity::of(&hit, options.endpoint_pod_names);
        let mut at = None;
        let mut name = None;
        for port in ports.of(hit.ports).iter().flatten() {
            if pushed == MOST_RECORDS || !seen.is_new((identity, *port)) {
                continue;
            }
            if name.is_none() {
                name = identity.name_in(&mut target, zone);
            }
            let Some(name) = name else { break };
            push_srv(reply, options.ttl, weight, *port, name);
            pushed += 1;
            at = at.or_else(|| reply.owner_from_last_rdata(SRV_TARGET));
        }
        targets.push(at);
    });

    let mut seen = Distinct::new();
    let mut pushed = 0;
    services.hits().zip(targets).for_each(|(hit, at)| {
        let identity = Identity::of(&hit, options.endpoint_pod_names);
        let has_port = ports.of(hit.ports).iter().any(Option::is_some);
        if !has_port || pushed == MOST_RECORDS || !seen.is_new((identity, hit.address)) {
            return;
        }
        // Hits of one name share a record, which the first of them made.
        let Some(owner) = at.map(|at| asked_or(reply, question, at)).or_else(|| {
            let name = identity.name_in(&mut target, zone)?;
            Some(owner(reply, question, name))
        }) else {
            return;
        };
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
