//! Caps the UDP size that clients advertise, so that replies are not fragmented.

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
            let advertised = std::mem::replace(&mut edns.udp_size, size);
            visit.note(|_| format!("the client's UDP size of {advertised} octets was capped to {size}"));
        }
        Step::Next
    }
}
