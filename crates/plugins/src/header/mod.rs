//! Sets and clears header flags: of queries on the way down, of replies on the way up.

mod setup;
#[cfg(test)]
mod tests;

use server::{Hooks, Plugin, Step, Turn, Visit};
use wire::Flags;

pub(crate) use setup::setup;

struct Header {
    query: FlagChange,
    response: FlagChange,
}

/// The combined rules of one direction: flags to set and flags to clear.
#[derive(Clone, Copy, Default)]
struct FlagChange {
    set: Flags,
    clear: Flags,
}

impl FlagChange {
    /// Later rules win.
    fn add(&mut self, flag: Flags, on: bool) {
        self.set.set(flag, on);
        self.clear.set(flag, !on);
    }

    fn is_empty(self) -> bool {
        self.set.0 | self.clear.0 == 0
    }

    fn apply(self, flags: &mut Flags) {
        *flags = flags.with(self.set, true).with(self.clear, false);
    }
}

impl Plugin for Header {
    fn name(&self) -> &'static str {
        "header"
    }

    /// Failures keep their flags: the server writes their replies after all plugins.
    fn hooks(&self) -> Hooks {
        match (self.query.is_empty(), self.response.is_empty()) {
            (false, false) => Hooks::QUERY | Hooks::RECORDS | Hooks::PARTS,
            (true, false) => Hooks::RECORDS | Hooks::PARTS,
            _ => Hooks::QUERY,
        }
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        self.query.apply(&mut visit.query.flags);
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        self.response.apply(&mut visit.reply.flags);
        Turn::Up
    }
}
