//! `cancel`: gives every query a deadline. Plugins below that wait are given up when it passes.

mod setup;
#[cfg(test)]
mod tests;

use std::time::Duration;

use server::{Hooks, Plugin, Step, Visit};

pub(crate) use setup::setup;

pub(crate) struct Cancel {
    limit: Duration,
}

impl Plugin for Cancel {
    fn name(&self) -> &'static str {
        "cancel"
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        visit.limit_time(self.limit);
        visit.note(|_| format!("no waiting beyond {}", golang::GoDuration::from(self.limit)));
        Step::Next
    }
}
