//! Proof that `mrail` needs no standard library.
//!
//! Built for targets without one, and for `wasm32-unknown-unknown`, which has one: there the panic handler below would
//! be defined twice if anything linked `std`. Without the feature `alloc` there is no allocator either, so nothing may
//! want one. It is built, never run.
#![no_std]

use core::panic::PanicInfo;

/// Everything public of the library is compiled in.
pub use mrail;

#[cfg(feature = "alloc")]
mod full {
    use core::alloc::{GlobalAlloc, Layout};
    use core::ptr;

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
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {}
}
