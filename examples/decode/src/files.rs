//! Maps in files, which grow.

use crate::args::EngineArgs;
use crate::error::{Exit, Failure, Result};
use crate::identity::Identity;
use mrail::map::OpenError;
use mrail::record::NotAMap;
use mrail::tail::Tail;
use mrail::{Map, Options};
use mrail_gpu::decode::Journal;
use std::fmt::Display;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The file of the own map, locked against other writers.
#[derive(Debug)]
pub(crate) struct MapFile(File);

impl Journal for MapFile {
    fn append_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.set_len(offset)?;
        self.0.seek(SeekFrom::Start(offset))?;
        self.0.write_all(bytes)?;
        self.0.sync_data()
    }
}

/// The own map with its file, before there is a model.
#[derive(Debug)]
pub(crate) struct OwnMap {
    pub(crate) path: PathBuf,
    pub(crate) identity: Identity,
    pub(crate) map: Map<'static>,
    pub(crate) file: MapFile,
    /// Whether the file was made now.
    pub(crate) new: bool,
}

impl OwnMap {
    /// Opens or makes the file. That it is another model's is told before that model is loaded.
    pub(crate) fn open(path: &Path, engine: &EngineArgs) -> Result<Self> {
        let identity = Identity::of(engine)?;
        identity.check(path)?;
        let (map, file, new) = open_own(path)?;
        Ok(Self { path: path.to_owned(), identity, map, file, new })
    }
}

/// The own map. A file that is missing is made; returns whether it was.
fn open_own(path: &Path) -> Result<(Map<'static>, MapFile, bool)> {
    let refused = |what: &dyn Display| Failure::of_file(Exit::Refused, path, what);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|error| refused(&format!("cannot be opened for writing: {error}")))?;
    if Identity::path(path) == path {
        return Err(refused(&"a map's name may not end in .json: what says whose it is has that name"));
    }
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(refused(&"locked by another process")),
        // Not every file system has locks.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
        Err(TryLockError::Error(error)) => return Err(refused(&format!("cannot be locked: {error}"))),
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| Failure::unreadable(path)(&error))?;
    let start = Map::create().bytes();
    // A file that was only begun, or has no record yet, counts as none: nothing says whose it is, and nothing in it is anyone's.
    let new = bytes.len() <= start.len() && start.starts_with(&bytes);
    let mut file = MapFile(file);
    if new {
        file.append_at(0, &start).map_err(|error| refused(&format!("cannot be written: {error}")))?;
        bytes = start;
    }
    let map = open(path, bytes)?;
    if let Tail::Damaged { len } = map.tail() {
        let what = format!("{len} bytes at its end may hide good records: `mrail repair` looks");
        return Err(refused(&what));
    }
    Ok((map, file, new))
}

/// A map that only drafts.
pub(crate) fn open_foreign(path: &Path) -> Result<Map<'static>> {
    let bytes = std::fs::read(path).map_err(|error| Failure::unreadable(path)(&error))?;
    open(path, bytes)
}

fn open(path: &Path, bytes: Vec<u8>) -> Result<Map<'static>> {
    let web_page = bytes.trim_ascii_start().starts_with(b"<");
    Map::open(bytes, Options::default()).map_err(|error| {
        let hint = match error {
            OpenError::Own(NotAMap::WrongMagic { .. }) if web_page => " (a web page, it seems)",
            _ => "",
        };
        Failure::unreadable(path)(&format!("{error}{hint}"))
    })
}

/// A text file's content; `-` is standard input.
pub(crate) fn text(path: &Path) -> Result<String> {
    let read = if path == Path::new("-") { io::read_to_string(io::stdin()) } else { std::fs::read_to_string(path) };
    read.map_err(|error| Failure::unreadable(path)(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_file_is_made_grown_and_locked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("own.mrail");
        let (mut map, mut file, new) = open_own(&path).expect("a new one");
        assert!(new);
        let run = map.prepare_session(&[1, 2, 3], 1).expect("room");
        file.append_at(run.offset() as u64, run.bytes()).expect("written");
        map.commit(&run).expect("in order");
        assert!(matches!(open_own(&path), Err(Failure::Said { exit: Exit::Refused, .. })));
        drop(file);
        // A torn tail is cut by the next append, at whatever byte the write ended.
        for torn in 1..run.bytes().len() {
            let bytes = [&map.bytes()[..], &run.bytes()[..torn]].concat();
            std::fs::write(&path, &bytes).expect("written");
            let (reopened, mut file, new) = open_own(&path).expect("sound");
            assert!(!new && reopened.len() == 1);
            let run = reopened.prepare_session(&[4, 5], 1).expect("room");
            file.append_at(run.offset() as u64, run.bytes()).expect("written");
            drop(file);
            assert_eq!(open_own(&path).expect("sound").0.len(), 2);
        }
        std::fs::write(&path, &map.bytes()[..5]).expect("written");
        assert!(open_own(&path).expect("begun").2);
        std::fs::write(&path, b"<html>").expect("written");
        assert!(matches!(open_own(&path), Err(Failure::Said { exit: Exit::Unreadable, .. })));
    }
}
