//! Whatever is drafted, the answer is the model's own: tokens, logits and state, to the last bit.
//!
//! A tiny model of random numbers answers on the CPU. Plain decoding is compared with drafts of several sizes, from the conversation,
//! from a foreign map and from maps that are wrong everywhere, over prompts, conversations and documents that are longer than the band
//! and the store. [`real`] does so with a real model.
#![cfg(not(target_arch = "wasm32"))]

mod compare;
mod log;
mod prompts;
mod real;
mod recorder;

use compare::{Divergence, compare};
use mrail::Map;
use mrail_gpu::attention::{LayerSetup, Tree};
use mrail_gpu::decode::{AnchorRule, Decoder, Engine, Options, Origin, Token};
use mrail_gpu::model::Model;
use mrail_gpu::model::cpu::{self, CpuError, CpuModel};
use mrail_gpu::model::gguf::{Header, Source};
use mrail_gpu::model::seeded::Seeded;
use mrail_gpu::state::{Admission, Config, Memory, Storage};
use pollster::block_on;
use prompts::{Prompts, adversarial, misleading};
use recorder::{Recorded, Recorder, record};
use std::fmt;
use std::num::NonZeroUsize;

/// Tokens of an answer.
const SAID: usize = 24;

/// What the model's attention keeps.
#[derive(Clone, Copy, Debug)]
enum Kept {
    /// A band and a store of 64 tokens each.
    Constant(Storage, Admission),
    /// Everything.
    Native,
}

const LOOK: Admission = Admission::Look { from: 16 };
const KEPT: [Kept; 4] = [
    Kept::Constant(Storage::F32, LOOK),
    Kept::Constant(Storage::F16, LOOK),
    Kept::Constant(Storage::F16, Admission::Surprise),
    Kept::Native,
];

fn decoder(kept: Kept) -> Decoder<Recorder> {
    let file = Seeded::default().file();
    // Tests share the machine's cores already.
    let one = cpu::Options { threads: Some(1), ..cpu::Options::default() };
    load(&mut &file[..], kept, one)
}

fn load(source: &mut impl Source, kept: Kept, options: cpu::Options) -> Decoder<Recorder> {
    let header = Header::read(source).expect("a GGUF file");
    let model = Model::read(&header).expect("a model");
    let shape = model.config.shape;
    let config = match kept {
        Kept::Constant(storage, admission) => Config::uniform(shape, storage, 64, 64, admission),
        Kept::Native => Config::new(shape, Storage::F32, Memory::Native),
    };
    let setups = vec![LayerSetup::plain(config.expect("sizes")); model.config.layers as usize];
    let engine = CpuModel::load(source, &model, setups.clone(), options, |_| ()).expect("memory");
    Decoder::new(Recorder::new(engine), setups)
}

fn options(draft: usize, stops: &[u32]) -> Options {
    Options { max_new: SAID, draft, stops: stops.to_vec(), ..Options::default() }
}

/// How an answer is drafted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rail {
    Conversation,
    Foreign,
    /// Right drafts beside wrong ones.
    Adversarial,
    /// Drafts that are wrong from some depth on.
    Misleading,
}

const RAILS: [Rail; 4] = [Rail::Conversation, Rail::Foreign, Rail::Adversarial, Rail::Misleading];

/// Nodes of the draft trees.
const TREES: [usize; 3] = [1, 8, 31];

/// What was compared.
#[derive(Debug, Default)]
struct Tally {
    contexts: usize,
    /// Answers with drafts.
    answers: usize,
    /// Their tokens, and the logits that chose each of them.
    tokens: usize,
    drafted: usize,
    accepted: usize,
    divergences: usize,
}

impl Tally {
    fn wrong(&self) -> usize {
        self.drafted - self.accepted
    }

    fn add(&mut self, other: &Self) {
        self.contexts += other.contexts;
        self.answers += other.answers;
        self.tokens += other.tokens;
        self.drafted += other.drafted;
        self.accepted += other.accepted;
        self.divergences += other.divergences;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { contexts, answers, tokens, drafted, accepted, divergences } = self;
        write!(
            f,
            "{contexts} contexts, {answers} answers with drafts, {tokens} tokens with their logits, {drafted} drafted, \
             {accepted} accepted, {} wrong, {divergences} divergences",
            self.wrong()
        )
    }
}

