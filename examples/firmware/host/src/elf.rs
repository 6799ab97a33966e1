//! How much memory a program takes, from the sections of its ELF file.

/// Bytes that a program takes, without the map's own section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// In flash: code, constants, and what statics start with.
    pub code: usize,
    /// In RAM: statics.
    pub statics: usize,
}

/// Section flags: it is written at run time; it takes memory.
const WRITE: u32 = 1;
const ALLOC: u32 = 2;
/// Section type: it has no bytes in the file.
const NOBITS: u32 = 8;

impl Sizes {
    /// Adds up the sections of a little-endian ELF file of 32 bits. `None` where it is none.
    ///
    /// A section that is written and has bytes in the file takes both kinds of memory.
    pub fn of(elf: &[u8]) -> Option<Self> {
        elf.strip_prefix(b"\x7FELF\x01\x01")?;
        let (table, size, count, names) = (word(elf, 32)?, half(elf, 46)?, half(elf, 48)?, half(elf, 50)?);
        let section = |number: usize| elf.get(table + number * size..);
        let names = word(section(names)?, 16)?;
        let mut sizes = Self::default();
        for number in 0..count {
            let header = section(number)?;
            let (kind, flags, len) = (word(header, 4)? as u32, word(header, 8)? as u32, word(header, 20)?);
            let name = elf.get(names + word(header, 0)?..)?;
            if flags & ALLOC == 0 || name.starts_with(b".map\0") {
                continue;
            }
            sizes.code += if kind == NOBITS { 0 } else { len };
            sizes.statics += if flags & WRITE == 0 { 0 } else { len };
        }
        Some(sizes)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize)
}

fn half(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file with a header, a table of sections (name, type, flags, size), and their names at the end.
    fn elf(sections: &[(&str, u32, u32, u32)]) -> Vec<u8> {
        let names_at = 52 + 40 * (sections.len() as u32 + 1);
        let mut names = Vec::new();
        let mut file = b"\x7FELF\x01\x01".to_vec();
        file.resize(32, 0);
        file.extend(52_u32.to_le_bytes());
        file.resize(46, 0);
        file.extend([40, sections.len() as u16 + 1, sections.len() as u16].map(u16::to_le_bytes).as_flattened());
        let last = ("", 3, 0, 0);
        for (name, kind, flags, size) in sections.iter().copied().chain([last]) {
            let header = [names.len() as u32, kind, flags, 0, names_at, size, 0, 0, 0, 0];
            file.extend(header.map(u32::to_le_bytes).as_flattened());
            names.extend([name.as_bytes(), b"\0"].concat());
        }
        [file, names].concat()
    }

    #[test]
    fn sections_are_added_up() {
        let file = elf(&[
            (".text", 1, 6, 1000),
            (".map", 1, 2, 18146),
            (".data", 1, 3, 20),
            (".bss", NOBITS, 3, 300),
            (".debug_info", 1, 0, 9999),
        ]);
        assert_eq!(Sizes::of(&file), Some(Sizes { code: 1020, statics: 320 }));
    }

    #[test]
    fn what_is_no_such_file_has_no_sizes() {
        let file = elf(&[(".text", 1, 6, 1000)]);
        assert_eq!(Sizes::of(b"MRAIL\x03\0\0"), None);
        assert!((0..file.len() - 9).all(|cut| Sizes::of(&file[..cut]).is_none()));
    }
}
