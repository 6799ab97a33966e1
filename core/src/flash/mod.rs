//! A map that grows in flash: own runs and use counts, appended through the `embedded-storage` NOR flash traits.
//!
//! A map that was linked into flash cannot grow in place, so what grows has a region of its own, an [`AppendRegion`]: a
//! range of erase units that nothing else uses. What is read out of it is a `.mrail` file, and where flash is mapped into
//! memory its bytes are one as they lie (up to [`valid_len`](AppendRegion::valid_len)).
//!
//! ```
//! # use mrail::flash::{AppendRegion, Error};
//! # use embedded_storage::nor_flash::NorFlash;
//! fn learn<F: NorFlash>(flash: &mut F, tokens: &[u32], gen_start: u32) -> Result<(), Error<F::Error>> {
//!     let region = 0x8_0000..0xA_0000;
//!     let mut region = match AppendRegion::open(&mut *flash, region.clone()) {
//!         // Erasing is always somebody's decision.
//!         Err(Error::Erased) => AppendRegion::format(flash, region)?,
//!         other => other?,
//!     };
//!     region.append_session(0, tokens.iter().copied(), gen_start)
//! }
//! ```
//!
//! # What is promised
//!
//! * What [`append_session`](AppendRegion::append_session) or [`append_use`](AppendRegion::append_use) acknowledged with
//!   `Ok` was read back and is there after any power cut. What was cut is there whole or not at all.
//! * No word is written that does not read as erased, whatever the region holds; and none twice.
//! * Opening reads. Only `append_*` and [`format`](AppendRegion::format) write, and only `format` erases.
//! * Whether a record fits is known before anything is written.
//! * Any bytes are safe to open: no panic, no endless loop. Memory is fixed: an [`AppendRegion`] is some words, and a call
//!   takes about 1.2 KB of stack on Cortex-M4, two buffers of 256 bytes among it. Records may be larger than memory.
//!
//! # Layout
//!
//! W is the word size ([`WRITE_SIZE`](NorFlash::WRITE_SIZE)); `=` marks a border between words. Everything is a record
//! (`kind:u8 length:u32 payload`), and the kinds `F0` to `F3` are unknown to other readers, which skip them.
//!
//! ```text
//! 0                 8                                                              bytes, each rounded up to W
//! = 4D 52 41 49 4C 03 00 00 | F0 length:u32 version:u8 word:u16 FF.. =             16      magic and HEAD
//!
//! = F1 length:u32 | n:u32 !n:u32 FF.. =                                            13      BEGIN  written first
//! = kind n:u32 | payload[n] | F2 length:u32 | crc:u32 FF.. =                       14 + n  record and SEAL
//!   ^ commit: the word that holds `kind` is written last, before it the others of the header, before those the rest
//!
//! = F1 ... =                                                                       next
//! = F3 length:u32 | what a power cut left FF.. =                                           VOID in a record's place
//!
//! = FF FF FF ...                                                                           erased: the end
//! ```
//!
//! The CRC-32 is over the record, header included. A record thus takes 27 bytes more than its payload, and filling.
//!
//! # Why it survives
//!
//! A word that is being programmed when power goes may read as anything, and may not be written again. So nothing can
//! be said of a word that was cut, only of its place. Three questions are answered from places alone:
//!
//! 1. *Where does the next thing begin?* BEGIN is written before anything else and says how far its record reaches. If it
//!    is not exactly a BEGIN (`!n` differs from the complement of `n` wherever programming stopped halfway, since that can
//!    only leave ones), nothing behind it was ever written, and the next thing begins one BEGIN later. The walk never
//!    searches, so no bytes inside a payload can be taken for a record, and every step moves on.
//! 2. *Is the record whole?* Its header must be the one announced, and its SEAL's CRC must be right. A torn commit word
//!    fails the first or, where words are longer than a header, the second.
//! 3. *Where is the end?* Where a whole BEGIN is erased. A word of ones is never written, so what reads as erased is.
//!
//! What was torn before its `kind` was written (that of a BEGIN comes last, too) gets a VOID's header before the next BEGIN is
//! written: over the whole stretch where no header word was written, else (W below 5, cut between header words) with the
//! length that is there already, since then everything behind it was complete. Both lead to the next BEGIN.
//!
//! # What other readers see
//!
//! [`read_out`](AppendRegion::read_out) gives the magic and the committed records, nothing else: always a whole map.
//!
//! The mapped bytes `..valid_len()` are a whole map too. They are all of it, until a power cut hits one of the words that a
//! plain reader must pass: those that hold the header of a BEGIN or of a record. Such a word may now read as a length of
//! 2 GiB, and no layout can lead a reader that knows nothing but `kind` and `length` past it. Records appended later are
//! [`hidden`](AppendRegion::hidden) from plain readers (and from them alone: reading out, opening and appending go on). When
//! that matters, read out and format. A plain reader that is given the erased rest as well sees a tail there, `FF` with a
//! length of 4 GiB.
//!
//! # What it does not do
//!
//! It levels no wear and collects no garbage: a region fills up and is then read out and formatted. A flipped bit in a
//! committed record makes that record disappear, not its neighbours. A word whose programming began and still reads as
//! erased cannot be told from an erased one, and is written. An interrupted `format` leaves a region that `open` refuses,
//! unless the cut hit the first erase unit and its head survived: then the old records that are still whole are read, and
//! what is not erased is noticed before it is written.

