//! Whether a state is one that a layer can be in.

use super::field::Array;
use super::{CarrierSnapshot, Field, HeadSnapshot, LayerSnapshot, MAX_TOKENS, SnapshotError};
use crate::state::{Carrier, Config, Storage};

impl LayerSnapshot {
    /// Is this a state that a layer of these sizes and this carrier can be in? What kernels take for granted is checked
    /// (lengths, positions, no NaN to rank), and what makes two equal states equal bits: zeros where nothing was written.
    ///
    /// That every number is finite does not keep products of them finite: kernels meet a NaN that they made themselves.
    pub fn check(&self, config: &Config, carrier: &Carrier) -> Result<(), SnapshotError> {
        if self.tokens > MAX_TOKENS {
            return Err(SnapshotError::Tokens { found: self.tokens, most: MAX_TOKENS });
        }
        self.check_kinds(config, carrier)?;
        self.check_lengths(config, carrier)?;
        self.check_surprises(config)?;
        let left = config.schedule().left(self.tokens);
        for (index, head) in self.heads.iter().enumerate() {
            let filled = left.min(config.store(index)) as usize;
            check_positions(index, head, filled, left)?;
            check_unwritten(index, head, filled, self.tokens as usize)?;
            check_numbers(index, head, config.storage())?;
        }
        let carrier = Field::ALL.into_iter().filter(|field| field.of_carrier());
        carrier.map(|field| (field, field.of_state(&self.carrier))).try_for_each(|(field, numbers)| match field {
            Field::CellCounts | Field::CellSquares => check_floats(field, None, numbers, NOT_NEGATIVE),
            _ => check_floats(field, None, numbers, FINITE),
        })
    }

    fn check_kinds(&self, config: &Config, carrier: &Carrier) -> Result<(), SnapshotError> {
        let wanted = CarrierSnapshot::of(carrier).kind();
        let found = self.carrier.kind();
        if found != wanted {
            return Err(SnapshotError::Carrier { found, wanted });
        }
        let wanted = config.shape().kv_heads;
        if self.heads.len() != wanted as usize {
            return Err(SnapshotError::Heads { found: self.heads.len(), wanted });
        }
        Ok(())
    }

    fn check_lengths(&self, config: &Config, carrier: &Carrier) -> Result<(), SnapshotError> {
        let all = 0..self.heads.len();
        let check = |field: Field, head: Option<usize>, found: usize| {
            let heads = head.map_or(all.clone(), |head| head..head + 1);
            let dimensions = field.dimensions(config, carrier, &heads, self.tokens);
            let size = if field.by_rows() { u64::from(config.storage().size()) } else { 1 };
            let wanted = dimensions.iter().fold(size, |len, &dimension| len.saturating_mul(dimension));
            if found as u64 == wanted { Ok(()) } else { Err(SnapshotError::Len { field, head, found, wanted }) }
        };
        for field in Field::ALL {
            if field.of_head() {
                for (index, head) in self.heads.iter().enumerate() {
                    check(field, Some(index), field.of(head).map_or(0, |array| array.len()))?;
                }
            } else if field == Field::Surprises {
                check(field, None, self.surprises.len())?;
            } else {
                check(field, None, field.of_state(&self.carrier).len())?;
            }
        }
        Ok(())
    }

    fn check_surprises(&self, config: &Config) -> Result<(), SnapshotError> {
        let schedule = config.schedule();
        let (least, most) = match (config.wants_surprises(), schedule.left(self.tokens)) {
            (false, _) => (0, 0),
            (true, 0) => (0, self.tokens + 1),
            // The last turnover was before the row at which the band's start became what it is.
            (true, left) => {
                let band = schedule.most_in_band().unwrap_or(0) - crate::state::BLOCK;
                (schedule.surprises_due(left + band), self.tokens + 1)
            }
        };
        if !(least..=most).contains(&self.surprised) {
            return Err(SnapshotError::Surprised { found: self.surprised, least, most });
        }
        let field = Field::Surprises;
        if let Some(index) = Array::Floats(&self.surprises).first_set(self.surprised as usize) {
            return Err(SnapshotError::NotZero { field, head: None, index });
        }
        // A probability may have been rounded to 0, or to a little more than 1.
        check_floats(field, None, &self.surprises, ("a number", |x| !x.is_nan() && x > f32::NEG_INFINITY))
    }
}

