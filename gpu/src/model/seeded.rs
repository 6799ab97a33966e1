//! Models of seeded random numbers, as GGUF files: for tests, natively and in browsers.
//!
//! They have a tokenizer that takes any text, and logits that differ enough for greedy decoding to go somewhere. What they say means
//! nothing. The same fields give the same bytes everywhere.

use super::Architecture;
use super::gguf::write::{Entry, Writer};
use super::quant::Element;
use super::text::bytes::Alphabet;
use half::{bf16 as Bf16, f16 as F16};

/// Sizes of a model, and the seed of its weights. A row of a matrix has to be whole blocks of 32 numbers, of the K types 256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeded {
    /// What kind of transformer. Qwen 2 has biases.
    pub architecture: Architecture,
    /// Its layers.
    pub layers: u32,
    /// Numbers of a row between the layers.
    pub width: u32,
    /// Query heads.
    pub heads: u32,
    /// Key-value heads.
    pub kv_heads: u32,
    /// Numbers of a key.
    pub head_dim: u32,
    /// Numbers of a row inside the feed-forward part.
    pub feed_forward: u32,
    /// Tokens. With fewer than [`LEAST_VOCABULARY`] the tokenizer does not know every byte.
    pub vocabulary: u32,
    /// How the layers' matrices are written.
    pub element: Element,
    /// How the embedding is written, and the table of the logits.
    pub embedding: Element,
    /// Whether logits come from the embedding.
    pub tied: bool,
    /// Of the weights.
    pub seed: u64,
}

/// Three special tokens and one for each byte.
pub const LEAST_VOCABULARY: u32 = SPECIAL.len() as u32 + 256;

/// Tokens of the longest context that the metadata speaks of.
const CONTEXT: u32 = 8192;
const SPECIAL: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
/// Pairs of letters that are one token, the earlier the sooner. `_` stands for a space, written as a letter.
const PAIRS: &str = "_t he in _a re on er _s at nd en _w or _o es is ou it _c ed _b ng al ar st _m _f to _p an";
const TEMPLATE: &str = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + \
                        '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
/// Standard deviation of a matrix's numbers, times the root of their number in a row. Above 1, a row of the layers outgrows the
/// embedding of its token: with a tied table the model would repeat that token otherwise.
const GAIN: f32 = 1.5;

impl Default for Seeded {
    fn default() -> Self {
        Self {
            architecture: Architecture::Llama,
            layers: 2,
            width: 64,
            heads: 4,
            kv_heads: 2,
            head_dim: 16,
            feed_forward: 96,
            vocabulary: 320,
            element: Element::Q4_1,
            embedding: Element::Q8_0,
            tied: true,
            seed: 1,
        }
    }
}

impl Seeded {
    /// The file.
    pub fn file(&self) -> Vec<u8> {
        let mut file = Writer::default();
        self.sizes(&mut file);
        self.tokenizer(&mut file);
        self.weights(&mut file);
        file.file()
    }

    fn sizes(&self, file: &mut Writer) {
        let name = self.architecture.name();
        file.entry("general.architecture", Entry::Text(name));
        for (key, size) in [
            ("block_count", self.layers),
            ("context_length", CONTEXT),
            ("embedding_length", self.width),
            ("feed_forward_length", self.feed_forward),
            ("attention.head_count", self.heads),
            ("attention.head_count_kv", self.kv_heads),
            ("attention.key_length", self.head_dim),
            ("attention.value_length", self.head_dim),
        ] {
            file.entry(&format!("{name}.{key}"), Entry::U32(size));
        }
        file.entry(&format!("{name}.attention.layer_norm_rms_epsilon"), Entry::F32(1e-5));
        file.entry(&format!("{name}.rope.freq_base"), Entry::F32(10_000.0));
    }

