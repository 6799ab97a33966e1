//! Where things lie, and the environment in which commands run.

use std::cell::OnceCell;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::shell::{Cmd, Failure};

/// The checkout.
pub(crate) struct Project {
    /// Where the workspace's Cargo.toml is.
    pub(crate) root: PathBuf,
    /// Everything that is built or set up goes here; it may be deleted at any time.
    pub(crate) target: PathBuf,
    /// The npm package, built at most once in a run (see `build`).
    pub(crate) package: OnceCell<Result<PathBuf, String>>,
    /// That of the model, likewise.
    pub(crate) model_package: OnceCell<Result<PathBuf, String>>,
    /// The web app, likewise.
    pub(crate) web_app: OnceCell<Result<PathBuf, String>>,
}

impl Project {
    /// The checkout that this program was built in.
    pub(crate) fn find() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.ancestors().nth(2).unwrap_or(here).to_path_buf();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => env::current_dir().unwrap_or_else(|_| root.clone()).join(folder),
            None => root.join("target"),
        };
        Self { root, target, package: OnceCell::new(), model_package: OnceCell::new(), web_app: OnceCell::new() }
    }

    /// A path below the root, with `/` on every system.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        below.split('/').fold(self.root.clone(), |path, part| path.join(part))
    }

    /// Root of what `cargo install` put here; nothing is installed into the user's own folders.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }

    /// The interpreter of the tests' virtual environment.
    pub(crate) fn python(&self) -> PathBuf {
        let venv = self.target.join("venv");
        if cfg!(windows) { venv.join("Scripts").join("python.exe") } else { venv.join("bin").join("python") }
    }

    /// Where commands are looked up: the project's own tools first, then the npm modules of the web app, then the user's.
    pub(crate) fn search_path(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.tools().join("bin"), self.path("web/node_modules/.bin")];
        folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        folders
    }

    /// The first program of one of these names, if there is any.
    pub(crate) fn program(&self, names: &[&str]) -> Option<PathBuf> {
        let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };
        let folders = self.search_path();
        names.iter().find_map(|name| {
            folders.iter().find_map(|folder| {
                endings.iter().map(|ending| folder.join(format!("{name}{ending}"))).find(|path| path.is_file())
            })
        })
    }

    /// A command, run at the root with the project's tools on its path.
    pub(crate) fn cmd(&self, program: &str) -> Cmd {
        let found = self.program(&[program]).unwrap_or_else(|| PathBuf::from(program));
        self.cmd_at(&found)
    }

    /// The same for a program whose path is known.
    pub(crate) fn cmd_at(&self, program: &Path) -> Cmd {
        Cmd::new(program).dir(&self.root).env("PATH", self.joined_path(&[])).env("CARGO_TARGET_DIR", &self.target)
    }

    /// The value of PATH, with `first` before all else.
    pub(crate) fn joined_path(&self, first: &[PathBuf]) -> OsString {
        let folders = first.iter().cloned().chain(self.search_path());
        env::join_paths(folders).unwrap_or_else(|_| env::var_os("PATH").unwrap_or_default())
    }

    /// Where a quiet command's output is kept.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.target.join("xtask").join(format!("{name}.log"))
    }

    /// A file's text, or a failure that names it.
    pub(crate) fn read(&self, below: &str) -> Result<String, Failure> {
        std::fs::read_to_string(self.path(below))
            .map_err(|error| Failure::new(format!("{below} can't be read: {error}")))
    }
}
