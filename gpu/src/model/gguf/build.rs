//! Small GGUF files for tests, whose bytes may be wrong in any place.

use crate::model::quant::Element;

/// A file as it grows.
#[derive(Clone, Debug)]
pub(in crate::model) struct Build {
    version: u32,
    alignment: u64,
    /// What the counts say, where that is not the truth.
    counts: [Option<u64>; 2],
    entries: Vec<Piece>,
    tensors: Vec<Piece>,
    /// Where the next tensor begins.
    offset: u64,
}

/// Bytes, and where in them counts, lengths, dimensions and offsets stand.
#[derive(Clone, Debug, Default)]
struct Piece {
    bytes: Vec<u8>,
    fields: Vec<Field>,
}

/// A number in a file.
#[derive(Clone, Debug)]
pub(in crate::model) struct Field {
    pub(in crate::model) at: usize,
    pub(in crate::model) width: usize,
    pub(in crate::model) name: String,
}

impl Piece {
    fn field(mut self, name: impl Into<String>, value: &[u8]) -> Self {
        self.fields.push(Field { at: self.bytes.len(), width: value.len(), name: name.into() });
        self.plain(value)
    }

    fn plain(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    fn string(self, name: &str, text: &[u8]) -> Self {
        self.field(format!("length of {name}"), &(text.len() as u64).to_le_bytes()).plain(text)
    }

    fn value(self, of: &str, value: &Given<'_>) -> Self {
        match value {
            Given::Text(text) => self.string(&format!("the text of {of}"), text.as_bytes()),
            Given::Array(kind, values) => {
                let start = self.field(format!("kind of the elements of {of}"), &kind.to_le_bytes());
                let start = start.field(format!("elements of {of}"), &(values.len() as u64).to_le_bytes());
                values.iter().fold(start, |piece, value| piece.value(of, value))
            }
            other => self.plain(&other.plain()),
        }
    }
}

/// A value for the metadata.
#[derive(Clone, Debug)]
pub(in crate::model) enum Given<'a> {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    /// 0 or 1, or not.
    Bool(u8),
    Text(&'a str),
    /// A kind's number, and values that should be of that kind.
    Array(u32, Vec<Given<'a>>),
    U64(u64),
    I64(i64),
    F64(f64),
}

impl Given<'_> {
    pub(in crate::model) fn kind(&self) -> u32 {
        match self {
            Self::U8(_) => 0,
            Self::I8(_) => 1,
            Self::U16(_) => 2,
            Self::I16(_) => 3,
            Self::U32(_) => 4,
            Self::I32(_) => 5,
            Self::F32(_) => 6,
            Self::Bool(_) => 7,
            Self::Text(_) => 8,
            Self::Array(..) => 9,
            Self::U64(_) => 10,
            Self::I64(_) => 11,
            Self::F64(_) => 12,
        }
    }

    fn plain(&self) -> Vec<u8> {
        match self {
            Self::U8(value) | Self::Bool(value) => vec![*value],
            Self::I8(value) => value.to_le_bytes().to_vec(),
            Self::U16(value) => value.to_le_bytes().to_vec(),
            Self::I16(value) => value.to_le_bytes().to_vec(),
            Self::U32(value) => value.to_le_bytes().to_vec(),
            Self::I32(value) => value.to_le_bytes().to_vec(),
            Self::F32(value) => value.to_le_bytes().to_vec(),
            Self::U64(value) => value.to_le_bytes().to_vec(),
            Self::I64(value) => value.to_le_bytes().to_vec(),
            Self::F64(value) => value.to_le_bytes().to_vec(),
            Self::Text(_) | Self::Array(..) => Vec::new(),
        }
    }
}

impl Default for Build {
    fn default() -> Self {
        Self { version: 3, alignment: 32, counts: [None; 2], entries: Vec::new(), tensors: Vec::new(), offset: 0 }
    }
}

impl Build {
    pub(in crate::model) fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Says other numbers of tensors and of entries than there are.
    pub(in crate::model) fn counts(mut self, tensors: Option<u64>, entries: Option<u64>) -> Self {
        self.counts = [tensors, entries];
        self
    }

    pub(in crate::model) fn entry(mut self, key: &str, value: &Given<'_>) -> Self {
        let piece = Piece::default().string(&format!("key {key}"), key.as_bytes());
        let piece = piece.field(format!("kind of {key}"), &value.kind().to_le_bytes());
        self.entries.push(piece.value(key, value));
        self
    }

    /// An entry of any bytes.
    pub(in crate::model) fn raw_entry(mut self, bytes: &[u8]) -> Self {
        self.entries.push(Piece::default().plain(bytes));
        self
    }

    /// Says the alignment, and keeps to it.
    pub(in crate::model) fn aligned(mut self, alignment: u32) -> Self {
        self.alignment = alignment.into();
        self.entry("general.alignment", &Given::U32(alignment))
    }

