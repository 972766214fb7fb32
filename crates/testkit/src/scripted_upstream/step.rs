//! The steps of a script, and the packets they send.

use std::net::IpAddr;
use std::time::Duration;

use super::record::Record;
use crate::client::Transport;
use crate::error::{Context, Result};
use crate::message::Message;

/// The address in forged packets; a server that answers with it was fooled.
pub const FORGED: [u8; 4] = [203, 0, 113, 66];

/// How one query is handled.
#[derive(Clone, Debug)]
pub enum Step {
    Reply(Reply),
    /// A and AAAA records of the query name; NODATA for other types.
    Addresses(Vec<IpAddr>, u32),
    /// NOERROR without any record.
    Lame,
    Servfail,
    Refused,
    Rcode(u16),
    Silence,
    Delay(Duration, Box<Step>),
    /// Empty with TC over UDP, the step over TCP.
    Truncated(Box<Step>),
    /// More than the client's UDP size, without TC.
    Oversize,
    /// A forged answer under another id.
    WrongId,
    /// A forged answer to another name.
    WrongQuestion,
    /// A forged answer from another socket; over TCP nothing.
    WrongPort,
    /// The question in lower case, as from servers that do not keep its case.
    LowerCase(Box<Step>),
    /// Octets that are no message.
    Garbage,
    /// The right header and question, but counts of missing records.
    Broken,
    /// Less than a header.
    Short,
    /// All of them, one after the other.
    All(Vec<Step>),
    /// Over TCP one octet at a time with a pause after each; over UDP the step.
    SlowDrip(Duration, Box<Step>),
    /// Over TCP the connection is closed; over UDP silence.
    Close,
}

/// A complete reply. Its flags are QR, RA, and RD and CD as in the query, plus those given.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    pub rcode: u16,
    /// Additional flags: 0x0400 is AA, 0x0020 AD.
    pub flags: u16,
    pub answer: Vec<Record>,
    pub authority: Vec<Record>,
    pub additional: Vec<Record>,
}

impl Reply {
    pub fn rcode(rcode: u16) -> Self {
        Self { rcode, ..Self::default() }
    }

    /// Adds records to the answer, one per line of text; blank lines are ignored.
    pub fn answer(mut self, lines: &str) -> Result<Self> {
        self.answer.extend(records(lines)?);
        Ok(self)
    }

    pub fn authority(mut self, lines: &str) -> Result<Self> {
        self.authority.extend(records(lines)?);
        Ok(self)
    }

    pub fn additional(mut self, lines: &str) -> Result<Self> {
        self.additional.extend(records(lines)?);
        Ok(self)
    }
}

fn records(lines: &str) -> Result<Vec<Record>> {
    lines.lines().filter(|line| !line.trim().is_empty()).map(Record::parse).collect()
}

impl Step {
    pub fn address(address: &str, ttl: u32) -> Result<Self> {
        Ok(Self::Addresses(vec![address.parse().context(address)?], ttl))
    }

    /// An answer of the given records, one per line.
    pub fn answer(lines: &str) -> Result<Self> {
        Ok(Self::Reply(Reply::default().answer(lines)?))
    }

    pub fn delayed(self, by: Duration) -> Self {
        Self::Delay(by, Box::new(self))
    }

    pub fn truncated(self) -> Self {
        Self::Truncated(Box::new(self))
    }

    pub fn in_lower_case(self) -> Self {
        Self::LowerCase(Box::new(self))
    }

    pub fn dripping(self, pause: Duration) -> Self {
        Self::SlowDrip(pause, Box::new(self))
    }
}

/// A reaction to a query. The delays of all actions start with the query.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Send { packet: Vec<u8>, after: Duration, drip: Option<Duration> },
    SendFromElsewhere { packet: Vec<u8>, after: Duration },
    Close { after: Duration },
}

/// The actions of a step for this query.
pub(super) fn actions(step: &Step, query: &Message, transport: Transport) -> Vec<Action> {
    let mut actions = Vec::new();
    plan(step, query, transport, Duration::ZERO, None, &mut actions);
    actions
}

