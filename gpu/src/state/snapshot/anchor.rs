//! The layers of a model as one anchored state.

use super::{CarrierSnapshot, Field, HeadSnapshot, LayerSnapshot, MAX_TOKENS, SnapshotError, same_surprises};
use crate::state::{Carrier, Config};
use mrail::anchor::{ArraySpec, Scalars, Snapshot};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

/// What is kept of each layer besides its arrays, all of 32 bits.
const TOKENS: &str = "tokens";
const SURPRISED: &str = "surprised";

/// Writes the states of a model's layers, each with its sizes and carrier, as one anchored state.
///
/// Where all layers have the same heads, storage, band, use of surprises and carrier sizes, and every head of every
/// layer a store of one size, the anchor has these layers, whose arrays are those of [`Field`] and whose scalars are
/// `{"tokens":n,"surprised":n}`. Else it has one pseudo-layer: arrays of key-value heads are named by layer and head
/// (`L07H2.store_k`, \[1, S, `head_dim`]), others by layer (`L07.decay`), and the scalars are lists of a number for
/// each layer. Arrays without elements are left out. Keys and values are stored by rows, and the anchor says so.
///
/// A state that does not fit its layer is an error, and so are layers that hold different numbers of tokens or different
/// surprises.
pub fn to_anchor(layers: &[(&Config, &Carrier, &LayerSnapshot)]) -> Result<Snapshot, SnapshotError> {
    let tokens = layers.first().map_or(0, |(_, _, state)| state.tokens);
    for (layer, (config, carrier, state)) in layers.iter().enumerate() {
        state.check(config, carrier).map_err(|error| error.of_layer(layer))?;
        if state.tokens != tokens {
            return Err(SnapshotError::LayerTokens { found: state.tokens, wanted: tokens }.of_layer(layer));
        }
    }
    same_surprises(layers.iter().map(|(_, _, state)| *state))?;
    let sizes: Vec<_> = layers.iter().map(|&(config, carrier, _)| (config, carrier)).collect();
    let plan = Plan::of(&sizes, tokens);
    let mut bytes = Vec::new();
    for step in plan.steps() {
        if let Some((_, _, state)) = layers.get(step.layer) {
            step.entry.field.append(state, &step.entry.heads, &mut bytes);
        }
    }
    let surprised = layers.iter().map(|(_, _, state)| state.surprised);
    let scalars = if plan.uniform {
        surprised.map(|surprised| scalars(tokens, surprised)).collect::<Result<_, _>>()?
    } else {
        let tokens = list(layers.iter().map(|_| tokens));
        vec![scalars(tokens, list(surprised))?]
    };
    let arrays = plan.entries.into_iter().map(|entry| entry.array).collect();
    Ok(Snapshot::new(arrays, scalars, bytes)?.describing_rows(true))
}

/// Reads the states of a model's layers, each of these sizes and this carrier, from what [`to_anchor`] wrote.
///
/// The anchor may be hostile: what is returned has passed [`LayerSnapshot::check`], and takes no more memory than a
/// small factor of the anchor's.
pub fn from_anchor(snapshot: &Snapshot, layers: &[(&Config, &Carrier)]) -> Result<Vec<LayerSnapshot>, SnapshotError> {
    let uniform = is_uniform(layers);
    let wanted = if uniform { layers.len() } else { 1 };
    if snapshot.scalars().len() != wanted {
        return Err(SnapshotError::LayerCount { found: snapshot.scalars().len(), wanted });
    }
    let counts = read_scalars(snapshot.scalars(), layers.len(), uniform)?;
    let tokens = counts.first().map_or(0, |&(tokens, _)| tokens);
    for (layer, &(found, _)) in counts.iter().enumerate() {
        let error = if found > MAX_TOKENS {
            SnapshotError::Tokens { found, most: MAX_TOKENS }
        } else if found != tokens {
            SnapshotError::LayerTokens { found, wanted: tokens }
        } else {
            continue;
        };
        return Err(error.of_layer(layer));
    }
    let plan = Plan::of(layers, tokens);
    let places = plan.find(snapshot)?;
    let mut states: Vec<_> = layers.iter().zip(counts).map(|(&layer, counts)| bare(layer, counts)).collect();
    for step in plan.steps() {
        let place = places.get(step.index).copied();
        let bytes = place.and_then(|place| snapshot.array(step.of_anchor, place)).unwrap_or_default();
        if let Some(state) = states.get_mut(step.layer) {
            step.entry.field.fill(state, &step.entry.heads, bytes);
        }
    }
    for (layer, (state, (config, carrier))) in states.iter().zip(layers).enumerate() {
        state.check(config, carrier).map_err(|error| error.of_layer(layer))?;
    }
    same_surprises(&states)?;
    Ok(states)
}

/// A state whose arrays are still missing.
fn bare((config, carrier): (&Config, &Carrier), (tokens, surprised): (u32, u32)) -> LayerSnapshot {
    let heads = vec![HeadSnapshot::default(); config.shape().kv_heads as usize];
    LayerSnapshot { tokens, surprised, surprises: Vec::new(), heads, carrier: CarrierSnapshot::of(carrier) }
}

/// One array of an anchor.
struct Entry {
    array: ArraySpec,
    field: Field,
    /// The layer it belongs to, in a pseudo-layer; else it is an array of each.
    layer: usize,
    heads: Range<usize>,
}

