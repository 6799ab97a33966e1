//! Whether a carrier's parameters fit a layer.

use super::{Carrier, ParamsError, Shape};
use crate::state::{DECAYS, HALF_LIVES, RANK};

/// Cells that a key-value head may have.
pub const MAX_CELLS: u32 = 4096;

impl Carrier {
    /// Do the parameters fit a layer of this shape, and are they what the carriers' definitions ask for?
    pub fn check(&self, shape: Shape) -> Result<(), ParamsError> {
        if let Self::Cells(cells) = self {
            for (tensor, found, most) in
                [("cells.codebook", cells.cells, MAX_CELLS), ("cells.metric", cells.rank, shape.head_dim)]
            {
                if found == 0 || found > most {
                    return Err(ParamsError::Count { tensor: tensor.into(), found: found.into(), most: most.into() });
                }
            }
        }
        for (tensor, dimensions, numbers) in self.tensors(shape) {
            // Shapes are not checked here: their product may be past what can be counted, and is then no length.
            let wanted = dimensions.iter().fold(1_u64, |len, &dimension| len.saturating_mul(dimension as u64));
            if numbers.len() as u64 != wanted {
                return Err(ParamsError::Len { tensor: tensor.into(), found: numbers.len(), wanted });
            }
            let (wanted, fits): (_, fn(f32) -> bool) = match tensor {
                "decay.mix" => ("a finite number that is not negative", |x| x.is_finite() && x >= 0.),
                "decay.half_life" => ("a half-life of the catalogue", |x| HALF_LIVES.contains(&x)),
                _ => ("a finite number", f32::is_finite),
            };
            if let Some((index, number)) = numbers.iter().enumerate().find(|&(_, &number)| !fits(number)) {
                return Err(ParamsError::Value { tensor: tensor.into(), index, bits: number.to_bits(), wanted });
            }
        }
        Ok(())
    }

    /// Name, dimensions and numbers of every field.
    pub(super) fn tensors(&self, shape: Shape) -> Vec<(&'static str, Vec<usize>, &[f32])> {
        let (heads, kv_heads, dim) = (shape.heads as usize, shape.kv_heads as usize, shape.head_dim as usize);
        match self {
            Self::None => Vec::new(),
            Self::Decay(decay) => vec![
                ("decay.bias", vec![heads, dim], &decay.bias),
                ("decay.mix", vec![heads, DECAYS], &decay.mix),
                ("decay.half_life", vec![heads, DECAYS], &decay.half_life),
                ("decay.phi", vec![heads, RANK, dim], &decay.phi),
                ("decay.phi_bias", vec![heads, RANK], &decay.phi_bias),
                ("decay.psi", vec![heads, RANK, dim], &decay.psi),
                ("decay.psi_bias", vec![heads, RANK], &decay.psi_bias),
            ],
            Self::Cells(cells) => {
                let (count, rank) = (cells.cells as usize, cells.rank as usize);
                vec![
                    ("cells.codebook", vec![kv_heads, count, dim], &cells.codebook),
                    ("cells.beta", vec![kv_heads, count], &cells.beta),
                    ("cells.mean", vec![kv_heads, dim], &cells.mean),
                    ("cells.metric", vec![kv_heads, rank, dim], &cells.metric),
                    ("cells.kappa", vec![heads], &cells.kappa),
                    ("cells.delta", vec![heads], &cells.delta),
                ]
            }
        }
    }
}
