//! An array that never moves or grows, so that the kernel's structures may point into it for as long as it lives.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Like `Box<[T]>`, but held by a raw pointer: moving a `Box` claims its contents exclusively again, which would
/// invalidate pointers taken before; moving this does not.
pub(crate) struct Fixed<T>(NonNull<[T]>);

impl<T: Copy> Fixed<T> {
    pub(crate) fn new(value: T, len: usize) -> Self {
        Self(NonNull::from(Box::leak(vec![value; len].into_boxed_slice())))
    }

    /// A pointer to the element, good for reads and writes until this is dropped. Panics if there is no such element.
    pub(crate) fn pointer(&self, index: usize) -> *mut T {
        assert!(index < self.0.len());
        // SAFETY: in bounds by the line above, so the offset stays within the one allocation.
        unsafe { self.0.cast::<T>().as_ptr().add(index) }
    }
}

impl<T> Deref for Fixed<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the pointer is that of a leaked box which only `drop` takes back: valid, aligned, initialised. The
        // borrow of `self` keeps `deref_mut` away; who writes through `pointer` needs `&mut` of the batch that owns it.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for Fixed<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; `&mut self` makes this the only reference.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for Fixed<T> {
    fn drop(&mut self) {
        // SAFETY: it came from a box in `new`, and is given back once, here.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

// SAFETY: it owns its elements like a box does; nothing is bound to a thread.
unsafe impl<T: Send> Send for Fixed<T> {}
// SAFETY: `&Fixed` gives `&T` only (a raw pointer from `pointer` is used under the rules of whoever uses it).
unsafe impl<T: Sync> Sync for Fixed<T> {}
