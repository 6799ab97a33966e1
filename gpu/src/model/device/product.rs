//! The kernel of a product of rows with a quantised matrix, written out for a shape.

use crate::model::layout::Form;
use std::fmt::Write as _;

/// What matrices and the rows that they are multiplied with lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fetch {
    /// Buffers.
    Buffer,
    /// Textures: of four numbers a texel.
    Texture,
}

impl Fetch {
    /// Where a matrix is read from.
    fn codes(self) -> &'static str {
        match self {
            Self::Buffer => include_str!("kernels/codes_buffer.wgsl"),
            Self::Texture => include_str!("kernels/codes_texture.wgsl"),
        }
    }
}

/// What a kernel that reads a matrix knows of its form.
fn form_constants(form: Form) -> [(&'static str, u32); 4] {
    [
        ("UNIT", form.unit()),
        ("CODE_WORDS", form.code_words()),
        ("SCALES", u32::from(form.quantised())),
        ("TEXTURE_WIDTH", TEXTURE_WIDTH),
    ]
}

/// The kernel that looks tokens' rows up in an embedding; its function is `embed`.
pub(super) fn embedding(form: Form, fetch: Fetch) -> String {
    let constants = form_constants(form).map(|(name, value)| format!("const {name}: u32 = {value}u;\n"));
    let number = match form {
        Form::Nibbles => "f32((word >> (4u * j)) & 15u)",
        Form::Bytes { .. } => "f32(extractBits(bitcast<i32>(word), 8u * j, 8u))",
        Form::Halves => "unpack2x16float(word)[j]",
        Form::Uppers => "bitcast<f32>(select(word & 0xffff0000u, word << 16u, j == 0u))",
        Form::Floats => "bitcast<f32>(word)",
    };
    let number = format!("fn number(word: u32, j: u32) -> f32 {{\n    return {number};\n}}\n");
    [&constants.concat(), ROWS, MATRIX, fetch.codes(), &number, include_str!("kernels/embed.wgsl")].concat()
}

/// Who computes what in a product. No shape changes a sum: each is made of the same terms in the same order, so shapes are chosen
/// by time alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shape {
    /// Threads of a work-group that stand for different rows of the matrix: a multiple of 8.
    pub lanes: u32,
    /// Threads that share the pieces of a row.
    pub slices: u32,
    /// Rows of the matrix that a thread takes, 8 apart: it fetches x once for all of them.
    pub rows: u32,
    /// Rows of x that a thread takes: it fetches and unpacks a number of the matrix once for all of them.
    pub columns: u32,
    /// Where matrices and rows are fetched from.
    pub fetch: Fetch,
}

impl Shape {
    /// Whether it says something: lanes in eights, and nothing that is 0.
    pub(super) fn is_sound(self) -> bool {
        self.lanes > 0 && self.lanes.is_multiple_of(8) && self.slices > 0 && self.rows > 0 && self.columns > 0
    }

    /// Bytes of work-group memory.
    pub fn workgroup_bytes(self) -> u32 {
        if self.slices == 1 { 0 } else { 4 * self.lanes * self.slices * self.rows * self.columns }
    }

    /// Rows of the matrix that a work-group takes.
    pub fn rows_at_once(self) -> u32 {
        self.lanes * self.rows
    }
}

/// What happens to a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Then {
    /// It is the result.
    Set,
    /// A bias of its row is added.
    Bias,
    /// It is added to what is there.
    Add,
}

/// Texels in a row of a matrix's texture: half of what every device can.
pub(crate) const TEXTURE_WIDTH: u32 = 4096;

pub(super) const ROWS: &str = include_str!("kernels/rows.wgsl");
const MATRIX: &str = include_str!("kernels/matrix.wgsl");
const HEAD: &str = include_str!("kernels/product.wgsl");
const PARTS: [&str; 4] = ["x", "y", "z", "w"];

/// The kernel's source; its function is `product`.
pub(crate) fn source(form: Form, then: Then, shape: Shape) -> String {
    let text = Text { wgsl: String::new(), form, then, shape };
    // Writing to a string does not fail.
    text.whole().unwrap_or_default()
}

struct Text {
    wgsl: String,
    form: Form,
    then: Then,
    shape: Shape,
}

/// How four words of codes are taken: in steps of some words.
struct Step {
    words: u32,
    /// Numbers of a step: one or two fours of x.
    numbers: u32,
}

impl Text {
    fn step(&self) -> Step {
        let per_word = self.form.unit() / self.form.code_words();
        let numbers = per_word.max(4);
        Step { words: numbers / per_word, numbers }
    }

