//! Conversations, and turns that are left.

use super::*;
use std::task::Context as Wake;

#[test]
fn a_conversation_reads_only_what_is_new() {
    for draft in [0, 8] {
        let mut decoder = decoder();
        let options = Options { draft, stops: vec![STOP], ..options(20) };
        let mut context = context(1, 30);
        let mut had = 0;
        for turn in 0..5 {
            let outcome = generate(&mut decoder, &context, &options);
            assert_eq!(outcome.ids(), plain(&context, 20, &[STOP]), "turn {turn}");
            assert_eq!((outcome.stats.kept, outcome.stats.read), (had, context.len() - had));
            had = decoder.engine().tokens() as usize;
            context.extend(outcome.ids());
            assert!(context.len() - had <= 1);
            context.extend([7, 8, 9, turn]);
        }
        // Another conversation starts anew, and so does one that goes back.
        let other = self::context(2, 10);
        assert_eq!(generate(&mut decoder, &other, &options).stats.kept, 0);
        assert_eq!(generate(&mut decoder, &other[..9], &options).stats.kept, 0);
    }
}

#[test]
fn the_longer_of_anchor_and_present_state_is_gone_on_from() {
    let (mut decoder, _) = with_map();
    let anchors = AnchorRule { prompt: true, ..AnchorRule::NONE };
    let first = context(1, 40);
    let outcome = generate(&mut decoder, &first, &Options { anchors, ..options(10) });
    let second = [&first[..], &outcome.ids(), &[1, 2]].concat();
    let outcome = generate(&mut decoder, &second, &options(10));
    assert_eq!((outcome.stats.kept, outcome.stats.restored), (49, 0));
    // Away and back: the anchor is what is left.
    generate(&mut decoder, &context(2, 10), &options(1));
    let third = [&first[..], &[3]].concat();
    let outcome = generate(&mut decoder, &third, &options(10));
    assert_eq!((outcome.stats.kept, outcome.stats.restored), (0, 40));
}

#[test]
fn steps_are_the_answer_piece_by_piece() {
    let mut decoder = decoder();
    let context = context(3, 100);
    let chunk = NonZeroUsize::new(40).unwrap();
    let mut turn = decoder.begin(&context, &Options { chunk, draft: 8, ..options(30) }).unwrap();
    let (mut read, mut said) = (Vec::new(), Vec::new());
    while let Some(step) = now(turn.next()).unwrap() {
        match step {
            Step::Read { tokens, of } => read.push((tokens, of)),
            Step::Tokens(tokens) => {
                assert!(!tokens.is_empty());
                said.extend(tokens);
            }
        }
        assert_eq!(turn.said(), said);
    }
    assert_eq!(now(turn.next()).unwrap(), None);
    assert_eq!(read, [(40, 100), (80, 100), (100, 100)]);
    let outcome = turn.finish().unwrap();
    assert_eq!((&outcome.tokens, outcome.ids()), (&said, plain(&context, 30, &[])));
}

#[test]
fn a_turn_may_be_left_after_any_step() {
    let context = context(4, 60);
    let whole = plain(&context, 20, &[]);
    let options = Options { chunk: NonZeroUsize::new(25).unwrap(), ..options(20) };
    for steps in 0..15 {
        for finish in [false, true] {
            let (mut decoder, shared) = with_map();
            let mut turn = decoder.begin(&context, &options).unwrap();
            for _ in 0..steps {
                now(turn.next()).unwrap();
            }
            let said = turn.said().len();
            if finish {
                let outcome = turn.finish().unwrap();
                assert_eq!((outcome.end, outcome.stats.written), (End::Open, said > 0));
                assert_eq!(outcome.ids(), whole[..said]);
            } else {
                drop(turn);
            }
            assert_eq!(shared.open().len(), usize::from(finish && said > 0));
            let outcome = generate(&mut decoder, &context, &options);
            assert_eq!(outcome.ids(), whole, "left after {steps} steps");
            assert_eq!(outcome.stats.served, if finish { said } else { 0 });
            // Nothing that the engine has is read again, unless it has what was not kept.
            if finish && said > 0 {
                assert_eq!(decoder.engine().evaluated(), 60 + 19);
            }
        }
    }
}

