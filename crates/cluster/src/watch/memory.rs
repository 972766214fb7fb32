//! When memory that was freed goes back to the system. How it does is said by whoever uses this crate.

use std::sync::OnceLock;

/// After so many changes. Each frees some hundred bytes, and giving them back takes milliseconds.
const MANY: usize = 1000;

static GIVE_BACK: OnceLock<fn()> = OnceLock::new();

/// Says how freed memory goes back to the system, once per process; a second call changes nothing. Before it, it stays.
pub fn set_give_back(give_back: fn()) {
    let _ = GIVE_BACK.set(give_back);
}

/// Counts what may have freed memory.
#[derive(Debug, Default)]
pub(super) struct Freed {
    changes: usize,
}

impl Freed {
    pub fn change(&mut self) {
        self.changes += 1;
    }

    /// Whatever it changed, all of it was decoded.
    pub fn list(&mut self) {
        self.changes += MANY;
    }

    /// Whether it was much since this was last true.
    pub fn is_much(&mut self) -> bool {
        let is_much = self.changes >= MANY;
        if is_much {
            self.changes = 0;
        }
        is_much
    }
}

/// Gives freed memory back, if anybody has said how.
pub(super) fn give_back() {
    if let Some(give_back) = GIVE_BACK.get() {
        give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_many_changes_are_much() {
        let mut freed = Freed::default();
        let mut check = |what: &str, act: fn(&mut Freed), is_much| {
            act(&mut freed);
            assert_eq!(freed.is_much(), is_much, "{what}");
        };
        check("nothing", |_| {}, false);
        check("few changes", |freed| (1..MANY).for_each(|_| freed.change()), false);
        check("many changes", Freed::change, true);
        check("a list", Freed::list, true);
        check("nothing since", |_| {}, false);
    }
}
