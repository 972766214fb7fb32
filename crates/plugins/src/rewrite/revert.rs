//! Applies rules to replies: restores rewritten names, changes TTLs, rcodes and CNAME targets.
//!
//! As in CoreDNS the rules go over each record in turn, the last rule first. They are a pure function of a copy of the
//! message and the lookups made so far. If another lookup is needed, they return its name and start again with its
//! result.

use std::sync::Arc;

use wire::{Class, Flags, Name, NameBuf, Opt, Owner, Rcode, Reply, Rtype, Section};

use super::cname::Cname;
use super::edns0::Undo;
use super::pattern::Pattern;

/// One change to a reply.
#[derive(Clone)]
pub(super) enum Revert {
    /// Changes owner names.
    Owner(Arc<Mapper>),
    /// Changes the name in the record data.
    Value(Arc<Mapper>),
    Ttl {
        min: u32,
        max: u32,
    },
    Rcode {
        from: Rcode,
        to: Rcode,
    },
    Cname(Arc<Cname>),
    Edns0(Undo),
}

/// Maps names.
pub(super) enum Mapper {
    Regex {
        pattern: Pattern,
        to: String,
    },
    /// A name and all below it.
    Name {
        from: String,
        to: String,
    },
    Suffix {
        from: String,
        to: String,
    },
}

impl Mapper {
    fn map(&self, name: &str) -> Option<String> {
        match self {
            Mapper::Regex { pattern, to } => pattern.expand(name, to),
            Mapper::Name { from, to } => {
                let before = name.strip_suffix(from.as_str())?;
                (before.is_empty() || before.ends_with('.')).then(|| format!("{before}{to}"))
            }
            Mapper::Suffix { from, to } => {
                name.strip_suffix(from.as_str()).map(|before| format!("{before}{to}"))
            }
        }
    }

    /// None if the result is not a valid name.
    fn map_name(&self, name: Name<'_>) -> Option<NameBuf> {
        let text = self.map(&name.to_string())?;
        if text.is_empty() { None } else { NameBuf::parse(&text).ok() }
    }
}

/// A CNAME target that was looked up; without an answer if the query was dropped.
pub(super) struct Target {
    pub name: NameBuf,
    pub answer: Option<Answer>,
}

pub(super) struct Answer {
    records: Vec<Entry>,
    truncated: bool,
}

impl Answer {
    pub fn new(reply: &Reply, question: Name<'_>) -> Answer {
        let records = reply.section(Section::Answer).iter();
        let records = records.map(|record| Entry::new(reply, record, question)).collect();
        Answer { records, truncated: reply.flags.has(Flags::TC) }
    }
}

#[derive(Clone)]
struct Entry {
    owner: NameBuf,
    rtype: Rtype,
    class: Class,
    ttl: u32,
    data: Vec<u8>,
}

impl Entry {
    fn new(reply: &Reply, record: &wire::Record, question: Name<'_>) -> Entry {
        Entry {
            owner: reply.owner(record, question).to_buf(),
            rtype: record.rtype,
            class: record.class,
            ttl: record.ttl,
            data: reply.data(record).to_vec(),
        }
    }

    /// The name in the data that rules may change, and its offset.
    fn value(&self) -> Option<(usize, NameBuf)> {
        let at = match self.rtype {
            Rtype::CNAME | Rtype::DNAME | Rtype::NS | Rtype::PTR | Rtype::SOA => 0,
            Rtype::MX => 2,
            Rtype::SRV => 6,
            // Order and preference, then three character strings.
            Rtype::NAPTR => (0..3).try_fold(4, |at, _| Some(at + 1 + usize::from(*self.data.get(at)?)))?,
            _ => return None,
        };
        let mut name = NameBuf::root();
        name.read(&self.data, at).ok()?;
        Some((at, name))
    }

    fn set_value(&mut self, at: usize, old: &NameBuf, new: &NameBuf) {
        self.data.splice(at..at + old.wire().len(), new.wire().iter().copied());
    }

    fn alias(&self) -> Option<NameBuf> {
        if self.rtype == Rtype::CNAME { self.value().map(|(_, target)| target) } else { None }
    }
}

/// A message being changed. Sections are indexes into `records`, so that a record keeps its identity.
pub(super) struct Message {
    records: Vec<Entry>,
    sections: [Vec<usize>; 3],
    rcode: Rcode,
    truncated: bool,
    opt: Option<Opt>,
}

