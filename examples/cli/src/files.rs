//! Files: maps read whole, new ones written whole or not at all.
//!
//! A file is replaced by writing the new one beside it, forcing it to disk and renaming it over the old one, so that a
//! crash leaves one or the other. Whoever replaces a map holds an advisory lock on it (`flock` and its like) meanwhile; a
//! runtime that appends to a map should hold the same.

use crate::args::Opening;
use crate::error::{Exit, Failure, Result};
use mrail::map::OpenError;
use mrail::record::NotAMap;
use mrail::{Foreign, Map, Options};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file's bytes.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::of_file(Exit::Unreadable, path, format!("cannot be read: {error}"))
}

/// The failure of a file that is no map. What is wrong is wrong at its start.
pub(crate) fn no_map(path: &Path, error: NotAMap) -> Failure {
    let hint = match error {
        NotAMap::WrongMagic { found } if found.trim_ascii_start().starts_with(b"<") => " (a web page, it seems)",
        _ => "",
    };
    Failure::of_file(Exit::Unreadable, path, format!("offset 0: {error}{hint}"))
}

/// Opens a map with nothing beside it.
pub(crate) fn open<'a>(path: &Path, bytes: &'a [u8]) -> Result<Map<'a>> {
    Map::open(bytes, Options::default()).map_err(|error| match error {
        OpenError::Own(error) => no_map(path, error),
        error => Failure::of_file(Exit::Unreadable, path, error),
    })
}

impl Opening {
    /// Opens the map as the arguments say.
    pub(crate) fn open(&self) -> Result<Map<'static>> {
        let mut options = Options { stride: self.stride, limit: self.limit, ..Options::default() };
        let mut paths = Vec::new();
        for argument in &self.foreign {
            let (path, limit) = split_foreign(argument, Path::exists);
            options.foreign.push(Foreign { bytes: Cow::Owned(read(&path)?), limit });
            paths.push(path);
        }
        Map::open(read(&self.map)?, options).map_err(|error| match error {
            OpenError::Own(error) => no_map(&self.map, error),
            OpenError::Foreign { index, error } => no_map(paths.get(index).unwrap_or(&self.map), error),
            error @ OpenError::Rail(_) => Failure::of_file(Exit::Usage, &self.map, error),
        })
    }
}

/// Splits `MAP[:LIMIT]`. A file of the whole name comes first, so that names with colons can be given.
fn split_foreign(argument: &OsStr, exists: impl Fn(&Path) -> bool) -> (PathBuf, Option<usize>) {
    let whole = PathBuf::from(argument);
    let split = argument.to_str().and_then(|text| text.rsplit_once(':'));
    match split {
        Some((path, limit)) if !path.is_empty() && !exists(&whole) => match limit.parse() {
            Ok(limit) => (PathBuf::from(path), Some(limit)),
            Err(_) => (whole, None),
        },
        _ => (whole, None),
    }
}

/// A map that is about to be replaced, locked against others who would.
pub(crate) struct Locked {
    /// As it was given.
    path: PathBuf,
    /// The file itself, where links lead.
    real: PathBuf,
    file: File,
    len: u64,
}

impl Locked {
    /// Locks a file, or says who is in the way.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let real = path.canonicalize().map_err(|error| unreadable(path, &error))?;
        // Renaming over a device or a folder would replace it.
        if std::fs::metadata(&real).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(Failure::of_file(Exit::Refused, path, "no ordinary file, and is not replaced"));
        }
        // Some file systems lock only what may be written.
        let file = File::options().read(true).write(true).open(&real).or_else(|_| File::open(&real));
        let file = file.map_err(|error| unreadable(path, &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::of_file(Exit::Refused, path, "locked by another process; nothing was written"));
            }
            // Not every file system has locks.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => {
                return Err(Failure::of_file(Exit::Refused, path, format!("cannot be locked: {error}")));
            }
        }
        let len = file.metadata().map_err(|error| unreadable(path, &error))?.len();
        Ok(Self { path: path.to_owned(), real, file, len })
    }

    /// The file's bytes.
    pub(crate) fn read(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes).map_err(|error| unreadable(&self.path, &error))?;
        self.len = bytes.len() as u64;
        Ok(bytes)
    }

    /// Whether the path still leads to the file that was locked, and nobody appended to it without asking.
    fn is_unchanged(&self) -> io::Result<bool> {
        let (now, then) = (std::fs::metadata(&self.real)?, self.file.metadata()?);
        #[cfg(unix)]
        let same = {
            use std::os::unix::fs::MetadataExt;
            (now.dev(), now.ino()) == (then.dev(), then.ino())
        };
        #[cfg(not(unix))]
        let same = true;
        Ok(same && now.len() == self.len && then.len() == self.len)
    }

    /// Replaces the file. With `backup`, the old one stays beside it; its path is returned.
    pub(crate) fn replace(&self, bytes: &[u8], backup: bool) -> Result<Option<PathBuf>> {
        let failed = |error| not_written(&self.path, &error);
        let new = prepare(&self.real, bytes).map_err(failed)?;
        let permissions = self.file.metadata().map_err(failed)?.permissions();
        new.as_file().set_permissions(permissions).map_err(failed)?;
        if !self.is_unchanged().map_err(failed)? {
            let what = "changed while it was read; nothing was written";
            return Err(Failure::of_file(Exit::Refused, &self.path, what));
        }
        let kept = if backup { Some(keep(&self.real).map_err(failed)?) } else { None };
        if let Err(error) = new.persist(&self.real) {
            // The old file is still in its place.
            if let Some(kept) = &kept {
                let _ = std::fs::remove_file(kept);
            }
            return Err(failed(error.error));
        }
        sync_folder(&self.real);
        Ok(kept.map(|kept| self.as_given(kept)))
    }

    /// A file beside the map, named from where the map was named if no link is in between.
    fn as_given(&self, beside: PathBuf) -> PathBuf {
        let given = beside.file_name().map(|name| self.path.with_file_name(name));
        let is_same = |given: &PathBuf| given.canonicalize().is_ok_and(|real| real == beside);
        given.filter(is_same).unwrap_or(beside)
    }
}

