//! Answers with tables in memory, filled at opening.

#![no_std]
#![no_main]

use mrail::fixed::{Rules, Tables};
use mrail_firmware::board::{Clock, Out};
use mrail_firmware::{demo, flash};

mrail_firmware::program!(run);

fn run(out: &mut Out, clock: &Clock) -> bool {
    // As `mrail size` prints it for the map.
    let mut tables = Tables::<40, 0, 0, 14>::new();
    let open = clock.measure_once(|| tables.open(flash::MAP, Rules::default()).is_ok());
    let Ok(map) = tables.open(flash::MAP, Rules::default()) else { return false };
    out.text("open | ").number(open).text("\n");
    demo::ask_all(&map, out, clock)
}
