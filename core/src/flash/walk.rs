//! What a region holds at a place where something may begin.

use super::io::Io;
use super::layout::{
    BUFFER, Crc, SEAL_FIELDS, Shape, VOID, header, is_content, is_erased, parse_begin, put, seal_header,
};
use crate::record::HEADER_LEN;
use embedded_storage::nor_flash::NorFlash;

/// One step of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Nothing was ever begun here, or there is no room for anything.
    End,
    /// A BEGIN and the place of its record; or a torn BEGIN, of which nothing else was written.
    Frame(Frame),
}

/// The place of a record; of a torn BEGIN, which holds no record, its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Where the record's header is.
    pub(super) record: u32,
    /// Bytes of its payload.
    pub(super) length: u32,
    /// Where its SEAL ends.
    pub(super) next: u32,
    pub(super) state: State,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It is whole.
    Committed { kind: u8 },
    /// It is not, and a VOID stands in its place.
    Void,
    /// It is not, and this header of a VOID can still be written.
    Open { header: [u8; HEADER_LEN] },
    /// It is not, and its header's words hold what they hold.
    Scar,
}

impl<F: NorFlash> Io<F> {
    pub(super) fn unit_at(&mut self, at: u32) -> Result<Unit, F::Error> {
        let room = self.len.saturating_sub(at);
        if F::frame_len(0).is_none_or(|smallest| smallest > room) {
            return Ok(Unit::End);
        }
        let mut words = [0; BUFFER];
        let Some(begin) = words.get_mut(..F::BEGIN_LEN) else { return Ok(Unit::End) };
        self.read(at, begin)?;
        if is_erased(begin) {
            return Ok(Unit::End);
        }
        let record = at.saturating_add(F::BEGIN_LEN as u32);
        let sizes = parse_begin(begin).and_then(|length| Some((length, F::frame_len(length)?)));
        let Some((length, frame)) = sizes.filter(|(_, frame)| *frame <= room) else {
            let header = header(VOID, (F::BEGIN_LEN as u32).saturating_sub(HEADER_LEN as u32));
            let state = closing::<F>(&words, [Some(header), None]);
            return Ok(Unit::Frame(Frame { record: at, length: 0, next: record, state }));
        };
        let next = at.saturating_add(frame);
        let state = self.state_of(record, length, next, &mut words)?;
        Ok(Unit::Frame(Frame { record, length, next, state }))
    }

    /// `next` is in the region, so nothing here overflows.
    fn state_of(&mut self, record: u32, length: u32, next: u32, words: &mut [u8; BUFFER]) -> Result<State, F::Error> {
        let sealed = next.saturating_sub(record);
        let seal_at = record.saturating_add(length).saturating_add(HEADER_LEN as u32);
        let mut seal = [0; SEAL_FIELDS];
        self.read(seal_at, &mut seal)?;
        let checksum = seal.strip_prefix(&seal_header(length, sealed));

        self.read(record, words.get_mut(..F::HEADER_WORDS).unwrap_or_default())?;
        let [kind, ..] = *words;
        let announced = is_content(kind) && words.starts_with(&header(kind, length));
        // Over everything; where the words of the length are written already, over the record, before its SEAL.
        let all = header(VOID, sealed.saturating_sub(HEADER_LEN as u32));
        let alone = checksum.map(|_| header(VOID, length));
        let uncommitted = closing::<F>(words, [Some(all), alone]);

        let Some(checksum) = checksum.filter(|_| announced) else { return Ok(uncommitted) };
        let mut crc = Crc::START;
        self.pieces(record, seal_at, words, |_, piece| {
            crc.update(piece);
            true
        })?;
        let is_whole = *checksum == crc.value().to_le_bytes();
        Ok(if is_whole { State::Committed { kind } } else { uncommitted })
    }

    /// Writes what is missing of a VOID's header, its kind last.
    pub(super) fn close(&mut self, record: u32, header: [u8; HEADER_LEN]) -> Result<(), F::Error> {
        let mut buffer = [0; BUFFER];
        let word = buffer.get_mut(..F::WORD).unwrap_or_default();
        for (index, part) in header.chunks(F::WORD).enumerate().rev() {
            let at = record.saturating_add(index.saturating_mul(F::WORD) as u32);
            self.read(at, word)?;
            if is_erased(word) {
                put(word, 0, part);
                self.write(at, word)?;
            }
        }
        Ok(())
    }
}

/// Whether the words where a header belongs hold one of these headers of a VOID, or can be made to.
fn closing<F: NorFlash>(words: &[u8; BUFFER], headers: [Option<[u8; HEADER_LEN]>; 2]) -> State {
    let fits = |header: &[u8; HEADER_LEN]| {
        let mut parts = words.chunks(F::WORD).zip(header.chunks(F::WORD));
        parts.all(|(word, part)| is_erased(word) || word.starts_with(part))
    };
    match headers.into_iter().flatten().find(fits) {
        None => State::Scar,
        Some(header) if words.starts_with(&header) => State::Void,
        Some(header) => State::Open { header },
    }
}
