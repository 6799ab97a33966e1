//! Nothing but what every program here has: start, output, clock, exit. The others are measured against it.

#![no_std]
#![no_main]

use mrail_firmware::board::{Clock, Out};

mrail_firmware::program!(run);

fn run(out: &mut Out, clock: &Clock) -> bool {
    out.text("nothing | ").number(clock.measure(|| ())).text("\n");
    true
}
