//! One model state in memory.

use super::error::AnchorError;
use super::meta::check_names;
use super::spec::Layout;
use super::{ArraySpec, Scalars};
use alloc::vec::Vec;

/// A model state: for every layer its scalars and the bytes of its arrays.
///
/// The bytes lie in one buffer, layer by layer and array by array as listed, each array in C order with little-endian
/// elements. A table of slices a layer could be far larger than the record that asks for it. The default has no layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub(super) arrays: Vec<ArraySpec>,
    pub(super) scalars: Vec<Scalars>,
    pub(super) bytes: Vec<u8>,
    pub(super) layout: Layout,
    pub(super) describes_rows: bool,
}

impl Snapshot {
    /// A state of as many layers as there are scalars, whose arrays lie one after the other in `bytes`.
    pub fn new(arrays: Vec<ArraySpec>, scalars: Vec<Scalars>, bytes: Vec<u8>) -> Result<Self, AnchorError> {
        check_names(&arrays)?;
        let layout = Layout::of(&arrays, &scalars)?;
        if layout.len != bytes.len() {
            return Err(AnchorError::BodyLen { declared: layout.len, len: bytes.len() });
        }
        Ok(Self { arrays, scalars, bytes, layout, describes_rows: false })
    }

    /// A state whose arrays are given one by one: for every layer its scalars and its arrays, in the order of `arrays`.
    pub fn from_layers<'b, L>(
        arrays: Vec<ArraySpec>,
        layers: impl IntoIterator<Item = (Scalars, L)>,
    ) -> Result<Self, AnchorError>
    where
        L: IntoIterator<Item = &'b [u8]>,
    {
        let places = Layout::of(&arrays, &[])?.places;
        let (mut scalars, mut bytes) = (Vec::new(), Vec::new());
        for (layer, (of_layer, given)) in layers.into_iter().enumerate() {
            let count = || AnchorError::ArrayCount { layer, listed: arrays.len() };
            let mut given = given.into_iter();
            for (array, &(_, needs)) in arrays.iter().zip(&places) {
                let given = given.next().ok_or_else(count)?;
                if given.len() != needs {
                    let array = array.name.clone();
                    return Err(AnchorError::ArrayLen { layer, array, needs, len: given.len() });
                }
                bytes.extend_from_slice(given);
            }
            if given.next().is_some() {
                return Err(count());
            }
            scalars.push(of_layer);
        }
        Self::new(arrays, scalars, bytes)
    }

    /// Whether records of this state name the arrays that are stored by rows even where a reader would guess them
    /// right. A state that was read does what its record did.
    #[must_use]
    pub fn describing_rows(self, describes_rows: bool) -> Self {
        Self { describes_rows, ..self }
    }

    /// What the arrays are.
    #[must_use]
    pub fn arrays(&self) -> &[ArraySpec] {
        &self.arrays
    }

    /// What each layer remembers besides its arrays; as many as there are layers.
    #[must_use]
    pub fn scalars(&self) -> &[Scalars] {
        &self.scalars
    }

    /// All arrays of all layers.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, without a copy.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Bytes of one array of a layer.
    #[must_use]
    pub fn array(&self, layer: usize, index: usize) -> Option<&[u8]> {
        let &(start, len) = self.layout.places.get(index)?;
        self.layer_bytes(layer)?.get(start..)?.get(..len)
    }

    /// The arrays of a layer with what they are; nothing where there is no such layer.
    pub fn layer(&self, layer: usize) -> impl Iterator<Item = (&ArraySpec, &[u8])> {
        self.arrays.iter().enumerate().filter_map(move |(index, array)| Some((array, self.array(layer, index)?)))
    }

    /// The array of a layer that has this name.
    #[must_use]
    pub fn named(&self, layer: usize, name: &str) -> Option<&[u8]> {
        self.array(layer, self.arrays.iter().position(|array| array.name == name)?)
    }

    pub(super) fn layer_bytes(&self, layer: usize) -> Option<&[u8]> {
        if layer >= self.scalars.len() {
            return None;
        }
        // Below the length of all layers, which was counted.
        self.bytes.get(layer * self.layout.layer_len..)?.get(..self.layout.layer_len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchor::Dtype;
    use alloc::string::ToString;
    use alloc::vec;

    fn arrays() -> Vec<ArraySpec> {
        vec![
            ArraySpec::new("a", Dtype::UInt8, [2]),
            ArraySpec::new("none", Dtype::UInt8, [0]),
            ArraySpec::new("b", Dtype::UInt16, []),
        ]
    }

    fn two_layers() -> Vec<Scalars> {
        vec![Scalars::default(); 2]
    }

    #[test]
    fn arrays_are_found_by_layer_and_place_or_name() {
        let state = Snapshot::new(arrays(), two_layers(), (0..8).collect()).unwrap();
        assert_eq!(state.array(1, 0), Some(&[4, 5][..]));
        assert_eq!(state.array(1, 1), Some(&[][..]));
        assert_eq!(state.named(0, "b"), Some(&[2, 3][..]));
        assert_eq!((state.array(2, 0), state.array(0, 3), state.named(0, "c")), (None, None, None));
        let names: Vec<_> = state.layer(1).map(|(array, bytes)| (array.name.as_str(), bytes.len())).collect();
        assert_eq!(names, [("a", 2), ("none", 0), ("b", 2)]);
        assert_eq!(state.layer(2).count(), 0);
    }

    #[test]
    fn layers_given_one_by_one_are_the_same_state() {
        let layer = |bytes: &'static [u8]| (Scalars::default(), [&bytes[..2], &[], &bytes[2..]]);
        let state = Snapshot::from_layers(arrays(), [layer(&[0, 1, 2, 3]), layer(&[4, 5, 6, 7])]).unwrap();
        assert_eq!(state, Snapshot::new(arrays(), two_layers(), (0..8).collect()).unwrap());
    }

    #[test]
    fn states_that_contradict_themselves_are_refused() {
        let layer = |arrays: Vec<&'static [u8]>| [(Scalars::default(), arrays)];
        let error = |given: Vec<&'static [u8]>| Snapshot::from_layers(arrays(), layer(given)).unwrap_err();
        assert_eq!(error(vec![b"ab", b""]), AnchorError::ArrayCount { layer: 0, listed: 3 });
        assert_eq!(error(vec![b"ab", b"", b"cd", b""]), AnchorError::ArrayCount { layer: 0, listed: 3 });
        let len = AnchorError::ArrayLen { layer: 0, array: "b".to_string(), needs: 2, len: 3 };
        assert_eq!(error(vec![b"ab", b"", b"cde"]), len);
        assert_eq!(
            Snapshot::new(arrays(), two_layers(), vec![0; 7]),
            Err(AnchorError::BodyLen { declared: 8, len: 7 })
        );
        let twice = vec![ArraySpec::new("a", Dtype::Bool, []), ArraySpec::new("a", Dtype::Int8, [])];
        assert_eq!(
            Snapshot::new(twice, Vec::new(), Vec::new()),
            Err(AnchorError::DuplicateArray { array: "a".to_string() })
        );
    }
}
