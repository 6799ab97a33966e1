//! Exact answers, runs that go on, and what is kept.

use super::*;
use mrail::anchor::AnchorError;
use mrail::map::Run;

#[test]
fn a_known_context_costs_nothing() {
    let (mut decoder, shared) = with_map();
    let context = context(1, 20);
    let stops = || Options { stops: vec![STOP], ..options(30) };
    let first = generate(&mut decoder, &context, &stops());
    assert!(first.stats.written);
    let rows = decoder.engine().evaluated();
    let second = generate(&mut decoder, &context, &stops());
    assert_eq!((second.ids(), second.end), (first.ids(), first.end));
    assert!(second.tokens.iter().all(|token| token.origin == Origin::Map));
    let stats = Stats { context: 20, served: first.tokens.len(), ..Stats::default() };
    assert_eq!((second.stats, decoder.engine().evaluated()), (stats, rows));
    // A smaller question is answered by the same run, and writes none.
    let fewer = generate(&mut decoder, &context, &Options { max_new: 2, ..stops() });
    assert_eq!((fewer.ids(), fewer.end, fewer.stats.evaluated), (first.ids()[..2].to_vec(), End::MaxNew, 0));
    assert_eq!(shared.open().len(), 1);

    // The journal alone is the map.
    let mut reopened = self::decoder();
    reopened.attach(shared.open(), None).unwrap();
    assert_eq!(generate(&mut reopened, &context, &stops()).ids(), first.ids());
    assert_eq!(reopened.engine().evaluated(), 0);
}

#[test]
fn without_the_map_all_is_computed_and_nothing_kept() {
    let (mut decoder, shared) = with_map();
    let context = context(1, 20);
    generate(&mut decoder, &context, &options(10));
    let before = shared.0.borrow().clone();
    let off = Options { use_map: false, ..options(12) };
    let outcome = generate(&mut decoder, &context, &off);
    assert_eq!((outcome.stats.served, outcome.stats.evaluated, outcome.stats.written), (0, 20 + 11, false));
    assert_eq!(*shared.0.borrow(), before);
}

#[test]
fn a_run_that_ended_too_early_is_gone_on_from() {
    let context = context(2, 25);
    let whole = plain(&context, 40, &[STOP]);
    let cut = 7;
    assert!(whole.len() > 20);
    for draft in [0, 8] {
        let (mut decoder, shared) = with_map();
        let asked = |max_new| Options { draft, stops: vec![STOP], ..options(max_new) };
        generate(&mut decoder, &context, &asked(cut));

        // In a new process: nothing but the journal.
        let mut fresh = self::decoder();
        fresh.attach(shared.open(), Some(Box::new(shared.clone()))).unwrap();
        let outcome = generate(&mut fresh, &context, &asked(40));
        assert_eq!(outcome.ids(), whole);
        assert_eq!((outcome.stats.served, outcome.stats.read), (cut, 25 + cut));
        let from_map = outcome.tokens.iter().take_while(|token| token.origin == Origin::Map).count();
        assert_eq!(from_map, cut);
        assert!(outcome.stats.written);
        // Two runs, of which the longer answers from now on.
        assert_eq!(shared.open().len(), 2);
        assert_eq!(generate(&mut fresh, &context, &asked(40)).stats.evaluated, 0);
    }
}

#[test]
fn one_run_a_turn() {
    let (mut decoder, shared) = with_map();
    let options = Options { stops: vec![STOP], ..options(12) };
    let mut context = context(4, 10);
    for turn in 0..3 {
        let outcome = generate(&mut decoder, &context, &options);
        let map = shared.open();
        let Some(Run::Session(session)) = map.run(turn) else { panic!("no session {turn}") };
        assert_eq!(session.context().iter().collect::<Vec<_>>(), context);
        assert_eq!(session.answer().iter().collect::<Vec<_>>(), outcome.ids());
        context.extend(outcome.ids());
        context.extend([1, 2, 3]);
    }
}

#[test]
fn a_map_of_another_model_is_refused_by_name() {
    let foreign = || map_of(&[(vec![1, 2], 1), (vec![3, VOCABULARY, 4], 1)]);
    let refused = AttachError::Vocabulary { run: 1, token: VOCABULARY, vocabulary: VOCABULARY };
    let mut decoder = decoder();
    assert_eq!(decoder.attach(foreign(), None), Err(refused));
    assert_eq!(decoder.attach_foreign(foreign()), Err(refused));
    assert_eq!(refused.to_string(), "a map of another model: run 1 holds token 50, and this model's are below 50");
    let mut map = Map::create();
    let track = map.prepare_track(&[1, 2, 3], &[7, 1 << 20], "src", 4).unwrap();
    map.commit(&track).unwrap();
    assert!(decoder.attach(map, None).is_err());
    assert!(decoder.map().is_none());
}

#[test]
fn contexts_that_make_no_sense_are_errors() {
    let mut decoder = decoder();
    decoder.engine_mut().capacity = Some(10);
    let mut error = |context: &[u32]| now(decoder.generate(context, &options(5))).unwrap_err().to_string();
    assert_eq!(error(&[]), "the context is empty");
    assert_eq!(error(&[1, 50]), "token 1 of the context is 50, and the model's are below 50");
    assert_eq!(error(&context(1, 11)), "a context of 11 tokens, and there is room for 10");
    assert_eq!(decoder.engine().evaluated(), 0);
}

/// A journal that takes no more than so many bytes.
struct Small(usize);

impl Journal for Small {
    fn append_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let full = offset as usize + bytes.len() > self.0;
        if full { Err(io::Error::other("quota exceeded")) } else { Ok(()) }
    }
}

#[test]
fn a_journal_that_is_full_is_told_and_the_map_stays() {
    let mut decoder = decoder();
    decoder.attach(Map::create(), Some(Box::new(Small(200)))).unwrap();
    generate(&mut decoder, &context(1, 10), &options(5));
    let end = decoder.map().unwrap().end();
    let error = now(decoder.generate(&context(2, 30), &options(5))).unwrap_err();
    assert_eq!(error.to_string(), "the answer could not be kept: quota exceeded");
    assert_eq!(decoder.map().unwrap().end(), end);
    // An anchor that does not fit costs the anchor alone.
    let anchors = AnchorRule { prompt: true, ..AnchorRule::NONE };
    let outcome = generate(&mut decoder, &context(1, 10), &Options { anchors, max_new: 5, ..options(5) });
    assert_eq!(outcome.stats.served, 5);
    let mut turn = decoder.begin(&context(3, 5), &Options { anchors, ..options(2) }).unwrap();
    while now(turn.next()).unwrap().is_some() {}
    let fault = AnchorFault::Write(WriteFault::Journal("quota exceeded".into()));
    assert_eq!(turn.stats().faults, [fault]);
    assert_ne!(AnchorFault::Map(AnchorError::Missing).to_string(), "");
}