    fn tokenizer(&self, file: &mut Writer) {
        let (alphabet, vocabulary) = (Alphabet::new(), self.vocabulary as usize);
        let space = alphabet.letter(b' ').to_string();
        let pairs: Vec<String> = PAIRS.split(' ').map(|pair| pair.replace('_', &space)).collect();
        let letters = (0..=255).map(|byte| alphabet.letter(byte).to_string());
        let mut tokens: Vec<String> = SPECIAL.map(String::from).into_iter().chain(letters).chain(pairs).collect();
        tokens.truncate(vocabulary);
        let merges = tokens.get(LEAST_VOCABULARY as usize..).unwrap_or_default();
        let merges = merges.iter().map(|pair| pair.chars().map(String::from).collect::<Vec<_>>().join(" "));
        let merges: Vec<String> = merges.collect();
        // The others are words that no merge makes: a model can say them.
        tokens.extend((tokens.len()..vocabulary).map(|id| format!("{space}w{id}")));
        let (control, normal) = (3, 1);
        let kinds: Vec<i32> = (0..vocabulary).map(|id| if id < SPECIAL.len() { control } else { normal }).collect();
        file.entry("tokenizer.ggml.model", Entry::Text("gpt2"));
        file.entry("tokenizer.ggml.pre", Entry::Text("smollm"));
        file.entry("tokenizer.ggml.tokens", Entry::Texts(&tokens));
        file.entry("tokenizer.ggml.token_type", Entry::I32s(&kinds));
        file.entry("tokenizer.ggml.merges", Entry::Texts(&merges));
        file.entry("tokenizer.ggml.bos_token_id", Entry::U32(1));
        file.entry("tokenizer.ggml.eos_token_id", Entry::U32(2));
        file.entry("tokenizer.ggml.add_bos_token", Entry::Bool(false));
        file.entry("tokenizer.chat_template", Entry::Text(TEMPLATE));
    }

    fn weights(&self, file: &mut Writer) {
        let mut random = Random(self.seed);
        let (width, inner, vocabulary) = (self.width, self.feed_forward, self.vocabulary);
        let (heads, kv_heads) = (self.heads * self.head_dim, self.kv_heads * self.head_dim);
        let mut matrix = |file: &mut Writer, name: &str, row: u32, rows: u32, element, gain: f32| {
            let deviation = gain / (row as f32).sqrt();
            let blocks = u64::from(row) * u64::from(rows) / u64::from(Element::block_len(element));
            file.tensor(name, &[row.into(), rows.into()], element, |out| {
                (0..blocks).for_each(|_| block(&mut random, element, deviation, out));
            });
        };
        matrix(file, "token_embd.weight", width, vocabulary, self.embedding, 1.0);
        if !self.tied {
            matrix(file, "output.weight", width, vocabulary, self.embedding, 1.0);
        }
        for layer in 0..self.layers {
            for (name, row, rows) in [
                ("attn_q", width, heads),
                ("attn_k", width, kv_heads),
                ("attn_v", width, kv_heads),
                ("attn_output", heads, width),
                ("ffn_gate", width, inner),
                ("ffn_up", width, inner),
                ("ffn_down", inner, width),
            ] {
                matrix(file, &format!("blk.{layer}.{name}.weight"), row, rows, self.element, GAIN);
            }
        }
        let mut vector = |file: &mut Writer, name: &str, len: u32, middle: f32| {
            file.tensor(name, &[len.into()], Element::F32, |out| {
                (0..len).for_each(|_| out.extend((middle + 0.25 * random.signed()).to_le_bytes()));
            });
        };
        vector(file, "output_norm.weight", width, 1.0);
        for layer in 0..self.layers {
            vector(file, &format!("blk.{layer}.attn_norm.weight"), width, 1.0);
            vector(file, &format!("blk.{layer}.ffn_norm.weight"), width, 1.0);
            if self.architecture == Architecture::Qwen2 {
                for (name, len) in [("attn_q", heads), ("attn_k", kv_heads), ("attn_v", kv_heads)] {
                    vector(file, &format!("blk.{layer}.{name}.bias"), len, 0.0);
                }
            }
        }
    }
}

/// A block of numbers around 0 with this standard deviation.
fn block(random: &mut Random, element: Element, deviation: f32, out: &mut Vec<u8>) {
    // Codes of n bits that are all as likely deviate by 2^n / sqrt 12. Of scales of either sign, means that are not quite 0 cancel.
    let size = deviation * (1.0 + 0.5 * random.signed()) * if random.next() & 1 == 0 { 1.0 } else { -1.0 };
    let scale = |codes: f32| size * 12.0_f32.sqrt() / codes;
    let half = |number: f32| F16::from_f32(number).to_le_bytes();
    let start = out.len();
    match element {
        Element::F32 => out.extend((size * 12.0_f32.sqrt() / 2.0 * random.signed()).to_le_bytes()),
        Element::F16 => out.extend(half(size * 12.0_f32.sqrt() / 2.0 * random.signed())),
        Element::Bf16 => out.extend(Bf16::from_f32(size * 12.0_f32.sqrt() / 2.0 * random.signed()).to_le_bytes()),
        Element::Q4_0 => out.extend(half(scale(16.0))),
        Element::Q5_0 => out.extend(half(scale(32.0))),
        Element::Q8_0 => out.extend(half(scale(256.0))),
        Element::Q4_1 => out.extend([half(scale(16.0)), half(-7.5 * scale(16.0))].as_flattened()),
        Element::Q5_1 => out.extend([half(scale(32.0)), half(-15.5 * scale(32.0))].as_flattened()),
        Element::Q4K => stretches(random, scale(16.0), 7.5, out),
        Element::Q5K => stretches(random, scale(32.0), 15.5, out),
        // The scale stands behind the codes.
        Element::Q6K => {}
    }
    let end = start + element.block_bytes() as usize;
    let last = if element == Element::Q6K { end - 2 } else { end };
    while out.len() < last {
        let bytes = random.next().to_le_bytes();
        out.extend(&bytes[..(last - out.len()).min(8)]);
    }
    if element == Element::Q6K {
        out.extend(half(scale(64.0) / 74.0));
    }
}

