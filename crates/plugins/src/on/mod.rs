//! `on`: runs commands when the server has started and when it stops. It is not in the query chain.

mod command;
mod setup;
#[cfg(test)]
mod tests;
mod words;

use server::Lifecycle;

use command::Command;
pub(crate) use setup::setup;

/// The event that runs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The configuration serves: after the start and after every reload.
    Startup,
    /// The process received TERM or INT; it still serves.
    Shutdown,
    /// Accepted for compatibility; neither CoreDNS nor Rhumb ever renews a certificate.
    CertRenew,
}

/// The commands of one server block, in the order of the Corefile.
struct On {
    commands: Vec<(Event, Command)>,
}

impl Lifecycle for On {
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
