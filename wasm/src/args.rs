//! Arguments: checked before they are converted, since JavaScript converts anything to anything.
//!
//! Each error names the argument, says what it must be and what it is.

#![allow(
    clippy::cast_sign_loss,
    reason = "doubles are checked before they become integers; lengths of arrays have no sign"
)]

use crate::Error;
use js_sys::{Array, ArrayBuffer, Number, Reflect, Symbol, Uint8Array, Uint32Array};
use mrail::draft::RailOptions;
use mrail::{Foreign, Options};
use std::borrow::Cow;
use std::num::NonZeroUsize;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Any typed array. Its lengths are read as doubles, since a 32-bit integer would be the length modulo 2^32.
    type View;
    #[wasm_bindgen(method, getter, structural, js_name = length)]
    fn len(this: &View) -> f64;
    #[wasm_bindgen(method, getter, structural, js_name = byteLength)]
    fn byte_len(this: &View) -> f64;
}

fn wrong(name: &str, expected: &str, value: &JsValue) -> Error {
    let is = match value.as_f64() {
        Some(number) => Number::from(number).to_string_with_radix(10).map(String::from).unwrap_or_default(),
        None if value.is_null() => "null".to_owned(),
        None => value.js_typeof().as_string().unwrap_or_default(),
    };
    Error::argument(&format_args!("{name} must be {expected}, not {is}"))
}

/// The largest integer below which a double holds all integers.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// A whole number from 0 to `max`.
fn whole(value: &JsValue, max: f64) -> Option<f64> {
    value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=max).contains(number))
}

/// A whole number; one that this machine cannot count to is as good as the largest that it can.
pub(crate) fn count(name: &str, value: &JsValue) -> Result<usize, Error> {
    // The conversion saturates.
    whole(value, MAX_SAFE)
        .map(|number| number as usize)
        .ok_or_else(|| wrong(name, "a whole number from 0 to 2^53 - 1", value))
}

/// A whole number that has a field of 32 bits in the format.
pub(crate) fn word(name: &str, value: &JsValue) -> Result<u32, Error> {
    whole(value, f64::from(u32::MAX))
        .map(|number| number as u32)
        .ok_or_else(|| wrong(name, "a whole number from 0 to 2^32 - 1", value))
}

/// An argument that may be left out.
pub(crate) fn optional<T>(
    name: &str,
    value: &JsValue,
    read: impl FnOnce(&str, &JsValue) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    if value.is_undefined() { Ok(None) } else { read(name, value).map(Some) }
}

fn boolean(name: &str, value: &JsValue) -> Result<bool, Error> {
    value.as_bool().ok_or_else(|| wrong(name, "true or false", value))
}

pub(crate) fn text(name: &str, value: &JsValue) -> Result<String, Error> {
    value.as_string().ok_or_else(|| wrong(name, "a string", value))
}

/// Copies a typed array of a class in. The class is asked by its tag, which holds across frames and realms.
fn typed_array<T: Clone + Default>(
    name: &str,
    class: &str,
    value: &JsValue,
    copy: impl FnOnce(&JsValue, &mut [T]),
) -> Result<Vec<T>, Error> {
    let is_class = ArrayBuffer::is_view(value)
        && Reflect::get(value, &Symbol::to_string_tag()).is_ok_and(|tag| tag.as_string().as_deref() == Some(class));
    if !is_class {
        return Err(wrong(name, &format!("a {class}"), value));
    }
    let view: &View = value.unchecked_ref();
    let too_large =
        || Error::new("too-large", &format_args!("{name}: {} bytes do not fit into memory", view.byte_len() as u64));
    let mut copied = Vec::new();
    if view.byte_len() > isize::MAX as f64 {
        return Err(too_large());
    }
    let len = view.len() as usize;
    copied.try_reserve_exact(len).map_err(|_| too_large())?;
    copied.resize(len, T::default());
    copy(value, &mut copied);
    Ok(copied)
}

pub(crate) fn tokens(name: &str, value: &JsValue) -> Result<Vec<u32>, Error> {
    typed_array(name, "Uint32Array", value, |from, to| from.unchecked_ref::<Uint32Array>().copy_to(to))
}

pub(crate) fn bytes(name: &str, value: &JsValue) -> Result<Vec<u8>, Error> {
    typed_array(name, "Uint8Array", value, |from, to| from.unchecked_ref::<Uint8Array>().copy_to(to))
}

/// Reads each element of an array; `name` gets its index.
pub(crate) fn list<T>(
    name: &str,
    value: &JsValue,
    mut read: impl FnMut(&str, &JsValue) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    if !Array::is_array(value) {
        return Err(wrong(name, "an array", value));
    }
    let array: &Array = value.unchecked_ref();
    array.iter().enumerate().map(|(i, element)| read(&format!("{name}[{i}]"), &element)).collect()
}

/// An object whose properties are read by name.
struct Properties<'v> {
    name: &'v str,
    object: &'v JsValue,
}

impl<'v> Properties<'v> {
    fn of(name: &'v str, object: &'v JsValue) -> Result<Self, Error> {
        if object.is_object() { Ok(Self { name, object }) } else { Err(wrong(name, "an object", object)) }
    }

    fn get<T>(&self, key: &str, read: impl FnOnce(&str, &JsValue) -> Result<T, Error>) -> Result<T, Error> {
        let name = format!("{}.{key}", self.name);
        let value = Reflect::get(self.object, &key.into())
            .map_err(|_| Error::argument(&format_args!("{name} cannot be read")))?;
        read(&name, &value)
    }

    fn get_optional<T>(
        &self,
        key: &str,
        read: impl FnOnce(&str, &JsValue) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.get(key, |name, value| optional(name, value, read))
    }
}

/// `OpenOptions` of `types.d.ts`.
pub(crate) fn options(value: &JsValue) -> Result<Options<'static>, Error> {
    let given = Properties::of("options", value)?;
    let draft_only = !given.get("trusted", boolean)?;
    let default = Options::default();
    let rail = default.rail;
    let stride = given.get_optional("stride", |name, value| {
        NonZeroUsize::new(count(name, value)?).ok_or_else(|| wrong(name, "at least 1", value))
    })?;
    let foreign = given.get_optional("foreign", |name, value| {
        list(name, value, |name, value| {
            let given = Properties::of(name, value)?;
            let bytes = Cow::Owned(given.get("bytes", bytes)?);
            Ok(Foreign { bytes, limit: given.get_optional("limit", count)? })
        })
    })?;
    Ok(Options {
        draft_only,
        stride: stride.unwrap_or(default.stride),
        limit: given.get_optional("limit", count)?,
        foreign: foreign.unwrap_or_default(),
        rail: RailOptions {
            nmax: given.get_optional("nmax", count)?.unwrap_or(rail.nmax),
            prompts: given.get_optional("railPrompts", boolean)?.unwrap_or(rail.prompts),
            ..rail
        },
        through_tracks: given.get_optional("throughTracks", boolean)?.unwrap_or(default.through_tracks),
        ..default
    })
}
