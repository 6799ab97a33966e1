//! Where vectors and maps lie.

use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

/// The folder of test data: maps, vectors, corpus.
#[must_use]
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data")
}

/// Bytes of one of the sample maps.
///
/// # Errors
/// There is no such file.
pub fn sample_map(name: &str) -> io::Result<Vec<u8>> {
    std::fs::read(data().join("maps").join(name))
}

/// A folder of vectors: the committed one, or the one that `MRAIL_VECTORS` names.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
    committed: bool,
}

impl Folder {
    /// Finds the folder. A relative `MRAIL_VECTORS` counts from the current folder or from the project's.
    ///
    /// # Errors
    /// `MRAIL_VECTORS` names no folder with vectors.
    pub fn find() -> Result<Self, String> {
        let Some(named) = std::env::var_os("MRAIL_VECTORS").filter(|named| !named.is_empty()) else {
            return Ok(Self { root: data().join("vectors"), committed: true });
        };
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let has_vectors = |folder: &PathBuf| {
            let mut files = std::fs::read_dir(folder).into_iter().flatten().flatten();
            files.any(|file| file.path().extension().is_some_and(|extension| extension == "json"))
        };
        let found = [PathBuf::from(&named), project.join(&named)].into_iter().find(has_vectors);
        let root = found.ok_or_else(|| format!("MRAIL_VECTORS={}: no vectors there", named.display()))?;
        Ok(Self { root, committed: false })
    }

    /// The vectors of one family. None where a folder other than the committed one has none of it.
    ///
    /// # Errors
    /// The file cannot be read, or the committed folder lacks it.
    pub fn family(&self, name: &str) -> Result<Option<Value>, String> {
        let path = self.root.join(format!("{name}.json"));
        if !self.committed && !path.exists() {
            return Ok(None);
        }
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read(&path).map_err(|error| named(&error))?;
        serde_json::from_slice(&text).map(Some).map_err(|error| named(&error))
    }

    /// A file of vectors that are no JSON.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn file(&self, name: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.root.join(name))
    }

    /// Where a map lies by its name in the vectors: `maps/x` is a sample map, `@x` lies beside the vectors.
    #[must_use]
    pub fn map(&self, name: &str) -> PathBuf {
        if let Some(name) = name.strip_prefix('@') {
            return self.root.join(name);
        }
        let committed = data().join(name);
        if committed.exists() { committed } else { self.root.join("..").join(name) }
    }
}