mod entries;
mod error;
mod frame;
mod io;
mod layout;
mod walk;

#[cfg(all(test, feature = "alloc"))]
mod mock;
#[cfg(all(test, feature = "alloc"))]
mod tests;

pub use entries::{Entries, Entry};
pub use error::Error;
pub use layout::{BEGIN, HEAD, SEAL, VERSION, VOID};

use crate::chain::PrefixHash;
use crate::record::{HEADER_LEN, MAGIC, SESSION, USE};
use crate::run::TOKENS_AT;
use core::ops::Range;
use embedded_storage::nor_flash::NorFlash;
use frame::FrameWriter;
use io::Io;
use layout::{BUFFER, ERASED, HEAD_FIELDS, Shape, head, is_erased, is_filled, parse_head, put};
use walk::{Frame, State, Unit};

/// Bytes of a use count's payload.
const USE_LEN: u32 = 12;

/// A range of flash to which records are appended.
#[derive(Debug)]
pub struct AppendRegion<F> {
    io: Io<F>,
    /// Where the next BEGIN goes.
    end: u32,
    records: u32,
    /// Records behind a place that plain readers cannot pass.
    hidden: u32,
    plain: Plain,
}

/// How far a reader gets that knows only kinds and lengths.
#[derive(Clone, Copy, Debug)]
enum Plain {
    /// To the end.
    Whole,
    /// To `len`, where a VOID can still be put in the place of what was torn.
    Open { len: u32 },
    /// To `len`, for ever.
    Broken { len: u32 },
}

impl<F: NorFlash> AppendRegion<F> {
    /// Opens what [`format`](Self::format) made. Reads every record once, for its checksum; writes nothing.
    ///
    /// `range` is in bytes of the flash, and made of whole erase units.
    pub fn open(flash: F, range: Range<u32>) -> Result<Self, Error<F::Error>> {
        let mut io = checked(flash, range)?;
        let mut found = [0; BUFFER];
        let found = found.get_mut(..F::HEAD_LEN).unwrap_or_default();
        io.read(0, found)?;
        if is_erased(found) {
            return Err(Error::Erased);
        }
        if !is_filled(found, &head(F::WORD as u16, F::HEAD_LEN)) {
            let other = parse_head(found).filter(|(version, word)| (*version, *word as usize) != (VERSION, F::WORD));
            return Err(match other {
                Some((VERSION, found)) => Error::OtherWord { found, expected: F::WORD },
                Some((found, _)) => Error::OtherVersion { found, expected: VERSION },
                None => Error::NotARegion { found: found.first_chunk().copied().unwrap_or_default() },
            });
        }
        let mut region = Self::empty(io);
        while region.step()? {}
        Ok(region)
    }

    /// Erases the range and makes it an empty region. Whatever it held is lost.
    pub fn format(flash: F, range: Range<u32>) -> Result<Self, Error<F::Error>> {
        let mut io = checked(flash, range)?;
        io.erase()?;
        let mut words = [ERASED; BUFFER];
        put(&mut words, 0, &head(F::WORD as u16, F::HEAD_LEN));
        io.write(0, words.get(..F::HEAD_LEN).unwrap_or_default())?;
        Ok(Self::empty(io))
    }

