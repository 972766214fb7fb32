//! Queries a server for all names repeatedly and checks the answers.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use testkit::client;
use testkit::message::{Message, Record};
use testkit::name::Name;
use wire::{NameBuf, Query, Rtype};

use super::context::Context;
use super::subject::{Answer, Question};

/// Interval between queries: two hundred per second.
const INTERVAL: Duration = Duration::from_millis(5);

/// An answer takes microseconds, but a busy machine may be slow.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Runs until the context ends.
pub fn probe(context: &Context, server: SocketAddr) {
    let mut next = context.now();
    while !context.has_ended() {
        for (subject, question) in context.questions() {
            if !context.sleep_until(next) {
                return;
            }
            next = context.now() + INTERVAL;
            let sent = context.now();
            let answer = query(server, &question);
            context.judge(subject, &question, answer.as_ref(), sent);
        }
    }
}

fn query(server: SocketAddr, question: &Question) -> Option<Answer> {
    let name = NameBuf::parse(&question.name).expect("a name");
    let query = Query::ask(name.as_name(), question.rtype()).to_packet();
    let outcome = client::udp(server, &query, TIMEOUT, 0).ok()?;
    let message = Message::decode(outcome.reply()?);
    let mut records: Vec<String> = message.answer.iter().map(data).collect();
    records.extend(message.broken.clone());
    Some(Answer::new(message.rcode(), records))
}

/// The varying data of a record: an address, a name, or a port and a name.
fn data(record: &Record) -> String {
    let data = record.rdata.as_slice();
    let name = |at: usize| Name::read(data, at).map(|(name, _)| name.to_string().to_lowercase());
    match (Rtype(record.rtype), data) {
        (Rtype::A, &[a, b, c, d]) => Ipv4Addr::new(a, b, c, d).to_string(),
        (Rtype::SRV, &[_, _, _, _, high, low, ..]) => {
            format!("{} {}", u16::from_be_bytes([high, low]), name(6).unwrap_or_default())
        }
        (Rtype::PTR, _) => name(0).unwrap_or_default(),
        _ => record.to_string(),
    }
}
