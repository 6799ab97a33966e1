//! A flash that refuses what real flash cannot do, and whose power can be cut after any byte.
//!
//! Words are written once, and whole; erase units are erased whole. When power goes, the word (or erase unit) under way
//! becomes what [`Tear`] says, and nothing works until [`Mock::power_on`].

use alloc::vec;
use alloc::vec::Vec;
use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};

/// What the word or erase unit becomes that is under way when power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tear {
    /// Nothing has happened to it yet.
    Old,
    /// It is done; only the answer is missing.
    New,
    /// Its first bytes are done, one is done in part.
    Prefix,
    /// Any of its bits that change are done.
    Partial,
    /// Anything at all.
    Undefined,
    /// Each word of the same call (each erase unit's byte) is old, new, done in part or anything.
    Call,
}

pub(super) const TEARS: [Tear; 6] = [Tear::Old, Tear::New, Tear::Prefix, Tear::Partial, Tear::Undefined, Tear::Call];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MockError {
    PowerCut,
    /// A word that was written already, at this offset.
    WrittenTwice(usize),
    Arguments(NorFlashErrorKind),
}

impl NorFlashError for MockError {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Arguments(kind) => *kind,
            _ => NorFlashErrorKind::Other,
        }
    }
}

/// Words of `W` bytes, reads of `R`, erase units of `S`.
#[derive(Clone, Debug)]
pub(super) struct Mock<const W: usize, const R: usize, const S: usize> {
    pub(super) bytes: Vec<u8>,
    written: Vec<bool>,
    /// Bytes that can be written or erased until power goes.
    budget: Option<usize>,
    tear: Tear,
    off: bool,
    random: u64,
    /// Bytes written and erased so far.
    pub(super) spent: usize,
    /// Whether writes are acknowledged and forgotten.
    pub(super) forgets: bool,
    /// The first misuse, so that no caller can swallow it.
    pub(super) misuse: Option<MockError>,
}

impl<const W: usize, const R: usize, const S: usize> Mock<W, R, S> {
    pub(super) fn new(units: usize) -> Self {
        Self::holding(vec![0xFF; units * S])
    }

    pub(super) fn holding(bytes: Vec<u8>) -> Self {
        let written = bytes.chunks(W).map(|word| word != [0xFF; W]).collect();
        let (budget, tear, random) = (None, Tear::Old, 0);
        Self { bytes, written, budget, tear, off: false, random, spent: 0, forgets: false, misuse: None }
    }

    /// Power goes after `budget` more bytes.
    pub(super) fn cut_after(&mut self, budget: usize, tear: Tear, seed: u64) {
        (self.budget, self.tear, self.random) = (Some(budget), tear, seed);
    }

    pub(super) fn power_on(&mut self) {
        (self.off, self.budget) = (false, None);
    }

    /// Where a word reads as erased and was written.
    pub(super) fn first_written_ones(&self) -> Option<usize> {
        let mut words = self.bytes.chunks(W).zip(&self.written);
        words.position(|(word, written)| *written && word == [0xFF; W]).map(|word| word * W)
    }

    fn random(&mut self) -> u8 {
        // SplitMix64 (Steele, Lea and Flood 2014).
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) as u8
    }

    /// What is left of `old` on its way to `new`, cut after `done` bytes.
    fn torn(&mut self, tear: Tear, old: &[u8], new: &[u8], done: usize) -> Vec<u8> {
        let half = |random: u8, old: u8, new: u8| old & random | new & !random;
        let pairs = old.iter().copied().zip(new.iter().copied());
        match tear {
            Tear::Old => old.to_vec(),
            Tear::New => new.to_vec(),
            Tear::Undefined => old.iter().map(|_| self.random()).collect(),
            Tear::Partial => pairs.map(|(old, new)| half(self.random(), old, new)).collect(),
            Tear::Prefix | Tear::Call => pairs
                .enumerate()
                .map(|(at, (old, new))| match at {
                    _ if at < done => new,
                    _ if at == done => half(self.random(), old, new),
                    _ => old,
                })
                .collect(),
        }
    }

    fn misuse<T>(&mut self, error: MockError) -> Result<T, MockError> {
        self.misuse.get_or_insert(error);
        Err(error)
    }

    fn mark(&mut self, from: usize, to: usize) {
        for word in from / W..to / W {
            self.written[word] = self.bytes[word * W..(word + 1) * W] != [0xFF; W];
        }
    }

    /// Turns `from..` into `new`, unit by unit, until it is done or power goes.
    fn change(&mut self, from: usize, new: &[u8], unit: usize) -> Result<(), MockError> {
        for at in (0..new.len()).step_by(unit) {
            let place = from + at..from + at + unit;
            match self.budget {
                Some(left) if left < unit => {
                    self.off = true;
                    let rest = if self.tear == Tear::Call { from..from + new.len() } else { place };
                    for place in rest.step_by(unit).map(|start| start..start + unit) {
                        let old = self.bytes[place.clone()].to_vec();
                        let tear = match self.tear {
                            Tear::Call => TEARS[usize::from(self.random()) % 5],
                            tear => tear,
                        };
                        let torn = self.torn(tear, &old, &new[place.start - from..place.end - from], left);
                        self.bytes[place.clone()].copy_from_slice(&torn);
                        self.mark(place.start, place.end);
                    }
                    return Err(MockError::PowerCut);
                }
                Some(left) => self.budget = Some(left - unit),
                None => {}
            }
            self.spent += unit;
            self.bytes[place].copy_from_slice(&new[at..at + unit]);
        }
        Ok(())
    }
}

