//! Writes the A, AAAA and SRV records of a name.

use std::net::IpAddr;

use smallvec::SmallVec;
use wire::{Name, Owner, Question, Reply, Rtype, Section};

use super::apex;
use super::filter::SelectedPorts;
use super::find::{LookupResult, NameLookup, Services};
use super::target::{Target, TargetKey, in_question_or, owner};
use crate::messages::distinct::Distinct;
use crate::messages::records::{push_address, push_srv, rtype, srv_weight};

/// More records than fit into any message; further ones would only be truncated.
const MAX_RECORDS: usize = 4700;

/// Targets kept on the stack; enough for most answers.
const INLINE_TARGETS: usize = 24;

/// Offset of the target in the data of an SRV record.
const SRV_TARGET_OFFSET: u16 = 6;

/// Writes a name's addresses of the queried type; returns how many.
pub(super) fn push_addresses(
    lookup: &NameLookup<'_>,
    found: &LookupResult<'_>,
    reply: &mut Reply,
    owner: Owner,
    qtype: Rtype,
) -> usize {
    let ttl = lookup.plugin.options.ttl;
    match found {
        _ if lookup.is_name_server() => {
            addresses(reply, owner, qtype, ttl, apex::addresses(lookup).into_iter())
        }
        LookupResult::Services(services) => {
            addresses(reply, owner, qtype, ttl, services.hits().map(|hit| hit.address))
        }
        LookupResult::Pod { address, .. } => addresses(reply, owner, qtype, ttl, std::iter::once(*address)),
        LookupResult::NoName | LookupResult::EmptyNonTerminal => 0,
    }
}

/// The same for a Service's own addresses, of which there are one or two.
pub(super) fn push_own_addresses(reply: &mut Reply, qtype: Rtype, ttl: u32, own: &[IpAddr]) -> usize {
    let mut count = 0;
    for (at, address) in own.iter().enumerate() {
        if rtype(*address) == qtype && !own[..at].contains(address) {
            push_address(reply, Section::Answer, Owner::Question(0), ttl, *address);
            count += 1;
        }
    }
    count
}

/// Writes each address once.
fn addresses(
    reply: &mut Reply,
    owner: Owner,
    qtype: Rtype,
    ttl: u32,
    addresses: impl Iterator<Item = IpAddr>,
) -> usize {
    let mut seen = Distinct::new();
    let fitting =
        addresses.filter(|address| rtype(*address) == qtype).filter(|address| seen.insert(*address));
    let mut count = 0;
    // Nested iterators are faster with internal iteration.
    fitting.take(MAX_RECORDS).for_each(|address| {
        push_address(reply, Section::Answer, owner, ttl, address);
        count += 1;
    });
    count
}

/// Writes SRV records for all matching ports of all addresses, and the targets' addresses as additional records.
pub(super) fn srv(lookup: &NameLookup<'_>, reply: &mut Reply, question: &Question, services: &Services<'_>) {
    let options = &lookup.plugin.options;
    let zone = question.name().wire().get(lookup.at..).unwrap_or_default();
    let mut ports = SelectedPorts::new(&services.filter);
    let candidates = services.hits().map(|hit| ports.of(hit.ports).len()).sum();
    let weight = srv_weight(candidates);

    let mut target = Target::new();
    // For each hit, the place of its target in its first SRV record.
    let mut targets: SmallVec<[Option<Owner>; INLINE_TARGETS]> = SmallVec::new();
    let mut seen = Distinct::new();
    let mut pushed = 0;
    services.hits().for_each(|hit| {
        let target_key = TargetKey::of(&hit, options.endpoint_pod_names);
        let mut at = None;
        let mut name = None;
        for port in ports.of(hit.ports).iter().flatten() {
            if pushed == MAX_RECORDS || !seen.insert((target_key, *port)) {
                continue;
            }
            if name.is_none() {
                name = target_key.name_in(&mut target, zone);
            }
            let Some(name) = name else { break };
            push_srv(reply, options.ttl, weight, *port, name);
            pushed += 1;
            at = at.or_else(|| reply.owner_from_last_rdata(SRV_TARGET_OFFSET));
        }
        targets.push(at);
    });

    let mut seen = Distinct::new();
    let mut pushed = 0;
    services.hits().zip(targets).for_each(|(hit, at)| {
        let target_key = TargetKey::of(&hit, options.endpoint_pod_names);
        let has_port = ports.of(hit.ports).iter().any(Option::is_some);
        if !has_port || pushed == MAX_RECORDS || !seen.insert((target_key, hit.address)) {
            return;
        }
        // Hits of one name share the SRV record that the first of them wrote.
        let Some(owner) = at.map(|at| in_question_or(reply, question, at)).or_else(|| {
            let name = target_key.name_in(&mut target, zone)?;
            Some(owner(reply, question, name))
        }) else {
            return;
        };
        push_address(reply, Section::Additional, owner, options.ttl, hit.address);
        pushed += 1;
    });
}

/// Writes the SRV record of a pod, which has port 0.
pub(super) fn pod_srv(
    lookup: &NameLookup<'_>,
    reply: &mut Reply,
    question: &Question,
    address: IpAddr,
    pods: usize,
) -> Option<()> {
    // Labels left of the pod's address are not part of the target.
    let labels = Name::labels(lookup.name).count() - Name::labels(lookup.zone.name.as_name()).count();
    let skipped: usize =
        lookup.name.labels().take(labels.saturating_sub(3)).map(|label| label.len() + 1).sum();
    let mut target = Target::new();
    target.octets(lookup.front().get(skipped..)?)?.octets(question.name().wire().get(lookup.at..)?)?;
    let name = target.name()?;
    let ttl = lookup.plugin.options.ttl;
    push_srv(reply, ttl, srv_weight(pods), 0, name);
    let owner = owner(reply, question, name);
    push_address(reply, Section::Additional, owner, ttl, address);
    Some(())
}
