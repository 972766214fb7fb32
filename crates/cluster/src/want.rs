//! The part of a cluster that server blocks need.

use crate::object::Kind;
use crate::selector::Selector;

/// The kinds, fields and selectors that a server block needs of a cluster. The wants of all blocks on one cluster are
/// joined into one; each block then filters by the number of its selector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Want {
    /// Ascending, without duplicates.
    pub kinds: Vec<Kind>,
    /// The distinct selectors on Services, EndpointSlices, Pods and ServiceImports.
    pub selectors: Vec<Selector>,
    /// The distinct selectors on Namespaces.
    pub namespace_selectors: Vec<Selector>,
    /// Endpoints are named after their pods.
    pub pod_names: bool,
    /// Topology zones of endpoints.
    pub zones: bool,
    /// Labels of pods.
    pub pod_labels: bool,
    /// External addresses of Services.
    pub external: bool,
}

impl Want {
    /// Extends this want to cover `other`; returns the numbers of the selectors of `other`. None if there are more
    /// distinct selectors than [`SelectorSet`] has bits.
    pub fn join(&mut self, other: &Want) -> Option<SelectorNumbers> {
        // `other` is the want of one block, which has at most one selector each.
        let selector = other.selectors.first();
        let namespace_selector = other.namespace_selectors.first();
        if !has_room(&self.selectors, selector) || !has_room(&self.namespace_selectors, namespace_selector) {
            return None;
        }
        self.kinds.extend(&other.kinds);
        self.kinds.sort_unstable();
        self.kinds.dedup();
        self.pod_names |= other.pod_names;
        self.zones |= other.zones;
        self.pod_labels |= other.pod_labels;
        self.external |= other.external;
        Some(SelectorNumbers {
            selector: number_selector(&mut self.selectors, selector),
            namespace_selector: number_selector(&mut self.namespace_selectors, namespace_selector),
        })
    }
}

fn has_room(selectors: &[Selector], selector: Option<&Selector>) -> bool {
    selector.is_none_or(|selector| selectors.len() < SelectorSet::BITS || selectors.contains(selector))
}

/// The number of a selector, which is added if it is new.
fn number_selector(selectors: &mut Vec<Selector>, selector: Option<&Selector>) -> Option<u8> {
    let selector = selector?;
    let at = selectors.iter().position(|other| other == selector).unwrap_or_else(|| {
        selectors.push(selector.clone());
        selectors.len() - 1
    });
    u8::try_from(at).ok()
}

/// The numbers of one block's selectors in the joined want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectorNumbers {
    pub selector: Option<u8>,
    pub namespace_selector: Option<u8>,
}

/// The selectors of the [`Want`] that match an object: bit N for selector N.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectorSet(pub u32);

impl SelectorSet {
    const BITS: usize = u32::BITS as usize;

    /// Whether the selector matches; `None` matches every object.
    pub fn by(self, selector: Option<u8>) -> bool {
        selector.is_none_or(|n| self.0 & (1 << n) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn want(kinds: &[Kind], selector: Option<&str>, namespace_selector: Option<&str>) -> Want {
        let parsed = |text: Option<&str>| {
            text.map(|text| Selector::parse(text).expect("a selector")).into_iter().collect::<Vec<_>>()
        };
        Want {
            kinds: kinds.to_vec(),
            selectors: parsed(selector),
            namespace_selectors: parsed(namespace_selector),
            ..Want::default()
        }
    }

    #[test]
    fn a_joined_want_covers_all() {
        let mut all = Want::default();
        let mut check = |other: &Want, selector, namespace_selector| {
            assert_eq!(all.join(other), Some(SelectorNumbers { selector, namespace_selector }), "{other:?}");
            all.clone()
        };
        check(&want(&[Kind::Service, Kind::EndpointSlice], None, None), None, None);
        check(&want(&[Kind::Namespace], Some("a=b"), None), Some(0), None);
        check(&want(&[Kind::Pod], Some("c"), Some("a=b")), Some(1), Some(0));
        // Another form of the same selector has the same number.
        check(&want(&[], Some("a in (b)"), Some("c")), Some(0), Some(1));
        check(&Want { external: true, ..Want::default() }, None, None);
        let all = check(&Want { zones: true, pod_names: true, ..Want::default() }, None, None);

        assert_eq!(all.kinds, [Kind::Namespace, Kind::Service, Kind::EndpointSlice, Kind::Pod]);
        assert_eq!((all.selectors.len(), all.namespace_selectors.len()), (2, 2));
        assert_eq!((all.zones, all.pod_names, all.external, all.pod_labels), (true, true, true, false));
    }

    #[test]
    fn there_are_as_many_selectors_as_bits() {
        let mut all = Want::default();
        for n in 0..32 {
            let joined = all.join(&want(&[Kind::Service], Some(&format!("n={n}")), None));
            assert_eq!(joined.and_then(|joined| joined.selector), Some(n));
        }
        let full = all.clone();
        assert_eq!(all.join(&want(&[Kind::Pod], Some("n=32"), None)), None);
        assert_eq!(all, full, "a want that does not fit changes nothing");
        let joined = all.join(&want(&[Kind::Pod], Some("n=31"), None));
        assert_eq!(joined.and_then(|joined| joined.selector), Some(31));
        assert!(SelectorSet(1 << 31).by(Some(31)) && !SelectorSet(1).by(Some(31)) && SelectorSet(0).by(None));
    }
}
