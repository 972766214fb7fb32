//! Sets and clears header flags: of queries on the way down, of replies on the way up.

mod setup;
#[cfg(test)]
mod tests;

use server::{Hooks, Plugin, Step, Turn, Visit};
use wire::Flags;

pub(crate) use setup::setup;

struct Header {
    query: Change,
    response: Change,
}

/// All rules of one direction in one: which flags to set and which to clear.
#[derive(Clone, Copy, Default)]
struct Change {
    set: Flags,
    clear: Flags,
}

impl Change {
    /// Later rules win.
    fn add(&mut self, flag: Flags, on: bool) {
        self.set.set(flag, on);
        self.clear.set(flag, !on);
    }

    fn is_nothing(self) -> bool {
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

    /// Failures are written by the server, above all plugins, so they keep their flags.
    fn hooks(&self) -> Hooks {
        match (self.query.is_nothing(), self.response.is_nothing()) {
            (false, false) => Hooks::QUERY | Hooks::RECORDS,
            (true, false) => Hooks::RECORDS,
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
