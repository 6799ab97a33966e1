//! Answers from a track: a context that is not in the map, of which it knows the hash. Each of its tokens is hashed.

#![no_std]
#![no_main]

use mrail::fixed::{Rules, Tables};
use mrail_firmware::board::{Clock, Out};
use mrail_firmware::{demo, flash};

mrail_firmware::program!(run);

fn run(out: &mut Out, clock: &Clock) -> bool {
    let mut tables = Tables::<1, 1, 0, 0>::new();
    let Ok(map) = tables.open(flash::TRACK, Rules::default()) else { return false };
    demo::ask(&map, flash::all_prompts(), out, clock)
}
