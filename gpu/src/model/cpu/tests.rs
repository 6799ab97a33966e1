use super::*;
use crate::decode::{Engine, State};
use crate::model::Architecture;
use crate::model::gguf::{Header, Tensor};
use crate::model::load::LoadError;
use crate::model::quant::Element;
use crate::model::seeded::Seeded;
use crate::state::{Admission, Config, Constant, HeadMemory, Memory, Storage};
use pollster::block_on;

fn file(seeded: &Seeded) -> (Vec<u8>, Model) {
    let file = seeded.file();
    let model = Model::read(&Header::parse(&file, file.len() as u64).unwrap()).unwrap();
    (file, model)
}

/// A band of one block, and stores of another and of none.
fn setups(model: &Model, storage: Storage, admission: [Admission; 2]) -> Vec<LayerSetup> {
    let heads = [(64, admission[0]), (0, admission[1])].map(|(store, admission)| HeadMemory { store, admission });
    let memory = Memory::Constant(Constant { band: 64, heads: heads.to_vec() });
    let config = Config::new(model.config.shape, storage, memory).unwrap();
    vec![LayerSetup::plain(config); model.config.layers as usize]
}

fn native(model: &Model) -> Vec<LayerSetup> {
    let config = Config::new(model.config.shape, Storage::F32, Memory::Native).unwrap();
    vec![LayerSetup::plain(config); model.config.layers as usize]
}

fn load(file: &[u8], model: &Model, setups: &[LayerSetup], threads: usize) -> CpuModel {
    let options = Options { threads: Some(threads), ..Options::default() };
    CpuModel::load(&mut &file[..], model, setups.to_vec(), options, |_| {}).unwrap()
}

const FAR: [Admission; 2] = [Admission::Look { from: 16 }, Admission::Look { from: 0 }];
const SURPRISE: [Admission; 2] = [Admission::Surprise, Admission::Look { from: 16 }];

fn tokens(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| (i * i * 7 + i * 13 + 5) % 320).collect()
}

/// What all that a model knows differs in, if in anything.
fn difference(a: &mut CpuModel, b: &mut CpuModel) -> Option<String> {
    let bits = |of: &[f32]| of.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let (one, other) = (block_on(a.state()).unwrap(), block_on(b.state()).unwrap());
    if a.choice() != b.choice() || bits(&one.hidden) != bits(&other.hidden) {
        return Some("the last row".into());
    }
    if bits(&block_on(a.logits()).unwrap()) != bits(&block_on(b.logits()).unwrap()) {
        return Some("logits".into());
    }
    one.layers.iter().zip(&other.layers).find_map(|(one, other)| one.first_difference(other))
}

/// Verifies trees whose first path is the tokens, and takes in as much of it.
fn verify_all(model: &mut CpuModel, tokens: &[u32]) {
    let mut left = tokens;
    let mut by = 1;
    while !left.is_empty() {
        let len = (by % 4 + 1).min(left.len()).min(model.depth_left() as usize);
        // Row 1 is a wrong draft, where there is room for one, and the way goes round it.
        let wrong = u32::from(model.depth_left() > 1);
        let parents: Vec<u32> = (0..wrong).chain(1..len as u32).map(|row| if row < 2 { 0 } else { row }).collect();
        let draft = (0..wrong).map(|_| 9);
        let rows: Vec<u32> = [left[0]].into_iter().chain(draft).chain(left[1..len].iter().copied()).collect();
        block_on(model.verify(&rows, &Tree::new(&parents).unwrap())).unwrap();
        let path: Vec<u32> = (0..len as u32).map(|row| if row == 0 { 0 } else { row + wrong }).collect();
        block_on(model.accept(&path)).unwrap();
        left = &left[len..];
        by += 1;
    }
}