/// Which arrays an anchor has.
struct Plan {
    uniform: bool,
    entries: Vec<Entry>,
    /// Layers of the model.
    layers: usize,
}

/// One array of one layer, in the order of an anchor's bytes.
struct Step<'p> {
    entry: &'p Entry,
    /// Place of the entry in the plan.
    index: usize,
    /// Layer of the model, and layer of the anchor.
    layer: usize,
    of_anchor: usize,
}

impl Plan {
    fn of(layers: &[(&Config, &Carrier)], tokens: u32) -> Self {
        let uniform = is_uniform(layers);
        let mut entries = Vec::new();
        for (layer, &(config, carrier)) in layers.iter().take(if uniform { 1 } else { layers.len() }).enumerate() {
            let all = 0..config.shape().kv_heads as usize;
            for field in Field::ALL {
                let by_head = field.of_head() && !uniform;
                let groups = if by_head { all.clone().map(|head| head..head + 1).collect() } else { vec![all.clone()] };
                for heads in groups {
                    let name = match (uniform, by_head) {
                        (true, _) => field.to_string(),
                        (_, true) => format!("L{layer:02}H{}.{field}", heads.start),
                        _ => format!("L{layer:02}.{field}"),
                    };
                    let shape = field.dimensions(config, carrier, &heads, tokens);
                    if !shape.contains(&0) {
                        let array =
                            ArraySpec { by_rows: field.by_rows(), ..ArraySpec::new(name, field.dtype(config), shape) };
                        entries.push(Entry { array, field, layer, heads });
                    }
                }
            }
        }
        Self { uniform, entries, layers: layers.len() }
    }

    fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let of_anchor = if self.uniform { self.layers } else { 1 };
        (0..of_anchor).flat_map(move |of_anchor| {
            self.entries.iter().enumerate().map(move |(index, entry)| {
                let layer = if self.uniform { of_anchor } else { entry.layer };
                Step { entry, index, layer, of_anchor }
            })
        })
    }

    /// Where a state has each array of the plan. It must have these and no others, of the same types and shapes. How a
    /// delta would store them does not matter.
    fn find(&self, snapshot: &Snapshot) -> Result<Vec<usize>, SnapshotError> {
        let mut there: BTreeMap<_, _> =
            snapshot.arrays().iter().enumerate().map(|(place, array)| (&*array.name, (place, array))).collect();
        let mut places = Vec::with_capacity(self.entries.len());
        for Entry { array, .. } in &self.entries {
            let name = || array.name.clone();
            let (place, found) =
                there.remove(&*array.name).ok_or_else(|| SnapshotError::MissingArray { array: name() })?;
            if found.dtype != array.dtype || found.shape != array.shape {
                let (found, wanted) = (found.to_string(), array.to_string());
                return Err(SnapshotError::Array { array: name(), found, wanted });
            }
            places.push(place);
        }
        match there.into_keys().next() {
            Some(array) => Err(SnapshotError::UnknownArray { array: array.to_owned() }),
            None => Ok(places),
        }
    }
}

/// Can one list of arrays describe every layer?
fn is_uniform(layers: &[(&Config, &Carrier)]) -> bool {
    let Some(&(first, carrier)) = layers.first() else { return true };
    let kv_heads = 0..first.shape().kv_heads as usize;
    layers.iter().all(|(config, other)| {
        let alike = match (carrier, other) {
            (Carrier::None, Carrier::None) | (Carrier::Decay(_), Carrier::Decay(_)) => true,
            (Carrier::Cells(one), Carrier::Cells(other)) => one.cells == other.cells,
            _ => false,
        };
        alike
            && config.shape() == first.shape()
            && config.storage() == first.storage()
            && config.schedule() == first.schedule()
            && config.wants_surprises() == first.wants_surprises()
            && kv_heads.clone().all(|head| config.store(head) == first.store(0))
    })
}

fn scalars(tokens: impl std::fmt::Display, surprised: impl std::fmt::Display) -> Result<Scalars, SnapshotError> {
    Ok(Scalars::parse(&format!("{{\"{TOKENS}\":{tokens},\"{SURPRISED}\":{surprised}}}"))?)
}

fn list(numbers: impl Iterator<Item = u32>) -> String {
    let mut list = String::from("[");
    for (index, number) in numbers.enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(list, "{comma}{number}");
    }
    list + "]"
}

/// Tokens and known surprises of each layer.
fn read_scalars(scalars: &[Scalars], layers: usize, uniform: bool) -> Result<Vec<(u32, u32)>, SnapshotError> {
    let mut values = Vec::with_capacity(scalars.len());
    for scalars in scalars {
        values.push(scalars.to_value().map_err(|_| SnapshotError::Scalars { key: TOKENS })?);
    }
    let number = |layer: usize, key: &'static str| {
        let value = if uniform {
            values.get(layer).and_then(|value| value.get(key))
        } else {
            let list = values.first().and_then(|value| value.get(key)?.as_array());
            list.filter(|list| list.len() == layers).and_then(|list| list.get(layer))
        };
        let number = value.and_then(serde_json::Value::as_u64).and_then(|number| u32::try_from(number).ok());
        number.ok_or(SnapshotError::Scalars { key })
    };
    (0..layers).map(|layer| Ok((number(layer, TOKENS)?, number(layer, SURPRISED)?))).collect()
}
