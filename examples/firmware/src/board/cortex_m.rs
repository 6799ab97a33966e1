//! Cortex-M: `mps2-an386` with an M4, `microbit` with an M0.

use cortex_m::peripheral::syst::SystClkSource;
use cortex_m::peripheral::{Peripherals, SYST};
use cortex_m_rt::entry;

/// Processor clock in MHz: as much as a timer tick takes nanoseconds, and so, in QEMU, instructions.
const MEGAHERTZ: u32 = if cfg!(target_feature = "dsp") { 25 } else { 16 };
/// The timer counts down from here, and wraps.
const LAST: u32 = 0x00FF_FFFF;

/// `SysTick`, which counts the processor's clock. QEMU lets a second of virtual time pass in 10^9 instructions, so a tick
/// is 40 instructions at the M4's 25 MHz and 62.5 at the M0's 16 MHz.
pub struct Clock(());

impl Clock {
    pub(super) fn start() -> Self {
        // SAFETY: nobody else has the timer.
        let mut timer = unsafe { Peripherals::steal() }.SYST;
        timer.set_clock_source(SystClkSource::Core);
        timer.set_reload(LAST);
        timer.clear_current();
        timer.enable_counter();
        Self(())
    }

    #[allow(clippy::unused_self)] // A clock that is there was started.
    pub(super) fn ticks(&self) -> u32 {
        SYST::get_current()
    }

    pub(super) fn ticks_since(&self, start: u32) -> u32 {
        start.wrapping_sub(self.ticks()) & LAST
    }

    pub(super) fn instructions(ticks: u32) -> u32 {
        (u64::from(ticks) * 1000 / u64::from(MEGAHERTZ)) as u32
    }
}

#[entry]
fn main() -> ! {
    super::run()
}
