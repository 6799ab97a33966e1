//! The same after the hint was checked against the map, as one does with a map that came over the air.

#![no_std]
#![no_main]

use mrail::fixed::{Hint, Map, Rules};
use mrail_firmware::board::{Clock, Out};
use mrail_firmware::{demo, flash};

mrail_firmware::program!(run);

fn run(out: &mut Out, clock: &Clock) -> bool {
    let mut opened = None;
    let open = clock.measure_once(|| opened = open());
    let Some(map) = opened else { return false };
    out.text("open | ").number(open).text("\n");
    demo::ask_all(&map, out, clock)
}

fn open() -> Option<Map<'static, Hint<'static>>> {
    Map::open_with_hint(flash::MAP, flash::HINT, Rules::default()).ok()
}
