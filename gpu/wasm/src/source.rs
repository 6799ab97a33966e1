//! A model's file where JavaScript has it.

#![allow(clippy::cast_sign_loss, reason = "sizes are checked before they become integers, or have no sign")]

use crate::Error;
use js_sys::{Function, Reflect, Uint8Array};
use mrail_gpu::model::gguf::Source;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Bytes whose places are doubles: a file may have more than 2^32.
    #[wasm_bindgen(js_name = Uint8Array)]
    #[derive(Clone, Debug)]
    type Bytes;
    #[wasm_bindgen(method, getter, structural, js_name = byteLength)]
    fn byte_length(this: &Bytes) -> f64;
    #[wasm_bindgen(method, structural)]
    fn subarray(this: &Bytes, start: f64, end: f64) -> Uint8Array;
}

/// What a caller threw that ended the loading.
pub(crate) type Thrown = Rc<RefCell<Option<JsValue>>>;

/// A file, of which only what is asked for is copied in.
pub(crate) struct File {
    from: Given,
    size: u64,
    thrown: Thrown,
}

enum Given {
    Bytes(Bytes),
    /// An object, and its function `read`.
    Reader(JsValue, Function),
}

impl File {
    /// A `Uint8Array`, or an object with `byteLength` and `read(start, end)`.
    pub(crate) fn of(given: &JsValue, thrown: Thrown) -> Result<Self, Error> {
        let wrong =
            || Error::argument(&"source must be a Uint8Array, or an object with byteLength and read(start, end)");
        if given.is_instance_of::<Uint8Array>() {
            let bytes: Bytes = given.clone().unchecked_into();
            let size = bytes.byte_length() as u64;
            return Ok(Self { from: Given::Bytes(bytes), size, thrown });
        }
        let get = |name: &str| Reflect::get(given, &name.into()).map_err(|_| wrong());
        if !given.is_object() {
            return Err(wrong());
        }
        let read = get("read")?.dyn_into::<Function>().map_err(|_| wrong())?;
        let whole = |size: &f64| size.fract() == 0.0 && *size >= 0.0 && *size <= crate::args::MAX_SAFE;
        let size = get("byteLength")?.as_f64().filter(whole).ok_or_else(wrong)?;
        Ok(Self { from: Given::Reader(given.clone(), read), size: size as u64, thrown })
    }
}

impl Source for File {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        if self.thrown.borrow().is_some() {
            return Err(io::Error::other("the caller ended it"));
        }
        let end = offset.checked_add(into.len() as u64).filter(|end| *end <= self.size);
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let part = match &self.from {
            Given::Bytes(bytes) => bytes.subarray(offset as f64, end as f64),
            Given::Reader(this, read) => {
                let part = read.call2(this, &(offset as f64).into(), &(end as f64).into());
                let part = part.and_then(|part| {
                    part.dyn_into::<Uint8Array>()
                        .map_err(|_| Error::argument(&"read() must return a Uint8Array").into())
                });
                part.map_err(|thrown| {
                    *self.thrown.borrow_mut() = Some(thrown);
                    io::Error::other("the caller's read() failed")
                })?
            }
        };
        // Its buffer may have been given away, or changed its size.
        if part.length() as usize != into.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        part.copy_to(into);
        Ok(())
    }
}
