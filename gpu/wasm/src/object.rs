//! Plain objects: what is handed out. They hold copies, and go through `postMessage`.

use js_sys::{Object, Reflect};
use wasm_bindgen::prelude::*;

/// An object of one of the interfaces of `types.d.ts`.
pub(crate) fn object<const N: usize>(properties: [(&str, JsValue); N]) -> JsValue {
    let object = Object::new();
    for (name, value) in properties {
        if !value.is_undefined() {
            // A new object takes any property.
            Reflect::set(&object, &name.into(), &value).ok();
        }
    }
    object.into()
}

/// A whole number that may be past 32 bits.
pub(crate) fn number(value: u64) -> JsValue {
    JsValue::from_f64(value as f64)
}
