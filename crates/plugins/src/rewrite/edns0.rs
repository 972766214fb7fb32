//! `edns0 local|nsid|subnet set|append|replace|unset ...`: changes the query's EDNS options for the plugins below.

mod parse;

use std::net::IpAddr;

use server::Visit;
use wire::{Edns, EdnsOption, Opt, Query, option};

use super::CurrentQuestion;
use super::revert::Revert;

/// UDP size of a query that had no EDNS before an option was added.
const UDP_SIZE: u16 = 4096;

pub(super) struct Edns0 {
    action: Action,
    code: u16,
    data: Data,
    /// Restore the option in the reply.
    revert: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Set,
    Append,
    Replace,
    Unset,
}

enum Data {
    Fixed(Vec<u8>),
    Variable(Variable),
    Nsid,
    /// Bits of the client's address to send, for IPv4 and IPv6.
    Subnet(u8, u8),
}

enum Variable {
    Qname,
    Qtype,
    ClientIp,
    ClientPort,
    Protocol,
    ServerIp,
    ServerPort,
    Label(String),
}

/// Restores an option: to its old data, or by removing it.
#[derive(Clone)]
pub(super) struct Undo {
    code: u16,
    old: Option<Vec<u8>>,
}

type Options = Vec<(u16, Vec<u8>)>;

impl Edns0 {
    /// The option code that is returned to the client; only local options are.
    pub fn reflected(&self) -> Option<u16> {
        matches!(self.data, Data::Fixed(_) | Data::Variable(_)).then_some(self.code)
    }

    pub fn apply(&self, current: &CurrentQuestion, visit: &mut Visit<'_>) -> Option<Vec<Revert>> {
        let data = self.data(current, visit)?;
        let fresh = Edns { udp_size: UDP_SIZE, version: 0, extended_rcode: 0, flags: 0 };
        visit.query.edns.get_or_insert(fresh);
        let mut options = collect(visit.query);
        if self.action == Action::Unset {
            options.retain(|(code, _)| *code != self.code);
            store(visit.query, &options);
            return Some(Vec::new());
        }
        let undo = |old| {
            let undo = Revert::Edns0(Undo { code: self.code, old });
            Some(if self.revert { vec![undo] } else { Vec::new() })
        };
        if let Some((_, there)) = options.iter_mut().find(|(code, _)| self.is_same(*code)) {
            if self.action != Action::Append {
                let old = std::mem::replace(there, data);
                store(visit.query, &options);
                return undo(Some(old));
            }
            // Fixed data and NSID add a second option instead.
            if matches!(self.data, Data::Variable(_) | Data::Subnet(..)) {
                return None;
            }
        }
        if self.action == Action::Replace {
            return None;
        }
        options.push((self.code, data));
        store(visit.query, &options);
        undo(None)
    }

    /// Whether the rule is about this option. Standardized options never match a local rule.
    fn is_same(&self, code: u16) -> bool {
        let known = matches!(code, 1..=12 | 15 | option::REPORT_CHANNEL | option::ZONE_VERSION);
        code == self.code && (self.reflected().is_none() || !known)
    }

    fn data(&self, current: &CurrentQuestion, visit: &Visit<'_>) -> Option<Vec<u8>> {
        match &self.data {
            Data::Fixed(data) => Some(data.clone()),
            Data::Variable(variable) => variable.value(current, visit),
            Data::Nsid => Some(Vec::new()),
            Data::Subnet(v4, v6) => Some(subnet(visit.client.remote.ip(), *v4, *v6)),
        }
    }
}

impl Variable {
    fn value(&self, current: &CurrentQuestion, visit: &Visit<'_>) -> Option<Vec<u8>> {
        let client = visit.client;
        let port = |port: u16| Some(port.to_be_bytes().to_vec());
        match self {
            Variable::Qname => Some(current.name().into_bytes()),
            Variable::Qtype => Some(current.qtype.0.to_be_bytes().to_vec()),
            Variable::ClientIp => Some(octets(client.remote.ip())),
            Variable::ClientPort => port(client.remote.port()),
            Variable::Protocol => Some(client.transport.proto().as_bytes().to_vec()),
            Variable::ServerIp => Some(octets(client.local.ip())),
            Variable::ServerPort => port(client.local.port()),
            Variable::Label(label) => {
                visit.metadata(label).filter(|value| !value.is_empty()).map(String::into_bytes)
            }
        }
    }
}

impl Undo {
    /// Restores the option in the query.
    pub fn in_query(&self, query: &mut Query) {
        let mut options = collect(query);
        self.in_options(&mut options);
        store(query, &options);
    }

    /// Restores the option in a reply that has its own OPT record.
    pub fn in_reply(&self, opt: &mut Opt) {
        let mut options: Options = opt.options().map(|o| (o.code, o.data.to_vec())).collect();
        self.in_options(&mut options);
        let mut new = Opt::new(opt.udp_size, false);
        new.flags = opt.flags;
        for (code, data) in &options {
            new.push(*code, data);
        }
        *opt = new;
    }

    fn in_options(&self, options: &mut Options) {
        let Some(at) = options.iter().position(|(code, _)| *code == self.code) else { return };
        match &self.old {
            Some(old) => options[at].1.clone_from(old),
            None => drop(options.remove(at)),
        }
    }
}

/// Copies the query's options with these codes into the reply.
pub(super) fn reflect(visit: &mut Visit<'_>, codes: &[u16]) {
    let Some(edns) = visit.query.edns else { return };
    if visit.reply.opt.is_some() || !visit.query.options().any(|o| codes.contains(&o.code)) {
        return;
    }
    let mut opt = Opt::new(edns.udp_size, false);
    opt.flags = edns.flags & 0xFF00;
    for found in visit.query.options().filter(|o| codes.contains(&o.code)) {
        opt.push(found.code, found.data);
    }
    visit.reply.opt = Some(opt);
}

fn collect(query: &Query) -> Options {
    query.options().map(|o| (o.code, o.data.to_vec())).collect()
}

fn store(query: &mut Query, options: &Options) {
    let options: Vec<EdnsOption<'_>> =
        options.iter().map(|(code, data)| EdnsOption { code: *code, data }).collect();
    query.set_options(&options);
}

fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

/// The content of a client subnet option (RFC 7871 §6).
fn subnet(ip: IpAddr, v4: u8, v6: u8) -> Vec<u8> {
    let (family, bits) = if ip.is_ipv4() { (1, v4) } else { (2, v6) };
    let mut data = vec![0, family, bits, 0];
    for (at, octet) in octets(ip).into_iter().enumerate().take(usize::from(bits).div_ceil(8)) {
        let left = usize::from(bits) - at * 8;
        let mask = if left >= 8 { 0xFF } else { !(0xFF_u8 >> left) };
        data.push(octet & mask);
    }
    data
}
