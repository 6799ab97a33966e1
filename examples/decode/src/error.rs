//! Exit codes, and what ends the program early.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Why the program ends early. `--help` documents the numbers; scripts rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command line, or a list of tokens, makes no sense.
    Usage = 2,
    /// A file cannot be read, or is not what it should be.
    Unreadable = 3,
    /// A map is refused, or takes nothing.
    Refused = 4,
    /// The model cannot be run.
    Engine = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[derive(Debug)]
pub(crate) enum Failure {
    /// Nobody reads the output any more. No error, and nothing to say.
    Unread,
    /// One line says what and where.
    Said {
        /// The exit code.
        exit: Exit,
        /// The line.
        text: String,
    },
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(exit: Exit, text: impl fmt::Display) -> Self {
        Self::Said { exit, text: text.to_string() }
    }

    /// A failure that concerns a file.
    pub(crate) fn of_file(exit: Exit, path: &Path, what: impl fmt::Display) -> Self {
        Self::new(exit, format!("{}: {what}", path.display()))
    }

    /// A file that cannot be read, or is not what it should be.
    pub(crate) fn unreadable(path: &Path) -> impl Fn(&dyn fmt::Display) -> Self + '_ {
        move |what| Self::of_file(Exit::Unreadable, path, what)
    }
}

/// Errors of files are [`Failure::of_file`]; a bare one is standard output's.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Unread,
            _ => Self::new(Exit::Refused, format!("standard output: cannot be written: {error}")),
        }
    }
}