    fn whole(mut self) -> Result<String, std::fmt::Error> {
        let Shape { lanes, slices, rows, columns, fetch } = self.shape;
        let form = self.form;
        let constants = [("LANES", lanes), ("SLICES", slices), ("ROWS", rows), ("COLUMNS", columns)];
        for (name, value) in constants.into_iter().chain(form_constants(form)) {
            writeln!(self.wgsl, "const {name}: u32 = {value}u;")?;
        }
        self.wgsl.push_str(ROWS);
        self.wgsl.push_str(MATRIX);
        self.wgsl.push_str(HEAD);
        self.wgsl.push_str(fetch.codes());
        self.wgsl.push_str(match fetch {
            Fetch::Buffer => include_str!("kernels/x_buffer.wgsl"),
            Fetch::Texture => include_str!("kernels/x_texture.wgsl"),
        });
        if slices > 1 {
            writeln!(self.wgsl, "var<workgroup> shared_: array<f32, {}>;", slices * lanes * rows * columns)?;
        }
        self.wgsl.push_str(
            "@compute @workgroup_size(LANES * SLICES)\nfn product(@builtin(workgroup_id) group: vec3<u32>, \
             @builtin(local_invocation_index) thread: u32) {\n",
        );
        self.places()?;
        self.each("    var t{i}_{c} = 0.0;\n")?;
        // All threads go through as many rounds, since they meet in each.
        self.wgsl.push_str("    for (var round = 0u; round < pieces; round += SLICES) {\n");
        self.each("        var y{i}_{c} = 0.0;\n")?;
        self.wgsl.push_str(
            "        let until = min(pairs, (round + slice + 1u) * PIECE);\n        \
             for (var pair = (round + slice) * PIECE; pair < until; pair++) {\n",
        );
        self.pair()?;
        self.wgsl.push_str("        }\n");
        if slices == 1 {
            self.each("        t{i}_{c} += y{i}_{c};\n")?;
        } else {
            self.gather()?;
        }
        self.wgsl.push_str("    }\n");
        self.results()?;
        self.wgsl.push_str("}\n");
        Ok(self.wgsl)
    }

    /// A line for every row of the matrix and of x.
    fn each(&mut self, line: &str) -> std::fmt::Result {
        for i in 0..self.shape.rows {
            for c in 0..self.shape.columns {
                self.wgsl.write_str(&line.replace("{i}", &i.to_string()).replace("{c}", &c.to_string()))?;
            }
        }
        Ok(())
    }

    fn places(&mut self) -> std::fmt::Result {
        let text = &mut self.wgsl;
        text.push_str(if self.shape.slices > 1 {
            "    let slice = thread / LANES;\n"
        } else {
            "    let slice = 0u;\n"
        });
        text.push_str(
            "    let at = group.x * LANES + thread % LANES;\n    let lane = at % 8u;\n    \
             let pairs = matrix_.pairs;\n    let pieces = (pairs + PIECE - 1u) / PIECE;\n    \
             let n = group.y * COLUMNS;\n",
        );
        for i in 0..self.shape.rows {
            // Threads behind the last group read it again, and write nothing.
            writeln!(text, "    let g{i} = at / 8u * ROWS + {i}u;")?;
            writeln!(text, "    let m{i} = min(g{i}, matrix_.groups - 1u) * pairs;")?;
        }
        for c in 0..self.shape.columns {
            writeln!(text, "    let r{c} = min(n + {c}u, rows.count - 1u) + rows.first;")?;
        }
        Ok(())
    }

