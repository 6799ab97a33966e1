//! Runs the program, and makes maps.

use mrail::Map;
use mrail::map::append::Append;
use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How one run of the program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    /// The output, of a run that ended with this code.
    #[track_caller]
    pub(crate) fn with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        assert!(!self.err.contains("panicked"), "{self:?}");
        self
    }

    /// Each line of output as JSON.
    #[track_caller]
    pub(crate) fn values(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// The only line of output as JSON.
    #[track_caller]
    pub(crate) fn value(&self) -> Value {
        let mut values = self.values();
        assert_eq!(values.len(), 1, "{self:?}");
        values.remove(0)
    }

    /// The one line that says what is wrong.
    #[track_caller]
    pub(crate) fn error(&self) -> &str {
        let line = self.err.strip_suffix('\n').expect("an error ends with its line");
        assert!(!line.contains('\n'), "one line: {}", self.err);
        line.strip_prefix("error: ").unwrap_or_else(|| panic!("{line}"))
    }
}

/// The program with these arguments, in the folder of the sample maps.
pub(crate) fn command<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mrail"));
    command.args(args).current_dir(samples()).env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command
}

pub(crate) fn mrail<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Ended {
    ended(&mut command(args))
}

/// The same with its arguments in one line.
pub(crate) fn line(args: &str) -> Ended {
    mrail(args.split_whitespace())
}

/// The same with something to read.
pub(crate) fn fed(args: &str, input: &str) -> Ended {
    let mut command = command(args.split_whitespace());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    of(child.wait_with_output().unwrap())
}

pub(crate) fn ended(command: &mut Command) -> Ended {
    of(command.output().unwrap())
}

fn of(output: std::process::Output) -> Ended {
    Ended {
        code: output.status.code().expect("the program ends by itself"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/maps")
}

pub(crate) fn sample(name: &str) -> Vec<u8> {
    std::fs::read(samples().join(name)).unwrap()
}

/// A folder of a test's own.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file and returns its path as text.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path.into_os_string().into_string().unwrap()
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Appends to a map in memory.
pub(crate) fn append(map: &mut Map<'_>, prepare: impl FnOnce(&Map<'_>) -> Append) {
    let append = prepare(map);
    map.commit(&append).unwrap();
}