    fn empty(io: Io<F>) -> Self {
        Self { io, end: F::HEAD_LEN as u32, records: 0, hidden: 0, plain: Plain::Whole }
    }

    /// Moves over what stands at the end, if anything does.
    fn step(&mut self) -> Result<bool, F::Error> {
        let len = self.valid_len();
        let (next, state) = match self.io.unit_at(self.end)? {
            Unit::End => return Ok(false),
            Unit::Frame(Frame { next, state, .. }) => (next, state),
        };
        self.plain = match (self.plain, state) {
            (Plain::Whole, State::Committed { .. } | State::Void) => Plain::Whole,
            (Plain::Whole, State::Open { .. }) => Plain::Open { len },
            _ => Plain::Broken { len },
        };
        if matches!(state, State::Committed { .. }) {
            self.records = self.records.saturating_add(1);
            let is_hidden = matches!(self.plain, Plain::Broken { .. });
            self.hidden = self.hidden.saturating_add(u32::from(is_hidden));
        }
        self.end = next;
        Ok(true)
    }

    /// Appends a run: what the model was given (`tokens[..gen_start]`) and what it answered. `sid` is informational.
    ///
    /// `Ok` means that the record was written, committed and read back.
    pub fn append_session<T>(&mut self, sid: u32, tokens: T, gen_start: u32) -> Result<(), Error<F::Error>>
    where
        T: IntoIterator<Item = u32, IntoIter: ExactSizeIterator>,
    {
        let mut tokens = tokens.into_iter();
        let len = tokens.len();
        if gen_start as usize > len {
            return Err(Error::AnswerPastEnd { gen_start, len });
        }
        let payload = (len as u64).saturating_mul(4).saturating_add(TOKENS_AT as u64);
        self.append(SESSION, payload, |frame| {
            let said = len as u32;
            for field in [sid, said, gen_start] {
                frame.put(&field.to_le_bytes())?;
            }
            for given in 0..said {
                let Some(token) = tokens.next() else { return Err(Error::TokensMissing { said, given }) };
                frame.put(&token.to_le_bytes())?;
            }
            Ok(())
        })
    }

    /// Appends a use count: a prefix was asked for `hits` times more.
    ///
    /// `Ok` means that the record was written, committed and read back.
    pub fn append_use(&mut self, prefix: PrefixHash, hits: u32) -> Result<(), Error<F::Error>> {
        self.append(USE, u64::from(USE_LEN), |frame| {
            frame.put(&prefix.0)?;
            frame.put(&hits.to_le_bytes())?;
            Ok(())
        })
    }

    fn append(
        &mut self,
        kind: u8,
        payload: u64,
        fill: impl FnOnce(&mut FrameWriter<'_, F>) -> Result<(), Error<F::Error>>,
    ) -> Result<(), Error<F::Error>> {
        // What an append before this one left when it failed.
        while self.step()? {}
        let at = self.end;
        let length = u32::try_from(payload).ok();
        let sizes = length.and_then(|length| Some((length, F::sealed_len(length)?, F::frame_len(length)?)));
        let Some((length, sealed, frame)) = sizes.filter(|(_, _, frame)| *frame <= self.free()) else {
            return Err(Error::Full { needed: needed::<F>(payload), free: self.free() });
        };
        if let Some(offset) = self.io.first_written(at, at.saturating_add(frame))? {
            return Err(Error::NotErased { offset });
        }

        self.close()?;
        let record = at.saturating_add(F::BEGIN_LEN as u32);
        write_frame(&mut self.io, (record, kind, length, sealed), fill)?;

        let records = self.records;
        self.step()?;
        if self.records == records { Err(Error::NotKept { offset: at }) } else { Ok(()) }
    }

    /// Puts a VOID in the place of what was left unfinished, so that plain readers get past it.
    fn close(&mut self) -> Result<(), F::Error> {
        let Plain::Open { len } = self.plain else { return Ok(()) };
        if let Unit::Frame(Frame { record, state: State::Open { header }, .. }) = self.io.unit_at(len)? {
            self.io.close(record, header)?;
        }
        self.plain = match self.io.unit_at(len)? {
            Unit::Frame(Frame { state: State::Void, .. }) => Plain::Whole,
            _ => Plain::Broken { len },
        };
        Ok(())
    }

    /// The committed records, in order. Each is checked again before it is handed out.
    pub fn records(&mut self) -> Entries<'_, F> {
        Entries::new(&mut self.io, F::HEAD_LEN as u32)
    }

