//! Matrices in memory, and their products with rows, over several cores.

use super::product::{Lanes, Product, Rows};
use super::strips::Strips;
use crate::model::gguf::{Source, Tensor};
use crate::model::layout::{Form, GROUP, buffer_words, number};
use crate::model::load::{self, LoadError};
use crate::parallel::{each, vectorised};

/// A matrix \[rows, k] in the order of [`crate::model::layout`].
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    form: Form,
    rows: usize,
    k: usize,
    words: Vec<u32>,
}

/// Rows that are multiplied, with what all matrices of a form need of them.
pub(super) struct Input {
    count: usize,
    numbers: Strips,
    /// Sums of units of 32.
    of_32: Strips,
    /// Sums of units of 16. Neither is there where no matrix asks for it.
    of_16: Strips,
}

impl Input {
    /// \[rows, k]; the matrices are those that it will be multiplied with.
    pub(super) fn new(numbers: &[f32], matrices: &[&Matrix]) -> Self {
        let k = matrices.first().map_or(32, |matrix| matrix.k);
        let sums = |unit: usize| {
            if !matrices.iter().any(|matrix| matrix.form.quantised() && matrix.form.unit() as usize == unit) {
                return Strips::new(&[], 1);
            }
            let sums = numbers.chunks_exact(unit).map(|unit| unit.iter().fold(0.0, |sum, x| sum + x));
            Strips::new(&sums.collect::<Vec<f32>>(), k / unit)
        };
        Self { count: numbers.len() / k, numbers: Strips::new(numbers, k), of_32: sums(32), of_16: sums(16) }
    }

    fn rows(&self, form: Form) -> Rows<'_> {
        let sums = if form.unit() == 16 { &self.of_16 } else { &self.of_32 };
        Rows { count: self.count, numbers: &self.numbers, sums }
    }
}

/// Numbers of a matrix that are worth another core's attention.
const WORTH: usize = 1 << 16;

/// Groups of a matrix, and where their products go.
struct Job<'a> {
    matrix: &'a Matrix,
    words: &'a [u32],
    out: &'a mut [Lanes<f32>],
}

/// The products of the same rows with some matrices: of each \[rows, matrix rows].
pub(super) fn products<const N: usize>(input: &Input, matrices: [&Matrix; N]) -> [Vec<f32>; N] {
    let count = input.count;
    let mut tiles = matrices.map(|matrix| vec![[0.0; GROUP]; matrix.rows.div_ceil(GROUP) * count]);
    let mut jobs = Vec::new();
    for (matrix, tiles) in matrices.iter().zip(&mut tiles) {
        // Whole eights of groups, so that no part ends with single ones.
        let groups = (WORTH / (matrix.k * GROUP)).next_multiple_of(8).max(8);
        let words = matrix.words.chunks(groups * matrix.group_words());
        jobs.extend(words.zip(tiles.chunks_mut(groups * count)).map(|(words, out)| Job { matrix, words, out }));
    }
    each(&mut jobs, |job| {
        let Job { matrix: Matrix { form, .. }, words, out } = job;
        vectorised(Product { form: *form, words, rows: input.rows(*form), out });
    });
    let mut done = tiles.into_iter().zip(matrices).map(|(tiles, matrix)| in_rows(&tiles, count, matrix.rows));
    std::array::from_fn(|_| done.next().unwrap_or_default())
}

/// From \[groups, rows, 8] to \[rows, 8 groups], without what fills the last group up.
fn in_rows(tiles: &[Lanes<f32>], count: usize, width: usize) -> Vec<f32> {
    let mut out = vec![0.0; count * width];
    for (group, tiles) in tiles.chunks_exact(count).enumerate() {
        for (row, lanes) in tiles.iter().enumerate() {
            let own = &mut out[row * width..(row + 1) * width];
            own[group * GROUP..].iter_mut().zip(lanes).for_each(|(out, lane)| *out = *lane);
        }
    }
    out
}

impl Matrix {
    pub(super) fn load<S: Source>(source: &mut S, tensor: &Tensor) -> Result<Self, LoadError> {
        let (form, rows) = (Form::of(tensor.element()), tensor.rows());
        let all = buffer_words(form, rows, tensor.row());
        let memory = || LoadError::Memory { tensor: tensor.name().into(), bytes: all.saturating_mul(4) };
        let mut words = Vec::new();
        words.try_reserve_exact(usize::try_from(all).map_err(|_| memory())?).map_err(|_| memory())?;
        load::rows(source, tensor, 0..rows, |part| {
            words.extend_from_slice(part);
            Ok::<_, LoadError>(())
        })?;
        Ok(Self { form, rows: rows as usize, k: tensor.row() as usize, words })
    }

