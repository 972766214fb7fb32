//! Why a resource has no complete list yet. Until it has one, a missing object may still exist.

/// The state of a resource before its first complete list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unlisted {
    /// The source has not responded yet.
    Unanswered,
    /// The source responds; its first list is not complete.
    Listing,
    /// The source cannot be reached.
    Unreachable { why: String },
    /// The source responded with an error; `status` is the HTTP status.
    Failed { status: Option<u16>, why: String },
}

impl Unlisted {
    /// Whether the source reported an error; otherwise the list may just take longer.
    pub fn is_error(&self) -> bool {
        matches!(self, Unlisted::Unreachable { .. } | Unlisted::Failed { .. })
    }
}
