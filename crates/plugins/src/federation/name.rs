//! Names of federated services, taken apart and put together again.

use wire::{Name, NameBuf};

const SVC: &[u8] = b"svc";

/// `[ENDPOINT.|_PORT._PROTOCOL.]SERVICE.NAMESPACE.FEDERATION.svc.ZONE`
pub(super) struct Federated<'a> {
    /// The labels before the federation; only the first `count` are there.
    before: [&'a [u8]; 4],
    count: usize,
    pub federation: &'a [u8],
    /// Where `svc.ZONE` begins.
    svc_at: usize,
}

impl<'a> Federated<'a> {
    /// Takes a name apart whose zone begins at `zone_at`; None for every other shape.
    pub fn read(name: Name<'a>, zone_at: usize) -> Option<Federated<'a>> {
        let mut labels: [&[u8]; 6] = [b""; 6];
        let mut count = 0;
        let mut at = 0;
        for label in name.labels() {
            if at >= zone_at {
                break;
            }
            *labels.get_mut(count)? = label;
            count += 1;
            at += label.len() + 1;
        }
        let (before, [federation, svc]) = labels.get(..count)?.split_last_chunk()?;
        if *svc != SVC || before.len() < 2 {
            return None;
        }
        let mut read = Federated {
            before: [b""; 4],
            count: before.len(),
            federation,
            svc_at: zone_at.checked_sub(SVC.len() + 1)?,
        };
        read.before.get_mut(..before.len())?.copy_from_slice(before);
        Some(read)
    }

    /// The name without the federation. `original` is the same name in the client's spelling, which is kept.
    pub fn local(&self, original: Name<'_>) -> Option<NameBuf> {
        let mut name = Name::from_wire(original.wire().get(self.svc_at..)?)?.to_buf();
        let mut labels = [&[][..]; 4];
        for (label, spelt) in labels.iter_mut().zip(original.labels()) {
            *label = spelt;
        }
        prepend(&mut name, labels.get(..self.count)?).then_some(name)
    }

    /// The name of the same service in the federation's domain. There are no ports there, so they are left out.
    pub fn alias(&self, suffix: &NameBuf) -> Option<NameBuf> {
        let mut name = suffix.clone();
        let from = if self.count == 4 { 2 } else { 0 };
        prepend(&mut name, self.before.get(from..self.count)?).then_some(name)
    }
}

/// Puts labels in front of a name; false if it would become too long.
pub(super) fn prepend(name: &mut NameBuf, labels: &[&[u8]]) -> bool {
    labels.iter().rev().all(|label| name.prepend(label))
}
