//! Checks before measuring that all servers return the same answers.

use testkit::error::{Error, Result};
use testkit::message::Message;

use crate::contender::{Contender, Kind};

/// Number of questions compared.
const COMPARED: usize = 200;

/// Repetitions of each: cached answers must equal the first ones.
const REPETITIONS: usize = 2;

/// The answer section. Owner and class follow from the question.
#[derive(Debug)]
struct Answer {
    rcode: u16,
    /// Type and data, sorted.
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

/// `questions` must not be cached yet, since cached TTLs decrease. Returns the average octets of a reply, which may
/// differ between equal answers.
pub fn agree(contenders: &[Contender], questions: &str) -> Result<Vec<(Kind, f64)>> {
    // The echo has no answers.
    let answering: Vec<&Contender> = contenders.iter().filter(|c| c.kind() != Kind::Echo).collect();
    let mut octets: Vec<(Kind, Vec<usize>)> = answering.iter().map(|c| (c.kind(), Vec::new())).collect();
    for line in questions.lines().take(COMPARED).flat_map(|line| [line; REPETITIONS]) {
        let mut first: Option<(&str, Answer)> = None;
        for (contender, (_, octets)) in answering.iter().zip(&mut octets) {
            let name = contender.kind().name();
            let reply = contender.query(line)?;
            let reply = reply.ok_or_else(|| Error::new(format!("{name} did not answer {line}")))?;
            octets.push(reply.len());
            let answer = Answer::of(Message::decode(&reply));
            match &first {
                None => first = Some((name, answer)),
                Some((other, theirs)) if !answer.is_like(theirs) => {
                    return Err(Error::new(format!(
                        "{line}: {other} answered {theirs:02x?}, {name} {answer:02x?}"
                    )));
                }
                Some(_) => {}
            }
        }
    }
    let average = |sizes: Vec<usize>| sizes.iter().sum::<usize>() as f64 / sizes.len().max(1) as f64;
    Ok(octets.into_iter().map(|(kind, sizes)| (kind, average(sizes))).collect())
}