const SECTIONS: [Section; 3] = [Section::Answer, Section::Authority, Section::Additional];

impl Message {
    /// Applies the rules to a reply; the error is a name that must be looked up first. `follow`: apply CNAME rules.
    pub fn reverted(
        reply: &Reply,
        question: Name<'_>,
        reverts: &[Revert],
        targets: &[Target],
        follow: bool,
    ) -> Result<Message, Box<NameBuf>> {
        let mut records = Vec::new();
        let sections = SECTIONS.map(|section| {
            let start = records.len();
            records.extend(reply.section(section).iter().map(|record| Entry::new(reply, record, question)));
            (start..records.len()).collect()
        });
        let mut message = Message {
            records,
            sections,
            rcode: reply.rcode,
            truncated: reply.flags.has(Flags::TC),
            opt: reply.opt.clone(),
        };
        // Authority goes first. The lists are copied, because a CNAME rule may change the answer section meanwhile.
        let [answer, authority, additional] = message.sections.clone();
        let mut records: Vec<Option<usize>> =
            [authority, answer, additional].into_iter().flatten().map(Some).collect();
        if message.opt.is_some() {
            records.push(None);
        }
        for at in &records {
            for revert in reverts.iter().rev() {
                message.apply(revert, *at, targets, follow)?;
            }
        }
        if records.is_empty() {
            for revert in reverts.iter().rev().filter(|revert| matches!(revert, Revert::Rcode { .. })) {
                message.apply(revert, None, targets, follow)?;
            }
        }
        Ok(message)
    }

    /// `at` is None for the OPT record, which has neither name nor TTL.
    fn apply(
        &mut self,
        revert: &Revert,
        at: Option<usize>,
        targets: &[Target],
        follow: bool,
    ) -> Result<(), Box<NameBuf>> {
        match revert {
            Revert::Rcode { from, to } if self.rcode == *from => self.rcode = *to,
            Revert::Edns0(undo) => {
                if let Some(opt) = &mut self.opt {
                    undo.in_reply(opt);
                }
            }
            _ => {}
        }
        let Some(record) = at.and_then(|at| self.records.get_mut(at)) else { return Ok(()) };
        match revert {
            Revert::Owner(mapper) => {
                if let Some(name) = mapper.map_name(record.owner.as_name()) {
                    record.owner = name;
                }
            }
            Revert::Value(mapper) => {
                if let Some((at, old)) = record.value()
                    && let Some(new) = mapper.map_name(old.as_name())
                {
                    record.set_value(at, &old, &new);
                }
            }
            Revert::Ttl { min, max } => record.ttl = record.ttl.clamp(*min, *max),
            Revert::Cname(cname) if follow => {
                if let Some(old) = record.alias()
                    && let Some(text) = cname.target(&old.to_string())
                    && let Ok(new) = NameBuf::parse(&text)
                {
                    let target = targets
                        .iter()
                        .find(|target| target.name == new)
                        .ok_or_else(|| Box::new(new.clone()))?;
                    if let Some(answer) = &target.answer {
                        self.retarget(&old, &new, answer);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Points the alias to the new target: the chain up to it stays, the target's records follow.
    fn retarget(&mut self, old: &NameBuf, new: &NameBuf, answer: &Answer) {
        let mut kept = Vec::new();
        for at in self.sections[0].clone() {
            let Some(record) = self.records.get_mut(at) else { continue };
            let Some(target) = record.alias() else { continue };
            kept.push(at);
            if target == *old {
                record.set_value(0, old, new);
                break;
            }
        }
        let start = self.records.len();
        self.records.extend(answer.records.iter().cloned());
        kept.extend(start..self.records.len());
        self.sections[0] = kept;
        self.truncated = answer.truncated;
    }

    /// Writes the message into the reply.
    pub fn write(self, reply: &mut Reply, question: Name<'_>) {
        let mut new = Reply::new();
        new.rcode = self.rcode;
        new.opcode = reply.opcode;
        new.flags = reply.flags.with(Flags::TC, self.truncated);
        new.opt = self.opt;
        for (section, places) in SECTIONS.into_iter().zip(&self.sections) {
            for record in places.iter().filter_map(|at| self.records.get(*at)) {
                let asked = record.owner.as_name() == question;
                let owner = if asked { Owner::Question(0) } else { new.store(record.owner.as_name()) };
                new.push_with(section, owner, record.rtype, record.class, record.ttl, |data| {
                    data.bytes(&record.data);
                });
            }
        }
        *reply = new;
    }
}
