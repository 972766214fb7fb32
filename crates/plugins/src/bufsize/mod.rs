//! Caps the UDP size that clients advertise, so that answers are not sent in fragments.

mod setup;
#[cfg(test)]
mod tests;

use server::{Plugin, Step, Visit};

pub(crate) use setup::setup;

struct Bufsize {
    size: u16,
}

impl Plugin for Bufsize {
    fn name(&self) -> &'static str {
        "bufsize"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let size = self.size;
        if let Some(edns) = &mut visit.query.edns
            && edns.udp_size > size
        {
            let asked = std::mem::replace(&mut edns.udp_size, size);
            visit.note(|_| format!("the client can take {asked} octets over UDP; capped to {size}"));
        }
        Step::Next
    }
}
