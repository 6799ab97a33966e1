//! What differs between the boards, and what only a debugger does: start, time, stack, output, exit.

#[cfg(target_arch = "arm")]
mod cortex_m;
#[cfg(target_arch = "riscv32")]
mod riscv;

#[cfg(target_arch = "arm")]
use cortex_m as this;
#[cfg(target_arch = "riscv32")]
use riscv as this;

pub use this::Clock;

use core::hint::black_box;
use core::panic::PanicInfo;
use semihosting::io::{Stdout, Write, stdout};
use semihosting::process::exit;

/// How often something is done to measure it: timers of boards tick once in some ten instructions.
const ROUNDS: u32 = 32;

impl Clock {
    /// Instructions that something takes.
    pub fn measure<T>(&self, mut work: impl FnMut() -> T) -> u32 {
        let start = self.ticks();
        for _ in 0..ROUNDS {
            black_box(work());
        }
        Self::instructions(self.ticks_since(start)) / ROUNDS
    }

    /// The same for something that takes long.
    pub fn measure_once<T>(&self, work: impl FnOnce() -> T) -> u32 {
        let start = self.ticks();
        black_box(work());
        Self::instructions(self.ticks_since(start))
    }
}

unsafe extern "C" {
    /// The stack grows downwards from the one to the other. These are places, set by the linker scripts.
    static mut _stack_start: u32;
    static mut _stack_end: u32;
}

const PAINT: u32 = 0xC0FF_EE00;

/// Fills the stack that is not in use yet.
#[inline(never)]
fn paint_stack() {
    let marker = 0_u32;
    let mut at = &raw mut _stack_end;
    // This function's own frame is below the marker.
    let end = (&raw const marker).wrapping_sub(32).cast_mut();
    while at < end {
        // SAFETY: between the statics and the stack in use lies memory that nobody has.
        unsafe { at.write_volatile(PAINT) };
        at = at.wrapping_add(1);
    }
}

/// Bytes of the stack that were ever used since it was painted.
fn stack_used() -> u32 {
    let (mut at, end) = (&raw const _stack_end, &raw const _stack_start);
    // SAFETY: the stack is memory, whatever is in it.
    while at < end && unsafe { at.read_volatile() } == PAINT {
        at = at.wrapping_add(1);
    }
    (end as u32).saturating_sub(at as u32)
}

unsafe extern "Rust" {
    /// What a program of `src/bin` does: [`crate::program`] says which.
    safe fn program(out: &mut Out, clock: &Clock) -> bool;
}

/// Runs the program and ends.
fn run() -> ! {
    paint_stack();
    let (mut out, clock) = (Out::open(), Clock::start());
    let is_right = program(&mut out, &clock);
    out.text("stack ").number(stack_used()).text("\n");
    exit(i32::from(!is_right))
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    exit(101)
}

/// Where the program prints.
pub struct Out {
    to: Option<Stdout>,
    line: [u8; 64],
    len: usize,
}

impl Out {
    /// Opens the debugger's console. Where there is none nothing is printed.
    fn open() -> Self {
        Self { to: stdout().ok(), line: [0; 64], len: 0 }
    }

    /// Prints some text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// Prints a number in decimal.
    pub fn number(&mut self, number: u32) -> &mut Self {
        let mut digits = [0; 10];
        let (mut rest, mut first) = (number, digits.len());
        while let Some(digit) = first.checked_sub(1).and_then(|at| digits.get_mut(at)) {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
            first -= 1;
            if rest == 0 {
                break;
            }
        }
        self.bytes(digits.get(first..).unwrap_or_default())
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        for &byte in bytes {
            if let Some(free) = self.line.get_mut(self.len) {
                *free = byte;
                self.len += 1;
            }
            if self.len == self.line.len() || byte == b'\n' {
                self.flush();
            }
        }
        self
    }

    /// Hands on what was not printed yet.
    pub fn flush(&mut self) {
        let mut line = self.line.get(..self.len).unwrap_or_default();
        while let (Some(to), false) = (&mut self.to, line.is_empty()) {
            match to.write(line) {
                Ok(written) if written > 0 => line = line.get(written..).unwrap_or_default(),
                _ => self.to = None,
            }
        }
        self.len = 0;
    }
}
