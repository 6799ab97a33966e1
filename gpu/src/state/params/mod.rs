//! The carriers' parameters as a file.
//!
//! One safetensors file holds those of any number of layers. Its tensors are F32 in C order, i is the layer from 0:
//!
//! ```text
//! layers.{i}.decay.bias        [heads, head_dim]        layers.{i}.cells.codebook   [kv_heads, M, head_dim]
//! layers.{i}.decay.mix         [heads, 5]               layers.{i}.cells.beta       [kv_heads, M]
//! layers.{i}.decay.half_life   [heads, 5]               layers.{i}.cells.mean       [kv_heads, head_dim]
//! layers.{i}.decay.phi         [heads, 8, head_dim]     layers.{i}.cells.metric     [kv_heads, rank, head_dim]
//! layers.{i}.decay.phi_bias    [heads, 8]               layers.{i}.cells.kappa      [heads]
//! layers.{i}.decay.psi         [heads, 8, head_dim]     layers.{i}.cells.delta      [heads]
//! layers.{i}.decay.psi_bias    [heads, 8]
//! ```
//!
//! A layer has all tensors of one kind, or none and no carrier. M and rank are what the shapes of codebook and metric
//! say. The file does not say what the heads are: its reader knows them from the model.
//!
//! Any bytes are safe to read: memory stays within a small factor of the input, and what is wrong is told.

mod check;
mod error;
#[cfg(test)]
mod tests;

pub use check::MAX_CELLS;
pub use error::ParamsError;

use super::{Carrier, Cells, DECAYS, Decay, RANK, Shape};
use safetensors::tensor::{Dtype, Metadata, TensorInfo, TensorView};
use std::collections::BTreeMap;

const DECAY_FIELDS: [&str; 7] = ["bias", "mix", "half_life", "phi", "phi_bias", "psi", "psi_bias"];
const CELLS_FIELDS: [&str; 6] = ["codebook", "beta", "mean", "metric", "kappa", "delta"];

/// Reads the carriers of as many layers as there are shapes.
pub fn read(bytes: &[u8], shapes: &[Shape]) -> Result<Vec<Carrier>, ParamsError> {
    let (metadata, data) = split(bytes)?;
    let mut layers: BTreeMap<usize, Fields<'_>> = BTreeMap::new();
    // By name, so that of several faults always the same one is told.
    let tensors: BTreeMap<_, _> = metadata.tensors().into_iter().collect();
    for (tensor, info) in &tensors {
        let Some((layer, kind, field)) = parse_name(tensor) else {
            return Err(ParamsError::UnknownTensor { tensor: tensor.clone() });
        };
        if layer >= shapes.len() {
            return Err(ParamsError::NoSuchLayer { tensor: tensor.clone(), layers: shapes.len() });
        }
        if info.dtype != Dtype::F32 {
            return Err(ParamsError::Dtype { tensor: tensor.clone(), found: info.dtype });
        }
        let (start, end) = info.data_offsets;
        let bytes = data.get(start..end).unwrap_or_default();
        layers.entry(layer).or_default().insert((kind, field), (info, bytes));
    }
    let mut carriers = vec![Carrier::None; shapes.len()];
    for (layer, fields) in layers {
        if let (Some(carrier), Some(&shape)) = (carriers.get_mut(layer), shapes.get(layer)) {
            *carrier = read_layer(layer, &fields, shape)?;
            carrier.check(shape).map_err(|error| error.of_layer(layer))?;
        }
    }
    Ok(carriers)
}

/// Writes carriers, which must fit their layers' shapes. Without a carrier the file has no tensors.
pub fn write(carriers: &[Carrier], shapes: &[Shape]) -> Result<Vec<u8>, ParamsError> {
    if carriers.len() != shapes.len() {
        return Err(ParamsError::LayerCount { carriers: carriers.len(), shapes: shapes.len() });
    }
    let mut tensors = Vec::new();
    for (layer, (carrier, &shape)) in carriers.iter().zip(shapes).enumerate() {
        carrier.check(shape).map_err(|error| error.of_layer(layer))?;
        for (name, shape, numbers) in carrier.tensors(shape) {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            tensors.push((format!("layers.{layer}.{name}"), shape, bytes));
        }
    }
    let file = |error: safetensors::SafeTensorError| ParamsError::File { fault: error.to_string() };
    let views: Result<Vec<_>, ParamsError> = tensors
        .iter()
        .map(|(name, shape, bytes)| Ok((name, TensorView::new(Dtype::F32, shape.clone(), bytes).map_err(file)?)))
        .collect();
    safetensors::serialize(views?, None).map_err(file)
}

