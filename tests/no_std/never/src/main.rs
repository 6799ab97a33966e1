//! Proof that nothing panics.
//!
//! The panic handler calls a function that nobody has. Where the compiler cannot rule a panic out, the handler stays, and
//! linking fails with that function's name. Nothing here is ever run: `given` hides all data from the compiler, so that it
//! must take any bytes, any context and any flash for possible.
#![no_std]
#![no_main]

use core::convert::Infallible;
use core::hint::black_box;
use core::panic::PanicInfo;
use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use mrail::PrefixHash;
use mrail::fixed::{Hint, Lists, Map, Rules, Tables, Tree};
use mrail::flash::AppendRegion;

unsafe extern "C" {
    /// What a linker says when something may panic.
    fn something_may_panic() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    // SAFETY: a program in which this is reachable does not link.
    unsafe { something_may_panic() }
}

/// Any value of a type.
fn given<T>(value: T) -> T {
    black_box(value)
}

/// Takes all there is.
fn each<T>(things: impl Iterator<Item = T>) {
    for thing in things {
        black_box(thing);
    }
}

#[unsafe(no_mangle)]
extern "C" fn _start() {
    let (bytes, hint) = (given::<&[u8]>(&[]), given::<&[u8]>(&[]));
    let rules = given(Rules::default());

    if let Ok(map) = black_box(Map::open_with_hint(bytes, hint, rules)) {
        ask(&map);
    }
    if let Ok(map) = black_box(Map::open_with_hint_unread(bytes, hint, rules)) {
        ask(&map);
    }
    let mut tables = Tables::<40, 7, 3, 5>::new();
    if let Ok(map) = black_box(tables.open(bytes, rules)) {
        ask(&map);
    }
    if let Ok(hint) = Hint::read(hint) {
        black_box(hint.check(bytes).is_ok());
    }
    grow();

    #[cfg(feature = "panic")]
    black_box(bytes[given(3)]);
}

/// All that a map can be asked.
fn ask<L: Lists>(map: &Map<'static, L>) {
    let (context, stop) = (given::<&[u32]>(&[]), given::<&[u32]>(&[]));
    black_box(map.locate(context));
    if let Some(mut answer) = map.answer(context, given(64), stop) {
        while let Some(token) = answer.next() {
            black_box(token);
        }
        black_box((answer.end(), answer.run()));
    }
    if let Ok(decoded) = map.track_answer(given(1), context) {
        each(decoded);
    }
    let mut tree = given(Tree::<31>::new());
    map.draft(context, &mut tree);
    each(tree.iter());

    let hash = given(PrefixHash::EMPTY);
    black_box((map.uses(hash), map.anchor(hash), PrefixHash::of(context)));
    each(map.all_uses());
    each(map.anchors());
    each(map.problems());
    each(map.records());
    black_box((map.run(given(1)), map.valid_len(), map.tail(), map.len()));
}

/// All that an append region can be asked.
fn grow() {
    let region = 0..given(0x1_0000);
    let opened = if given(true) { AppendRegion::open(Flash, region) } else { AppendRegion::format(Flash, region) };
    let Ok(mut region) = black_box(opened) else { return };
    let tokens = given::<&[u32]>(&[]);
    black_box(region.append_session(given(1), tokens.iter().copied(), given(2)).is_ok());
    black_box(region.append_use(given(PrefixHash::EMPTY), given(3)).is_ok());
    black_box(
        region
            .read_out(|piece| {
                black_box(piece);
            })
            .is_ok(),
    );
    let mut entries = region.records();
    while let Ok(Some(mut entry)) = entries.next() {
        black_box(entry.read(given(1), &mut given([0; 16])).is_ok());
    }
    black_box((region.free(), region.used(), region.hidden(), region.valid_len()));
}

/// A flash with words of four bytes that does anything.
struct Flash;

impl ErrorType for Flash {
    type Error = Infallible;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        black_box(offset);
        for byte in bytes {
            *byte = given(0);
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        given(0x10_0000)
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 4096;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        black_box((from, to));
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        black_box((offset, bytes));
        Ok(())
    }
}