/// Answers a context, which has a number and a name, plainly and with drafts; says where the answers part. Returns the plain one.
fn check(
    decoder: &mut Decoder<Recorder>,
    (number, name, context): (usize, &str, &[u32]),
    plainly: &Options,
    rails: &[Rail],
    texts: &Prompts,
) -> (Vec<u32>, Tally) {
    decoder.detach();
    let plain = block_on(record(decoder, context, plainly));
    let answer = plain.outcome.ids();
    let mut tally = Tally { contexts: 1, ..Tally::default() };
    for &rail in rails {
        for draft in TREES {
            decoder.detach();
            let vocabulary = decoder.engine().vocabulary();
            let map = match rail {
                Rail::Conversation => None,
                Rail::Foreign => Some(texts.foreign()),
                Rail::Adversarial => Some(adversarial(context, &answer, vocabulary)),
                Rail::Misleading => Some(misleading(context, &answer, vocabulary, number)),
            };
            if let Some(map) = map {
                decoder.attach_foreign(map).expect("the model's tokens");
            }
            let got = block_on(record(decoder, context, &Options { draft, ..plainly.clone() }));
            if let Err(divergence) = compare(&plain, &got, context.len()) {
                println!("DIVERGENCE: {name}, {rail:?}, trees of {draft}: {divergence}\ncontext {context:?}");
                tally.divergences += 1;
            }
            tally.answers += 1;
            tally.tokens += got.outcome.tokens.len();
            tally.drafted += got.outcome.stats.drafted;
            tally.accepted += got.outcome.stats.accepted.all();
        }
    }
    (answer, tally)
}

/// One rail a context, in turn; of every tenth context all.
fn rails(number: usize) -> &'static [Rail] {
    if number.is_multiple_of(10) { &RAILS } else { &RAILS[number % 4..=number % 4] }
}

/// Four answers in twelve may end early, one for each rail.
fn stops(number: usize) -> &'static [u32] {
    if (number / 4).is_multiple_of(3) { &[2, 7, 11, 13] } else { &[] }
}

/// Tokens of documents around the places where a block leaves the band, and where the store is full.
const DOCUMENTS: [usize; 14] = [40, 61, 64, 103, 107, 126, 128, 168, 171, 190, 192, 193, 256, 300];

fn run(kept: Kept, first: usize) -> Tally {
    let mut decoder = decoder(kept);
    let texts = Prompts::read(decoder.engine().vocabulary());
    let mut tally = Tally::default();
    let mut check = |name: &str, context: &[u32], rails: &[Rail]| {
        let plainly = options(0, stops(tally.contexts));
        let (answer, of_this) = check(&mut decoder, (tally.contexts, name, context), &plainly, rails, &texts);
        tally.add(&of_this);
        answer
    };
    // One prompt in four for each kind of memory; a second and third turn for all of them.
    for number in (first..texts.asked.len()).step_by(KEPT.len()) {
        let mut context = texts.asked[number].clone();
        for turn in 0..3 {
            let answer = check(&format!("prompt {number}, turn {turn}"), &context, rails(number + turn));
            context.extend(answer);
            context.extend(&texts.turns[(number + turn + 1) % texts.turns.len()]);
        }
    }
    for (number, len) in DOCUMENTS.into_iter().enumerate() {
        check(&format!("document of {len}"), &texts.document(number + first, len), rails(number));
    }
    tally
}

/// Of a quarter of the prompts, with one kind of memory.
fn output_never_changes(place: usize) {
    let tally = run(KEPT[place], place);
    println!("{:?}: {tally}", KEPT[place]);
    // With four kinds of memory these are 296.
    assert_eq!((tally.contexts, tally.divergences), (74, 0));
    assert!(tally.accepted > 1000 && tally.wrong() > 1000, "{tally} shows little");
}

#[test]
fn output_never_changes_f32() {
    output_never_changes(0);
}

#[test]
fn output_never_changes_f16() {
    output_never_changes(1);
}

