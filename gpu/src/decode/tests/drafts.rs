//! Drafts never change an answer, and their costs are what they should be.

use super::*;

/// The rows of a turn: tokens of the context, and those of each pass behind it.
fn passes(decoder: &Decoder<Mock>, context: usize) -> &[usize] {
    assert_eq!(decoder.engine().passes[0], context);
    &decoder.engine().passes[1..]
}

#[test]
fn plain_decoding_evaluates_each_token_once() {
    for len in [1, 5, 100] {
        for max_new in [0, 1, 2, 30] {
            let context = context(1, len);
            let mut decoder = decoder();
            let outcome = generate(&mut decoder, &context, &options(max_new));
            assert_eq!(outcome.ids(), plain(&context, max_new, &[]));
            assert_eq!(outcome.end, End::MaxNew);
            let passes = max_new.saturating_sub(1);
            let stats = Stats { context: len, read: len, passes, evaluated: (len + passes) as u64, ..Stats::default() };
            assert_eq!(outcome.stats, stats);
        }
    }
}

#[test]
fn the_comparison_would_see_a_wrong_token() {
    let context = context(1, 5);
    let mut wrong = plain(&context, 9, &[]);
    wrong[8] ^= 1;
    assert_ne!(generate(&mut decoder(), &context, &options(9)).ids(), wrong);
}

#[test]
fn drafts_of_the_conversation_save_passes_and_change_nothing() {
    let mut accepted = 0;
    for seed in 0..200 {
        let context = context(seed, 3 + seed as usize);
        let stops = if seed % 2 == 0 { vec![STOP] } else { Vec::new() };
        let wanted = plain(&context, 90, &stops);
        for draft in [1, 8, 31, 100] {
            let mut decoder = decoder();
            let outcome = generate(&mut decoder, &context, &Options { draft, stops: stops.clone(), ..options(90) });
            assert_eq!(outcome.ids(), wanted, "seed {seed}, {draft} nodes");
            let stats = outcome.stats;
            assert_eq!(stats.evaluated as usize, context.len() + stats.passes + stats.drafted);
            // The first token comes with the context; every pass gives one, and its accepted drafts. A stop token that was
            // drafted ends its pass without one.
            let drafted_stop = matches!(outcome.tokens.last(), Some(Token { origin: Origin::Draft(_), .. }));
            let given = 1 + stats.passes + stats.accepted.all() - usize::from(drafted_stop && outcome.end == End::Stop);
            assert_eq!(given, wanted.len());
            assert_eq!(stats.accepted.all(), stats.accepted.conversation);
            accepted += stats.accepted.all();
            assert!(decoder.engine().passes.iter().skip(1).all(|&rows| rows <= 32));
        }
    }
    assert!(accepted > 2000, "{accepted} drafts were right: too few to have shown anything");
}

/// A foreign map that knows the answer up to `right` tokens, and then says what the model would not.
fn wrong_behind(context: &[u32], answer: &[u32], right: usize) -> Map<'static> {
    let tail = answer[right..].iter().map(|token| (token + 1) % VOCABULARY);
    let run = context.iter().chain(&answer[..right]).copied().chain(tail).collect();
    map_of(&[(run, context.len())])
}

#[test]
fn rails_that_are_wrong_at_any_depth_change_nothing() {
    let context = context(3, 40);
    let answer = plain(&context, 24, &[]);
    for right in 0..=24 {
        for draft in [1, 8, 31] {
            let mut decoder = decoder();
            decoder.attach_foreign(wrong_behind(&context, &answer, right)).unwrap();
            let outcome = generate(&mut decoder, &context, &Options { draft, ..options(24) });
            assert_eq!(outcome.ids(), answer, "wrong behind {right}");
            if right == 24 && draft == 31 {
                // All right: the context's own choice, then one pass for all the rest, cut to what is asked for.
                assert_eq!(passes(&decoder, 40).len(), 1);
                assert_eq!(outcome.stats.accepted, Accepted { foreign: 22, ..Accepted::default() });
            }
        }
    }
}

#[test]
fn a_wrong_first_node_costs_its_rows_and_no_token() {
    let context = context(5, 30);
    let answer = plain(&context, 2, &[]);
    let mut decoder = decoder();
    let run = [&context[..], &answer[..1], &[(answer[1] + 1) % VOCABULARY, 1, 2]].concat();
    decoder.attach_foreign(map_of(&[(run, 30)])).unwrap();
    let outcome = generate(&mut decoder, &context, &Options { draft: 1, ..options(2) });
    assert_eq!(outcome.ids(), answer);
    // With one token left there is nothing to draft for it; with two there is.
    assert_eq!((outcome.stats.drafted, outcome.stats.accepted.all()), (0, 0));
    let outcome = generate(&mut decoder, &context, &Options { draft: 1, ..options(3) });
    assert_eq!((outcome.stats.drafted, outcome.stats.accepted.all(), outcome.stats.passes), (1, 0, 2));
}

