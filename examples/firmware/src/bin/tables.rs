//! Answers with tables in memory, filled at opening.

#![no_std]
#![no_main]

use mrail::fixed::{Map, Rules, Tables};
use mrail_firmware::board::{Clock, Out};
use mrail_firmware::{demo, flash};

mrail_firmware::program!(run);

/// As `mrail size` prints it for the map.
type Known<'a> = Map<'a, Tables<40, 0, 0, 14>>;

fn run(out: &mut Out, clock: &Clock) -> bool {
    let open = || Known::open(flash::MAP, Rules::default());
    let Ok(map) = open() else { return false };
    out.text("open | ").number(clock.measure_once(open)).text("\n");
    demo::ask_all(&map, out, clock)
}
