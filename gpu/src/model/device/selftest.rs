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
pub async fn self_test(gpu: &Rc<Gpu>, options: Options) -> Result<Options, RunError> {
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
    small.destroy();
    let shapes = if same { options.shapes } else { [options.shapes[0]; 2] };
    if found == ANSWER {
        Ok(Options { shapes, ..options })
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
        let found = pollster::block_on(async {
            let mut token = small.extend(&PROMPT).await.unwrap();
            let mut found = Vec::new();
            for _ in 0..ANSWER.len() {
                found.push(token);
                token = small.extend(&[token]).await.unwrap();
            }
            found
        });
        assert_eq!(found, ANSWER);
    }
}
