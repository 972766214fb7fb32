//! The zones and server blocks of one listening address, and the choice of block for a query.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use wire::{Class, Edns, Flags, Name, NameBuf, Opcode, Opt, Rcode, Rtype};

use crate::listen::backlog::Backlog;
use crate::walk::explain::Note;
use crate::walk::visit::{MetadataView, Outcome};
use crate::walk::{Progress, Walk};
use crate::{Block, Observer, Prefetch, ProxyProtocol, Purpose, Transport};

/// All that is served on one listening address. Replaced as a whole on reload.
pub struct Service {
    /// `dns://:53`, as logs and metrics name the server.
    pub label: String,
    /// The number of sockets that the first block configures.
    pub sockets: Option<usize>,
    /// Replies that wait for room in a send buffer, if a block configures a backlog.
    pub(crate) backlog: Option<Arc<Backlog>>,
    /// The PROXY protocol, if a block configures it.
    pub(crate) proxy_protocol: Option<ProxyProtocol>,
    zones: Zones,
    /// A plugin accepts classes other than IN.
    any_class: bool,
    /// A panic ends the process instead of the query.
    pub(crate) debug: bool,
    /// The log line of a panic has a stack trace.
    pub(crate) stacktrace: bool,
    pub(crate) timeouts: Timeouts,
    /// Plugins that prefetch index entries for a batch.
    prefetchers: Vec<Arc<dyn Prefetch>>,
    /// Counts the queries that no block accepted; one in the whole configuration, since it counts for all.
    observer: Option<Arc<dyn Observer>>,
}

/// Timeouts and limits of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub read: Duration,
    pub write: Duration,
    pub idle: Duration,
    /// Queries on one connection; -1 is no limit.
    pub max_queries: i64,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            read: Duration::from_secs(3),
            write: Duration::from_secs(5),
            idle: Duration::from_secs(10),
            max_queries: -1,
        }
    }
}

/// Zones to blocks. The root is separate: it is the fallback, and the only zone of many servers.
#[derive(Default)]
struct Zones {
    by_name: HashMap<Vec<u8>, Zone>,
    root: Vec<Arc<Block>>,
    /// The name of each zone by its number, in lower case; the root has none.
    names: Vec<NameBuf>,
}

struct Zone {
    number: ZoneNumber,
    blocks: Vec<Arc<Block>>,
}

/// The number of a service's zone, as stored in a walk. None is the root.
pub(crate) type ZoneNumber = Option<u32>;

impl Zones {
    fn add(&mut self, zone: &NameBuf, block: Arc<Block>) {
        if zone.as_name().is_root() {
            return self.root.push(block);
        }
        let name = zone.as_name().to_lower();
        let zone = self.by_name.entry(name.wire().to_vec()).or_insert_with(|| {
            self.names.push(name);
            Zone { number: Some(self.names.len() as u32 - 1), blocks: Vec::new() }
        });
        zone.blocks.push(block);
    }
}

impl Service {
    /// `blocks` in the order of the Corefile, each with one zone it serves here.
    pub fn new(label: String, blocks: Vec<(NameBuf, Arc<Block>)>) -> Service {
        let mut timeouts = Timeouts::default();
        let sockets = blocks.first().and_then(|(_, block)| block.settings.sockets);
        let mut zones = Zones::default();
        let mut backlog = None;
        let mut proxy_protocol: Option<ProxyProtocol> = None;
        let (mut any_class, mut debug, mut stacktrace) = (false, false, false);
        let mut prefetchers: Vec<Arc<dyn Prefetch>> = Vec::new();
        for (zone, block) in blocks {
            for offered in block.offers::<dyn Prefetch>() {
                // A block may serve several zones here.
                if !prefetchers.iter().any(|known| Arc::ptr_eq(known, &offered.value)) {
                    prefetchers.push(offered.value);
                }
            }
            // Later blocks on the same address win, as they do in CoreDNS.
            let settings = &block.settings;
            timeouts.read = settings.read_timeout.unwrap_or(timeouts.read);
            timeouts.write = settings.write_timeout.unwrap_or(timeouts.write);
            timeouts.idle = settings.idle_timeout.unwrap_or(timeouts.idle);
            timeouts.max_queries = settings.max_tcp_queries.unwrap_or(timeouts.max_queries);
            any_class |= settings.any_class;
            debug |= settings.debug;
            if let Some(configured) = &settings.proxy_protocol {
                proxy_protocol = Some(configured.clone().after(proxy_protocol));
            }
            if let Some(lost) = &settings.lost_replies {
                backlog.get_or_insert_with(|| Arc::new(Backlog::new(lost.with(&[&label, "response"]))));
            }
            stacktrace = settings.stacktrace;
            zones.add(&zone, block);
        }
        Service {
            label,
            sockets,
            backlog,
            proxy_protocol,
            zones,
            any_class,
            debug,
            stacktrace,
            timeouts,
            prefetchers,
            observer: None,
        }
    }

    pub(crate) fn with_observer(mut self, observer: Option<Arc<dyn Observer>>) -> Service {
        self.observer = observer;
        self
    }

