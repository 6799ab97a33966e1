//! Whatever is drafted, the answer is the model's own: tokens, logits and state, to the last bit.
//!
//! A tiny model of random numbers answers on the CPU. Plain decoding is compared with drafts of several sizes, from the conversation,
//! from a foreign map and from maps that are wrong everywhere, over prompts, conversations and documents that are longer than the band
//! and the store.
#![cfg(not(target_arch = "wasm32"))]

mod compare;
mod prompts;

use compare::{Divergence, Recorded, compare, record};
use mrail::Map;
use mrail_gpu::attention::LayerSetup;
use mrail_gpu::decode::{AnchorRule, Decoder, Engine, Options};
use mrail_gpu::model::Model;
use mrail_gpu::model::cpu::{self, CpuModel};
use mrail_gpu::model::gguf::{Header, Seekable, Source};
use mrail_gpu::model::seeded::Seeded;
use mrail_gpu::state::{Admission, Config, Memory, Storage};
use pollster::block_on;
use prompts::{Prompts, adversarial};
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

fn decoder(kept: Kept) -> Decoder<CpuModel> {
    let file = Seeded::default().file();
    // Tests share the machine's cores already.
    let one = cpu::Options { threads: Some(1), ..cpu::Options::default() };
    load(&mut &file[..], kept, one)
}

fn load(source: &mut impl Source, kept: Kept, options: cpu::Options) -> Decoder<CpuModel> {
    let header = Header::read(source).expect("a GGUF file");
    let model = Model::read(&header).expect("a model");
    let shape = model.config.shape;
    let config = match kept {
        Kept::Constant(storage, admission) => Config::uniform(shape, storage, 64, 64, admission),
        Kept::Native => Config::new(shape, Storage::F32, Memory::Native),
    };
    let setups = vec![LayerSetup::plain(config.expect("sizes")); model.config.layers as usize];
    let engine = CpuModel::load(source, &model, setups.clone(), options, |_| ()).expect("memory");
    Decoder::new(engine, setups)
}

fn options(draft: usize, stops: &[u32]) -> Options {
    Options { max_new: SAID, draft, stops: stops.to_vec(), ..Options::default() }
}

/// How an answer is drafted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rail {
    Conversation,
    Foreign,
    Adversarial,
}

const RAILS: [Rail; 3] = [Rail::Conversation, Rail::Foreign, Rail::Adversarial];

/// What was compared.
#[derive(Debug, Default)]
struct Tally {
    prompts: usize,
    drafted: usize,
    accepted: usize,
    wrong: usize,
}

/// Answers a context plainly and with drafts. Returns the answer.
fn check(
    decoder: &mut Decoder<CpuModel>,
    context: &[u32],
    rails: &[Rail],
    texts: &Prompts,
    tally: &mut Tally,
) -> Vec<u32> {
    let stops: &[u32] = if tally.prompts.is_multiple_of(3) { &[2, 7, 11, 13] } else { &[] };
    decoder.detach();
    let plain = block_on(record(decoder, context, &options(0, stops)));
    let answer = plain.outcome.ids();
    tally.prompts += 1;
    for &rail in rails {
        for draft in [1, 8, 31] {
            decoder.detach();
            block_on(decoder.engine_mut().clear()).expect("an engine");
            let vocabulary = decoder.engine().vocabulary();
            let map = match rail {
                Rail::Conversation => None,
                Rail::Foreign => Some(texts.foreign()),
                Rail::Adversarial => Some(adversarial(context, &answer, vocabulary)),
            };
            if let Some(map) = map {
                decoder.attach_foreign(map).expect("the model's tokens");
            }
            let got = block_on(record(decoder, context, &options(draft, stops)));
            if let Err(divergence) = compare(&plain, &got, context.len()) {
                panic!("prompt {}, {rail:?}, trees of {draft}: {divergence}\ncontext {context:?}", tally.prompts);
            }
            tally.drafted += got.outcome.stats.drafted;
            tally.accepted += got.outcome.stats.accepted.all();
            tally.wrong += got.outcome.stats.drafted - got.outcome.stats.accepted.all();
        }
    }
    block_on(decoder.engine_mut().clear()).expect("an engine");
    answer
}

/// One rail a prompt, in turn; of every tenth prompt all.
fn rails(number: usize) -> &'static [Rail] {
    if number.is_multiple_of(10) { &RAILS } else { &RAILS[number % 3..=number % 3] }
}

