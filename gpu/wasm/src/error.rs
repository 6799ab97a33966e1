//! Rust's errors as JavaScript's.

use mrail::map::OpenError;
use mrail_gpu::attention::AttentionError;
use mrail_gpu::decode::{AttachError, DecodeError};
use mrail_gpu::device::DeviceError;
use mrail_gpu::model::ModelError;
use mrail_gpu::model::cpu::CpuError;
use mrail_gpu::model::device::RunError;
use mrail_gpu::model::load::LoadError;
use mrail_gpu::model::memory::MemoryError;
use mrail_gpu::model::text::TextError;
use mrail_gpu::state::ConfigError;
use std::fmt::Display;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// `MrailGpuError` of `types.d.ts`.
    #[wasm_bindgen(js_name = Error, extends = js_sys::Error)]
    #[derive(Clone, Debug)]
    pub type Error;

    #[wasm_bindgen(constructor, js_class = "Error")]
    fn with_message(message: &str) -> Error;
    #[wasm_bindgen(method, setter, structural)]
    fn set_name(this: &Error, name: &str);
    #[wasm_bindgen(method, setter, structural)]
    fn set_kind(this: &Error, kind: &str);
}

impl Error {
    pub(crate) fn new(kind: &str, message: &dyn Display) -> Self {
        let error = Self::with_message(&message.to_string());
        error.set_name("MrailGpuError");
        error.set_kind(kind);
        error
    }

    pub(crate) fn argument(message: &dyn Display) -> Self {
        Self::new("invalid-argument", message)
    }
}

/// What an engine's error is called.
pub(crate) trait Kind: Display {
    fn kind(&self) -> &'static str;
}

impl<E: Kind + ?Sized> From<&E> for Error {
    fn from(error: &E) -> Self {
        Self::new(error.kind(), &format_args!("{error}"))
    }
}

impl Kind for DeviceError {
    fn kind(&self) -> &'static str {
        match self {
            Self::NoAdapter { .. } | Self::Request { .. } => "no-gpu",
            Self::Lost { .. } => "gpu-lost",
            Self::TooLarge { .. } | Self::OutOfMemory { .. } => "memory",
            _ => "gpu",
        }
    }
}

impl Kind for AttentionError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Device(error) => error.kind(),
            Self::Plan { .. } => "memory",
            _ => "internal",
        }
    }
}

impl Kind for LoadError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Read { .. } => "read",
            Self::Memory { .. } => "memory",
            _ => "not-a-model",
        }
    }
}

impl Kind for MemoryError {
    fn kind(&self) -> &'static str {
        "memory"
    }
}

impl Kind for RunError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Device(error) => error.kind(),
            Self::Attention(error) => error.kind(),
            Self::Load(error) => error.kind(),
            Self::Memory(error) => error.kind(),
            Self::Token { .. } => "invalid-argument",
            _ => "internal",
        }
    }
}

impl Kind for CpuError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Load(error) => error.kind(),
            Self::TooLong { .. } => "too-long",
            Self::Token { .. } => "invalid-argument",
            _ => "internal",
        }
    }
}

impl<E: Kind> Kind for DecodeError<E> {
    fn kind(&self) -> &'static str {
        match self {
            Self::EmptyContext | Self::Vocabulary { .. } => "invalid-argument",
            Self::Capacity { .. } => "too-long",
            Self::Engine(error) => error.kind(),
            Self::Silent { .. } => "internal",
            Self::Write(_) => "map",
        }
    }
}

impl Kind for ModelError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Architecture { .. } | Self::Unsupported { .. } => "unsupported",
            _ => "not-a-model",
        }
    }
}

impl Kind for TextError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Unsupported { .. } => "unsupported",
            _ => "text",
        }
    }
}

impl Kind for ConfigError {
    fn kind(&self) -> &'static str {
        "invalid-argument"
    }
}

impl Kind for AttachError {
    fn kind(&self) -> &'static str {
        "wrong-map"
    }
}

impl Kind for OpenError {
    fn kind(&self) -> &'static str {
        "not-a-map"
    }
}
