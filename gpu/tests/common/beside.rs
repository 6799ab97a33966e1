//! Layers on a device beside their twins, and what tells whether they agree.

use super::oracle;
use super::rig::{Rig, Tokens};
use mrail_gpu::attention::twin::{Rows, Twin};
use mrail_gpu::attention::{LayerSetup, Wanted};
use mrail_gpu::device::Gpu;
use mrail_gpu::state::{LayerSnapshot, Shape};
use std::fmt::Display;
use std::ops::Range;

/// An error's words.
pub fn say(error: impl Display) -> String {
    error.to_string()
}

/// The largest difference between numbers that were computed and those that are wanted, if it is at most `tolerance`; with a
/// tolerance of 0 their bits must be equal. Nothing to compare, another length, NaN and infinities are never equal.
pub fn agrees(got: &[f32], want: &[f32], tolerance: f32) -> Result<f32, String> {
    if got.len() != want.len() {
        return Err(format!("{} numbers instead of {}", got.len(), want.len()));
    }
    if want.is_empty() {
        return Err("nothing to compare".into());
    }
    let (mut largest, mut at, mut count) = (0.0, None, 0);
    for (index, (&got, &want)) in got.iter().zip(want).enumerate() {
        if !got.is_finite() || !want.is_finite() {
            return Err(format!("at {index}: {got} instead of {want}"));
        }
        let difference = (got - want).abs();
        if got.to_bits() != want.to_bits() {
            count += 1;
            if at.is_none() || difference > largest {
                (largest, at) = (difference, Some(index));
            }
        }
    }
    match at {
        Some(at) if tolerance == 0.0 || largest > tolerance => Err(format!(
            "{count} of {} differ, most at {at}: {} instead of {}, {largest:e} off where {tolerance:e} is allowed",
            got.len(),
            got[at],
            want[at]
        )),
        _ => Ok(largest),
    }
}

/// Does this device round every operation exactly and keep products and sums apart? Of lavapipe and `SwiftShader` it is known:
/// there a kernel's numbers are its twin's to the last bit.
pub fn is_exact(gpu: &Gpu) -> bool {
    gpu.info().software
}

/// What differences from a twin are allowed: none where the device is exact.
pub fn tolerance(gpu: &Gpu, elsewhere: f32) -> f32 {
    if is_exact(gpu) { 0.0 } else { elsewhere }
}

/// The same state?
pub fn same_state(got: &[LayerSnapshot], want: &[LayerSnapshot]) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{} layers instead of {}", got.len(), want.len()));
    }
    let mut layers = got.iter().zip(want).enumerate();
    match layers.find_map(|(layer, (got, want))| got.first_difference(want).map(|found| (layer, found))) {
        Some((layer, found)) => Err(format!("layer {layer}: {found}")),
        None => Ok(()),
    }
}

/// The tokens as a rig takes them.
pub fn given(tokens: &oracle::Tokens) -> Tokens<'_> {
    Tokens { q: &tokens.q, k: &tokens.k, v: &tokens.v, surprise: &tokens.surprise }
}

/// Layers on a device that read tokens in order, each with its twin.
pub struct Beside<'g> {
    /// The layers.
    pub rig: Rig<'g>,
    /// Their twins.
    pub twins: Vec<Twin>,
    /// What all of them read.
    pub tokens: oracle::Tokens,
    /// Largest difference allowed in outputs; states are compared only where it is 0.
    pub tolerance: f32,
}

impl<'g> Beside<'g> {
    /// Empty layers.
    pub async fn new(
        gpu: &'g Gpu,
        setups: Vec<LayerSetup>,
        tokens: oracle::Tokens,
        elsewhere: f32,
    ) -> Result<Self, String> {
        let twin = |setup: &LayerSetup| Twin::new(setup.config.clone(), setup.carrier.clone(), setup.scale);
        let twins = setups.iter().map(twin).collect();
        let rig = Rig::new(gpu, setups, Wanted::default()).await.map_err(say)?;
        Ok(Self { rig, twins, tokens, tolerance: tolerance(gpu, elsewhere) })
    }

    /// Reads the next tokens in one pass; returns the last layer's outputs.
    pub async fn extend(&mut self, rows: usize) -> Result<Vec<f32>, String> {
        let at = self.rig.attention.tokens() as usize;
        let range = at..at + rows;
        let shape = self.rig.attention.setup(0).config.shape();
        let surprises = self.tokens.surprise.get(range.clone()).unwrap_or_default();
        self.rig.hand_in(surprises).map_err(say)?;
        let got = self.rig.extend(given(&self.tokens), range.clone()).await.map_err(say)?;
        let (q, k, v) = rows_of(shape, &self.tokens, range);
        let mut want = Vec::new();
        for twin in &mut self.twins {
            twin.surprises(surprises);
            want = twin.extend(Rows { q, k, v }).map_err(say)?;
        }
        agrees(&got, &want, self.tolerance).map_err(|error| format!("token {at}, {rows} rows: {error}"))?;
        Ok(got)
    }

    /// Compares the states of all layers where the device is exact; returns them.
    pub async fn states(&self) -> Result<Vec<LayerSnapshot>, String> {
        let states = self.rig.snapshot().await.map_err(say)?;
        if self.tolerance == 0.0 {
            let wanted: Vec<_> = self.twins.iter().map(Twin::snapshot).collect();
            same_state(&states, &wanted)?;
        }
        Ok(states)
    }
}

/// Queries, keys and values of some tokens.
pub fn rows_of(shape: Shape, tokens: &oracle::Tokens, range: Range<usize>) -> (&[f32], &[f32], &[f32]) {
    let (wide, narrow) = ((shape.heads * shape.head_dim) as usize, (shape.kv_heads * shape.head_dim) as usize);
    let part = |len: usize| range.start * len..range.end * len;
    (&tokens.q[part(wide)], &tokens.k[part(narrow)], &tokens.v[part(narrow)])
}
