//! Replies in which there is nothing to draw are the same every time.

use server::{Lasting, Repeating, Sent};
use wire::{Rcode, Section};

use super::{LoadBalance, order};

impl Repeating for LoadBalance {
    fn lasting(&self, sent: &mut Sent<'_>) -> Lasting {
        let is_fixed = |section| order::is_fixed(sent.reply.section(section));
        let fixed = sent.reply.rcode != Rcode::NOERROR
            || [Section::Answer, Section::Authority, Section::Additional].into_iter().all(is_fixed);
        if fixed { Lasting::Always } else { Lasting::Never }
    }
}
