//! Tells clients that ask for it the name of the server that answered (RFC 5001).

mod setup;
#[cfg(test)]
mod tests;

use server::{Hooks, Plugin, Step, Turn, Visit};
use wire::{Opt, option};

pub(crate) use setup::setup;

struct Nsid {
    data: Vec<u8>,
}

impl Plugin for Nsid {
    fn name(&self) -> &'static str {
        "nsid"
    }

    /// Failures are none of ours: they are written by the server, above all plugins.
    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::RECORDS
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        // Remembered, because plugins below may change the options.
        let wanted = visit.query.options().any(|it| it.code == option::NSID);
        visit.slot().words[0] = u64::from(wanted);
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        if visit.slot().words[0] == 0 {
            return Turn::Up;
        }
        if let Some(edns) = visit.query.edns {
            // CoreDNS turns DO on here whatever the client said, and so do we.
            visit.reply.opt.get_or_insert_with(|| Opt::new(edns.udp_size, true));
        }
        if let Some(opt) = &mut visit.reply.opt {
            opt.set(option::NSID, &self.data);
            visit.note(|_| "the client asked which server this is; told it".to_owned());
        }
        Turn::Up
    }
}
