//! A model on a device: the same bits however its rows are grouped, and those of the CPU.

pub mod common;

use common::bits::same_bits;
use mrail_gpu::attention::{LayerSetup, Tree};
use mrail_gpu::decode::{self, AnchorRule, Decoder, Engine, State};
use mrail_gpu::device::Gpu;
use mrail_gpu::model::cpu::{self, CpuModel};
use mrail_gpu::model::device::{DeviceModel, Fetch, Options, RunError, Shape, Tested, self_test};
use mrail_gpu::model::gguf::Header;
use mrail_gpu::model::quant::Element;
use mrail_gpu::model::seeded::Seeded;
use mrail_gpu::model::{Architecture, Model};
use mrail_gpu::state::{Admission, Config, Constant, HeadMemory, Memory, Storage};
use std::rc::Rc;

/// What stands for a GPU in browsers is slow: there, less of the same.
const LIGHT: bool = cfg!(target_arch = "wasm32");

fn setups(model: &Model, storage: Storage, surprise: bool) -> Vec<LayerSetup> {
    let shape = model.config.shape;
    let head = |head| {
        let admission = if surprise && head == 0 { Admission::Surprise } else { Admission::Look { from: 16 } };
        HeadMemory { store: 64, admission }
    };
    let heads = (0..shape.kv_heads).map(head).collect();
    let config = Config::new(shape, storage, Memory::Constant(Constant { band: 64, heads })).expect("good sizes");
    vec![LayerSetup::plain(config); model.config.layers as usize]
}

/// A file, the model in it, and how its layers are set up.
fn made(seeded: &Seeded, surprise: bool) -> (Vec<u8>, Model, Vec<LayerSetup>) {
    let bytes = seeded.file();
    let header = Header::parse(&bytes, bytes.len() as u64).expect("a good file");
    let model = Model::read(&header).expect("a model");
    let storage = if surprise { Storage::F16 } else { Storage::F32 };
    let setups = setups(&model, storage, surprise);
    (bytes, model, setups)
}

async fn load(gpu: &Rc<Gpu>, seeded: &Seeded, options: Options, surprise: bool) -> Result<DeviceModel, RunError> {
    let (bytes, model, setups) = made(seeded, surprise);
    DeviceModel::load(gpu.clone(), &mut &bytes[..], &model, setups, options, |_| ()).await
}

/// The same tokens on the CPU.
async fn on_cpu(seeded: &Seeded, tokens: &[u32], surprise: bool) -> End {
    let (bytes, model, setups) = made(seeded, surprise);
    let options = cpu::Options::default();
    let mut model = CpuModel::load(&mut &bytes[..], &model, setups, options, |_| ()).expect("a model on the CPU");
    model.extend(tokens).await.expect("tokens");
    let logits = model.logits().await.expect("logits");
    End { logits, choice: model.choice(), state: model.state().await.expect("a state") }
}

fn tokens(count: u32, vocabulary: u32) -> Vec<u32> {
    (0..count).map(|i| i.wrapping_mul(2_654_435_761) >> 8).map(|hash| hash % vocabulary).collect()
}

/// Where the model is after some tokens.
struct End {
    logits: Vec<f32>,
    choice: Option<u32>,
    state: State,
}

async fn end(model: &mut DeviceModel) -> Result<End, RunError> {
    Ok(End { logits: model.logits().await?, choice: model.choice(), state: model.state().await? })
}

impl End {
    fn check(&self, other: &Self, what: &str) {
        assert_eq!(self.choice, other.choice, "{what}: the choice");
        assert_eq!(same_bits(&self.logits, &other.logits), Ok(()), "{what}: the logits");
        assert_eq!(same_bits(&self.state.hidden, &other.state.hidden), Ok(()), "{what}: the last row");
        for (layer, (a, b)) in self.state.layers.iter().zip(&other.state.layers).enumerate() {
            assert_eq!(a.first_difference(b), None, "{what}: layer {layer}");
        }
    }
}

async fn in_chunks(model: &mut DeviceModel, tokens: &[u32], chunk: usize) -> Result<End, RunError> {
    model.clear().await?;
    for chunk in tokens.chunks(chunk) {
        model.extend(chunk).await?;
    }
    end(model).await
}