#[test]
fn after_an_error_the_next_step_starts_again() {
    let context = context(5, 60);
    let whole = plain(&context, 20, &[]);
    for fails_in in 0..12 {
        for draft in [0, 8] {
            let mut decoder = decoder();
            decoder.engine_mut().fails_in = Some(fails_in);
            let mut turn = decoder.begin(&context, &Options { draft, ..options(20) }).unwrap();
            let mut errors = 0;
            loop {
                match now(turn.next()) {
                    Ok(None) => break,
                    Ok(Some(_)) => {}
                    Err(DecodeError::Engine(mock::MockError::Asked)) => errors += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            assert_eq!((errors, turn.finish().unwrap().ids()), (1, whole.clone()), "fails in {fails_in}");
        }
    }
}

/// Waits once before each call, as a device does.
struct Slow(Mock);

async fn wait() {
    let mut asked = false;
    std::future::poll_fn(|_| {
        let ready = std::mem::replace(&mut asked, true);
        if ready { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

impl Engine for Slow {
    type Error = mock::MockError;

    fn vocabulary(&self) -> u32 {
        self.0.vocabulary()
    }

    fn tokens(&self) -> u32 {
        self.0.tokens()
    }

    fn capacity(&self) -> Option<u32> {
        self.0.capacity()
    }

    fn tree_rows(&self) -> u32 {
        self.0.tree_rows()
    }

    fn depth_left(&self) -> u32 {
        self.0.depth_left()
    }

    fn evaluated(&self) -> u64 {
        self.0.evaluated()
    }

    async fn extend(&mut self, tokens: &[u32]) -> Result<u32, Self::Error> {
        let choice = self.0.extend(tokens).await;
        wait().await;
        choice
    }

    fn choice(&self) -> Option<u32> {
        self.0.choice()
    }

    async fn verify(&mut self, tokens: &[u32], tree: &crate::attention::Tree) -> Result<Vec<u32>, Self::Error> {
        wait().await;
        self.0.verify(tokens, tree).await
    }

    async fn accept(&mut self, path: &[u32]) -> Result<(), Self::Error> {
        let accepted = self.0.accept(path).await;
        wait().await;
        accepted
    }

    async fn logits(&mut self) -> Result<Vec<f32>, Self::Error> {
        self.0.logits().await
    }

    async fn state(&mut self) -> Result<State, Self::Error> {
        self.0.state().await
    }

    async fn restore(&mut self, state: &State) -> Result<(), Self::Error> {
        self.0.restore(state).await
    }

    async fn clear(&mut self) -> Result<(), Self::Error> {
        self.0.clear().await
    }
}

#[test]
fn a_step_whose_future_is_dropped_is_done_again() {
    let context = context(6, 60);
    let mut decoder = Decoder::new(Slow(Mock::default()), vec![layer()]);
    let mut turn = decoder.begin(&context, &Options { draft: 8, ..options(20) }).unwrap();
    let mut patience = 0;
    loop {
        // Every other step gets one poll only, the others as many as they want.
        patience = if patience == 1 { 9 } else { 1 };
        let mut step = pin!(turn.next());
        let mut polls = (0..patience).map(|_| step.as_mut().poll(&mut Wake::from_waker(Waker::noop())));
        match polls.find(Poll::is_ready) {
            Some(Poll::Ready(Ok(None))) => break,
            Some(Poll::Ready(Err(error))) => panic!("{error}"),
            _ => {}
        }
    }
    assert_eq!(turn.finish().unwrap().ids(), plain(&context, 20, &[]));
}

#[test]
fn either_engine_is_the_one_it_holds() {
    let context = context(7, 60);
    let whole = plain(&context, 20, &[]);
    let options = Options { draft: 8, anchors: AnchorRule { prompt: true, ..AnchorRule::NONE }, ..options(20) };
    for mut either in [Either::A(Mock::default()), Either::B(Slow(Mock::default()))] {
        let mut waker = Wake::from_waker(Waker::noop());
        now(either.clear()).unwrap();
        let mut decoder = Decoder::new(either, vec![layer()]);
        decoder.attach(Map::create(), None).unwrap();
        let mut turn = decoder.begin(&context, &options).unwrap();
        loop {
            let mut step = pin!(turn.next());
            let ended = loop {
                if let Poll::Ready(step) = step.as_mut().poll(&mut waker) {
                    break step.unwrap().is_none();
                }
            };
            if ended {
                break;
            }
        }
        assert_eq!((turn.stats().anchors, turn.finish().unwrap().ids()), (1, whole.clone()));
        let engine = decoder.engine();
        assert_eq!((engine.vocabulary(), engine.capacity(), engine.tree_rows()), (VOCABULARY, None, 32));
        assert_eq!(now(decoder.engine_mut().logits()).unwrap().len(), VOCABULARY as usize);
    }
}
