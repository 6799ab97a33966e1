//! A map in flash that answers without an allocator: what the programs in `src/bin` share.
//!
//! A program is a function from an output and a clock to whether all went right; [`program`] names it. The rest is in
//! [`board`]: this library builds for any board, and runs on the one that the target says.

#![no_std]

#[cfg(any(target_arch = "arm", target_arch = "riscv32"))]
pub mod board;
#[cfg(any(target_arch = "arm", target_arch = "riscv32"))]
pub mod demo;
pub mod flash;

/// Says which function is the program.
#[macro_export]
macro_rules! program {
    ($run:path) => {
        #[unsafe(no_mangle)]
        extern "Rust" fn program(out: &mut $crate::board::Out, clock: &$crate::board::Clock) -> bool {
            $run(out, clock)
        }
    };
}