/// Surprises are of tokens, not of layers: all that have any must have the same, to the bit.
pub(crate) fn same_surprises<'s>(layers: impl IntoIterator<Item = &'s LayerSnapshot>) -> Result<(), SnapshotError> {
    let mut first: Option<&LayerSnapshot> = None;
    for (layer, state) in layers.into_iter().enumerate() {
        if state.surprises.is_empty() {
            continue;
        }
        let bits =
            |state: &LayerSnapshot| state.surprises.iter().map(|surprise| surprise.to_bits()).collect::<Vec<_>>();
        let known = first.get_or_insert(state);
        if known.surprised != state.surprised || bits(known) != bits(state) {
            return Err(SnapshotError::LayerSurprises.of_layer(layer));
        }
    }
    Ok(())
}

/// The store's slots in use hold distinct tokens that have left the band, the first one among them.
fn check_positions(index: usize, head: &HeadSnapshot, filled: usize, left: u32) -> Result<(), SnapshotError> {
    let mut positions = head.store_positions.get(..filled).unwrap_or_default().to_vec();
    if let Some((slot, &found)) = positions.iter().enumerate().find(|&(_, &position)| position >= left) {
        return Err(SnapshotError::Position { head: index, slot, found, left });
    }
    positions.sort_unstable();
    if let Some(twice) = positions.windows(2).find(|pair| pair.first() == pair.last()) {
        return Err(SnapshotError::Repeated { head: index, position: twice.first().copied().unwrap_or_default() });
    }
    match positions.first() {
        Some(1..) => Err(SnapshotError::FirstToken { head: index }),
        _ => Ok(()),
    }
}

/// Slots of the store from `filled` on, and rows of the band that no token has reached yet.
fn check_unwritten(index: usize, head: &HeadSnapshot, filled: usize, tokens: usize) -> Result<(), SnapshotError> {
    for field in Field::ALL {
        let Some(array) = field.of(head) else { continue };
        let in_store = field.in_store();
        let rows = if in_store { head.store_positions.len() } else { head.looks.len() };
        let written = if in_store { filled } else { tokens };
        // Native bands have no rows beyond their tokens, and no looks.
        let row = array.len().checked_div(rows).unwrap_or(0);
        if written < rows
            && let Some(at) = array.first_set(written * row)
        {
            return Err(SnapshotError::NotZero { field, head: Some(index), index: at });
        }
    }
    Ok(())
}

type Wanted = (&'static str, fn(f32) -> bool);
const FINITE: Wanted = ("a finite number", f32::is_finite);
const NOT_NEGATIVE: Wanted = ("a finite number that is not negative", |x| x.is_finite() && x >= 0.);

fn check_numbers(index: usize, head: &HeadSnapshot, storage: Storage) -> Result<(), SnapshotError> {
    let head_index = Some(index);
    for field in Field::ALL {
        match field.of(head) {
            Some(Array::Bytes(bytes)) => {
                // All ones in the exponent: infinite or NaN. Of f16, the same number as f32 is told.
                let found = match storage {
                    Storage::F16 => bytes.chunks_exact(2).enumerate().find_map(|(at, two)| {
                        let bits = u32::from(u16::from_le_bytes(two.try_into().unwrap_or_default()));
                        let wide = (bits & 0x8000) << 16 | 0x7f80_0000 | (bits & 0x3ff) << 13;
                        (bits & 0x7c00 == 0x7c00).then_some((at, wide))
                    }),
                    Storage::F32 => bytes.chunks_exact(4).enumerate().find_map(|(at, four)| {
                        let bits = u32::from_le_bytes(four.try_into().unwrap_or_default());
                        (bits & 0x7f80_0000 == 0x7f80_0000).then_some((at, bits))
                    }),
                };
                if let Some((index, bits)) = found {
                    return Err(SnapshotError::Value { field, head: head_index, index, bits, wanted: FINITE.0 });
                }
            }
            Some(Array::Floats(numbers)) if field == Field::Looks => {
                check_floats(field, head_index, numbers, NOT_NEGATIVE)?;
            }
            // Surprises may be infinite, and so may the scores that are made of them.
            Some(Array::Floats(numbers)) => check_floats(field, head_index, numbers, ("a number", |x| !x.is_nan()))?,
            _ => {}
        }
    }
    Ok(())
}

fn check_floats(
    field: Field,
    head: Option<usize>,
    numbers: &[f32],
    (wanted, fits): Wanted,
) -> Result<(), SnapshotError> {
    match numbers.iter().enumerate().find(|&(_, &number)| !fits(number)) {
        Some((index, number)) => Err(SnapshotError::Value { field, head, index, bits: number.to_bits(), wanted }),
        None => Ok(()),
    }
}