/// The front of `Q4_K` and `Q5_K`: eight scales of 6 bits, and as many mins that are the same numbers.
fn stretches(random: &mut Random, scale: f32, middle: f32, out: &mut Vec<u8>) {
    // The root of their mean square.
    let each = scale / 36.5;
    out.extend([each, middle * each].map(|number| F16::from_f32(number).to_le_bytes()).as_flattened());
    let [a, b, c, d, lower @ ..] = random.next().to_le_bytes();
    out.extend([a, b, c, d, a, b, c, d]);
    out.extend(lower.map(|lower| (lower & 15) * 0x11));
}

/// Splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// From -1 up to 1.
    fn signed(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::model::gguf::Header;
    use crate::model::quant::dequantise;
    use crate::model::text::{Chat, Message, Special, Tokenizer};

    fn header(file: &[u8]) -> Header {
        Header::parse(file, file.len() as u64).unwrap()
    }

    #[test]
    fn every_kind_is_a_model_whose_numbers_are_as_large_as_they_should_be() {
        let architectures = [Architecture::Llama, Architecture::Qwen2];
        for (element, architecture) in
            Element::ALL.into_iter().flat_map(|element| architectures.map(|of| (element, of)))
        {
            let (width, feed_forward, heads, tied) = (256, 512, 16, architecture == Architecture::Llama);
            let seeded = Seeded {
                architecture,
                width,
                feed_forward,
                heads,
                element,
                embedding: element,
                tied,
                ..Seeded::default()
            };
            let file = seeded.file();
            let header = header(&file);
            let model = Model::read(&header).unwrap();
            let config = &model.config;
            assert_eq!((config.architecture, config.tied, config.biases), (architecture, tied, !tied));
            assert_eq!((config.layers, config.width, config.vocabulary, config.context), (2, 256, 320, 8192));
            for tensor in model.weights.matrices() {
                let mut numbers = vec![0.0; tensor.numbers() as usize];
                let at = tensor.range();
                dequantise(element, &file[at.start as usize..at.end as usize], &mut numbers).unwrap();
                let count = numbers.len() as f64;
                let mean = numbers.iter().map(|number| f64::from(*number)).sum::<f64>() / count;
                let square = numbers.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>() / count;
                let deviation = square.sqrt() * (tensor.row() as f64).sqrt();
                assert!((0.75..2.0).contains(&deviation), "{element} {}: {deviation}", tensor.name());
                assert!(mean.abs() < 0.1 * square.sqrt(), "{element} {}: {mean}", tensor.name());
            }
        }
    }

    #[test]
    fn its_tokenizer_takes_any_text() {
        let file = Seeded::default().file();
        let tokenizer = Tokenizer::from_header(&header(&file)).unwrap();
        let text = "the hen, Ωmega\n\u{7f} 12";
        let tokens = tokenizer.encode(text, Special::Ignored).unwrap();
        assert_eq!(tokenizer.decode(&tokens, Special::Ignored).unwrap(), text);
        assert!(tokens.len() < text.len() && tokens.iter().any(|token| *token >= LEAST_VOCABULARY));
        let chat = Chat::from_header(&header(&file)).unwrap();
        let said = chat.render(&[Message { role: "user", content: "hi" }], true).unwrap();
        let tokens = tokenizer.encode(&said, Special::Named).unwrap();
        assert_eq!(tokens.iter().filter(|token| **token == 1).count(), 2);
        assert!(tokens.contains(&2));
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let seeded = Seeded::default();
        assert_eq!(seeded.file(), seeded.file());
        assert_ne!(seeded.file(), Seeded { seed: 2, ..seeded }.file());
    }
}
