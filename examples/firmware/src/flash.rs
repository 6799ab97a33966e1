//! What lies in flash beside the program, in a section of its own: there a board's linker script gives it a place, and it
//! can be written without the program.

/// Bytes of which the linker knows where they go.
#[repr(align(4))]
struct Placed<const N: usize>([u8; N]);

const MAP_BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/general.mrail"));
const HINT_BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/general.idx"));

const TRACK_BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/track.mrail"));

#[unsafe(link_section = ".map")]
static PLACED_MAP: Placed<{ MAP_BYTES.len() }> = Placed(*include_bytes!(concat!(env!("OUT_DIR"), "/general.mrail")));
#[unsafe(link_section = ".map")]
static PLACED_HINT: Placed<{ HINT_BYTES.len() }> = Placed(*include_bytes!(concat!(env!("OUT_DIR"), "/general.idx")));
#[unsafe(link_section = ".map")]
static PLACED_TRACK: Placed<{ TRACK_BYTES.len() }> = Placed(*include_bytes!(concat!(env!("OUT_DIR"), "/track.mrail")));

/// The map.
pub static MAP: &[u8] = &PLACED_MAP.0;
/// Its hint.
pub static HINT: &[u8] = &PLACED_HINT.0;
/// A map of one track, whose context are all prompts one behind the other.
pub static TRACK: &[u8] = &PLACED_TRACK.0;

include!(concat!(env!("OUT_DIR"), "/prompts.rs"));

/// All prompts, one behind the other.
pub fn all_prompts() -> &'static [u32] {
    &TOKENS
}

/// The contexts that the demo asks for.
pub fn prompts() -> impl Iterator<Item = &'static [u32]> {
    ENDS.iter().scan(0, |start, &end| {
        let prompt = TOKENS.get(*start..usize::from(end))?;
        *start = usize::from(end);
        Some(prompt)
    })
}