impl<const W: usize, const R: usize, const S: usize> ErrorType for Mock<W, R, S> {
    type Error = MockError;
}

impl<const W: usize, const R: usize, const S: usize> ReadNorFlash for Mock<W, R, S> {
    const READ_SIZE: usize = R;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), MockError> {
        if self.off {
            return Err(MockError::PowerCut);
        }
        if let Err(kind) = check_read(self, offset, bytes.len()) {
            return self.misuse(MockError::Arguments(kind));
        }
        bytes.copy_from_slice(&self.bytes[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl<const W: usize, const R: usize, const S: usize> NorFlash for Mock<W, R, S> {
    const WRITE_SIZE: usize = W;
    const ERASE_SIZE: usize = S;

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), MockError> {
        if self.off {
            return Err(MockError::PowerCut);
        }
        if let Err(kind) = check_write(self, offset, bytes.len()) {
            return self.misuse(MockError::Arguments(kind));
        }
        let (from, to) = (offset as usize, offset as usize + bytes.len());
        if let Some(word) = (from / W..to / W).find(|&word| self.written[word]) {
            return self.misuse(MockError::WrittenTwice(word * W));
        }
        if self.forgets {
            return Ok(());
        }
        let before = self.spent;
        let result = self.change(from, bytes, W);
        // Also words of ones count as written.
        self.written[from / W..(from + self.spent - before) / W].fill(true);
        if self.tear == Tear::Call && result.is_err() {
            self.mark(from, to);
        }
        result
    }

    fn erase(&mut self, from: u32, to: u32) -> Result<(), MockError> {
        if self.off {
            return Err(MockError::PowerCut);
        }
        if let Err(kind) = check_erase(self, from, to) {
            return self.misuse(MockError::Arguments(kind));
        }
        let (from, to) = (from as usize, to as usize);
        let result = self.change(from, &vec![0xFF; to - from], S);
        self.mark(from, to);
        result
    }
}

#[test]
fn a_word_is_written_once() {
    let mut mock = Mock::<4, 1, 16>::new(2);
    assert_eq!(mock.write(4, &[1, 2, 3, 4, 0xFF, 0xFF, 0xFF, 0xFF]), Ok(()));
    assert_eq!(mock.write(4, &[1, 2, 3, 4]), Err(MockError::WrittenTwice(4)));
    assert_eq!(mock.write(0, &[0; 12]), Err(MockError::WrittenTwice(4)));
    assert_eq!(mock.write(8, &[0; 4]), Err(MockError::WrittenTwice(8)), "ones are written too");
    assert_eq!((mock.misuse, mock.bytes[8]), (Some(MockError::WrittenTwice(4)), 0xFF));
    assert_eq!(mock.erase(0, 16), Ok(()));
    assert_eq!(mock.write(8, &[0; 4]), Ok(()));
}

#[test]
fn words_and_erase_units_are_whole() {
    let mut mock = Mock::<4, 4, 16>::new(2);
    let unaligned = Err(MockError::Arguments(NorFlashErrorKind::NotAligned));
    assert_eq!(mock.write(2, &[0; 4]), unaligned);
    assert_eq!(mock.write(4, &[0; 3]), unaligned);
    assert_eq!(mock.erase(0, 8), unaligned);
    assert_eq!(mock.read(1, &mut [0; 4]), unaligned);
    assert_eq!(mock.write(32, &[0; 4]), Err(MockError::Arguments(NorFlashErrorKind::OutOfBounds)));
}

#[test]
fn power_goes_inside_a_word_and_stays_away() {
    let mut mock = Mock::<4, 1, 16>::new(1);
    mock.cut_after(6, Tear::Prefix, 1);
    assert_eq!(mock.write(0, &[0; 12]), Err(MockError::PowerCut));
    assert_eq!(mock.read(0, &mut [0; 1]), Err(MockError::PowerCut));
    mock.power_on();
    assert_eq!(mock.bytes[..6], [0; 6]);
    assert_eq!(mock.bytes[7..], [0xFF; 9]);
    assert_eq!(mock.write(4, &[0; 4]), Err(MockError::WrittenTwice(4)));
    assert_eq!(mock.write(8, &[0; 4]), Ok(()));
}

#[test]
fn programming_cut_halfway_only_leaves_ones() {
    for seed in 0..100 {
        let mut mock = Mock::<8, 1, 16>::new(1);
        mock.cut_after(3, Tear::Partial, seed);
        mock.write(0, &[0x5A; 8]).unwrap_err();
        assert!(mock.bytes[..8].iter().all(|byte| byte & 0x5A == 0x5A));
    }
}
