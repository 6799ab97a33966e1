//! Core's errors as JavaScript's.

use mrail::map::OpenError;
use mrail::map::append::WriteError;
use mrail::map::locate::TrackError;
use mrail::merge::MergeError;
use mrail::record::NotAMap;
use std::fmt::Display;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// `MrailError` of `types.d.ts`.
    #[wasm_bindgen(js_name = Error, extends = js_sys::Error)]
    #[derive(Clone, Debug)]
    pub type Error;

    #[wasm_bindgen(constructor, js_class = "Error")]
    fn with_message(message: &str) -> Error;
    #[wasm_bindgen(method, setter, structural)]
    fn set_name(this: &Error, name: &str);
    #[wasm_bindgen(method, setter, structural)]
    fn set_kind(this: &Error, kind: &str);
    #[wasm_bindgen(method, setter, structural)]
    fn set_offset(this: &Error, offset: usize);
}

impl Error {
    pub(crate) fn new(kind: &str, message: &dyn Display) -> Self {
        let error = Self::with_message(&message.to_string());
        error.set_name("MrailError");
        error.set_kind(kind);
        error
    }

    fn at(self, offset: usize) -> Self {
        self.set_offset(offset);
        self
    }

    pub(crate) fn argument(message: &dyn Display) -> Self {
        Self::new("invalid-argument", message)
    }
}

/// The offset is that of the first byte that is wrong, or missing.
fn not_a_map(error: NotAMap, message: &dyn Display) -> Error {
    let offset = match error {
        NotAMap::TooShort { len } => len,
        NotAMap::WrongMagic { .. } => 0,
        NotAMap::OtherVersion { .. } => 5,
    };
    Error::new("not-a-map", message).at(offset)
}

fn not_open(error: OpenError, message: &dyn Display) -> Error {
    match error {
        OpenError::Own(error) | OpenError::Foreign { error, .. } => not_a_map(error, message),
        OpenError::Rail(_) => Error::argument(message),
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        not_open(error, &error)
    }
}

impl From<MergeError> for Error {
    fn from(error: MergeError) -> Self {
        not_open(error.error, &error)
    }
}

impl From<TrackError> for Error {
    fn from(error: TrackError) -> Self {
        let kind = match error {
            TrackError::NotATrack { .. } => "track",
            TrackError::WrongContext { .. } => "wrong-context",
            TrackError::TooLong { .. } => "too-large",
        };
        Self::new(kind, &error)
    }
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::NeedsRepair { offset, .. } => Self::new("damaged", &error).at(offset),
            WriteError::TooLarge { .. } => Self::new("too-large", &error),
            WriteError::Anchor(_) => Self::new("anchor", &error),
            WriteError::AnswerPastEnd { .. } | WriteError::ZeroMinCopy | WriteError::Stale { .. } => {
                Self::argument(&error)
            }
        }
    }
}
