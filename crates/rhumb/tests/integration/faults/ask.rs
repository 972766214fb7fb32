//! Asks a server for all names again and again, and has its answers judged.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use testkit::client;
use testkit::message::{Message, Record};
use testkit::name::Name;
use wire::{NameBuf, Query, Rtype};

use super::scene::Scene;
use super::subject::{Answer, Question};

/// Between two questions: two hundred in a second.
const PACE: Duration = Duration::from_millis(5);

/// An answer takes microseconds. A machine that does much else may take its time.
const PATIENCE: Duration = Duration::from_secs(3);

/// Until the scene ends.
pub fn ask_on(scene: &Scene, server: SocketAddr) {
    let mut next = scene.now();
    while !scene.has_ended() {
        for (subject, question) in scene.questions() {
            if !scene.sleep_until(next) {
                return;
            }
            next = scene.now() + PACE;
            let asked = scene.now();
            let answer = ask(server, &question);
            scene.hear(subject, &question, answer.as_ref(), asked);
        }
    }
}

fn ask(server: SocketAddr, question: &Question) -> Option<Answer> {
    let name = NameBuf::parse(&question.name).expect("a name");
    let query = Query::ask(name.as_name(), question.rtype()).to_packet();
    let outcome = client::udp(server, &query, PATIENCE, 0).ok()?;
    let message = Message::decode(outcome.reply()?);
    let mut records: Vec<String> = message.answer.iter().map(data).collect();
    records.extend(message.broken.clone());
    Some(Answer::new(message.rcode(), records))
}

/// What a record says, without what is the same in all: an address, a name, or a port and a name.
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
