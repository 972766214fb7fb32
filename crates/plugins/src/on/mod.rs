//! `on`: runs commands when the server has started and when it is told to stop. It takes no part in queries.

mod command;
mod setup;
#[cfg(test)]
mod tests;
mod words;

use server::{Hooks, Plugin};

use command::Command;
pub(crate) use setup::setup;

/// When a command is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The configuration serves: after the start and after every reload.
    Startup,
    /// The process was told to stop; it still serves.
    Shutdown,
    /// Known, so that Corefiles load, but nothing in CoreDNS or Rhumb ever renews a certificate.
    CertRenew,
}

/// The commands of one server block, in the order of the Corefile.
struct On {
    commands: Vec<(Event, Command)>,
}

impl Plugin for On {
    fn name(&self) -> &'static str {
        "on"
    }

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn serving(&self) {
        self.run(Event::Startup);
    }

    fn leaving(&self) {
        self.run(Event::Shutdown);
    }
}

impl On {
    fn run(&self, now: Event) {
        for (event, command) in &self.commands {
            if *event == now {
                command.run();
            }
        }
    }
}
