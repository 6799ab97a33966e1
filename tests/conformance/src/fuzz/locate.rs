//! Locating and answering, against a table.

use super::naive::Naive;
use super::scenario::{Scenario, Step};
use mrail::anchor::{ArraySpec, Dtype, Scalars, Snapshot};
use mrail::{Foreign, Map, Options, PrefixHash};
use std::num::NonZeroUsize;

/// The fuzz target: `data` says what maps hold and what they are asked.
///
/// # Panics
/// An answer is another than the table's.
pub fn locate(data: &[u8]) {
    let scenario = Scenario::read(data);
    let Scenario { stride, limit, foreign_limit, foreign, own, contexts } = &scenario;
    let options = || {
        let bytes = written(foreign, Options::default()).bytes();
        Options {
            stride: NonZeroUsize::new(*stride).unwrap_or(NonZeroUsize::MIN),
            foreign: vec![Foreign { bytes: bytes.into(), limit: *foreign_limit }],
            ..Options::reference()
        }
    };
    let grown = written(own, options());
    let opened = Map::open(grown.bytes(), Options { limit: *limit, ..options() }).unwrap();
    // A map that grew by appends has no limit; one that was opened has.
    for (map, limit) in [(&grown, None), (&opened, *limit)] {
        let mut naive = Naive::new(*stride);
        naive.load(foreign, true, *foreign_limit);
        naive.load(own, false, limit);
        assert_eq!(map.len(), naive.len());
        let own = own.iter().map(|step| match step {
            Step::Session { tokens, .. } | Step::Track { context: tokens, .. } | Step::Anchor { prefix: tokens } => {
                tokens
            }
        });
        own.for_each(|tokens| check(map, &naive, tokens));
        for context in contexts {
            (0..=context.len()).for_each(|len| check(map, &naive, &context[..len]));
        }
    }
}

fn check(map: &Map<'_>, naive: &Naive, context: &[u32]) {
    let (lcp, run, anchor) = naive.locate(context);
    let located = map.locate(context);
    let anchor = (anchor > 0).then(|| (PrefixHash::of(&context[..anchor]), anchor));
    assert_eq!((located.lcp, located.run, located.anchor), (lcp, run, anchor), "{context:?}");
    assert_eq!(map.locate_with_chain(context).0, located);
    let answer = map.answer(context, usize::MAX, &[]);
    let answer = answer.as_ref().map(|answer| (answer.run, answer.tokens.as_slice()));
    assert_eq!(answer, naive.answer(context), "{context:?}");
}

fn written<'a>(steps: &[Step], options: Options<'a>) -> Map<'a> {
    let mut map = Map::open(Map::create().bytes(), options).unwrap();
    for step in steps {
        let append = match step {
            Step::Session { tokens, gen_start } => map.prepare_session(tokens, *gen_start),
            Step::Track { context, answer } => map.prepare_track(context, answer, "", 2),
            Step::Anchor { prefix } => {
                let arrays = vec![ArraySpec::new("a", Dtype::UInt8, [1])];
                let state = Snapshot::new(arrays, vec![Scalars::default()], vec![7]).unwrap();
                map.prepare_anchor(0, prefix.len() as u32, PrefixHash::of(prefix), &state, None)
            }
        };
        map.commit(&append.unwrap()).unwrap();
    }
    map
}
