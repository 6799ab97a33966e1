//! The demo: prompts are asked, answers printed and measured.

use crate::board::{Clock, Out};
use crate::flash;
use mrail::fixed::{Answer, Lists, Map};

/// Longest answer asked for.
const MAX_NEW: usize = 96;
/// What ends an answer: `<|im_end|>`.
const STOP: &[u32] = &[2];
/// How many prompts the map knows; the others come last.
const KNOWN: usize = 10;

/// Asks all prompts. True if those that the map knows were answered, and no others.
///
/// A line is `answer TOKENS` or `unknown after LCP`, then instructions: to find the answer, and to take all its tokens.
pub fn ask_all<L: Lists>(map: &Map<'_, L>, out: &mut Out, clock: &Clock) -> bool {
    let mut is_right = true;
    for (number, prompt) in flash::prompts().enumerate() {
        is_right &= ask(map, prompt, out, clock) == (number < KNOWN);
    }
    is_right
}

/// Asks for one context. Returns whether it was answered.
pub fn ask<L: Lists>(map: &Map<'_, L>, context: &[u32], out: &mut Out, clock: &Clock) -> bool {
    let find = clock.measure(|| answer(map, context).is_some());
    let Some(answer) = answer(map, context) else {
        let lcp = map.locate(context).lcp as u32;
        out.text("unknown after ").number(lcp).text(" | find ").number(find).text("\n");
        return false;
    };
    let take = clock.measure(|| sum(answer.clone()));
    out.text("answer");
    let mut tokens = 0;
    for token in answer {
        out.text(" ").number(token);
        tokens += 1;
    }
    out.text(" | find ").number(find).text(" take ").number(take).text(" tokens ").number(tokens).text("\n");
    true
}

/// One copy of it, measured and used.
#[inline(never)]
fn answer<'a, 'c, L: Lists>(map: &Map<'a, L>, prompt: &'c [u32]) -> Option<Answer<'a, 'c>> {
    map.answer(prompt, MAX_NEW, STOP)
}

/// Takes all tokens of an answer.
#[inline(never)]
fn sum(answer: Answer<'_, '_>) -> u32 {
    answer.fold(0, u32::wrapping_add)
}
