//! Where a reflector is between lists and watches. Each state has only the data that it needs.

/// Which state of the server a list must have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Freshness {
    /// Any that the server has at hand.
    AnyCache,
    /// The latest: one from a cache could be older than the known state.
    Latest,
}

/// What a watch has delivered: the objects as of a resource version.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Delivered {
    pub version: String,
    /// Number of objects, counted from the events.
    pub count: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phase {
    /// The next step is a list.
    ToList {
        freshness: Freshness,
        /// Where the watch resumes if a periodic list fails.
        resume: Option<Delivered>,
    },
    /// A list has begun and is not complete.
    Listing { freshness: Freshness, resume: Option<Delivered>, count: u64 },
    /// The next step is a watch, or it runs.
    Watching(Delivered),
}

impl Phase {
    pub(super) fn new(freshness: Freshness) -> Self {
        Phase::ToList { freshness, resume: None }
    }

    /// The version from which to watch.
    pub(super) fn version(&self) -> Option<&str> {
        match self {
            Phase::Watching(delivered) => Some(&delivered.version),
            Phase::ToList { .. } | Phase::Listing { .. } => None,
        }
    }

    pub(super) fn count(&self) -> u64 {
        match self {
            Phase::ToList { .. } => 0,
            Phase::Listing { count, .. } => *count,
            Phase::Watching(delivered) => delivered.count,
        }
    }

    pub(super) fn freshness(&self) -> Freshness {
        match self {
            Phase::ToList { freshness, .. } | Phase::Listing { freshness, .. } => *freshness,
            Phase::Watching(_) => Freshness::Latest,
        }
    }

    pub(super) fn added(&mut self) {
        if let Phase::Listing { count, .. } | Phase::Watching(Delivered { count, .. }) = self {
            *count += 1;
        }
    }

    pub(super) fn removed(&mut self) {
        if let Phase::Listing { count, .. } | Phase::Watching(Delivered { count, .. }) = self {
            *count = count.saturating_sub(1);
        }
    }

    /// The watch has reached a version.
    pub(super) fn advance(&mut self, to: String) {
        if let Phase::Watching(delivered) = self {
            delivered.version = to;
        }
    }

    /// `forget`: a failure of this list cannot resume the watch, since a consumer has lost what that delivered.
    pub(super) fn list_begins(&mut self, forget: bool) {
        let freshness = self.freshness();
        let resume = match self {
            Phase::ToList { resume, .. } | Phase::Listing { resume, .. } if !forget => resume.take(),
            _ => None,
        };
        *self = Phase::Listing { freshness, resume, count: 0 };
    }

    pub(super) fn list_ends(&mut self, version: String) {
        *self = Phase::Watching(Delivered { version, count: self.count() });
    }

    /// The list will not complete. Returns whether there was one.
    pub(super) fn abort_list(&mut self) -> bool {
        let Phase::Listing { freshness, resume, .. } = self else { return false };
        *self = Phase::ToList { freshness: *freshness, resume: resume.take() };
        true
    }

    /// Only a list of the latest state can follow.
    pub(super) fn expire(&mut self) {
        *self = match self {
            // Nothing is known yet, so any state will do.
            Phase::ToList { freshness: Freshness::AnyCache, .. } => Phase::new(Freshness::AnyCache),
            _ => Phase::new(Freshness::Latest),
        };
    }

    /// The periodic list.
    pub(super) fn relist(&mut self) {
        let resume = match self {
            Phase::Watching(delivered) => Some(delivered.clone()),
            _ => None,
        };
        *self = Phase::ToList { freshness: Freshness::Latest, resume };
    }

    /// Resumes the watch from before a periodic list that failed. Returns whether there was one.
    pub(super) fn resume(&mut self) -> bool {
        let Phase::ToList { resume, .. } = self else { return false };
        let Some(delivered) = resume.take() else { return false };
        *self = Phase::Watching(delivered);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_periodic_list_resumes_the_watch() {
        let mut phase = Phase::new(Freshness::AnyCache);
        phase.list_begins(false);
        assert_eq!((phase.freshness(), phase.version()), (Freshness::AnyCache, None));
        phase.added();
        phase.added();
        phase.removed();
        phase.list_ends("5".to_owned());
        assert_eq!((phase.version(), phase.count()), (Some("5"), 1));
        assert!(!phase.abort_list() && !phase.resume());
        phase.advance("6".to_owned());
        phase.relist();
        phase.list_begins(false);
        assert_eq!((phase.freshness(), phase.count()), (Freshness::Latest, 0));
        assert!(phase.abort_list() && phase.resume());
        assert_eq!((phase.version(), phase.count()), (Some("6"), 1));
        phase.relist();
        phase.list_begins(true);
        assert!(phase.abort_list() && !phase.resume(), "a consumer needs this list");
        phase.expire();
        assert_eq!(phase, Phase::new(Freshness::Latest));
    }
}
