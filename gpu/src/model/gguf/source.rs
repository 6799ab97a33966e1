//! Where a file's bytes come from.

use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};

/// A file, or what stands for one, whose bytes can be read at any place.
pub trait Source {
    /// Bytes of the whole file.
    fn size(&self) -> u64;

    /// Fills `into` with the bytes from `offset` on, or says why not.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<()>;
}

impl Source for &[u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<()> {
        let start = usize::try_from(offset).ok();
        let from = start.and_then(|start| self.get(start..)?.get(..into.len()));
        into.copy_from_slice(from.ok_or_else(|| Error::from(ErrorKind::UnexpectedEof))?);
        Ok(())
    }
}

/// Whatever reads and seeks: a file, above all.
#[derive(Debug)]
pub struct Seekable<R> {
    inner: R,
    size: u64,
}

impl<R: Read + Seek> Seekable<R> {
    /// Asks for the end, which is taken to stay.
    pub fn new(mut inner: R) -> Result<Self> {
        let size = inner.seek(SeekFrom::End(0))?;
        Ok(Self { inner, size })
    }
}

impl<R: Read + Seek> Source for Seekable<R> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.inner.seek(SeekFrom::Start(offset))?;
        self.inner.read_exact(into)
    }
}