/// Tensors of one layer by kind of carrier and field.
type Fields<'f> = BTreeMap<(&'static str, &'static str), (&'f TensorInfo, &'f [u8])>;

/// Header and data of a file. `SafeTensors::deserialize` adds the end of the data, as the header claims it, to the
/// header's length unchecked; a header can claim up to all of `usize`.
fn split(bytes: &[u8]) -> Result<(Metadata, &[u8]), ParamsError> {
    let (len, rest) = bytes.split_first_chunk().ok_or(ParamsError::Short { needs: 8, len: bytes.len() })?;
    let header_len = u64::from_le_bytes(*len);
    let short = ParamsError::Short { needs: header_len.saturating_add(8), len: bytes.len() };
    let (header, data) = usize::try_from(header_len).ok().and_then(|at| rest.split_at_checked(at)).ok_or(short)?;
    let metadata: Metadata =
        serde_json::from_slice(header).map_err(|error| ParamsError::File { fault: error.to_string() })?;
    if metadata.data_len() != data.len() {
        return Err(ParamsError::DataLen { declared: metadata.data_len(), len: data.len() });
    }
    Ok((metadata, data))
}

/// Layer, kind and field. A layer has one name only: no sign, no leading zeros.
fn parse_name(name: &str) -> Option<(usize, &'static str, &'static str)> {
    let (index, name) = name.strip_prefix("layers.")?.split_once('.')?;
    let layer: usize = index.parse().ok().filter(|layer: &usize| layer.to_string() == index)?;
    let (kind, name) = name.split_once('.')?;
    let (kind, fields) = match kind {
        "decay" => ("decay", &DECAY_FIELDS[..]),
        "cells" => ("cells", &CELLS_FIELDS[..]),
        _ => return None,
    };
    let field = fields.iter().find(|&&field| field == name)?;
    Some((layer, kind, field))
}

fn read_layer(layer: usize, fields: &Fields<'_>, shape: Shape) -> Result<Carrier, ParamsError> {
    let has = |kind| fields.keys().any(|&(of, _)| of == kind);
    if has("decay") && has("cells") {
        return Err(ParamsError::TwoCarriers { layer });
    }
    let (heads, kv_heads, dim) = (shape.heads as usize, shape.kv_heads as usize, shape.head_dim as usize);
    let kind = if has("decay") { "decay" } else { "cells" };
    let name = |field| format!("layers.{layer}.{kind}.{field}");
    // The numbers of a field, after its shape was found to be the wanted one.
    let take = |field, wanted: &[usize]| {
        let &(info, bytes) = fields.get(&(kind, field)).ok_or_else(|| ParamsError::Missing { tensor: name(field) })?;
        if info.shape != wanted {
            let (found, wanted) = (info.shape.clone(), wanted.to_vec());
            return Err(ParamsError::Dimensions { tensor: name(field), found, wanted });
        }
        Ok(bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap_or_default())).collect())
    };
    if kind == "decay" {
        return Ok(Carrier::Decay(Decay {
            bias: take("bias", &[heads, dim])?,
            mix: take("mix", &[heads, DECAYS])?,
            half_life: take("half_life", &[heads, DECAYS])?,
            phi: take("phi", &[heads, RANK, dim])?,
            phi_bias: take("phi_bias", &[heads, RANK])?,
            psi: take("psi", &[heads, RANK, dim])?,
            psi_bias: take("psi_bias", &[heads, RANK])?,
        }));
    }
    // The dimension that the file may choose. Where there is none, the comparison in `take` fails.
    let middle = |field, most: usize| match fields.get(&(kind, field)).map(|(info, _)| &info.shape[..]) {
        Some(&[_, count, _]) if (1..=most).contains(&count) => Ok(count),
        Some(&[_, found, _]) => Err(ParamsError::Count { tensor: name(field), found: found as u64, most: most as u64 }),
        _ => Ok(1),
    };
    let (cells, rank) = (middle("codebook", MAX_CELLS as usize)?, middle("metric", dim)?);
    Ok(Carrier::Cells(Cells {
        cells: cells as u32,
        rank: rank as u32,
        codebook: take("codebook", &[kv_heads, cells, dim])?,
        beta: take("beta", &[kv_heads, cells])?,
        mean: take("mean", &[kv_heads, dim])?,
        metric: take("metric", &[kv_heads, rank, dim])?,
        kappa: take("kappa", &[heads])?,
        delta: take("delta", &[heads])?,
    }))
}
