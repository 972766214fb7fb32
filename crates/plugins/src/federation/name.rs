//! Parses and builds names of federated services.

use wire::{Name, NameBuf};

const SVC: &[u8] = b"svc";

/// `[ENDPOINT.|_PORT._PROTOCOL.]SERVICE.NAMESPACE.FEDERATION.svc.ZONE`
pub(super) struct FederatedName<'a> {
    /// The labels before the federation; only the first `count` are set.
    before: [&'a [u8]; 4],
    count: usize,
    pub federation: &'a [u8],
    /// Offset of `svc.ZONE`.
    svc_at: usize,
}

impl<'a> FederatedName<'a> {
    /// Parses a name whose zone begins at `zone_at`; None for any other form.
    pub fn parse(name: Name<'a>, zone_at: usize) -> Option<FederatedName<'a>> {
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
        let mut parsed = FederatedName {
            before: [b""; 4],
            count: before.len(),
            federation,
            svc_at: zone_at.checked_sub(SVC.len() + 1)?,
        };
        parsed.before.get_mut(..before.len())?.copy_from_slice(before);
        Some(parsed)
    }

    /// The name without the federation, in the case of `original`, which is the client's.
    pub fn local(&self, original: Name<'_>) -> Option<NameBuf> {
        let mut name = Name::from_wire(original.wire().get(self.svc_at..)?)?.to_buf();
        let mut labels = [&[][..]; 4];
        for (label, original) in labels.iter_mut().zip(original.labels()) {
            *label = original;
        }
        prepend(&mut name, labels.get(..self.count)?).then_some(name)
    }

    /// The name of the service in the federation's domain, without the port: that domain has no port names.
    pub fn alias(&self, suffix: &NameBuf) -> Option<NameBuf> {
        let mut name = suffix.clone();
        let from = if self.count == 4 { 2 } else { 0 };
        prepend(&mut name, self.before.get(from..self.count)?).then_some(name)
    }
}

/// Prepends labels to a name; false if it would be too long.
pub(super) fn prepend(name: &mut NameBuf, labels: &[&[u8]]) -> bool {
    labels.iter().rev().all(|label| name.prepend(label))
}
