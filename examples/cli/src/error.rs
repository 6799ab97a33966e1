//! Exit codes, and what ends a command early.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// How a command ended. `mrail --help` documents the numbers; scripts rely on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Done.
    #[default]
    Done = 0,
    /// The map does not know what was asked for.
    Unknown = 1,
    /// The command line, or a list of tokens, makes no sense.
    Usage = 2,
    /// A file cannot be read, or is no map.
    Unreadable = 3,
    /// A map is damaged or torn.
    Damaged = 4,
    /// Nothing was written.
    Refused = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nobody reads the output any more (`mrail dump MAP | head`). No error, and nothing to say.
    Unread,
    /// One line says what and where.
    Said {
        /// The exit code.
        exit: Exit,
        /// The line.
        text: String,
    },
}

/// What most of the program returns.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(exit: Exit, text: impl Into<String>) -> Self {
        Self::Said { exit, text: text.into() }
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(Exit::Usage, text)
    }

    /// A failure that concerns a file.
    pub(crate) fn of_file(exit: Exit, path: &Path, what: impl fmt::Display) -> Self {
        Self::new(exit, format!("{}: {what}", path.display()))
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
