//! RISC-V: `virt`.

use core::arch::{asm, global_asm};

// What must be true before Rust starts: a stack, statics copied from flash, the others zero.
global_asm!(
    ".section .init, \"ax\"",
    ".global _start",
    "_start:",
    "la sp, _stack_start",
    "la a0, __sidata",
    "la a1, __sdata",
    "la a2, __edata",
    "j 2f",
    "1:",
    "lw a3, 0(a0)",
    "sw a3, 0(a1)",
    "addi a0, a0, 4",
    "addi a1, a1, 4",
    "2:",
    "bltu a1, a2, 1b",
    "la a0, __sbss",
    "la a1, __ebss",
    "j 4f",
    "3:",
    "sw zero, 0(a0)",
    "addi a0, a0, 4",
    "4:",
    "bltu a0, a1, 3b",
    "j {main}",
    main = sym main,
);

extern "C" fn main() -> ! {
    super::run()
}

/// The counter of retired instructions.
pub struct Clock(());

impl Clock {
    pub(super) fn start() -> Self {
        Self(())
    }

    #[allow(clippy::unused_self)] // As on the other boards.
    pub(super) fn ticks(&self) -> u32 {
        let count;
        // SAFETY: reads a counter.
        unsafe { asm!("rdinstret {}", out(reg) count, options(nomem, nostack)) };
        count
    }

    pub(super) fn ticks_since(&self, start: u32) -> u32 {
        self.ticks().wrapping_sub(start)
    }

    pub(super) fn instructions(ticks: u32) -> u32 {
        ticks
    }
}
