//! `log`: a line per query on standard output.
//!
//! CoreDNS writes the line after it has sent the reply, so each hook takes some of the values:
//!
//! ```text
//! query()  the rule, the start time
//! reply()  the reply's size and kind, before plugins further up change it
//! sent()   flags after truncation, the size of the query, the duration; writes the line
//! ```
//!
//! Failures, drops and look-ups of other plugins have no packet here; `reply()` writes their line. A zone
//! transfer has one line, with its last message and the size of all.

#[cfg(test)]
pub(crate) mod capture;
mod format;
mod line;
mod setup;
#[cfg(test)]
mod stream_tests;
#[cfg(test)]
mod tests;

use std::time::Instant;

use server::{Hooks, Metadata, MetadataView, Outcome, Plugin, Sent, Slot, Step, Turn, Visit};
use wire::{Flags, HEADER_LEN, NameBuf, Query, Reply};

use crate::messages::kind::{Classes, Kind};
pub(crate) use format::{Format, Piece, Value};
pub(crate) use line::{Line, Response};
pub(crate) use setup::setup;

pub(crate) struct Log {
    /// The first rule whose scope contains the name decides.
    rules: Vec<Rule>,
    /// Slots store integers only, so start times are nanoseconds since this instant.
    epoch: Instant,
}

struct Rule {
    /// In lower case; None, an invalid name in the Corefile, contains no name.
    scope: Option<NameBuf>,
    format: Format,
    classes: Classes,
}

/// The words of the plugin's slot.
#[derive(Clone, Copy)]
struct SlotState {
    /// Number of the rule from 1; 0 if there is nothing to log, or the line is written.
    rule: u64,
    start: u64,
    size: u64,
    /// The reply's kind from 1; 0 before the reply.
    kind: u64,
}

impl SlotState {
    fn load(slot: &Slot) -> SlotState {
        let [rule, start, size, kind] = slot.words;
        SlotState { rule, start, size, kind }
    }

    fn store(self, slot: &mut Slot) {
        slot.words = [self.rule, self.start, self.size, self.kind];
    }

    fn kind(self) -> Option<Kind> {
        Kind::from_number(self.kind)
    }
}

impl Plugin for Log {
    fn name(&self) -> &'static str {
        "log"
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::ANY_REPLY | Hooks::SENT
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let name = visit.query.question.lower();
        let matches = |rule: &Rule| rule.scope.as_ref().is_some_and(|scope| name.is_under(scope.as_name()));
        let rule = self.rules.iter().position(matches).map_or(0, |at| at as u64 + 1);
        if rule > 0 {
            SlotState { rule, start: self.now(), size: 0, kind: 0 }.store(visit.slot());
        }
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let mut state = SlotState::load(visit.slot());
        let Some(rule) = self.rule(state) else { return Turn::Up };
        let outcome = visit.outcome();
        let kind = Kind::of(outcome, visit.query, visit.reply);
        state.kind = kind.number();
        state.size = match outcome {
            Outcome::Records => visit.reply_len(),
            Outcome::Failure => failure_len(visit.query),
            Outcome::Drop => 0,
        };
        let wanted = rule.classes.has(kind.class());
        // Only a reply to a client becomes a packet, for which `sent` runs.
        let later = wanted && outcome == Outcome::Records && visit.depth() == 0;
        let start = state.start;
        if !later {
            state.rule = 0;
        }
        state.store(visit.slot());
        if !wanted {
            visit.note(|_| format!("not logged: the rule excludes class {}", kind.class().text()));
        } else if !later && visit.is_served() {
            let response = match outcome {
                Outcome::Records => Response::Reply { flags: visit.reply.flags },
                Outcome::Failure => Response::Failure { flags: visit.reply.flags },
                Outcome::Drop => Response::Nothing,
            };
            let line = Line {
                query: visit.query,
                reply: visit.reply,
                client: visit.client,
                response,
                rsize: state.size,
                nanos: self.now().saturating_sub(start),
            };
            line.write(&rule.format, &|label| visit.metadata(label));
        }
        Turn::Up
    }

    fn sent(&self, sent: &mut Sent<'_>, packet: &[u8]) {
        let state = SlotState::load(sent.slot());
        if let Some(rule) = self.rule(state).filter(|_| sent.is_served()) {
            let bits = packet.get(2..4).map_or(0, |bits| u16::from_be_bytes([bits[0], bits[1]]));
            let line = Line {
                query: sent.query,
                reply: sent.reply,
                client: sent.client,
                response: Response::Reply { flags: Flags(bits) },
                rsize: state.size,
                nanos: self.now().saturating_sub(state.start),
            };
            line.write(&rule.format, &|label| sent.metadata(label));
        }
        // A plugin above may answer the next query in this slot, so that `query` does not reset it.
        sent.slot().words = [0; 4];
    }
}

impl Metadata for Log {
    fn value(&self, label: &str, view: &MetadataView<'_>) -> Option<String> {
        let kind = || SlotState::load(view.slot()?).kind();
        match label {
            "log/class" => Some(kind()?.class().text().to_owned()),
            "log/type" => Some(kind()?.text().to_owned()),
            _ => None,
        }
    }
}

impl Log {
    fn new(rules: Vec<Rule>) -> Log {
        Log { rules, epoch: Instant::now() }
    }

    fn rule(&self, state: SlotState) -> Option<&Rule> {
        self.rules.get(usize::try_from(state.rule).ok()?.checked_sub(1)?)
    }

    fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }
}

/// Size of the reply that the server makes of a failure: header and question.
fn failure_len(query: &Query) -> u64 {
    (HEADER_LEN + query.question.name().len() + 4) as u64
}

/// The size of the query as CoreDNS logs it: to a reply without an OPT of its own CoreDNS moves the query's OPT, which
/// loses its options.
fn query_len(query: &Query, reply: &Reply, response: Response) -> u64 {
    let lost = matches!(response, Response::Reply { .. }) && reply.opt.is_none();
    (query.plain_len() - if lost { query.opt_extra_len() } else { 0 }) as u64
}