#[test]
fn output_never_changes_with_surprise() {
    output_never_changes(2);
}

#[test]
fn output_never_changes_natively() {
    output_never_changes(3);
}

#[test]
fn drafts_that_are_wrong_at_any_depth_change_nothing() {
    for kept in KEPT {
        let mut decoder = decoder(kept);
        let context = Prompts::read(decoder.engine().vocabulary()).asked.swap_remove(0);
        let plain = block_on(record(&mut decoder, &context, &options(0, &[])));
        // A draft gives one token less than there are left, behind the first one, which has none.
        for right in 0..SAID - 2 {
            decoder.detach();
            let map = misleading(&context, &plain.outcome.ids(), decoder.engine().vocabulary(), right);
            decoder.attach_foreign(map).expect("the model's tokens");
            let wrong = |decoder: &Decoder<Recorder>| decoder.engine().wrong().get(&(right + 1)).copied().unwrap_or(0);
            let before = wrong(&decoder);
            let got = block_on(record(&mut decoder, &context, &options(31, &[])));
            assert_eq!(compare(&plain, &got, context.len()), Ok(()), "{kept:?}, {right} right");
            assert!(wrong(&decoder) > before, "{kept:?}: no draft was wrong behind {right} right ones");
        }
    }
}

#[test]
fn a_divergence_is_found_and_told() {
    let mut decoder = decoder(KEPT[0]);
    let context = Prompts::read(decoder.engine().vocabulary()).asked.swap_remove(0);
    let plain = block_on(record(&mut decoder, &context, &options(0, &[])));
    // Drafts of which many are right, so that there are logits inside of paths.
    let map = adversarial(&context, &plain.outcome.ids(), decoder.engine().vocabulary());
    decoder.attach_foreign(map).expect("the model's tokens");
    let drafted = block_on(record(&mut decoder, &context, &options(8, &[])));
    assert_eq!(compare(&plain, &drafted, context.len()), Ok(()));
    let wrong = |change: &dyn Fn(&mut Recorded)| {
        let mut got = drafted.clone();
        change(&mut got);
        compare(&plain, &got, context.len()).expect_err("it was changed")
    };
    let error = wrong(&|got| got.outcome.tokens[5].id ^= 1);
    let Divergence::Token { at: 5, margin, .. } = error else { panic!("{error}") };
    assert!(margin > 0.0);
    assert!(error.to_string().contains(&format!("by a margin of {margin}")), "{error}");
    let error = wrong(&|got| _ = got.outcome.tokens.pop());
    assert!(matches!(error, Divergence::Token { at: 23, got: None, .. }), "{error}");

    // Two tokens of one draft, one after the other: what chose the second are logits inside of a path.
    let origins = &drafted.outcome.tokens;
    let is_inside = |pair: &[Token]| pair.iter().all(|token| matches!(token.origin, Origin::Draft(_)));
    let inside = origins.windows(2).rposition(is_inside).expect("a path of three") + 1;
    let place = context.len() + inside;
    let other = |got: &mut Recorded, bits: &dyn Fn(u32) -> u32| {
        let logits = got.logits.get_mut(&place).expect("all are there");
        logits[7] = f32::from_bits(bits(logits[7].to_bits()));
    };
    let error = wrong(&|got| other(got, &|bits| bits ^ 1));
    let Divergence::Logits { at, token: 7, margin, .. } = error else { panic!("{error}") };
    assert!(at == inside && margin > 0.0);
    assert!(error.to_string().contains(&format!("has a margin of {margin}")), "{error}");
    let error = wrong(&|got| other(got, &|_| f32::NAN.to_bits()));
    assert!(matches!(error, Divergence::Logits { .. }), "{error}");
    assert_eq!(wrong(&|got| _ = got.logits.remove(&place)), Divergence::Missing { at: inside });
    assert_eq!(wrong(&|got| got.logits.clear()), Divergence::Missing { at: 0 });

    let error = wrong(&|got| got.state.layers[1].heads[0].band_keys[0] ^= 1);
    assert!(matches!(error, Divergence::State { layer: 1, .. }), "{error}");
    let error = wrong(&|got| got.state.hidden[0] += 1.0);
    assert!(matches!(error, Divergence::State { layer: 2, .. }), "{error}");
}

