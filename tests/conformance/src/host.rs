//! A map in a file: what a host does around `mrail`, which touches none.

use mrail::map::append::Append;
use mrail::{Foreign, Map, Options};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// An open map with its file, which is locked against other writers as long as this lives.
pub(crate) struct Hosted {
    pub(crate) map: Map<'static>,
    /// None where the file can only be read.
    file: Option<File>,
}

impl Hosted {
    /// Opens the map at `path`; a new one if there is no file. Foreign maps are read only. An existing file is not written.
    pub(crate) fn open(
        path: &Path,
        mut options: Options<'static>,
        foreign: &[(String, Option<usize>)],
    ) -> Result<Self, String> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        for (path, limit) in foreign {
            let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
            options.foreign.push(Foreign { bytes: bytes.into(), limit: *limit });
        }
        let mut file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => create(path).map_err(|error| named(&error))?,
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
                let bytes = std::fs::read(path).map_err(|error| named(&error))?;
                let map = Map::open(bytes, options).map_err(|error| named(&error))?;
                return Ok(Self { map, file: None });
            }
            opened => opened.map_err(|error| named(&error))?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(named(&"another writer has this map open")),
            Err(TryLockError::Error(error)) => return Err(named(&error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| named(&error))?;
        let map = Map::open(bytes, options).map_err(|error| named(&error))?;
        Ok(Self { map, file: Some(file) })
    }

    /// Writes a prepared record where it belongs and takes it into the map. Nothing to write is no error.
    pub(crate) fn write(&mut self, append: &Append) -> Result<Option<usize>, String> {
        if append.bytes().is_empty() {
            return Ok(None);
        }
        let file = self.file.as_mut().ok_or("the file can only be read")?;
        let (offset, end) = (append.offset() as u64, (append.offset() + append.bytes().len()) as u64);
        let mut write = || -> io::Result<()> {
            if file.seek(SeekFrom::End(0))? != offset {
                file.set_len(offset)?;
                file.seek(SeekFrom::Start(offset))?;
            }
            file.write_all(append.bytes())
        };
        if let Err(error) = write() {
            // What was written of it is a torn tail, which the next append would cut.
            return Err(format!("bytes {offset} to {end}: {error}"));
        }
        self.map.commit(append).map_err(|error| error.to_string())
    }
}

/// A new file with nothing but the magic. Another process may have made it meanwhile: then it is opened.
fn create(path: &Path) -> io::Result<File> {
    match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
        Ok(mut file) => {
            file.write_all(&Map::create().bytes())?;
            file.rewind()?;
            Ok(file)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => OpenOptions::new().read(true).write(true).open(path),
        Err(error) => Err(error),
    }
}