fn run(kept: Kept, first: usize) -> Tally {
    let mut decoder = decoder(kept);
    let texts = Prompts::read(decoder.engine().vocabulary());
    let mut tally = Tally::default();
    // One prompt in four for each kind of memory; a second and third turn for some.
    for number in (first..texts.asked.len()).step_by(KEPT.len()) {
        let mut context = texts.asked[number].clone();
        for turn in 0..3 {
            let answer = check(&mut decoder, &context, rails(number + turn), &texts, &mut tally);
            context.extend(answer);
            context.extend(&texts.turns[(number + turn + 1) % texts.turns.len()]);
        }
    }
    // Documents around the places where a block leaves the band, and where the store is full.
    for (number, len) in [40, 61, 64, 103, 107, 126, 128, 168, 171, 190, 192, 193, 256, 300].into_iter().enumerate() {
        let document = texts.document(number + first, len);
        check(&mut decoder, &document, rails(number), &texts, &mut tally);
    }
    tally
}

/// Of a quarter of the prompts, with one kind of memory.
fn output_never_changes(place: usize) {
    let tally = run(KEPT[place], place);
    // With four kinds of memory these are 296.
    assert_eq!(tally.prompts, 74);
    assert!(tally.accepted > 1000 && tally.wrong > 1000, "{tally:?} shows little");
    println!("{:?}: {tally:?}", KEPT[place]);
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

// `MRAIL_MODEL=<path to the .gguf> cargo test --release -p mrail-gpu --test decoding -- --ignored`
#[test]
#[ignore = "needs a model of 98 MB: MRAIL_MODEL=<SmolLM2-135M-Instruct.Q4_1.gguf>"]
fn output_of_smollm2_never_changes() {
    let path = std::env::var_os("MRAIL_MODEL").expect("MRAIL_MODEL names no file");
    let file = std::fs::File::open(path).expect("the file that MRAIL_MODEL names");
    let mut source = Seekable::new(file).expect("its length");
    let mut decoder = load(&mut source, KEPT[1], cpu::Options::default());
    let texts = Prompts::read(decoder.engine().vocabulary());
    let mut tally = Tally::default();
    for (number, context) in texts.asked.iter().step_by(14).enumerate() {
        check(&mut decoder, context, &RAILS[number % 3..=number % 3], &texts, &mut tally);
    }
    assert_eq!(tally.prompts, 6);
    assert!(tally.accepted > 0 && tally.wrong > 0, "{tally:?} shows little");
    println!("{tally:?}");
}

#[test]
fn a_divergence_is_found_and_told() {
    let mut decoder = decoder(KEPT[0]);
    let context = Prompts::read(decoder.engine().vocabulary()).asked.swap_remove(0);
    let plain = block_on(record(&mut decoder, &context, &options(0, &[])));
    let mut again = || {
        block_on(decoder.engine_mut().clear()).expect("an engine");
        block_on(record(&mut decoder, &context, &options(0, &[])))
    };
    assert_eq!(compare(&plain, &again(), context.len()), Ok(()));
    let wrong = |mut got: Recorded, change: &dyn Fn(&mut Recorded)| {
        change(&mut got);
        compare(&plain, &got, context.len()).expect_err("it was changed")
    };
    let error = wrong(again(), &|got| got.outcome.tokens[5].id ^= 1);
    let Divergence::Token { at: 5, margin, .. } = error else { panic!("{error}") };
    assert!(margin > 0.0);
    assert!(error.to_string().contains(&format!("by a margin of {margin}")), "{error}");
    let error = wrong(again(), &|got| {
        got.outcome.tokens.pop();
    });
    assert!(matches!(error, Divergence::Token { at: 23, got: None, .. }), "{error}");
    let error = wrong(again(), &|got| got.logits[3].1[7] = f32::from_bits(got.logits[3].1[7].to_bits() ^ 1));
    assert!(matches!(error, Divergence::Logits { token: 7, .. }), "{error}");
    let error = wrong(again(), &|got| got.logits[3].1[7] = f32::NAN);
    assert!(matches!(error, Divergence::Logits { .. }), "{error}");
    assert_eq!(wrong(again(), &|got| got.logits.clear()), Divergence::Nothing);
    let error = wrong(again(), &|got| got.state.layers[1].heads[0].band_keys[0] ^= 1);
    assert!(matches!(error, Divergence::State { layer: 1, .. }), "{error}");
    let error = wrong(again(), &|got| got.state.hidden[0] += 1.0);
    assert!(matches!(error, Divergence::State { layer: 2, .. }), "{error}");
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
            block_on(decoder.engine_mut().clear()).expect("an engine");
            let written = block_on(record(&mut decoder, &context, &asked(8)));
            // The last token that is said is not taken in.
            let wanted = (len + SAID - 1) / 50 + usize::from(len % 50 > 0);
            assert_eq!((written.outcome.stats.faults.len(), written.outcome.stats.anchors), (0, wanted));
            let map = decoder.map().expect("the own map").bytes();
            for draft in [0, 8, 31] {
                let map = Map::open(map.clone(), mrail::Options::default()).expect("a map");
                decoder.attach(map, None).expect("the model's tokens");
                block_on(decoder.engine_mut().clear()).expect("an engine");
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
