//! A known answer: whether a device computes what it should, before a large model is blamed.

use super::{DeviceModel, Options, RunError};
use crate::attention::LayerSetup;
use crate::decode::Engine;
use crate::device::Gpu;
use crate::model::Model;
use crate::model::gguf::Header;
use crate::model::seeded::Seeded;
use crate::state::{Admission, Config, Storage};
use std::rc::Rc;

const PROMPT: [u32; 8] = [1, 17, 99, 42, 256, 7, 311, 2];
/// What the CPU answers, as a test checks.
const ANSWER: [u32; 16] = [269, 269, 269, 226, 269, 311, 269, 269, 269, 13, 13, 13, 13, 13, 13, 13];

/// The logits behind it on the CPU, as one number: 32-bit FNV-1a over their bits, word by word.
const LOGITS: u32 = 0x00a4_cb3b;

/// What a self-test found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tested {
    /// What a model is to be loaded with: with one kernel for few rows and for many where the two round apart.
    pub options: Options,
    /// Whether the logits are the CPU's to the last bit. Where they are not, a map that one of them writes is foreign to the other,
    /// though both compute in f32: one close call is enough.
    pub as_on_cpu: bool,
}

impl Tested {
    /// The numerics' name: what maps of this device and of others have in common.
    pub fn arithmetic(&self, gpu: &Gpu) -> String {
        if self.as_on_cpu { "f32".into() } else { format!("f32 of {}", gpu.info()) }
    }
}

fn hash(logits: &[f32]) -> u32 {
    logits.iter().fold(0x811c_9dc5, |hash, logit| (hash ^ logit.to_bits()).wrapping_mul(0x0100_0193))
}

/// A seeded model, and how its layers are set up.
fn small() -> Result<(Vec<u8>, Model, Vec<LayerSetup>), RunError> {
    let wrong = || RunError::SelfTest { found: Vec::new(), wanted: ANSWER.to_vec() };
    let file = Seeded::default().file();
    let header = Header::parse(&file, file.len() as u64).map_err(|_| wrong())?;
    let model = Model::read(&header).map_err(|_| wrong())?;
    let config = Config::uniform(model.config.shape, Storage::F32, 64, 64, Admission::Look { from: 16 });
    let config = config.map_err(|_| wrong())?;
    let setups = vec![LayerSetup::plain(config); model.config.layers as usize];
    Ok((file, model, setups))
}

/// Decodes 16 tokens of a small model, with the shapes that the large one will use. An error says that the device, its driver or its
/// compiler are at fault.
///
/// Few rows and many are different kernels, which a driver may compile to different roundings. Where a prompt read at once and one
/// read token by token have different bits, the options that come back have one kernel for both.
pub async fn self_test(gpu: &Rc<Gpu>, options: Options) -> Result<Tested, RunError> {
    let (file, model, setups) = small()?;
    let tried = Options { tree_rows: 4, pass_rows: 8, ..options };
    let mut small = DeviceModel::load(gpu.clone(), &mut &file[..], &model, setups, tried, |_| ()).await?;
    for token in PROMPT {
        small.extend(&[token]).await?;
    }
    let one_by_one = small.logits().await?;
    small.clear().await?;
    let mut found = Vec::new();
    let mut token = small.extend(&PROMPT).await?;
    let same = small.logits().await?.iter().zip(&one_by_one).all(|(a, b)| a.to_bits() == b.to_bits());
    for _ in 0..ANSWER.len() {
        found.push(token);
        token = small.extend(&[token]).await?;
    }
    let as_on_cpu = hash(&small.logits().await?) == LOGITS;
    small.destroy();
    let shapes = if same { options.shapes } else { [options.shapes[0]; 2] };
    if found == ANSWER {
        Ok(Tested { options: Options { shapes, ..options }, as_on_cpu })
    } else {
        Err(RunError::SelfTest { found, wanted: ANSWER.to_vec() })
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::model::cpu::{self, CpuModel};

    #[test]
    fn the_known_answer_is_the_cpus() {
        let (file, model, setups) = small().unwrap();
        let mut small = CpuModel::load(&mut &file[..], &model, setups, cpu::Options::default(), |_| ()).unwrap();
        let (found, logits) = pollster::block_on(async {
            let mut token = small.extend(&PROMPT).await.unwrap();
            let mut found = Vec::new();
            for _ in 0..ANSWER.len() {
                found.push(token);
                token = small.extend(&[token]).await.unwrap();
            }
            (found, small.logits().await.unwrap())
        });
        assert_eq!(hash(&logits), LOGITS);
        let mut other = logits.clone();
        other[17] = f32::from_bits(other[17].to_bits() ^ 1);
        assert_ne!(hash(&other), LOGITS);
        assert_eq!(found, ANSWER);
    }
}