/// Reads each token as the root of a tree whose other rows are wrong, and takes in two of them where both are right.
async fn drafted(model: &mut DeviceModel, tokens: &[u32]) -> Result<End, RunError> {
    model.clear().await?;
    let mut at = 0;
    while at < tokens.len() {
        let wrong = (tokens[at] + 1) % model.vocabulary();
        if let Some(&next) = tokens.get(at + 1).filter(|_| model.depth_left() > 2) {
            let tree = Tree::new(&[0, 0, 1]).map_err(RunError::Path)?;
            model.verify(&[tokens[at], wrong, next, wrong], &tree).await?;
            model.accept(&[0, 2]).await?;
            at += 2;
        } else {
            model.verify(&[tokens[at]], &Tree::chain(1).map_err(RunError::Path)?).await?;
            model.accept(&[0]).await?;
            at += 1;
        }
    }
    end(model).await
}

async fn grouping(
    gpu: &Rc<Gpu>,
    seeded: &Seeded,
    shapes: [Shape; 2],
    (surprise, count): (bool, u32),
) -> Result<End, RunError> {
    let options = Options { tree_rows: 8, pass_rows: 64, shapes, ..Options::of(gpu) };
    let mut model = load(gpu, seeded, options, surprise).await?;
    let tokens = tokens(count, seeded.vocabulary);
    let whole = in_chunks(&mut model, &tokens, usize::MAX).await?;
    assert_ne!(whole.logits.first(), whole.logits.last());
    let what = |how: &str| format!("{:?}, {how}", seeded.element);
    if !LIGHT {
        in_chunks(&mut model, &tokens, 1).await?.check(&whole, &what("one by one"));
    }
    in_chunks(&mut model, &tokens, 7).await?.check(&whole, &what("by seven"));
    drafted(&mut model, &tokens).await?.check(&whole, &what("with drafts"));
    model.clear().await?;
    let before = model.evaluated();
    model.restore(&whole.state).await?;
    assert_eq!(model.evaluated(), before, "a restore evaluates nothing");
    end(&mut model).await?.check(&whole, &what("restored"));
    if gpu.info().software {
        on_cpu(seeded, &tokens, surprise).await.check(&whole, &what("on the CPU"));
    }
    Ok(whole)
}

fn shapes(fetch: Fetch) -> [Shape; 2] {
    [
        Shape { lanes: 16, slices: 2, rows: 1, columns: 1, fetch },
        Shape { lanes: 8, slices: 1, rows: 2, columns: 4, fetch },
    ]
}

/// Past the store's end.
const COUNT: u32 = if LIGHT { 150 } else { 230 };

/// Test devices are used by one test; the model wants to share its own.
async fn own() -> Rc<Gpu> {
    Rc::new(common::harness::open().await)
}