fn plan(
    step: &Step,
    query: &Message,
    transport: Transport,
    after: Duration,
    drip: Option<Duration>,
    actions: &mut Vec<Action>,
) {
    let udp = transport == Transport::Udp;
    let mut send = |packet| actions.push(Action::Send { packet, after, drip });
    let forged = || Reply {
        answer: vec![Record { owner: None, rtype: 1, ttl: 3600, data: FORGED.to_vec() }],
        ..Reply::default()
    };
    match step {
        Step::Reply(reply) => send(encode(query, reply)),
        Step::Addresses(addresses, ttl) => send(encode(query, &addresses_for(query, addresses, *ttl))),
        Step::Lame => send(encode(query, &Reply::default())),
        Step::Servfail => send(encode(query, &Reply::rcode(2))),
        Step::Refused => send(encode(query, &Reply::rcode(5))),
        Step::Rcode(rcode) => send(encode(query, &Reply::rcode(*rcode))),
        Step::Silence => {}
        Step::Delay(more, step) => plan(step, query, transport, after + *more, drip, actions),
        Step::Truncated(_) if udp => send(encode(query, &Reply { flags: 0x0200, ..Reply::default() })),
        Step::Truncated(step) => plan(step, query, transport, after, drip, actions),
        Step::Oversize => send(encode(query, &oversize(query))),
        Step::WrongId => {
            let mut packet = encode(query, &forged());
            packet[0] ^= 0x55;
            send(packet);
        }
        Step::WrongQuestion => {
            let mut packet = encode(query, &forged());
            // Changes one letter of the first label or, for the root, the type.
            match packet[12] {
                0 => packet[14] ^= 1,
                _ => packet[13] = if packet[13] == b'x' { b'y' } else { b'x' },
            }
            send(packet);
        }
        Step::WrongPort if udp => {
            actions.push(Action::SendFromElsewhere { packet: encode(query, &forged()), after });
        }
        Step::WrongPort => {}
        Step::LowerCase(step) => {
            let from = actions.len();
            plan(step, query, transport, after, drip, actions);
            let end = 12 + query.questions.first().map_or(0, |question| question.name.wire().len());
            for action in &mut actions[from..] {
                if let Action::Send { packet, .. } = action
                    && let Some(name) = packet.get_mut(12..end)
                {
                    name.make_ascii_lowercase();
                }
            }
        }
        Step::Garbage => send((0..40).map(|i: u8| i.wrapping_mul(37) ^ 0xa5).collect()),
        Step::Broken => {
            let mut packet = encode(query, &Reply::default());
            packet[7] = 3;
            packet.extend([0xc0, 12, 0, 1]);
            send(packet);
        }
        Step::Short => send(query.id.to_be_bytes().to_vec()),
        Step::All(steps) => {
            steps.iter().for_each(|step| plan(step, query, transport, after, drip, actions));
        }
        Step::SlowDrip(pause, step) => plan(step, query, transport, after, Some(*pause), actions),
        Step::Close => actions.push(Action::Close { after }),
    }
}

fn addresses_for(query: &Message, addresses: &[IpAddr], ttl: u32) -> Reply {
    let asked = query.questions.first().map_or(0, |question| question.qtype);
    let answer = addresses.iter().filter_map(|address| {
        let (rtype, data) = match address {
            IpAddr::V4(v4) => (1, v4.octets().to_vec()),
            IpAddr::V6(v6) => (28, v6.octets().to_vec()),
        };
        (rtype == asked).then_some(Record { owner: None, rtype, ttl, data })
    });
    Reply { answer: answer.collect(), ..Reply::default() }
}

/// Enough addresses to exceed the client's announced size.
fn oversize(query: &Message) -> Reply {
    let room = query.opts.first().map_or(512, |opt| opt.size.max(512));
    let record = |i: u16| {
        let [high, low] = i.to_be_bytes();
        Record { owner: None, rtype: 1, ttl: 300, data: vec![198, 18, high, low] }
    };
    Reply { answer: (0..room / 16 + 1).map(record).collect(), ..Reply::default() }
}

/// Encodes the packet with the question as received, and an OPT if the query had one.
fn encode(query: &Message, reply: &Reply) -> Vec<u8> {
    let bits = 0x8080 | query.bits & 0x7910 | reply.flags | reply.rcode & 0xf;
    let opt = query.opts.first();
    let counts = [
        query.questions.len().min(1),
        reply.answer.len(),
        reply.authority.len(),
        reply.additional.len() + usize::from(opt.is_some()),
    ];
    let mut packet = Vec::with_capacity(512);
    packet.extend(query.id.to_be_bytes());
    packet.extend(bits.to_be_bytes());
    counts.iter().for_each(|count| packet.extend((*count as u16).to_be_bytes()));
    if let Some(question) = query.questions.first() {
        packet.extend_from_slice(question.name.wire());
        packet.extend(question.qtype.to_be_bytes());
        packet.extend(question.class.to_be_bytes());
    }
    for record in reply.answer.iter().chain(&reply.authority).chain(&reply.additional) {
        record.write(&mut packet);
    }
    if let Some(opt) = opt {
        packet.extend([0, 0, 41]);
        packet.extend(1232u16.to_be_bytes());
        packet.extend([(reply.rcode >> 4) as u8, 0]);
        // DO is copied from the query.
        packet.extend((opt.flags & 0x8000).to_be_bytes());
        packet.extend([0, 0]);
    }
    packet
}
