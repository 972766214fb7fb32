//! What a forwarder believes of a reply. Transports return messages as they are; here they become answers, or not.
//!
//! | reply | belief |
//! |---|---|
//! | another id, or no reply | not ours: the caller waits for the next |
//! | another question, or with 0x20 another case | forged or broken: an error |
//! | records cannot be decoded | an error; from a datagram an empty truncated answer, so that the client retries over TCP |
//! | any other | the answer, without records that do not belong to the question (`bailiwick.rs`) |
//!
//! Transfers and updates have rules of their own (`transfer.rs`, `request.rs`).

mod bailiwick;
mod question;

use wire::Rcode;

use crate::{Answer, Error, Network};
pub(crate) use question::Question;
use question::Verdict;

/// An answer that was accepted, and its rcode for the metrics.
pub(crate) struct AcceptedAnswer {
    pub(crate) answer: Answer,
    pub(crate) rcode: Rcode,
}

/// Accepts or rejects a reply; None if it does not belong to the question. `limit` is the size that the client accepts
/// of a datagram.
pub(crate) fn check(
    question: &Question<'_>,
    mut answer: Answer,
    limit: usize,
) -> Option<Result<AcceptedAnswer, Error>> {
    let is_datagram = answer.network == Network::Udp;
    let message = &mut answer.message;
    let is_whole = !is_datagram || message.len() <= limit;
    let rcode = match question.check(message, is_whole) {
        Verdict::Unrelated => return None,
        Verdict::WrongQuestion => return Some(Err(Error::WrongQuestion)),
        Verdict::Malformed if is_datagram => question.truncate(message),
        Verdict::Malformed => return Some(Err(Error::Malformed)),
        Verdict::Answer(rcode) => rcode,
    };
    question.restore(message);
    Some(Ok(AcceptedAnswer { answer, rcode }))
}

/// The maximum size of a datagram to a client, in octets.
pub(crate) fn datagram_limit(size: u16) -> usize {
    usize::from(size.max(512))
}