#[test]
fn logits_inside_a_path_are_those_of_its_rows() {
    let mut decoder = decoder(KEPT[1]);
    let engine = decoder.engine_mut();
    let context: Vec<u32> = (1..80).collect();
    block_on(async {
        engine.extend(&context).await.expect("a context");
        assert_eq!(engine.model().verified_logits(0), Err(CpuError::NothingWaits));
        // Row 4 is behind row 2, which is behind the root.
        let tree = Tree::new(&[0, 0, 1, 2]).expect("parents come first");
        engine.verify(&[100, 101, 102, 103, 104], &tree).await.expect("a pass");
        assert!(matches!(engine.model().verified_logits(5), Err(CpuError::Tree(_))));
        engine.accept(&[0, 2, 4]).await.expect("a path");
        let got = engine.take();
        engine.clear().await.expect("an empty model");
        engine.extend(&context).await.expect("a context");
        for token in [100, 102, 104] {
            engine.extend(&[token]).await.expect("a token");
        }
        let plain = engine.take();
        assert_eq!(plain.keys().copied().collect::<Vec<_>>(), [79, 80, 81, 82]);
        assert_eq!(got, plain);
        assert!(plain.values().zip(plain.values().skip(1)).all(|(one, next)| one != next));
    });
}

#[test]
fn a_remembered_context_is_not_read_again() {
    let mut decoder = decoder(KEPT[1]);
    let context: Vec<u32> = (1..150).collect();
    let evaluated = |decoder: &mut Decoder<Recorder>| {
        let before = decoder.engine().evaluated();
        let got = block_on(record(decoder, &context, &options(0, &[])));
        (decoder.engine().evaluated() - before, got)
    };
    let (rows, plain) = evaluated(&mut decoder);
    decoder.engine_mut().remember(true);
    assert_eq!(evaluated(&mut decoder).0, rows);
    let (fewer, got) = evaluated(&mut decoder);
    assert_eq!((fewer, compare(&plain, &got, context.len())), (SAID as u64 - 1, Ok(())));
    decoder.engine_mut().remember(false);
    assert_eq!(evaluated(&mut decoder).0, rows);
}

#[test]
fn restored_states_go_on_as_if_they_had_read_everything() {
    for kept in KEPT {
        let mut decoder = decoder(kept);
        let texts = Prompts::read(decoder.engine().vocabulary());
        for (number, len) in [30, 64, 128, 193, 250].into_iter().enumerate() {
            let context = texts.document(number, len);
            let longer = [&context[..], &texts.turns[number]].concat();
            decoder.detach();
            let plain = block_on(record(&mut decoder, &longer, &options(0, &[])));

            let every = NonZeroUsize::new(50);
            let anchors = AnchorRule { prompt: true, every, shared: None };
            decoder.attach(Map::create(), None).expect("a new map");
            let asked = |draft| Options { anchors, ..options(draft, &[]) };
            let written = block_on(record(&mut decoder, &context, &asked(8)));
            // The last token that is said is not taken in.
            let wanted = (len + SAID - 1) / 50 + usize::from(len % 50 > 0);
            assert_eq!((written.outcome.stats.faults.len(), written.outcome.stats.anchors), (0, wanted));
            let map = decoder.map().expect("the own map").bytes();
            for draft in [0, 8, 31] {
                let map = Map::open(map.clone(), mrail::Options::default()).expect("a map");
                decoder.attach(map, None).expect("the model's tokens");
                let asked = Options { anchors: AnchorRule::NONE, ..asked(draft) };
                let got = block_on(record(&mut decoder, &longer, &asked));
                let stats = &got.outcome.stats;
                assert_eq!((stats.faults.as_slice(), stats.restored), (&[][..], len), "{kept:?}");
                assert_eq!(stats.read, texts.turns[number].len());
                compare(&plain, &got, longer.len()).unwrap_or_else(|divergence| panic!("{kept:?}: {divergence}"));
            }
        }
    }
}