device_tests! {
    async fn grouping_changes_no_bit() -> Result<(), RunError> {
        let gpu = own().await;
        let defaults = Options::of(&gpu).shapes;
        let seeded = Seeded::default();
        let first = grouping(&gpu, &seeded, defaults, (false, COUNT)).await?;
        // Neither does what products are made of.
        for fetch in [Fetch::Buffer, Fetch::Texture] {
            grouping(&gpu, &seeded, shapes(fetch), (false, COUNT)).await?.check(&first, "another shape");
        }
        Ok(())
    }

    async fn nor_do_surprises() -> Result<(), RunError> {
        let gpu = own().await;
        let seeded = Seeded { architecture: Architecture::Qwen2, tied: false, ..Seeded::default() };
        grouping(&gpu, &seeded, Options::of(&gpu).shapes, (true, COUNT)).await.map(|_| ())
    }

    async fn drafts_and_maps_change_nothing() -> Result<(), RunError> {
        let gpu = own().await;
        let seeded = Seeded::default();
        let options = Options { tree_rows: 8, pass_rows: 64, ..Options::of(&gpu) };
        let model = load(&gpu, &seeded, options, true).await?;
        let setups = made(&seeded, true).2;
        let mut decoder = Decoder::new(model, setups);
        for start in 0..if LIGHT { 1 } else { 4 } {
            // Twice the same, so that the conversation drafts; across an edge of the band.
            let half = tokens(50 + 5 * start, seeded.vocabulary);
            let context = [&half[..], &half[..]].concat();
            let mut plain: Option<(Vec<u32>, Vec<f32>)> = None;
            let mut drafted = 0;
            for draft in [0, 1, 7] {
                decoder.engine_mut().clear().await?;
                let options = decode::Options { max_new: 20, draft, ..decode::Options::default() };
                let outcome = decoder.generate(&context, &options).await.expect("an answer");
                let found = (outcome.ids(), decoder.engine_mut().logits().await?);
                drafted += outcome.stats.drafted;
                let wanted = plain.get_or_insert_with(|| found.clone());
                assert_eq!(wanted.0, found.0, "drafts of {draft}");
                assert_eq!(same_bits(&found.1, &wanted.1), Ok(()), "drafts of {draft}");
            }
            assert!(drafted > 0, "nothing was drafted");
        }
        // An anchor at a prompt's end, from which nothing is evaluated to choose.
        decoder.attach(mrail::Map::create(), None).expect("an empty map");
        let context = tokens(70, seeded.vocabulary);
        let anchors = AnchorRule { prompt: true, ..AnchorRule::NONE };
        let options = |max_new| decode::Options { max_new, draft: 0, anchors, ..decode::Options::default() };
        let first = decoder.generate(&context, &options(1)).await.expect("an answer");
        assert_eq!((first.stats.evaluated, first.stats.anchors), (70, 1));
        decoder.engine_mut().clear().await?;
        let longer = decoder.generate(&context, &options(3)).await.expect("an answer");
        assert_eq!((longer.stats.restored, longer.stats.evaluated), (70, 2), "{:?}", longer.stats);
        decoder.engine_mut().clear().await?;
        decoder.detach();
        let alone = decoder.generate(&context, &options(3)).await.expect("an answer");
        assert_eq!(longer.ids(), alone.ids());
        Ok(())
    }

    async fn the_known_answer_of_a_start_comes_from_every_device() -> Result<(), RunError> {
        let gpu = own().await;
        let usual = Options::of(&gpu);
        let found = self_test(&gpu, usual).await?;
        if gpu.info().software {
            let wanted = Tested { options: usual, as_on_cpu: true };
            assert_eq!(found, wanted, "software computes alike in all kernels, and as the CPU does");
            assert_eq!(found.arithmetic(&gpu), "f32");
        }
        let other = Tested { as_on_cpu: false, ..found };
        assert_eq!(other.arithmetic(&gpu), format!("f32 of {}", gpu.info()));
        if !found.as_on_cpu {
            common::harness::report(&format!("{} rounds in its own way", gpu.info()));
        }
        Ok(())
    }

    async fn options_that_make_no_sense_are_refused_or_cut() -> Result<(), RunError> {
        let gpu = own().await;
        let seeded = Seeded::default();
        let usual = Options::of(&gpu);
        let wrong = Shape { lanes: 4, ..usual.shapes[0] };
        let refused = load(&gpu, &seeded, Options { shapes: [wrong; 2], ..usual }, false).await;
        assert_eq!(refused.err(), Some(RunError::Shape(wrong)));
        let mut least = load(&gpu, &seeded, Options { tree_rows: 0, pass_rows: 0, ..usual }, false).await?;
        assert_eq!((least.tree_rows(), least.options().pass_rows), (1, 1));
        let one = least.extend(&[1, 2, 3]).await?;
        // Many blocks that say which rows are meant.
        let mut most = load(&gpu, &seeded, Options { tree_rows: 1, pass_rows: 256, ..usual }, false).await?;
        assert_eq!(most.extend(&[1, 2, 3]).await?, one);
        assert_eq!(most.extend(&[320]).await, Err(RunError::Token { token: 320, vocabulary: 320 }));
        assert_eq!(most.accept(&[0]).await, Err(RunError::NothingWaits));
        Ok(())
    }

    #[cfg_attr(target_arch = "wasm32", ignore = "natively only")]
    async fn every_form_of_weights_runs() -> Result<(), RunError> {
        let gpu = own().await;
        // One of each form: those of one form share their kernels, and differ in what the layout's own tests see.
        for element in [Element::F32, Element::F16, Element::Bf16, Element::Q4_1, Element::Q8_0, Element::Q6K] {
            let wide = element.block_len() == 256;
            let (width, head_dim, feed_forward) = if wide { (256, 64, 256) } else { (64, 16, 96) };
            let seeded = Seeded { element, embedding: element, width, head_dim, feed_forward, ..Seeded::default() };
            let a = grouping(&gpu, &seeded, shapes(Fetch::Texture), (false, 40)).await?;
            grouping(&gpu, &seeded, shapes(Fetch::Buffer), (false, 40)).await?.check(&a, "from buffers");
        }
        Ok(())
    }
}
