//! The same after the hint was checked against the map, as one does with a map that came over the air.

#![no_std]
#![no_main]

use mrail::fixed::{Map, Rules};
use mrail_firmware::board::{Clock, Out};
use mrail_firmware::{demo, flash};

mrail_firmware::program!(run);

fn run(out: &mut Out, clock: &Clock) -> bool {
    let open = || Map::open_with_hint(flash::MAP, flash::HINT, Rules::default());
    let Ok(map) = open() else { return false };
    out.text("open | ").number(clock.measure_once(open)).text("\n");
    demo::ask_all(&map, out, clock)
}
