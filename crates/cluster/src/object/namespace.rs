use crate::want::Selected;

/// A namespace that exists.
#[derive(Clone, Debug, PartialEq)]
pub struct Namespace {
    pub name: Box<str>,
    pub selected: Selected,
}
