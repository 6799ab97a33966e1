//! Rows that are multiplied with a matrix, in the order in which the inner loops take them.

/// Rows that lie side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strip {
    /// Its first row.
    pub(super) first: usize,
    /// 1, 2, 4 or 8, of which the last may be there only to fill it up.
    pub(super) width: usize,
    /// Those that are rows.
    pub(super) rows: usize,
}

/// How so many rows are dealt out: a wide strip takes less time a row, and what fills it up takes as much as a row.
pub(super) fn strips(count: usize) -> impl Iterator<Item = Strip> {
    let mut first = 0;
    std::iter::from_fn(move || {
        let left = count - first;
        let width = match left {
            0 => return None,
            1 | 2 => left,
            3..=6 => 4,
            _ => 8,
        };
        let strip = Strip { first, width, rows: width.min(left) };
        first += strip.rows;
        Some(strip)
    })
}

/// Rows of so many numbers each, strip after strip: \[numbers, width of the strip].
#[derive(Debug)]
pub(super) struct Strips {
    len: usize,
    numbers: Vec<f32>,
}

impl Strips {
    /// From \[count, len].
    pub(super) fn new(rows: &[f32], len: usize) -> Self {
        let count = rows.len() / len;
        let mut numbers = Vec::with_capacity((count + 1) * len);
        for Strip { first, width, rows: there } in strips(count) {
            for at in 0..len {
                numbers.extend((0..there).map(|row| rows[(first + row) * len + at]));
                numbers.resize(numbers.len() + width - there, 0.0);
            }
        }
        Self { len, numbers }
    }

    /// The numbers of a strip of `W`.
    pub(super) fn of<const W: usize>(&self, strip: Strip) -> &[[f32; W]] {
        // Only the last strip may be filled up.
        self.numbers[strip.first * self.len..][..W * self.len].as_chunks().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_strip() {
        for count in 0..40 {
            let rows: Vec<f32> = (0..3 * count).map(|number| number as f32).collect();
            let numbers = Strips::new(&rows, 3);
            let mut next = 0;
            for strip in strips(count) {
                assert_eq!((strip.first, strip.rows.max(1)), (next, strip.rows));
                for row in 0..strip.rows {
                    for at in 0..3 {
                        let found = match strip.width {
                            1 => numbers.of::<1>(strip)[at][row],
                            2 => numbers.of::<2>(strip)[at][row],
                            4 => numbers.of::<4>(strip)[at][row],
                            _ => numbers.of::<8>(strip)[at][row],
                        };
                        assert_eq!(found.to_bits(), ((3 * (next + row) + at) as f32).to_bits());
                    }
                }
                next += strip.rows;
            }
            assert_eq!(next, count);
        }
    }
}