    /// Words of a group of rows.
    fn group_words(&self) -> usize {
        buffer_words(self.form, GROUP as u64, self.k as u64) as usize
    }

    /// Bytes of its words.
    pub(super) fn bytes(&self) -> u64 {
        4 * self.words.len() as u64
    }

    /// The numbers of a row.
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = f32> {
        (0..self.k).map(move |column| number(self.form, &self.words, self.k as u32, row, column))
    }

    /// Its products with rows, \[rows, matrix rows].
    pub(super) fn product(&self, numbers: &[f32]) -> Vec<f32> {
        let [out] = products(&Input::new(numbers, &[self]), [self]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::gguf::Header;
    use crate::model::quant::Element;
    use crate::model::seeded::Seeded;
    use crate::parallel::Task as _;

    /// What the page on arithmetic says of one number, word for word.
    fn expected(matrix: &Matrix, x: &[f32], row: usize) -> f32 {
        let unit = matrix.form.unit() as usize;
        let numbers: Vec<f32> = matrix.row(row).collect();
        let record = |u: usize, w: usize| {
            let at = ((row / 8 * (matrix.k / unit) + u) * matrix.form.record_words() as usize + w) * 8 + row % 8;
            f32::from_bits(matrix.words[at])
        };
        let (mut t, mut y) = (0.0, 0.0);
        for u in 0..matrix.k / unit {
            if u > 0 && (u * unit).is_multiple_of(128) {
                t += y;
                y = 0.0;
            }
            let (mut s, mut p) = (0.0, 0.0);
            let codes = matrix.form.code_words() as usize;
            for j in u * unit..(u + 1) * unit {
                s += x[j];
                let q = if matrix.form.quantised() {
                    let each = unit / codes;
                    let word = record(u, j % unit / each).to_bits() >> (32 / each * (j % each));
                    if each == 8 { (word & 15) as f32 } else { f32::from((word as u8).cast_signed()) }
                } else {
                    numbers[j]
                };
                p += q * x[j];
            }
            let scaled = matrix.form.quantised();
            y = if scaled { (y + record(u, codes) * p) + record(u, codes + 1) * s } else { y + p };
        }
        t + y
    }

    #[test]
    fn products_are_those_of_the_page_for_any_number_of_rows() {
        for element in Element::ALL {
            // Rows that are no multiple of 8, and a piece that is shorter than the others.
            let k = if Element::block_len(element) == 256 { 256 } else { 288 };
            let vocabulary = 45;
            let model = Seeded { width: k, vocabulary, embedding: element, element: Element::F32, ..Seeded::default() };
            let file = model.file();
            let header = Header::parse(&file, file.len() as u64).unwrap();
            let matrix = Matrix::load(&mut &file[..], header.tensor("token_embd.weight").unwrap()).unwrap();
            let x: Vec<f32> = (0..13 * k).map(|i| (i * 37 % 101) as f32 * 0.03 - 1.5).collect();
            let bits = |of: &[f32]| of.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let rows = x.chunks_exact(k as usize);
            let want: Vec<f32> = rows
                .flat_map(|x| (0..vocabulary as usize).map(|n| expected(&matrix, x, n)).collect::<Vec<_>>())
                .collect();
            for count in 1..=13 {
                let got = matrix.product(&x[..count * k as usize]);
                assert_eq!(bits(&got), bits(&want[..count * vocabulary as usize]), "{element}, {count} rows");
            }
            let input = Input::new(&x, &[&matrix]);
            // Those that this machine has, but does not choose.
            let check = |lanes: usize, run: &dyn Fn(Product<'_>)| {
                let mut out = vec![[0.0; GROUP]; 13 * vocabulary.div_ceil(8) as usize];
                let rows = input.rows(matrix.form);
                run(Product { form: matrix.form, words: &matrix.words, rows, out: &mut out });
                let out = in_rows(&out, 13, vocabulary as usize);
                assert_eq!(bits(&out), bits(&want), "{element}, {lanes} lanes");
            };
            check(1, &|product| product.run(pulp::Scalar::new()));
            #[cfg(target_arch = "x86_64")]
            check(4, &|product| product.run(pulp::x86::V2::try_new().unwrap()));
            let mut other = matrix.clone();
            other.words[3] ^= 1 << 20;
            assert_ne!(other.product(&x), want, "{element}: a code that differs is seen");
        }
    }
}
