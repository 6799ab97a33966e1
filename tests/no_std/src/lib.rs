//! Proof that `mrail` needs no standard library.
//!
//! Built for targets without one, and for `wasm32-unknown-unknown`, which has one: there the panic handler below would
//! be defined twice if anything linked `std`. It is built, never run.
#![no_std]

extern crate alloc;

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;
use core::ptr;

/// Everything public of the library is compiled in.
pub use mrail;

/// An allocator that is always full: enough to link.
struct Full;

// SAFETY: null is the answer for "no memory", and nothing that could be freed is ever handed out.
unsafe impl GlobalAlloc for Full {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: Full = Full;

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {}
}
