//! Gives every query a deadline. Plugins below that still wait then are cancelled.

mod setup;
#[cfg(test)]
mod tests;

use std::time::Duration;

use server::{Hooks, Plugin, Step, Visit};

pub(crate) use setup::setup;

pub(crate) struct Cancel {
    timeout: Duration,
}

impl Plugin for Cancel {
    fn name(&self) -> &'static str {
        "cancel"
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        visit.limit_time(self.timeout);
        visit.note(|_| format!("query timeout is {}", golang::GoDuration::from(self.timeout)));
        Step::Next
    }
}