#[test]
fn grouping_changes_no_bit() {
    let architectures = [Architecture::Llama, Architecture::Qwen2];
    for (n, element) in Element::ALL.into_iter().enumerate() {
        let architecture = architectures[n % 2];
        // Blocks of the K types are as long as this.
        let (width, feed_forward, heads) = if element.block_len() == 256 { (256, 256, 16) } else { (64, 96, 4) };
        let tied = n % 3 != 0;
        let seeded =
            Seeded { architecture, width, feed_forward, heads, element, embedding: element, tied, ..Seeded::default() };
        let (file, model) = file(&seeded);
        for (storage, admission) in [(Storage::F16, FAR), (Storage::F32, SURPRISE)] {
            let setups = setups(&model, storage, admission);
            let tokens = tokens(195);
            let mut whole = load(&file, &model, &setups, 2);
            let choice = block_on(whole.extend(&tokens)).unwrap();
            assert_eq!((whole.tokens(), whole.evaluated(), whole.choice()), (195, 195, Some(choice)));
            for chunk in [1, 7, 64] {
                let mut other = load(&file, &model, &setups, 1);
                tokens.chunks(chunk).for_each(|chunk| _ = block_on(other.extend(chunk)).unwrap());
                assert_eq!(difference(&mut whole, &mut other), None, "{element}, chunks of {chunk}");
            }
            let mut other = load(&file, &model, &setups, 2);
            verify_all(&mut other, &tokens);
            assert_eq!(difference(&mut whole, &mut other), None, "{element}, verified");
            assert!(other.evaluated() > 195);
            block_on(other.extend(&[1])).unwrap();
            assert!(difference(&mut whole, &mut other).is_some(), "another token is seen");
        }
    }
}

#[test]
fn a_small_model_of_each_architecture_decodes_to_somewhere() {
    for architecture in [Architecture::Llama, Architecture::Qwen2] {
        let (file, model) = file(&Seeded { architecture, ..Seeded::default() });
        let mut engine = load(&file, &model, &native(&model), 1);
        let mut next = block_on(engine.extend(&[1, 40, 50, 60])).unwrap();
        let mut seen = Vec::new();
        for _ in 0..64 {
            seen.push(next);
            next = block_on(engine.extend(&[next])).unwrap();
        }
        println!("{architecture:?}: {seen:?}");
        let changes = seen.windows(2).filter(|pair| pair[0] != pair[1]).count();
        seen.sort_unstable();
        seen.dedup();
        assert!(changes > 32 && seen.len() > 8, "{changes} changes, {seen:?}");
    }
}

#[test]
fn constant_memory_is_exact_as_far_as_it_says() {
    let (file, model) = file(&Seeded::default());
    let config = Config::uniform(model.config.shape, Storage::F32, 64, 64, FAR[0]).unwrap();
    assert_eq!(config.exact_until(), Some(192));
    let mut constant = load(&file, &model, &vec![LayerSetup::plain(config); 2], 1);
    let mut whole = load(&file, &model, &native(&model), 1);
    let tokens = tokens(193);
    block_on(constant.extend(&tokens[..192])).unwrap();
    block_on(whole.extend(&tokens[..192])).unwrap();
    assert_eq!(block_on(constant.logits()), block_on(whole.logits()));
    block_on(constant.extend(&tokens[192..])).unwrap();
    block_on(whole.extend(&tokens[192..])).unwrap();
    assert_ne!(block_on(constant.logits()), block_on(whole.logits()));
}

