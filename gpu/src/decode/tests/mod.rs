//! The loop around an engine that is made up here, whose answers and costs are known.

mod anchors;
mod drafts;
mod maps;
mod mock;
mod turns;

use super::*;
use mock::{Mock, STOP, VOCABULARY, layer, next, plain};
use mrail::{Map, PrefixHash};
use std::cell::RefCell;
use std::io;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// The result of a future that waits for nothing.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

/// A context of so many tokens that no other seed has.
fn context(seed: u32, len: usize) -> Vec<u32> {
    (0..len as u32).map(|at| (at * 7 + seed * 13 + at * at % 5) % (VOCABULARY - 1)).collect()
}

fn decoder() -> Decoder<Mock> {
    Decoder::new(Mock::default(), vec![layer()])
}

fn options(max_new: usize) -> Options {
    Options { max_new, draft: 0, ..Options::default() }
}

fn map_of(runs: &[(Vec<u32>, usize)]) -> Map<'static> {
    let mut map = Map::create();
    for (tokens, gen_start) in runs {
        let append = map.prepare_session(tokens, *gen_start).unwrap();
        map.commit(&append).unwrap();
    }
    map
}

/// A journal that the test can look into.
#[derive(Clone)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Shared {
    fn new() -> Self {
        Self(Rc::new(RefCell::new(Map::create().bytes())))
    }

    fn open(&self) -> Map<'static> {
        Map::open(self.0.borrow().clone(), mrail::Options::default()).unwrap()
    }
}

impl Journal for Shared {
    fn append_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.borrow_mut().append_at(offset, bytes)
    }
}

/// With an own map whose journal is returned.
fn with_map() -> (Decoder<Mock>, Shared) {
    let (mut decoder, shared) = (decoder(), Shared::new());
    decoder.attach(Map::create(), Some(Box::new(shared.clone()))).unwrap();
    (decoder, shared)
}

fn generate(decoder: &mut Decoder<Mock>, context: &[u32], options: &Options) -> Outcome {
    now(decoder.generate(context, options)).unwrap()
}
