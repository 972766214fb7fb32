//! Answers A, AAAA and PTR queries from a hosts file and from lines of the Corefile.
//!
//! A hot path on many servers: it takes no lock and allocates nothing.

mod file;
mod lines;
mod setup;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use server::{Plugin, Step, Visit, log};
use wire::{Flags, NameBuf, Owner, Query, Rcode, Reply, Rtype, Section};

use crate::messages::reverse;
use crate::options::{Fallthrough, is_under_any};
use file::HostsFile;
pub(crate) use setup::setup;
use table::Table;

const LOG: log::Logger = log::plugin("hosts");

/// Maximum number of records in a reply: more of at least 14 octets than fit into any message.
const MAX_RECORDS: usize = 4700;

/// Registers the metrics before any file is read.
pub(crate) fn register_metrics() {
    file::register();
}

struct Hosts {
    zones: Vec<NameBuf>,
    fallthrough: Fallthrough,
    /// Queries of other types fall through too, even if the name exists.
    fallthrough_unsupported: bool,
    ttl: u32,
    file: Arc<HostsFile>,
    /// The lines of the Corefile.
    inline: Table,
}

impl Plugin for Hosts {
    fn name(&self) -> &'static str {
        "hosts"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let question = &visit.query.question;
        if question.qtype != Rtype::PTR && !is_under_any(question.lower(), &self.zones) {
            return Step::Next;
        }
        self.look_up(&[&self.file.table(), &self.inline], visit)
    }
}

impl Hosts {
    fn look_up(&self, tables: &[&Table; 2], visit: &mut Visit<'_>) -> Step {
        let question = &visit.query.question;
        let (name, qtype) = (question.lower(), question.qtype);
        let found = match qtype {
            Rtype::A => {
                let found = tables.map(|table| table.v4(name));
                let octets = found.iter().copied().flatten().map(|ip| ip.octets());
                self.answer(visit.query, visit.reply, octets);
                found.map(<[_]>::len)
            }
            Rtype::AAAA => {
                let found = tables.map(|table| table.v6(name));
                let octets = found.iter().copied().flatten().map(|ip| ip.octets());
                self.answer(visit.query, visit.reply, octets);
                found.map(<[_]>::len)
            }
            Rtype::PTR => {
                // Reverse names need not be in the zones; unknown addresses always go to the next plugin.
                let Some(address) = reverse::address(name) else { return Step::Next };
                let found = tables.map(|table| table.names(address).len());
                if found == [0, 0] {
                    return Step::Next;
                }
                let names = tables.iter().flat_map(|table| table.names(address));
                self.answer(visit.query, visit.reply, names);
                found
            }
            _ if self.fallthrough_unsupported && self.fallthrough.through(name) => return Step::Next,
            _ => {
                self.answer(visit.query, visit.reply, std::iter::empty::<[u8; 0]>());
                [0, 0]
            }
        };
        if found == [0, 0] && !tables.iter().any(|table| table.has(name)) {
            return self.not_found(visit);
        }
        visit.note(|_| self.sources(found));
        Step::Answer
    }
}

impl Hosts {
    /// Writes a record for each item of `data`. Owner names are in lower case, as in CoreDNS.
    fn answer(&self, query: &Query, reply: &mut Reply, data: impl Iterator<Item = impl AsRef<[u8]>>) {
        reply.begin(query);
        reply.flags.set(Flags::AA, true);
        let question = &query.question;
        let mut data = data.take(MAX_RECORDS).peekable();
        if data.peek().is_none() {
            return;
        }
        let same = question.name() == question.lower();
        let owner = if same { Owner::Question(0) } else { reply.store(question.lower()) };
        for data in data {
            reply.push(Section::Answer, owner, question.qtype, self.ttl, data.as_ref());
        }
    }

    fn not_found(&self, visit: &mut Visit<'_>) -> Step {
        if self.fallthrough.through(visit.query.question.lower()) {
            visit.note(|_| format!("not in {} nor in the Corefile; falls through", self.file.path.display()));
            return Step::Next;
        }
        visit.note(|_| format!("not in {} nor in the Corefile", self.file.path.display()));
        // NXDOMAIN needs an SOA record, and a hosts file has none.
        Step::fail(Rcode::SERVFAIL)
    }

    /// The number of records from each source, for `explain`.
    fn sources(&self, [file, inline]: [usize; 2]) -> String {
        let path = self.file.path.display();
        match (file, inline) {
            (0, 0) => format!("the name exists in {path} or the Corefile, but has no records of this type"),
            (file, 0) => format!("records: {file} from {path}"),
            (0, inline) => format!("records: {inline} from the Corefile"),
            (file, inline) => format!("records: {file} from {path}, {inline} from the Corefile"),
        }
    }
}