    /// Adds a pair of units to the sums of a piece.
    fn pair(&mut self) -> std::fmt::Result {
        let Shape { rows, columns, .. } = self.shape;
        let (form, Step { words, numbers }) = (self.form, self.step());
        let text = &mut self.wgsl;
        for i in 0..rows {
            writeln!(text, "            let b{i} = (m{i} + pair) * (RECORD * 8u) + lane;")?;
            if form.quantised() {
                writeln!(text, "            let d{i} = bitcast<vec4<f32>>(code4(b{i} + 2u * CODES * 8u));")?;
            }
        }
        if form.quantised() {
            for c in 0..columns {
                writeln!(text, "            let s{c} = x4(r{c}, pair * OPERAND + UNIT / 2u);")?;
            }
        }
        text.push_str("            for (var half = 0u; half < 2u; half++) {\n");
        self.each("            var p{i}_{c} = 0.0;\n")?;
        let text = &mut self.wgsl;
        text.push_str("            for (var four = 0u; four < CODES; four++) {\n");
        for i in 0..rows {
            writeln!(text, "            let c{i} = code4(b{i} + (half * CODES + four) * 8u);")?;
        }
        let (steps, fours) = (4 / words, numbers / 4);
        writeln!(text, "            for (var step = 0u; step < {steps}u; step++) {{")?;
        for c in 0..columns {
            for v in 0..fours {
                writeln!(
                    text,
                    "            let v{c}_{v} = x4(r{c}, pair * OPERAND + half * (UNIT / 4u) + (four * {steps}u + step) * \
                     {fours}u + {v}u);"
                )?;
            }
        }
        for i in 0..rows {
            for w in 0..words {
                let part = if steps == 1 { PARTS[w as usize].to_owned() } else { String::new() };
                let word = if steps == 1 { format!("c{i}.{part}") } else { format!("c{i}[step * {words}u + {w}u]") };
                writeln!(text, "            let w{i}_{w} = {word};")?;
            }
            for j in 0..numbers {
                writeln!(text, "            let q{i}_{j} = {};", code(form, i, j))?;
                for c in 0..columns {
                    writeln!(text, "            p{i}_{c} += q{i}_{j} * v{c}_{}.{};", j / 4, PARTS[j as usize % 4])?;
                }
            }
        }
        text.push_str("            }\n            }\n");
        if form.quantised() {
            self.each(
                "            y{i}_{c} += d{i}[half * 2u] * p{i}_{c};\n            \
                 y{i}_{c} += d{i}[half * 2u + 1u] * s{c}[half];\n",
            )?;
        } else {
            self.each("            y{i}_{c} += p{i}_{c};\n")?;
        }
        self.wgsl.push_str("            }\n");
        Ok(())
    }

    /// Adds what the threads of a row summed, in the order of the pieces.
    fn gather(&mut self) -> std::fmt::Result {
        let Shape { lanes, slices, rows, columns, .. } = self.shape;
        let threads = lanes * slices;
        for i in 0..rows {
            for c in 0..columns {
                writeln!(self.wgsl, "        shared_[{}u + thread] = y{i}_{c};", (i * columns + c) * threads)?;
            }
        }
        self.wgsl.push_str(
            "        workgroupBarrier();\n        if slice == 0u {\n            let there = min(SLICES, pieces - round);\n            \
             for (var other = 0u; other < there; other++) {\n",
        );
        for i in 0..rows {
            for c in 0..columns {
                let at = (i * columns + c) * threads;
                writeln!(self.wgsl, "                t{i}_{c} += shared_[{at}u + other * LANES + thread];")?;
            }
        }
        self.wgsl.push_str("            }\n        }\n        workgroupBarrier();\n");
        Ok(())
    }

    fn results(&mut self) -> std::fmt::Result {
        let text = &mut self.wgsl;
        if self.shape.slices > 1 {
            text.push_str("    if slice != 0u {\n        return;\n    }\n");
        }
        for i in 0..self.shape.rows {
            writeln!(text, "    let row{i} = g{i} * 8u + lane;\n    if row{i} < matrix_.rows {{")?;
            for c in 0..self.shape.columns {
                let to = format!("(n + {c}u + rows.out) * matrix_.stride + matrix_.first + row{i}");
                let sum = match self.then {
                    Then::Set => format!("t{i}_{c}"),
                    Then::Bias => format!("t{i}_{c} + bias[matrix_.first + row{i}]"),
                    Then::Add => format!("out[{to}] + t{i}_{c}"),
                };
                writeln!(text, "        if n + {c}u < rows.count {{\n            out[{to}] = {sum};\n        }}")?;
            }
            text.push_str("    }\n");
        }
        Ok(())
    }
}

/// Number j of a step, of row i.
fn code(form: Form, i: u32, j: u32) -> String {
    match form {
        Form::Nibbles => format!("f32((w{i}_0 >> {}u) & 15u)", 4 * j),
        Form::Bytes { .. } => format!("f32(extractBits(bitcast<i32>(w{i}_0), {}u, 8u))", 8 * j),
        Form::Halves => format!("unpack2x16float(w{i}_{}).{}", j / 2, PARTS[j as usize % 2]),
        Form::Uppers if j.is_multiple_of(2) => format!("bitcast<f32>(w{i}_{} << 16u)", j / 2),
        Form::Uppers => format!("bitcast<f32>(w{i}_{} & 0xffff0000u)", j / 2),
        Form::Floats => format!("bitcast<f32>(w{i}_{j})"),
    }
}
