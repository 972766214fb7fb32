//! A server that answers wrongly is not fast: those that answer at all must answer alike.

use testkit::error::{Error, Result};
use testkit::message::Message;

use crate::contender::{Contender, Kind};

/// How many of the questions are compared before anything is measured.
const COMPARED: usize = 200;

/// Each is asked so often: what comes out of a cache must be what went in.
const TIMES: usize = 2;

/// What the answer section says. Owner and class follow from the question.
#[derive(Debug)]
struct Answer {
    rcode: u16,
    /// Type and data, in an order of their own.
    records: Vec<(u16, Vec<u8>)>,
    ttl: u32,
}

impl Answer {
    fn of(message: Message) -> Self {
        let rcode = message.rcode();
        let ttl = message.answer.iter().map(|record| record.ttl).min().unwrap_or_default();
        let mut records: Vec<_> =
            message.answer.into_iter().map(|record| (record.rtype, record.rdata)).collect();
        records.sort();
        Self { rcode, records, ttl }
    }

    /// A second may pass between one server's answer and the next one's.
    fn is_like(&self, other: &Self) -> bool {
        self.rcode == other.rcode && self.records == other.records && self.ttl.abs_diff(other.ttl) <= 1
    }
}

/// `questions` must be new to all of them, since answers grow old in a cache. Gives how many octets a reply has on
/// average: answers that are alike need not be as long.
pub fn agree(contenders: &[Contender], questions: &str) -> Result<Vec<(Kind, f64)>> {
    // The echo answers nothing.
    let answering: Vec<&Contender> = contenders.iter().filter(|c| c.kind() != Kind::Echo).collect();
    let mut octets: Vec<(Kind, Vec<usize>)> = answering.iter().map(|c| (c.kind(), Vec::new())).collect();
    for line in questions.lines().take(COMPARED).flat_map(|line| [line; TIMES]) {
        let mut first: Option<(&str, Answer)> = None;
        for (contender, (_, octets)) in answering.iter().zip(&mut octets) {
            let name = contender.kind().name();
            let reply = contender.ask(line)?;
            let reply = reply.ok_or_else(|| Error::new(format!("{name} does not answer {line}")))?;
            octets.push(reply.len());
            let answer = Answer::of(Message::decode(&reply));
            match &first {
                None => first = Some((name, answer)),
                Some((other, theirs)) if !answer.is_like(theirs) => {
                    return Err(Error::new(format!(
                        "{line}: {other} says {theirs:02x?}, {name} {answer:02x?}"
                    )));
                }
                Some(_) => {}
            }
        }
    }
    let average = |sizes: Vec<usize>| sizes.iter().sum::<usize>() as f64 / sizes.len().max(1) as f64;
    Ok(octets.into_iter().map(|(kind, sizes)| (kind, average(sizes))).collect())
}
