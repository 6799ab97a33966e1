//! Drafts what may follow each prompt, for a model that runs elsewhere to verify.

#![no_std]
#![no_main]

use mrail::fixed::{Map, Rules, Tree};
use mrail_firmware::board::{Clock, Out};
use mrail_firmware::flash;

mrail_firmware::program!(run);

fn run(out: &mut Out, clock: &Clock) -> bool {
    let Ok(map) = Map::open_with_hint_unread(flash::MAP, flash::HINT, Rules::default()) else { return false };
    // The reference's parameters: 7 KB. `Tree<15, 4, 8>` takes 1.7 KB.
    let mut tree = Tree::<31>::new();
    for prompt in flash::prompts() {
        let grow = clock.measure_once(|| map.draft(prompt, &mut tree));
        out.text("tree");
        for (token, parent) in tree.iter() {
            // The first node's parent is the context: 0.
            out.text(" ").number(token).text("/").number(parent.wrapping_add(1).cast_unsigned());
        }
        out.text(" | grow ").number(grow).text("\n");
    }
    true
}