    /// Hands out a `.mrail` file, piece by piece: the magic, then the committed records. Returns its length.
    pub fn read_out(&mut self, mut out: impl FnMut(&[u8])) -> Result<u32, Error<F::Error>> {
        let mut len = MAGIC.len() as u32;
        out(&MAGIC);
        let mut entries = self.records();
        while let Some(mut entry) = entries.next()? {
            len = len.saturating_add(HEADER_LEN as u32).saturating_add(entry.len());
            entry.copy(&mut out)?;
        }
        Ok(len)
    }

    /// Number of committed records.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.records
    }

    /// Whether no record is committed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// How many bytes of the range, as they lie, are a whole map to any reader: for flash that is mapped into memory.
    #[must_use]
    pub fn valid_len(&self) -> u32 {
        match self.plain {
            Plain::Whole => self.end,
            Plain::Open { len } | Plain::Broken { len } => len,
        }
    }

    /// How many of the committed records lie behind [`valid_len`](Self::valid_len).
    #[must_use]
    pub fn hidden(&self) -> u32 {
        self.hidden
    }

    /// Bytes that are taken, by records and by what power cuts left.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.end
    }

    /// Bytes that are left. What a record takes: [`session_size`](Self::session_size), [`use_size`](Self::use_size).
    #[must_use]
    pub fn free(&self) -> u32 {
        self.io.len.saturating_sub(self.end)
    }

    /// Bytes of the region that a run of this many tokens takes.
    #[must_use]
    pub fn session_size(tokens: u32) -> u64 {
        needed::<F>(u64::from(tokens).saturating_mul(4).saturating_add(TOKENS_AT as u64))
    }

    /// Bytes of the region that a use count takes.
    #[must_use]
    pub fn use_size() -> u64 {
        needed::<F>(u64::from(USE_LEN))
    }

    /// The flash, given back.
    pub fn into_flash(self) -> F {
        self.io.flash
    }
}

/// Its buffers are in a stack frame of their own, so that they are gone when the record is read back.
#[inline(never)]
fn write_frame<F: NorFlash>(
    io: &mut Io<F>,
    (record, kind, length, sealed): (u32, u8, u32, u32),
    fill: impl FnOnce(&mut FrameWriter<'_, F>) -> Result<(), Error<F::Error>>,
) -> Result<(), Error<F::Error>> {
    let mut frame = FrameWriter::new(io, record, length, sealed);
    frame.begin(kind)?;
    fill(&mut frame)?;
    Ok(frame.commit()?)
}

/// The bytes that a payload takes, also where no region is large enough: then without the last word's filling.
fn needed<F: NorFlash>(payload: u64) -> u64 {
    let frame = u32::try_from(payload).ok().and_then(F::frame_len);
    frame.map_or(payload.saturating_add((HEADER_LEN + layout::SEAL_FIELDS + F::BEGIN_LEN) as u64), u64::from)
}

/// The range, if it can be used.
fn checked<F: NorFlash>(flash: F, range: Range<u32>) -> Result<Io<F>, Error<F::Error>> {
    let (read, word, erase) = (F::READ_SIZE, F::WRITE_SIZE, F::ERASE_SIZE);
    let divides = |size: usize| (1..=BUFFER).contains(&size) && erase.is_multiple_of(size);
    if !divides(read) || !divides(word) || erase < HEAD_FIELDS {
        return Err(Error::Geometry { read, word, erase, max: BUFFER });
    }
    let Range { start, end } = range;
    let aligned = |at: u32| (at as usize).is_multiple_of(erase);
    if start >= end || end as usize > flash.capacity() || !aligned(start) || !aligned(end) {
        return Err(Error::Range { start, end, erase, capacity: flash.capacity() });
    }
    Ok(Io { flash, start, len: end.saturating_sub(start) })
}
