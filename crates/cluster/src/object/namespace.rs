use crate::want::SelectorSet;

/// A namespace.
#[derive(Clone, Debug, PartialEq)]
pub struct Namespace {
    pub name: Box<str>,
    pub selected: SelectorSet,
}