#[test]
fn a_rejected_draft_leaves_no_trace() {
    let (file, model) = file(&Seeded::default());
    for admission in [FAR, SURPRISE] {
        let mut engine = load(&file, &model, &setups(&model, Storage::F16, admission), 2);
        block_on(engine.extend(&tokens(150))).unwrap();
        let mut same = load(&file, &model, &setups(&model, Storage::F16, admission), 2);
        block_on(same.extend(&tokens(150))).unwrap();
        let tree = Tree::new(&[0, 0, 2, 1]).unwrap();
        block_on(engine.verify(&[5, 6, 7, 8, 9], &tree)).unwrap();
        assert_eq!(difference(&mut engine, &mut same), None);
        block_on(engine.extend(&[3])).unwrap();
        block_on(same.extend(&[3])).unwrap();
        assert_eq!(difference(&mut engine, &mut same), None);
        assert_eq!(block_on(engine.accept(&[0])), Err(CpuError::NothingWaits));

        // Before token 192 a block leaves: then the root is to be taken in.
        block_on(engine.extend(&tokens(41))).unwrap();
        assert_eq!(engine.depth_left(), 64);
        block_on(engine.verify(&[5], &Tree::chain(1).unwrap())).unwrap();
        assert!(matches!(block_on(engine.state()), Err(CpuError::RootWaits)));
        assert!(matches!(block_on(engine.accept(&[0, 1])), Err(CpuError::Tree(_))));
        block_on(engine.accept(&[0])).unwrap();
        block_on(same.extend(&[&tokens(41)[..], &[5]].concat())).unwrap();
        assert_eq!(difference(&mut engine, &mut same), None);
    }
}

#[test]
fn a_state_goes_on_as_if_nothing_had_happened() {
    let (file, model) = file(&Seeded { architecture: Architecture::Qwen2, ..Seeded::default() });
    let all = [setups(&model, Storage::F16, FAR), setups(&model, Storage::F32, SURPRISE), native(&model)];
    for setups in all {
        for cut in [0, 1, 64, 127, 128, 129, 192, 200] {
            let tokens = tokens(300);
            let mut first = load(&file, &model, &setups, 1);
            if cut > 0 {
                block_on(first.extend(&tokens[..cut])).unwrap();
            }
            let state = block_on(first.state()).unwrap();
            let mut second = load(&file, &model, &setups, 1);
            block_on(second.extend(&[7, 8, 9])).unwrap();
            block_on(second.restore(&state)).unwrap();
            assert_eq!((second.tokens(), second.evaluated(), second.choice()), (cut as u32, 3, first.choice()));
            if cut > 0 {
                assert_eq!(difference(&mut first, &mut second), None, "{cut}");
            }
            block_on(first.extend(&tokens[cut..])).unwrap();
            block_on(second.extend(&tokens[cut..])).unwrap();
            assert_eq!(difference(&mut first, &mut second), None, "{cut}");
            block_on(second.clear()).unwrap();
            assert_eq!((second.tokens(), second.choice()), (0, None));
            block_on(second.extend(&tokens)).unwrap();
            assert_eq!(difference(&mut first, &mut second), None, "cleared");
        }
    }
}

#[test]
fn states_that_are_none_are_refused() {
    let (file, model) = file(&Seeded::default());
    let mut engine = load(&file, &model, &setups(&model, Storage::F16, SURPRISE), 1);
    block_on(engine.extend(&tokens(130))).unwrap();
    let good = block_on(engine.state()).unwrap();
    let mut refuse = |change: &dyn Fn(&mut State), text: &str| {
        let mut state = good.clone();
        change(&mut state);
        assert_eq!(block_on(engine.restore(&state)).unwrap_err().to_string(), text);
    };
    refuse(&|state| _ = state.layers.pop(), "1 layers, where the model has 2");
    refuse(&|state| _ = state.hidden.pop(), "a last row of 63 numbers, which should be 64");
    refuse(&|state| state.layers[1].tokens = 129, "layer 1 is of another number of tokens than layer 0");
    refuse(&|state| state.layers[1].surprises[0] += 1.0, "layer 1: other surprises than those of another layer");
    assert!(block_on(engine.restore(&good)).is_ok());
}

/// Weights that are any bytes: scales that are infinite or no numbers among them.
fn damaged(seeded: &Seeded, seed: u64) -> (Vec<u8>, Model) {
    let (mut file, model) = file(seeded);
    let ranges: Vec<_> = model.weights.matrices().chain(model.weights.vectors()).map(Tensor::range).collect();
    let mut random = seed;
    for range in ranges {
        for byte in &mut file[range.start as usize..range.end as usize] {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Most are left: otherwise nothing but NaN would be seen.
            if random >> 60 == 0 {
                *byte = (random >> 40) as u8;
            }
        }
    }
    (file, model)
}

