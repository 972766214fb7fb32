//! The order of records in a section: aliases, everything else, addresses, mail exchangers.
//!
//! Aliases come first because some stub resolvers use the first address after them.

use std::ops::Range;

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use wire::{Record, Reply, Rtype, Section};

/// The four groups, in the order they are sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Alias,
    Rest,
    Address,
    Mail,
}

fn group(record: &Record) -> Group {
    match record.rtype {
        Rtype::CNAME => Group::Alias,
        Rtype::A | Rtype::AAAA => Group::Address,
        Rtype::MX => Group::Mail,
        _ => Group::Rest,
    }
}

/// Groups the records and shuffles addresses and mail exchangers among themselves.
pub(super) fn shuffle(reply: &mut Reply, section: Section, random: &mut SmallRng) {
    if reply.section(section).len() < 2 {
        return;
    }
    arrange(reply, section);
    let records = reply.section_mut(section);
    let addresses = records.partition_point(|record| group(record) < Group::Address);
    let mail = records.partition_point(|record| group(record) < Group::Mail);
    records[addresses..mail].shuffle(random);
    records[mail..].shuffle(random);
}

/// Groups the records and swaps an address drawn by weight with the first one. Without addresses it changes nothing.
pub(super) fn draw(
    reply: &mut Reply,
    section: Section,
    random: &mut SmallRng,
    weight: impl Fn(&Reply, &Record) -> u8,
) {
    if !reply.section(section).iter().any(|record| group(record) == Group::Address) {
        return;
    }
    arrange(reply, section);
    let addresses = || reply.section(section).iter().enumerate().filter(|(_, r)| group(r) == Group::Address);
    let total: usize = addresses().map(|(_, record)| usize::from(weight(reply, record))).sum();
    let mut left = random.random_range(0..total);
    let mut drawn = None;
    for (at, record) in addresses() {
        let weight = usize::from(weight(reply, record));
        if left < weight {
            drawn = Some(at);
            break;
        }
        left -= weight;
    }
    let first = addresses().next().map(|(at, _)| at);
    if let (Some(first), Some(drawn)) = (first, drawn) {
        reply.section_mut(section).swap(first, drawn);
    }
}

/// Sorts the records by group, stably.
fn arrange(reply: &mut Reply, section: Section) {
    let records = reply.section(section);
    if records.is_sorted_by_key(group) {
        return;
    }
    let (mut done, end) = (0, records.len());
    for wanted in [Group::Alias, Group::Rest, Group::Address] {
        done += partition(reply, section, done..end, &|_, record| group(record) == wanted);
    }
}

/// Stable partition: moves matching records of a range to its front and returns their number. Partitions both halves,
/// then joins them by a rotation, so it needs no memory.
pub(super) fn partition(
    reply: &mut Reply,
    section: Section,
    range: Range<usize>,
    matches: &impl Fn(&Reply, &Record) -> bool,
) -> usize {
    match range.len() {
        0 => 0,
        1 => usize::from(matches(reply, &reply.section(section)[range.start])),
        len => {
            let middle = range.start + len / 2;
            let left = partition(reply, section, range.start..middle, matches);
            let right = partition(reply, section, middle..range.end, matches);
            let start = range.start + left;
            reply.section_mut(section)[start..middle + right].rotate_left(middle - start);
            left + right
        }
    }
}
