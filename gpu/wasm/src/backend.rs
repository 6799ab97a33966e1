//! What runs the model: the GPU, or the processor where there is none.

use crate::Error;
use crate::error::Kind;
use crate::object::{number, object};
use mrail_gpu::decode::{Decoder, Either};
use mrail_gpu::device::Gpu;
use mrail_gpu::model::cpu::CpuModel;
use mrail_gpu::model::device::DeviceModel;
use mrail_gpu::model::memory::Needs;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

pub(crate) type Brain = Either<DeviceModel, CpuModel>;
pub(crate) type Mind = Decoder<Brain>;

/// Bytes that a module of 32 bits may give to a model, with what else it needs beside it.
const MOST_WASM: u64 = 3 << 30;

/// Where a model is to run.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Gpu(Rc<Gpu>),
    /// The processor, and why not a GPU.
    Cpu(String),
}

impl Place {
    /// Finds a device, `auto` one that is no software: the processor is faster than a processor that stands for a GPU.
    pub(crate) async fn find(auto: bool, gpu: bool) -> Result<Self, Error> {
        if !gpu {
            return Ok(Self::Cpu("it was asked for".to_owned()));
        }
        match Gpu::request(&mrail_gpu::device::Options::default()).await {
            Ok(gpu) if auto && gpu.info().software => {
                gpu.destroy();
                Ok(Self::Cpu(format!("the only GPU is software: {}", gpu.info().name)))
            }
            Ok(gpu) => Ok(Self::Gpu(Rc::new(gpu))),
            Err(error) if auto => Ok(Self::Cpu(error.to_string())),
            Err(error) => Err(Error::from(&error)),
        }
    }

    /// The names of `Info` of `types.d.ts`.
    pub(crate) fn told(&self) -> [(&'static str, JsValue); 5] {
        let text = |text: &str| if text.is_empty() { JsValue::UNDEFINED } else { text.into() };
        match self {
            Self::Gpu(gpu) => [
                ("backend", "gpu".into()),
                ("adapter", gpu.info().name.as_str().into()),
                ("driver", text(&gpu.info().driver)),
                ("software", gpu.info().software.into()),
                ("why", JsValue::UNDEFINED),
            ],
            Self::Cpu(why) => [
                ("backend", "cpu".into()),
                ("adapter", "one thread".into()),
                ("driver", JsValue::UNDEFINED),
                ("software", true.into()),
                ("why", why.as_str().into()),
            ],
        }
    }

    /// Whether a processor computes, by itself or in a GPU's place.
    pub(crate) fn is_processor(&self) -> bool {
        match self {
            Self::Gpu(gpu) => gpu.info().software,
            Self::Cpu(_) => true,
        }
    }

    /// Frees what there is to free.
    pub(crate) fn destroy(&self) {
        if let Self::Gpu(gpu) = self {
            gpu.destroy();
        }
    }
}

/// Whether the processor's needs are beyond what wasm has.
pub(crate) fn check_wasm(needs: &Needs) -> Result<(), Error> {
    let total = needs.total();
    let refused = || {
        let message = format_args!("{total} bytes are needed, and a module of WebAssembly has at most {MOST_WASM}");
        Error::new("memory", &message)
    };
    if total <= MOST_WASM { Ok(()) } else { Err(refused()) }
}

/// Bytes of weights and state.
pub(crate) fn bytes_of(brain: &Brain) -> (u64, u64) {
    match brain {
        Either::A(device) => (device.weight_bytes(), device.state_bytes()),
        Either::B(cpu) => (cpu.weight_bytes(), cpu.state_bytes()),
    }
}

/// Frees a device's buffers.
pub(crate) fn destroy(brain: &Brain) {
    if let Either::A(device) = brain {
        device.destroy();
    }
}

impl<A: Kind, B: Kind> Kind for Either<A, B> {
    fn kind(&self) -> &'static str {
        match self {
            Self::A(a) => a.kind(),
            Self::B(b) => b.kind(),
        }
    }
}

/// `Needs` of `types.d.ts`.
pub(crate) fn told_needs(needs: &Needs) -> JsValue {
    object([
        ("weights", number(needs.weights)),
        ("layers", number(needs.layers)),
        ("scratch", number(needs.scratch)),
        ("rows", number(needs.rows)),
        ("total", number(needs.total())),
    ])
}
