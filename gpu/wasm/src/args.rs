//! Arguments: checked before they are converted, since JavaScript converts anything to anything.
//!
//! Each error names the argument, says what it must be and what it is.

#![allow(
    clippy::cast_sign_loss,
    reason = "doubles are checked before they become integers; lengths of arrays have no sign"
)]

use crate::Error;
use js_sys::{Array, Number, Reflect, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::*;

/// The largest integer below which a double holds all integers.
pub(crate) const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

#[wasm_bindgen]
extern "C" {
    /// Any typed array. Its length is read as a double, since a 32-bit integer would be the length modulo 2^32.
    type View;
    #[wasm_bindgen(method, getter, structural, js_name = length)]
    fn len(this: &View) -> f64;
}

pub(crate) fn wrong(name: &str, expected: &str, value: &JsValue) -> Error {
    let is = match value.as_f64() {
        Some(number) => Number::from(number).to_string_with_radix(10).map(String::from).unwrap_or_default(),
        None if value.is_null() => "null".to_owned(),
        None => value.js_typeof().as_string().unwrap_or_default(),
    };
    Error::argument(&format_args!("{name} must be {expected}, not {is}"))
}

fn whole(value: &JsValue, max: f64) -> Option<f64> {
    value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=max).contains(number))
}

/// A whole number that has 32 bits.
pub(crate) fn word(name: &str, value: &JsValue) -> Result<u32, Error> {
    let word = whole(value, f64::from(u32::MAX)).map(|number| number as u32);
    word.ok_or_else(|| wrong(name, "a whole number from 0 to 2^32 - 1", value))
}

/// A number of bytes.
pub(crate) fn size(name: &str, value: &JsValue) -> Result<u64, Error> {
    let size = whole(value, MAX_SAFE).map(|number| number as u64);
    size.ok_or_else(|| wrong(name, "a whole number from 0 to 2^53 - 1", value))
}

/// An argument that may be left out.
pub(crate) fn optional<T>(
    name: &str,
    value: &JsValue,
    read: impl FnOnce(&str, &JsValue) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    if value.is_undefined() { Ok(None) } else { read(name, value).map(Some) }
}

pub(crate) fn boolean(name: &str, value: &JsValue) -> Result<bool, Error> {
    value.as_bool().ok_or_else(|| wrong(name, "true or false", value))
}

pub(crate) fn text(name: &str, value: &JsValue) -> Result<String, Error> {
    value.as_string().ok_or_else(|| wrong(name, "a string", value))
}

/// One of some words; returns which.
pub(crate) fn one_of<const N: usize>(name: &str, value: &JsValue, words: [&str; N]) -> Result<usize, Error> {
    let given = value.as_string();
    let found = given.and_then(|given| words.iter().position(|word| *word == given));
    found.ok_or_else(|| Error::argument(&format_args!("{name} must be one of {}", words.join(", "))))
}

/// Makes room for a copy of a typed array, if there is any.
fn room<T: Clone + Default>(name: &str, value: &JsValue) -> Result<Vec<T>, Error> {
    let len = value.unchecked_ref::<View>().len();
    let too_large = || Error::new("memory", &format_args!("{name} does not fit into memory: {len} elements"));
    let mut copied = Vec::new();
    let fits = len <= isize::MAX as f64 && copied.try_reserve_exact(len as usize).is_ok();
    if !fits {
        return Err(too_large());
    }
    copied.resize(len as usize, T::default());
    Ok(copied)
}

pub(crate) fn tokens(name: &str, value: &JsValue) -> Result<Vec<u32>, Error> {
    let array = value.dyn_ref::<Uint32Array>().ok_or_else(|| wrong(name, "a Uint32Array", value))?;
    let mut copied = room(name, value)?;
    array.copy_to(&mut copied);
    Ok(copied)
}

pub(crate) fn bytes(name: &str, value: &JsValue) -> Result<Vec<u8>, Error> {
    let array = value.dyn_ref::<Uint8Array>().ok_or_else(|| wrong(name, "a Uint8Array", value))?;
    let mut copied = room(name, value)?;
    array.copy_to(&mut copied);
    Ok(copied)
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

/// An object whose properties are read by name; one that is left out has none.
pub(crate) struct Properties<'v> {
    name: &'v str,
    object: &'v JsValue,
}

impl<'v> Properties<'v> {
    pub(crate) fn of(name: &'v str, object: &'v JsValue) -> Result<Self, Error> {
        let good = object.is_object() || object.is_undefined();
        if good { Ok(Self { name, object }) } else { Err(wrong(name, "an object", object)) }
    }

    pub(crate) fn get<T>(
        &self,
        key: &str,
        read: impl FnOnce(&str, &JsValue) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        if self.object.is_undefined() {
            return Ok(None);
        }
        let name = format!("{}.{key}", self.name);
        let value = Reflect::get(self.object, &key.into())
            .map_err(|_| Error::argument(&format_args!("{name} cannot be read")))?;
        optional(&name, &value, read)
    }

    pub(crate) fn needed<T>(
        &self,
        key: &str,
        read: impl FnOnce(&str, &JsValue) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let missing = || Error::argument(&format_args!("{}.{key} is missing", self.name));
        self.get(key, read)?.ok_or_else(missing)
    }
}