    /// A tensor behind the others.
    pub(in crate::model) fn tensor(mut self, name: &str, dims: &[u64], element: Element) -> Self {
        let offset = self.offset;
        let bytes = element.bytes_of(dims.iter().product()).unwrap();
        self.offset = (offset + bytes).next_multiple_of(self.alignment);
        self.tensor_at(name, dims, element.id(), offset)
    }

    /// A tensor of any numbers, whose bytes are not there.
    pub(in crate::model) fn tensor_at(mut self, name: &str, dims: &[u64], element: u32, offset: u64) -> Self {
        let piece = Piece::default().string(&format!("name {name}"), name.as_bytes());
        let mut piece = piece.field(format!("number of dimensions of {name}"), &(dims.len() as u32).to_le_bytes());
        for dim in dims {
            piece = piece.field(format!("dimension of {name}"), &dim.to_le_bytes());
        }
        let piece = piece.field(format!("type of {name}"), &element.to_le_bytes());
        self.tensors.push(piece.field(format!("offset of {name}"), &offset.to_le_bytes()));
        self
    }

    /// The file, and its numbers.
    pub(in crate::model) fn with_fields(&self) -> (Vec<u8>, Vec<Field>) {
        let [tensors, entries] = self.counts;
        let front = Piece::default().plain(b"GGUF").field("version", &self.version.to_le_bytes());
        let tensors = tensors.unwrap_or(self.tensors.len() as u64);
        let entries = entries.unwrap_or(self.entries.len() as u64);
        let front = front.field("number of tensors", &tensors.to_le_bytes());
        let front = front.field("number of entries", &entries.to_le_bytes());
        let (mut bytes, mut fields) = (Vec::new(), Vec::new());
        for piece in [&front].into_iter().chain(&self.entries).chain(&self.tensors) {
            let start = bytes.len();
            fields.extend(piece.fields.iter().map(|field| Field { at: start + field.at, ..field.clone() }));
            bytes.extend_from_slice(&piece.bytes);
        }
        // Of what cannot be a file there is no more than the header.
        if self.alignment.is_power_of_two() && self.alignment < 1 << 20 {
            let data = (bytes.len() as u64).next_multiple_of(self.alignment);
            bytes.resize((data + self.offset) as usize, 0);
        }
        (bytes, fields)
    }

    pub(in crate::model) fn bytes(&self) -> Vec<u8> {
        self.with_fields().0
    }
}

/// A tiny model's metadata.
pub(in crate::model) fn metadata(architecture: &str) -> Vec<(String, Given<'static>)> {
    let of = |key: &str| format!("{architecture}.{key}");
    vec![
        ("general.architecture".to_owned(), Given::Text(if architecture == "llama" { "llama" } else { "qwen2" })),
        (of("block_count"), Given::U32(2)),
        (of("context_length"), Given::U32(128)),
        (of("embedding_length"), Given::U32(32)),
        (of("feed_forward_length"), Given::U32(64)),
        (of("attention.head_count"), Given::U32(4)),
        (of("attention.head_count_kv"), Given::U32(2)),
        (of("attention.layer_norm_rms_epsilon"), Given::F32(1e-5)),
        (of("rope.freq_base"), Given::F32(1e5)),
        ("tokenizer.ggml.tokens".to_owned(), Given::Array(8, ["a", "b", "", "d", "e", "f"].map(Given::Text).to_vec())),
    ]
}

/// A tiny model's tensors.
pub(in crate::model) fn tensors(biases: bool, tied: bool) -> Vec<(String, Vec<u64>, Element)> {
    let mut all = vec![
        ("token_embd.weight".to_owned(), vec![32, 6], Element::Q8_0),
        ("output_norm.weight".to_owned(), vec![32], Element::F32),
    ];
    if !tied {
        all.push(("output.weight".to_owned(), vec![32, 6], Element::Q5_1));
    }
    for layer in 0..2 {
        let mut part =
            |name: &str, dims: &[u64], element| all.push((format!("blk.{layer}.{name}"), dims.to_vec(), element));
        part("attn_norm.weight", &[32], Element::F32);
        part("attn_q.weight", &[32, 32], Element::Q4_1);
        part("attn_k.weight", &[32, 16], Element::Q4_0);
        part("attn_v.weight", &[32, 16], Element::F16);
        part("attn_output.weight", &[32, 32], Element::Q5_0);
        part("ffn_norm.weight", &[32], Element::Bf16);
        part("ffn_gate.weight", &[32, 64], Element::Q4_1);
        part("ffn_up.weight", &[32, 64], Element::Q4_1);
        part("ffn_down.weight", &[64, 32], Element::Q4_1);
        if biases {
            part("attn_q.bias", &[32], Element::F32);
            part("attn_k.bias", &[16], Element::F32);
            part("attn_v.bias", &[16], Element::F32);
        }
    }
    all
}

/// A file of these.
pub(in crate::model) fn file(entries: &[(String, Given<'_>)], tensors: &[(String, Vec<u64>, Element)]) -> Build {
    let build = entries.iter().fold(Build::default(), |build, (key, value)| build.entry(key, value));
    tensors.iter().fold(build, |build, (name, dims, element)| build.tensor(name, dims, *element))
}
