//! How much memory a piece of work takes at most.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts what each thread holds. Tests run in threads of their own, so they do not disturb each other.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends frees its own storage without being counted.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: every call is the system allocator's own; beside it only two numbers are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size().cast_signed()));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // While it is moved, both are held.
        count(size.cast_signed());
        count(-(layout.size().cast_signed()));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Does the work; returns its result and the most bytes that it held at a time, beyond what was held before.
pub(crate) fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    MOST.set(before);
    let result = work();
    (result, usize::try_from(MOST.get() - before).unwrap_or(0))
}

#[test]
fn the_peak_is_seen_and_what_was_freed_before_is_not() {
    let (kept, bytes) = peak(|| {
        drop(Vec::<u8>::with_capacity(1000));
        drop(Vec::<u8>::with_capacity(5000));
        Vec::<u8>::with_capacity(10)
    });
    assert_eq!((kept.capacity(), bytes), (10, 5000));
    assert_eq!(peak(|| ()).1, 0);
}
