//! The prefix hash, which every context is asked for where a map has tracks or anchors: a golden value, and what a token
//! costs.

#![no_std]
#![no_main]

use mrail::PrefixHash;
use mrail_firmware::board::{Clock, Out};

mrail_firmware::program!(run);

fn run(out: &mut Out, clock: &Clock) -> bool {
    let hash = PrefixHash::of(&[1, 2, u32::MAX]);
    let token = clock.measure(|| hash.then(7));
    out.text("hash");
    for byte in hash.0 {
        out.text(" ").number(byte.into());
    }
    out.text(" | token ").number(token).text("\n");
    hash.0 == [0x5a, 0x86, 0x79, 0xea, 0xb6, 0xca, 0x15, 0x2a]
}