/// Writes a file that must not exist yet.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |error| not_written(path, &error);
    let new = prepare(path, bytes).map_err(failed)?;
    match new.persist_noclobber(path) {
        Ok(_) => {
            sync_folder(path);
            Ok(())
        }
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(path)),
        Err(error) => Err(failed(error.error)),
    }
}

/// The failure of a file that is in the way.
pub(crate) fn exists(path: &Path) -> Failure {
    Failure::of_file(Exit::Refused, path, "exists already; nothing was written (--force replaces it)")
}

fn not_written(path: &Path, error: &io::Error) -> Failure {
    Failure::of_file(Exit::Refused, path, format!("cannot be written: {error}"))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file beside `path`, whole and on disk.
fn prepare(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    if !folder(path).is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "its folder does not exist"));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mrail-").suffix(".tmp");
    // As any new file, and not for the owner alone as temporary ones are.
    #[cfg(unix)]
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(mode);
    // The new file's own name would mean nothing to anybody.
    let mut file = builder.tempfile_in(folder(path)).map_err(|error| io::Error::from(error.kind()))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// A rename is on disk once its folder is. Where a folder cannot be forced to disk, the system does it in its time.
fn sync_folder(path: &Path) {
    #[cfg(unix)]
    let _ = File::open(folder(path)).and_then(|folder| folder.sync_all());
    #[cfg(not(unix))]
    let _ = path;
}

/// Gives a file a second name that nothing has: `.bak` behind its own, or `.bak1` and so on.
fn keep(path: &Path) -> io::Result<PathBuf> {
    for number in 0..10_000_u32 {
        let mut name = OsString::from(path);
        name.push(".bak");
        if number > 0 {
            name.push(number.to_string());
        }
        let backup = PathBuf::from(name);
        // A link keeps the very file, and takes no name that is taken.
        match std::fs::hard_link(path, &backup).or_else(|error| copy_unless_taken(path, &backup, error)) {
            Ok(()) => return Ok(backup),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "10000 backups lie beside it"))
}

/// For file systems without links.
fn copy_unless_taken(path: &Path, backup: &Path, error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return Err(error);
    }
    let mut to = File::create_new(backup)?;
    let copied = File::open(path).and_then(|mut from| io::copy(&mut from, &mut to)).and_then(|_| to.sync_all());
    if copied.is_err() {
        let _ = std::fs::remove_file(backup);
    }
    copied
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(argument: &str, existing: &[&str]) -> (String, Option<usize>) {
        let exists = |path: &Path| existing.iter().any(|existing| path == Path::new(existing));
        let (path, limit) = split_foreign(OsStr::new(argument), exists);
        (path.display().to_string(), limit)
    }

    #[test]
    fn a_limit_is_what_follows_the_last_colon() {
        assert_eq!(split("a.mrail", &[]), ("a.mrail".into(), None));
        assert_eq!(split("a.mrail:7", &[]), ("a.mrail".into(), Some(7)));
        assert_eq!(split("a:b.mrail", &[]), ("a:b.mrail".into(), None));
        assert_eq!(split("a:7:3", &[]), ("a:7".into(), Some(3)));
        assert_eq!(split("a:", &[]), ("a:".into(), None));
        assert_eq!(split(":3", &[]), (":3".into(), None));
        assert_eq!(split("a:99999999999999999999999", &[]), ("a:99999999999999999999999".into(), None));
    }

    #[test]
    fn a_file_of_the_whole_name_comes_first() {
        assert_eq!(split("a:7", &["a:7"]), ("a:7".into(), None));
        assert_eq!(split("a:7:3", &["a:7"]), ("a:7".into(), Some(3)));
    }
}
