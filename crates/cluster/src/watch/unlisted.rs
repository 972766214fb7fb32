//! Why a kind is not known completely, for whoever must not take missing for absent.

/// The state of a kind before its first complete list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unlisted {
    /// The source has not answered yet.
    Unanswered,
    /// The source answers; its first list is not complete.
    Listing,
    /// The source cannot be reached.
    Unreachable { why: String },
    /// The source answers with an error; the status is that of HTTP.
    Failed { status: Option<u16>, why: String },
}

impl Unlisted {
    /// Whether the source has reported an error; without one, waiting may be all it takes.
    pub fn is_error(&self) -> bool {
        matches!(self, Unlisted::Unreachable { .. } | Unlisted::Failed { .. })
    }
}
