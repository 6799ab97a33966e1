//! Runs the program in a folder of its own.

use mrail_gpu::model::seeded::Seeded;
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder with a model.
pub(crate) struct Folder(TempDir);

/// How one run of the program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    /// Of a run that ended with this code.
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

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        std::fs::write(folder.path("tiny.gguf"), Seeded::default().file()).expect("written");
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).expect("written");
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mrail-decode"));
        command.args(args).current_dir(self.0.path()).env_remove("CLICOLOR_FORCE");
        // Mesa, asked for a GPU, would complain among the errors.
        command.env("XDG_RUNTIME_DIR", self.0.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program with these arguments, separated by blanks; `%` stands for a blank inside one.
    pub(crate) fn run(&self, args: &str) -> Ended {
        self.fed(args, "")
    }

    /// The same with something to read.
    pub(crate) fn fed(&self, args: &str, input: &str) -> Ended {
        self.with_env(args, input, &[])
    }

    pub(crate) fn with_env(&self, args: &str, input: &str, env: &[(&str, &str)]) -> Ended {
        let args: Vec<String> = args.split_whitespace().map(|arg| arg.replace('%', " ")).collect();
        let mut command = self.command(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let mut child = command.envs(env.iter().copied()).spawn().expect("the program");
        // It may end without having read.
        let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
        let Output { status, stdout, stderr } = child.wait_with_output().expect("an end");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Ended { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
    }

    /// Asks the tiny model on the CPU for 16 tokens.
    pub(crate) fn ask(&self, args: &str) -> Ended {
        self.run(&format!("--model tiny.gguf --backend cpu --max-new 16 {args}"))
    }

    /// The same, as JSON.
    #[track_caller]
    pub(crate) fn json(&self, args: &str) -> Value {
        self.ask(&format!("--json {args}")).with(0).value()
    }
}
