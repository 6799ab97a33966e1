//! Learns: a run and a use count go to flash behind a power-safe log, and are there after opening again.

#![no_std]
#![no_main]

use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash};
use embedded_storage::nor_flash::{check_erase, check_read, check_write};
use mrail::PrefixHash;
use mrail::fixed::{Rules, Tables};
use mrail::flash::{AppendRegion, Error};
use mrail_firmware::board::{Clock, Out};
use mrail_firmware::flash;

mrail_firmware::program!(run);

/// What a model elsewhere answered to a prompt that the map does not know.
const ANSWER: [u32; 3] = [520, 725, 2];
/// Tokens of the longest run that is appended.
const LONGEST: usize = 128;

fn run(out: &mut Out, clock: &Clock) -> bool {
    let mut nor = Simulated { bytes: [0xFF; SIZE] };
    learn(&mut nor, out, clock).is_some()
}

fn learn(nor: &mut Simulated, out: &mut Out, clock: &Clock) -> Option<()> {
    let prompt = flash::prompts().last()?;
    let mut tokens = [0; LONGEST];
    let run = tokens.get_mut(..prompt.len() + ANSWER.len())?;
    for (place, &token) in run.iter_mut().zip(prompt.iter().chain(&ANSWER)) {
        *place = token;
    }

    // Nobody erases but who was asked to.
    let all = 0..SIZE as u32;
    let Err(Error::Erased) = AppendRegion::open(&mut *nor, all.clone()) else { return None };
    let mut region = AppendRegion::format(&mut *nor, all.clone()).ok()?;
    let mut kept = false;
    let append = clock.measure_once(|| {
        kept = region.append_session(0, run.iter().copied(), prompt.len() as u32).is_ok();
    });
    region.append_use(PrefixHash::of(prompt), 1).ok().filter(|()| kept)?;

    // As after a restart.
    let mut opened = None;
    let reopen = clock.measure_once(|| opened = AppendRegion::open(&mut *nor, all).ok());
    let mut region = opened?;
    let mut checksum = 0_u32;
    let len = region.read_out(|piece| {
        checksum = piece.iter().fold(checksum, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    });
    out.text("file ").number(len.ok()?).text(" ").number(checksum);
    out.text(" | append ").number(append).text(" reopen ").number(reopen).text("\n");

    // Where flash is mapped into memory the region is a map as it lies.
    let valid = region.valid_len() as usize;
    let bytes = nor.bytes.get(..valid)?;
    let mut tables = Tables::<1, 0, 0, 1>::new();
    let map = tables.open(bytes, Rules::default()).ok()?;
    out.text("answer");
    for token in map.answer(prompt, LONGEST, &[2])? {
        out.text(" ").number(token);
    }
    out.text(" | valid ").number(valid as u32).text("\n");
    (map.uses(PrefixHash::of(prompt)) == 1).then_some(())
}

const SIZE: usize = 2048;

/// A flash in memory that refuses what real flash cannot do: words are written once, and whole.
struct Simulated {
    bytes: [u8; SIZE],
}

#[derive(Debug)]
struct Refused;

impl NorFlashError for Refused {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl ErrorType for Simulated {
    type Error = Refused;
}

impl ReadNorFlash for Simulated {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Refused> {
        check_read(self, offset, bytes.len()).map_err(|_| Refused)?;
        for (place, byte) in bytes.iter_mut().zip(self.bytes.get(offset as usize..).unwrap_or_default()) {
            *place = *byte;
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        SIZE
    }
}

impl NorFlash for Simulated {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 1024;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Refused> {
        check_erase(self, from, to).map_err(|_| Refused)?;
        self.bytes.get_mut(from as usize..to as usize).ok_or(Refused)?.fill(0xFF);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Refused> {
        check_write(self, offset, bytes.len()).map_err(|_| Refused)?;
        for (place, byte) in self.bytes.get_mut(offset as usize..).unwrap_or_default().iter_mut().zip(bytes) {
            if *place != 0xFF {
                return Err(Refused);
            }
            *place = *byte;
        }
        Ok(())
    }
}