    /// Prefetches index entries for these queries.
    pub(crate) fn prefetch<'p>(&self, queries: impl Iterator<Item = &'p [u8]> + Clone) {
        for prefetcher in &self.prefetchers {
            prefetcher.prefetch(&mut queries.clone());
        }
    }

    /// Reports a reply that no block made to the observer.
    pub(crate) fn report_refusal(&self, walk: &Walk) {
        if let Some(observer) = &self.observer
            && walk.state.purpose == Purpose::Serve
        {
            observer.refused(&self.label, &walk.query, &walk.client, &walk.reply);
        }
    }

    /// Walks a parsed query through its block. The walk has the outcome.
    pub(crate) fn serve<'s>(self: &'s Arc<Service>, walk: &mut Walk) -> ServeResult<'s> {
        let question = &walk.query.question;
        if !self.any_class && question.qclass != Class::IN {
            let why = "class is not IN and no plugin of this server accepts other classes";
            return self.refused(walk, Rcode::REFUSED, why);
        }
        if walk.query.edns.is_some_and(|edns| edns.version != 0) {
            return ServeResult { progress: self.bad_version(walk), block: None };
        }
        match self.choose_block(walk) {
            Ok(block) => {
                walk.enter(block);
                ServeResult { progress: walk.drive(block, self), block: Some(block) }
            }
            Err((rcode, why)) => self.refused(walk, rcode, why),
        }
    }

    fn refused<'s>(&self, walk: &mut Walk, rcode: Rcode, why: &'static str) -> ServeResult<'s> {
        let progress = walk.refuse(rcode, why);
        self.report_refusal(walk);
        ServeResult { progress, block: None }
    }

    fn bad_version(&self, walk: &mut Walk) -> Progress {
        let progress = walk.refuse(Rcode::BADVERS, "EDNS version is not 0");
        // A fresh OPT: nothing of an unsupported EDNS version is reflected.
        walk.query.edns = None;
        walk.reply.opt = Some(Opt::new(0, false));
        progress
    }

    /// The block for a query: the longest zone wins, blocks of one zone are tried in order. DS belongs to the parent
    /// zone if that is served too, and to the last of several blocks. The root is the fallback.
    pub(crate) fn choose_block<'s>(
        &'s self,
        walk: &mut Walk,
    ) -> Result<&'s Arc<Block>, (Rcode, &'static str)> {
        let question = &walk.query.question;
        let lower = question.lower();
        let wants_ds = walk.query.opcode == Opcode::QUERY && question.qtype == Rtype::DS;
        let mut found: Option<(ZoneNumber, &'s Arc<Block>)> = None;
        if !self.zones.by_name.is_empty() {
            for suffix in lower.suffixes() {
                let Some(zone) = self.zones.by_name.get(suffix.wire()) else { continue };
                if let Some(block) = self.find_accepting(&zone.blocks, walk, true, wants_ds)? {
                    found = Some((zone.number, block));
                    if !wants_ds {
                        break;
                    }
                }
            }
        }
        if found.is_none()
            && let Some(block) =
                self.find_accepting(&self.zones.root, walk, lower.is_root(), wants_ds && lower.is_root())?
        {
            found = Some((None, block));
        }
        let (zone, block) =
            found.ok_or((Rcode::REFUSED, "no server block on this address serves this name"))?;
        walk.state.zone = zone;
        if let Some(notes) = &mut walk.state.notes {
            let view = block.view_name().map(|view| format!(", view {view}")).unwrap_or_default();
            let text = format!("block {} on {}{view}", self.zone(zone), self.label);
            notes.push(Note::new("server", walk.state.depth, text));
        }
        Ok(block)
    }

    pub(crate) fn zone(&self, number: ZoneNumber) -> Name<'_> {
        let name = number.and_then(|number| self.zones.names.get(number as usize));
        name.map_or(Name::ROOT, NameBuf::as_name)
    }

    /// The first block of a zone that accepts the query; with `last` the last one.
    fn find_accepting<'s>(
        &self,
        blocks: &'s [Arc<Block>],
        walk: &Walk,
        empty_refuses: bool,
        last: bool,
    ) -> Result<Option<&'s Arc<Block>>, (Rcode, &'static str)> {
        // Nearly always there is one block, without a view.
        if let [block] = blocks
            && !block.is_filtered()
            && !block.chain().is_empty()
        {
            return Ok(Some(block));
        }
        let mut found = None;
        for block in blocks {
            if block.chain().is_empty() {
                if empty_refuses {
                    return Err((Rcode::REFUSED, "the server block has no plugins"));
                }
                continue;
            }
            let metadata = |label: &str| {
                let view = MetadataView::new(&walk.query, &walk.reply, &walk.client, &walk.state, &[]);
                block.metadata(label, view)
            };
            if block.is_filtered() && !block.accepts(&walk.query, &walk.client, &metadata) {
                continue;
            }
            found = Some(block);
            if !last {
                break;
            }
        }
        Ok(found)
    }

    /// The maximum size of a reply to this client, in octets.
    pub(crate) fn limit(transport: Transport, query: &wire::Query) -> usize {
        match transport {
            Transport::Udp => query.udp_limit(),
            Transport::Tcp => 65535,
        }
    }
}

/// How far a query got, and its block; None if it was refused before the choice of one.
pub(crate) struct ServeResult<'s> {
    pub progress: Progress,
    pub block: Option<&'s Arc<Block>>,
}

/// Makes the error reply to an invalid packet: the client's flags as received, without AA and Z.
pub(crate) fn reject(walk: &mut Walk, rcode: Rcode) {
    let flags = walk.query.flags;
    walk.reply.begin_error(&walk.query, rcode);
    walk.reply.flags = Flags(flags.0 | Flags::QR.0).with(Flags::AA, false).with(Flags::Z, false);
    if rcode == Rcode::FORMERR {
        walk.reply.opcode = Opcode::QUERY;
    }
    walk.query.edns = None::<Edns>;
    walk.state.outcome = Outcome::Failure;
}