#[test]
fn trees_stay_within_the_engine() {
    let context = context(7, 50);
    let answer = plain(&context, 120, &[]);
    let run = || map_of(&[([&context[..], &answer].concat(), 50)]);
    for (rows, block, capacity) in [(1, 64, None), (4, 64, None), (32, 3, None), (32, 1, None), (32, 64, Some(97))] {
        let mut decoder = decoder();
        let engine = decoder.engine_mut();
        (engine.tree_rows, engine.block, engine.capacity) = (rows, block, capacity);
        decoder.attach_foreign(run()).unwrap();
        let outcome = generate(&mut decoder, &context, &Options { draft: 31, ..options(120) });
        // The last token needs no room.
        let said = capacity.map_or(120, |capacity| capacity as usize - 50 + 1);
        assert_eq!(outcome.ids(), answer[..said], "{rows} rows, blocks of {block}, room for {capacity:?}");
        assert_eq!(outcome.end, if capacity.is_some() { End::Full } else { End::MaxNew });
        assert!(passes(&decoder, 50).iter().all(|&pass| pass <= rows as usize));
    }
}

#[test]
fn an_answer_that_filled_the_cache_is_served_again() {
    let context = context(7, 50);
    let mut decoder = decoder();
    decoder.engine_mut().capacity = Some(60);
    decoder.attach(Map::create(), None).unwrap();
    let first = generate(&mut decoder, &context, &options(120));
    assert_eq!((first.ids().len(), first.end), (11, End::Full));
    let again = generate(&mut decoder, &context, &options(120));
    assert_eq!((again.ids(), again.end, again.stats.evaluated), (first.ids(), End::Full, 0));
}

#[test]
fn nothing_is_drafted_behind_a_stop() {
    // A context whose answer stops early, and a map that knows the stop and goes on behind it.
    let (context, answer) = (0..1000)
        .map(|seed| (context(seed, 20), plain(&context(seed, 20), 40, &[STOP])))
        .find(|(_, answer)| answer.last() == Some(&STOP) && (5..20).contains(&answer.len()))
        .unwrap();
    let run = [&context[..], &answer, &[1, 2, 3]].concat();
    let mut decoder = decoder();
    decoder.attach_foreign(map_of(&[(run, 20)])).unwrap();
    let options = Options { draft: 31, stops: vec![STOP], ..options(40) };
    let outcome = generate(&mut decoder, &context, &options);
    assert_eq!((outcome.ids(), outcome.end), (answer.clone(), End::Stop));
    // The stop token was a row of its pass, so it is taken in: the next turn reads nothing twice.
    assert_eq!(decoder.engine().tokens() as usize, 20 + answer.len());
    let longer = [&context[..], &answer, &[4]].concat();
    let outcome = generate(&mut decoder, &longer, &options);
    assert_eq!((outcome.stats.kept, outcome.stats.read), (20 + answer.len(), 1));
}

#[test]
fn runs_that_repeat_give_one_node_each() {
    let context = context(9, 30);
    let answer = plain(&context, 9, &[]);
    let run = ([&context[..], &answer].concat(), 30);
    let mut decoder = decoder();
    for _ in 0..3 {
        decoder.attach_foreign(map_of(&[run.clone(), run.clone(), run.clone()])).unwrap();
    }
    let outcome = generate(&mut decoder, &context, &Options { draft: 7, ..options(9) });
    assert_eq!(outcome.ids(), answer);
    assert_eq!(outcome.stats.accepted.foreign, 7);
    assert_eq!(passes(&decoder, 30), [8]);
}

#[test]
fn each_source_is_told() {
    let first = context(11, 30);
    let answer = plain(&first, 12, &[]);
    let known = [&first[..], &answer].concat();
    let mut decoder = decoder();
    // The own map knows it of a context that is one token longer, so that it does not answer.
    decoder.attach(map_of(&[(known.clone(), 31)]), None).unwrap();
    let options = Options { draft: 16, ..options(12) };
    let outcome = generate(&mut decoder, &first, &options);
    assert_eq!(outcome.ids(), answer);
    assert!(outcome.stats.accepted.own > 0 && outcome.stats.accepted.foreign == 0, "{:?}", outcome.stats);
    let off = generate(&mut decoder, &first, &Options { use_map: false, ..options });
    assert_eq!((off.ids(), off.stats.accepted.own), (answer, 0));
    let origins: Vec<_> = outcome.tokens.iter().map(|token| token.origin).collect();
    assert_eq!(origins[0], Origin::Model);
    let drafted = origins.iter().filter(|origin| **origin == Origin::Draft(Source::Own)).count();
    assert_eq!(drafted, outcome.stats.accepted.own);
}
