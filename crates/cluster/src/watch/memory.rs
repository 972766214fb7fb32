//! When the heap is trimmed, so that freed memory returns to the system. The process sets the function that trims.

use std::sync::OnceLock;

/// Number of changes after which the heap is trimmed. Each frees some hundred bytes, and a trim takes milliseconds.
const TRIM_AFTER_CHANGES: usize = 1000;

static HEAP_TRIM: OnceLock<fn()> = OnceLock::new();

/// Sets the function that trims the heap, once per process; a second call changes nothing.
pub fn set_heap_trim(trim: fn()) {
    let _ = HEAP_TRIM.set(trim);
}

/// Counts changes, which free memory.
#[derive(Debug, Default)]
pub(super) struct TrimCounter {
    changes: usize,
}

impl TrimCounter {
    pub fn count_change(&mut self) {
        self.changes += 1;
    }

    /// A list makes a trim due even if it changed nothing: decoding it used memory.
    pub fn count_list(&mut self) {
        self.changes += TRIM_AFTER_CHANGES;
    }

    /// Whether a trim is due; true resets the count.
    pub fn take_due(&mut self) -> bool {
        let is_due = self.changes >= TRIM_AFTER_CHANGES;
        if is_due {
            self.changes = 0;
        }
        is_due
    }
}

pub(super) fn trim_heap() {
    if let Some(trim) = HEAP_TRIM.get() {
        trim();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trim_is_due_after_a_list_and_after_many_changes() {
        let mut counter = TrimCounter::default();
        let mut check = |what: &str, act: fn(&mut TrimCounter), is_due| {
            act(&mut counter);
            assert_eq!(counter.take_due(), is_due, "{what}");
        };
        check("nothing", |_| {}, false);
        check("few changes", |counter| (1..TRIM_AFTER_CHANGES).for_each(|_| counter.count_change()), false);
        check("many changes", TrimCounter::count_change, true);
        check("a list", TrimCounter::count_list, true);
        check("nothing since", |_| {}, false);
    }
}
