//! What lies in flash beside the program, in a section of its own: there a board's linker script gives it a place, and it
//! can be written without the program.

/// Bytes of which the linker knows where they go.
#[repr(align(4))]
struct Placed<const N: usize>([u8; N]);

const MAP_BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/general.mrail"));
const HINT_BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/general.idx"));

#[unsafe(link_section = ".map")]
static PLACED_MAP: Placed<{ MAP_BYTES.len() }> = Placed(*include_bytes!(concat!(env!("OUT_DIR"), "/general.mrail")));
#[unsafe(link_section = ".map")]
static PLACED_HINT: Placed<{ HINT_BYTES.len() }> = Placed(*include_bytes!(concat!(env!("OUT_DIR"), "/general.idx")));

/// The map.
pub static MAP: &[u8] = &PLACED_MAP.0;
/// Its hint.
pub static HINT: &[u8] = &PLACED_HINT.0;

include!(concat!(env!("OUT_DIR"), "/prompts.rs"));

/// The contexts that the demo asks for.
pub fn prompts() -> impl Iterator<Item = &'static [u32]> {
    ENDS.iter().scan(0, |start, &end| {
        let prompt = TOKENS.get(*start..usize::from(end))?;
        *start = usize::from(end);
        Some(prompt)
    })
}
