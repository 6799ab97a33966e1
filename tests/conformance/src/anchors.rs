//! Anchored states, in and out of the protocol.

use crate::base64;
use crate::protocol::Array;
use crate::sha::sha256;
use mrail::anchor::{ArraySpec, Restored, Scalars, Snapshot};
use serde_json::value::RawValue;
use serde_json::{Map as Object, Value};

/// The state that a request describes. Scalars that are missing or an empty list are empty objects, as in the reference;
/// else there must be as many as layers.
pub(crate) fn snapshot(layers: &[Vec<(String, Array<'_>)>], scalars: Option<&[&RawValue]>) -> Result<Snapshot, String> {
    let first = layers.first().ok_or("a state has at least one layer")?;
    let mut specs = Vec::with_capacity(first.len());
    for (name, array) in first {
        let dtype = array.dtype.parse().map_err(|error| format!("array {name:?}: {error}"))?;
        specs.push(ArraySpec::new(name.as_str(), dtype, array.shape.as_slice()));
    }
    let scalars = match scalars.unwrap_or_default() {
        [] => vec![Scalars::default(); layers.len()],
        given if given.len() == layers.len() => given
            .iter()
            .map(|value| Scalars::parse(value.get()).map_err(|error| error.to_string()))
            .collect::<Result<_, _>>()?,
        given => return Err(format!("scalars of {} layers for a state of {}", given.len(), layers.len())),
    };
    let mut bytes = Vec::with_capacity(layers.len());
    for (index, layer) in layers.iter().enumerate() {
        bytes.push(in_order(&specs, index, layer)?);
    }
    let layers = scalars.into_iter().zip(bytes.iter().map(|arrays| arrays.iter().map(Vec::as_slice)));
    Snapshot::from_layers(specs, layers).map_err(|error| error.to_string())
}

/// A layer's arrays in the first layer's order. Each must be what it is there.
fn in_order(specs: &[ArraySpec], index: usize, layer: &[(String, Array<'_>)]) -> Result<Vec<Vec<u8>>, String> {
    if layer.len() != specs.len() {
        return Err(format!("layer {index} has {} arrays, the first has {}", layer.len(), specs.len()));
    }
    let array = |spec: &ArraySpec| {
        let found = layer.iter().find(|(name, _)| *name == spec.name);
        let (_, array) = found.ok_or_else(|| format!("layer {index} has no array {:?}", spec.name))?;
        if array.shape != spec.shape || array.dtype != spec.dtype.name() {
            return Err(format!("array {:?} of layer {index} is another than in the first", spec.name));
        }
        base64::bytes(&array.b64)
    };
    specs.iter().map(array).collect()
}

/// The SHA-256 of each array by name, layer by layer.
pub(crate) fn hashes(state: &Snapshot) -> Value {
    let layer = |layer| {
        let arrays = state.layer(layer).map(|(spec, bytes)| (spec.name.clone(), sha256(bytes).into()));
        Value::Object(arrays.collect::<Object<_, _>>())
    };
    (0..state.scalars().len()).map(layer).collect()
}

/// A record's JSON as it is written, on one line: a line break can only be white space in it.
pub(crate) fn meta(restored: &Restored<'_>) -> Result<Box<RawValue>, String> {
    let text = std::str::from_utf8(restored.anchor.json).map_err(|error| error.to_string())?;
    RawValue::from_string(text.replace(['\n', '\r'], " ")).map_err(|error| error.to_string())
}