#[test]
fn weights_that_are_no_numbers_end_in_some_token() {
    let mut odd = 0;
    for (seed, element) in (1..).zip(Element::ALL) {
        let long = Element::block_len(element) == 256;
        let seeded = Seeded { element, ..Seeded::default() };
        let wide = Seeded { width: 256, head_dim: 64, feed_forward: 512, element, ..Seeded::default() };
        let (file, model) = damaged(if long { &wide } else { &seeded }, seed);
        for (storage, admission) in [(Storage::F32, FAR), (Storage::F16, SURPRISE)] {
            let mut model = load(&file, &model, &setups(&model, storage, admission), 1);
            let mut token = block_on(model.extend(&tokens(200))).unwrap();
            for _ in 0..40 {
                assert!(token < 320);
                token = block_on(model.extend(&[token])).unwrap();
            }
            odd += usize::from(block_on(model.logits()).unwrap().iter().any(|logit| !logit.is_finite()));
            // A state that is none is refused, not gone on from.
            let state = block_on(model.state()).unwrap();
            if let Err(error) = block_on(model.restore(&state)) {
                assert!(error.to_string().contains("number"), "{error}");
            }
        }
    }
    assert!(odd > 5, "{odd} were not finite");
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    let (file, model) = file(&Seeded::default());
    let mut engine = load(&file, &model, &setups(&model, Storage::F16, FAR), 1);
    assert_eq!(block_on(engine.extend(&[])), Err(CpuError::NoTokens));
    assert_eq!(block_on(engine.logits()), Err(CpuError::NoTokens));
    assert_eq!(block_on(engine.extend(&[1, 320])), Err(CpuError::Token { token: 320, vocabulary: 320 }));
    let tree = Tree::chain(2).unwrap();
    let error = CpuError::Rows { tokens: 3, rows: 2, most: 32 };
    assert_eq!(block_on(engine.verify(&[1, 2, 3], &tree)), Err(error));
    let error = CpuError::Rows { tokens: 33, rows: 33, most: 32 };
    assert_eq!(block_on(engine.verify(&[1; 33], &Tree::chain(33).unwrap())), Err(error));
    block_on(engine.extend(&tokens(190))).unwrap();
    assert_eq!(engine.depth_left(), 2);
    let deep = block_on(engine.verify(&[1; 3], &Tree::chain(3).unwrap()));
    assert!(matches!(deep, Err(CpuError::Attention(_))), "{deep:?}");
    assert_eq!(block_on(engine.extend(&[])), Ok(engine.choice().unwrap()));

    let options = Options::default();
    let mut one = native(&model);
    one.pop();
    let error = CpuModel::load(&mut &file[..], &model, one, options, |_| {}).unwrap_err();
    assert_eq!(error, CpuError::Layers { found: 1, wanted: 2 });
    let mut mixed = native(&model);
    mixed[1] = setups(&model, Storage::F16, FAR).remove(0);
    let error = CpuModel::load(&mut &file[..], &model, mixed, options, |_| {}).unwrap_err();
    assert_eq!(error, CpuError::Unlike { layer: 1 });
    let mut short = &file[..file.len() - 2000];
    let error = CpuModel::load(&mut short, &model, native(&model), options, |_| {}).unwrap_err();
    assert!(matches!(error, CpuError::Load(LoadError::Read { .. })), "{error}");
}

#[test]
fn loading_tells_how_far_it_is() {
    let (file, model) = file(&Seeded::default());
    let mut told = Vec::new();
    let note = |at: Progress<'_>| told.push((at.done, at.total, at.tensor.to_owned()));
    CpuModel::load(&mut &file[..], &model, native(&model), Options::default(), note).unwrap();
    let tensors = model.weights.matrices().count() + model.weights.vectors().count();
    let total = told[0].1;
    assert_eq!((told.len(), told[0].0, &*told[0].2), (tensors + 1, 0, "token_embd.weight"));
    assert!(told.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[1].1 == total));
    assert_eq!(told.last().map(|last| last.0), Some(total));
}
