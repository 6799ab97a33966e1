//! Where two states differ.

use super::{CarrierSnapshot, LayerSnapshot};
use std::fmt::Debug;

impl LayerSnapshot {
    /// Are these the same state, bit for bit?
    pub fn same_bits(&self, other: &Self) -> bool {
        self.first_difference(other).is_none()
    }

    /// The first place at which two states differ, by bits: its field, head and index, and both values. None where there
    /// is none: then a NaN meets the same NaN, and a zero one of the same sign.
    pub fn first_difference(&self, other: &Self) -> Option<String> {
        let whole = |name, ours: u32, theirs: u32| (ours != theirs).then(|| format!("{name}: {ours} and {theirs}"));
        whole("tokens", self.tokens, other.tokens)
            .or_else(|| whole("surprised", self.surprised, other.surprised))
            .or_else(|| floats("surprises", &self.surprises, &other.surprises))
            .or_else(|| lengths("heads", self.heads.len(), other.heads.len()))
            .or_else(|| self.head_difference(other))
            .or_else(|| self.carrier.first_difference(&other.carrier))
    }

    fn head_difference(&self, other: &Self) -> Option<String> {
        self.heads.iter().zip(&other.heads).enumerate().find_map(|(head, (ours, theirs))| {
            let band = if ours.looks.is_empty() { self.tokens as usize } else { ours.looks.len() };
            let store = ours.store_positions.len();
            rows("band_keys", band, &ours.band_keys, &theirs.band_keys)
                .or_else(|| rows("band_values", band, &ours.band_values, &theirs.band_values))
                .or_else(|| numbers("store_positions", &ours.store_positions, &theirs.store_positions, |&n| n))
                .or_else(|| floats("store_scores", &ours.store_scores, &theirs.store_scores))
                .or_else(|| rows("store_keys", store, &ours.store_keys, &theirs.store_keys))
                .or_else(|| rows("store_values", store, &ours.store_values, &theirs.store_values))
                .or_else(|| floats("looks", &ours.looks, &theirs.looks))
                .map(|place| format!("head {head}: {place}"))
        })
    }
}

impl CarrierSnapshot {
    /// What a message calls it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::None => "no carrier",
            Self::Decay(_) => "a decay carrier",
            Self::Cells { .. } => "a cell carrier",
        }
    }

    fn first_difference(&self, other: &Self) -> Option<String> {
        match (self, other) {
            (Self::None, Self::None) => None,
            (Self::Decay(ours), Self::Decay(theirs)) => floats("decay", ours, theirs),
            (
                Self::Cells { counts, keys, values, squares },
                Self::Cells { counts: counts2, keys: keys2, values: values2, squares: squares2 },
            ) => floats("cell counts", counts, counts2)
                .or_else(|| floats("cell keys", keys, keys2))
                .or_else(|| floats("cell values", values, values2))
                .or_else(|| floats("cell squares", squares, squares2)),
            _ => Some(format!("carrier: {} and {}", self.kind(), other.kind())),
        }
    }
}

fn lengths(name: &str, ours: usize, theirs: usize) -> Option<String> {
    (ours != theirs).then(|| format!("{name}: lengths {ours} and {theirs}"))
}

/// Compares what `bits` makes of the elements, and shows the elements.
fn numbers<T: Debug>(name: &str, ours: &[T], theirs: &[T], bits: impl Fn(&T) -> u32) -> Option<String> {
    lengths(name, ours.len(), theirs.len()).or_else(|| {
        let at = ours.iter().zip(theirs).position(|(ours, theirs)| bits(ours) != bits(theirs))?;
        let (ours, theirs) = (ours.get(at)?, theirs.get(at)?);
        let (our_bits, their_bits) = (bits(ours), bits(theirs));
        Some(format!("{name}[{at}]: {ours:?} and {theirs:?} ({our_bits:08x} and {their_bits:08x})"))
    })
}

fn floats(name: &str, ours: &[f32], theirs: &[f32]) -> Option<String> {
    numbers(name, ours, theirs, |x| x.to_bits())
}

/// Compares rows of bytes. A snapshot does not know its storage, so the values are told as the four bytes around.
fn rows(name: &str, count: usize, ours: &[u8], theirs: &[u8]) -> Option<String> {
    lengths(name, ours.len(), theirs.len()).or_else(|| {
        let at = ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs)?;
        let row = (ours.len() / count.max(1)).max(1);
        let word = |bytes: &[u8]| {
            let four = bytes.get(at / 4 * 4..).unwrap_or_default().iter().take(4);
            four.map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
        };
        let (ours, theirs) = (word(ours), word(theirs));
        Some(format!("{name}, row {}, byte {}: {ours} and {theirs}", at / row, at % row / 4 * 4))
    })
}
