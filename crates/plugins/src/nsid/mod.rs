//! Adds the server's name (NSID) to answers, for clients that request it (RFC 5001).

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

    /// Not failures: the server writes their reply, above all plugins.
    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::RECORDS | Hooks::PARTS
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        // Stored here, because plugins below may change the options.
        let requested = visit.query.options().any(|it| it.code == option::NSID);
        visit.slot().words[0] = u64::from(requested);
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        if visit.slot().words[0] == 0 {
            return Turn::Up;
        }
        if let Some(edns) = visit.query.edns {
            // CoreDNS sets DO here, even if the client did not.
            visit.reply.opt.get_or_insert_with(|| Opt::new(edns.udp_size, true));
        }
        if let Some(opt) = &mut visit.reply.opt {
            opt.set(option::NSID, &self.data);
            visit.note(|_| "NSID added, as requested by the client".to_owned());
        }
        Turn::Up
    }
}
