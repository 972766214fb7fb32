//! An array that never moves or grows, so that the kernel's structures may point into it while it exists.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Like `Box<[T]>`, but a raw pointer: moving a `Box` asserts unique access to its contents, which would invalidate
/// pointers into it; moving this does not.
pub(crate) struct FixedArray<T>(NonNull<[T]>);

impl<T: Copy> FixedArray<T> {
    pub(crate) fn new(value: T, len: usize) -> Self {
        Self(NonNull::from(Box::leak(vec![value; len].into_boxed_slice())))
    }

    /// A pointer to the element, valid for reads and writes until this is dropped. Panics if the index is out of bounds.
    pub(crate) fn pointer(&self, index: usize) -> *mut T {
        assert!(index < self.0.len());
        // SAFETY: in bounds by the line above, so the offset stays within the one allocation.
        unsafe { self.0.cast::<T>().as_ptr().add(index) }
    }
}

impl<T> Deref for FixedArray<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the pointer is that of a leaked box which only `drop` frees: valid, aligned, initialised. The
        // borrow of `self` excludes `deref_mut`; writes through `pointer` need `&mut` of the batch that owns it.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for FixedArray<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; `&mut self` makes this the only reference.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for FixedArray<T> {
    fn drop(&mut self) {
        // SAFETY: it is from a box in `new`, and is freed once, here.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

// SAFETY: it owns its elements as a box does; nothing is bound to a thread.
unsafe impl<T: Send> Send for FixedArray<T> {}
// SAFETY: `&FixedArray` gives `&T` only; uses of a raw pointer from `pointer` have their own SAFETY comments.
unsafe impl<T: Sync> Sync for FixedArray<T> {}
