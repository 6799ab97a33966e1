//! Writes GGUF files: no more than tests need.

use crate::model::quant::Element;

/// A value of the metadata.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) enum Entry<'a> {
    U32(u32),
    F32(f32),
    Bool(bool),
    Text(&'a str),
    Texts(&'a [String]),
    I32s(&'a [i32]),
}

/// A file as it grows. Alignment is 32.
#[derive(Clone, Debug, Default)]
pub(in crate::model) struct Writer {
    entries: Vec<u8>,
    tensors: Vec<u8>,
    data: Vec<u8>,
    counts: [u64; 2],
}

const ALIGNMENT: usize = 32;

impl Writer {
    pub(in crate::model) fn entry(&mut self, key: &str, value: Entry<'_>) {
        let out = &mut self.entries;
        text(out, key);
        let mut kind = |kind: u32, count: Option<usize>| {
            let array = count.map(|_| 9_u32.to_le_bytes());
            out.extend(array.into_iter().flatten().chain(kind.to_le_bytes()));
            out.extend(count.into_iter().flat_map(|count| (count as u64).to_le_bytes()));
        };
        match value {
            Entry::U32(_) => kind(4, None),
            Entry::F32(_) => kind(6, None),
            Entry::Bool(_) => kind(7, None),
            Entry::Text(_) => kind(8, None),
            Entry::Texts(texts) => kind(8, Some(texts.len())),
            Entry::I32s(numbers) => kind(5, Some(numbers.len())),
        }
        match value {
            Entry::U32(number) => out.extend(number.to_le_bytes()),
            Entry::F32(number) => out.extend(number.to_le_bytes()),
            Entry::Bool(value) => out.push(value.into()),
            Entry::Text(value) => text(out, value),
            Entry::Texts(texts) => texts.iter().for_each(|value| text(out, value)),
            Entry::I32s(numbers) => out.extend(numbers.iter().flat_map(|number| number.to_le_bytes())),
        }
        self.counts[1] += 1;
    }

    /// A tensor behind the others. `fill` appends its blocks, as many as the dimensions say.
    pub(in crate::model) fn tensor(
        &mut self,
        name: &str,
        dims: &[u64],
        element: Element,
        fill: impl FnOnce(&mut Vec<u8>),
    ) {
        text(&mut self.tensors, name);
        self.tensors.extend((dims.len() as u32).to_le_bytes());
        self.tensors.extend(dims.iter().flat_map(|dim| dim.to_le_bytes()));
        self.tensors.extend(element.id().to_le_bytes());
        self.tensors.extend((self.data.len() as u64).to_le_bytes());
        fill(&mut self.data);
        self.data.resize(self.data.len().next_multiple_of(ALIGNMENT), 0);
        self.counts[0] += 1;
    }

    pub(in crate::model) fn file(self) -> Vec<u8> {
        let mut file = b"GGUF\x03\0\0\0".to_vec();
        file.extend(self.counts.into_iter().flat_map(u64::to_le_bytes));
        file.extend(self.entries);
        file.extend(self.tensors);
        file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
        file.extend(self.data);
        file
    }
}

fn text(out: &mut Vec<u8>, value: &str) {
    out.extend((value.len() as u64).to_le_bytes());
    out.extend(value.as_bytes());
}
