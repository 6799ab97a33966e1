//! The own map's file: where JavaScript has it, what is in it, and what is left of a damaged one.

use crate::Error;
use crate::args::bytes;
use crate::object::{number, object};
use js_sys::{Function, Promise, Reflect, Uint8Array};
use mrail::Map;
use mrail::tail::Tail;
use std::io;
use wasm_bindgen::prelude::*;

/// `Journal` of `types.d.ts`: an object, and its function `append`.
pub(crate) struct Journal {
    object: JsValue,
    append: Function,
}

impl Journal {
    pub(crate) fn of(name: &str, object: &JsValue) -> Result<Self, Error> {
        let wrong = || Error::argument(&format_args!("{name} must be an object with append(offset, bytes)"));
        if !object.is_object() {
            return Err(wrong());
        }
        let append = Reflect::get(object, &"append".into()).map_err(|_| wrong())?;
        let append = append.dyn_into::<Function>().map_err(|_| wrong())?;
        Ok(Self { object: object.clone(), append })
    }
}

impl mrail_gpu::decode::Journal for Journal {
    fn append_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        // A copy: a view would be dead where the callee makes this module's memory grow.
        let bytes = Uint8Array::from(bytes);
        let returned = self.append.call2(&self.object, &(offset as f64).into(), &bytes);
        let returned = returned.map_err(|thrown| io::Error::other(said(&thrown)))?;
        // Nobody would hear whether it was written.
        if returned.is_instance_of::<Promise>() {
            return Err(io::Error::other("append() must have written when it returns, and it returned a promise"));
        }
        Ok(())
    }
}

/// What was thrown, in words.
fn said(thrown: &JsValue) -> String {
    let message = thrown.dyn_ref::<js_sys::Error>().map(|error| String::from(error.to_string()));
    message.or_else(|| thrown.as_string()).unwrap_or_else(|| format!("{thrown:?}"))
}

/// `MapInfo` of `types.d.ts`.
pub(crate) fn told(map: &Map<'_>) -> JsValue {
    let count = |count: usize| number(count as u64);
    let tail = match map.tail() {
        Tail::None => "none",
        Tail::Torn { .. } => "torn",
        Tail::Damaged { .. } => "damaged",
    };
    object([
        ("runs", count(map.len())),
        ("bytes", count(map.end())),
        ("tail", tail.into()),
        ("tailBytes", count(map.tail().len())),
        ("problems", count(map.problem_count())),
    ])
}

/// The good records of a damaged map; `Repaired` of `types.d.ts`.
#[wasm_bindgen(js_name = repairMap, skip_typescript)]
pub fn repair_map(map: &JsValue) -> Result<JsValue, Error> {
    let repaired = mrail::repair::repair(&bytes("map", map)?).map_err(|error| Error::new("not-a-map", &error))?;
    let cut = repaired.cut.iter().map(ExactSizeIterator::len).sum::<usize>();
    Ok(object([
        ("bytes", Uint8Array::from(&*repaired.bytes).into()),
        ("kept", number(repaired.kept as u64)),
        ("recovered", number(repaired.recovered as u64)),
        ("cutBytes", number(cut as u64)),
    ]))
}
