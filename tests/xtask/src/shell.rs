//! Running commands, and saying what went wrong in them.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Lines of a failed command's output that are shown: some tell the cause first, most last.
const HEAD: usize = 6;
const TAIL: usize = 18;

/// What failed, how it ended, and what a person can do about it.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    what: String,
    output: Vec<String>,
    hint: Option<String>,
}

impl Failure {
    /// A failure in one sentence.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), output: Vec::new(), hint: None }
    }

    /// Adds what a person can do.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Turns any error into a failure that says what was being done.
    pub(crate) fn doing<E: fmt::Display>(what: impl fmt::Display) -> impl FnOnce(E) -> Self {
        move |error| Self::new(format!("{what}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        for line in &self.output {
            write!(f, "\n    | {line}")?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\n  what helps: {hint}"),
            None => Ok(()),
        }
    }
}

/// One command line.
pub(crate) struct Cmd {
    command: Command,
    line: String,
}

impl Cmd {
    /// A command without arguments.
    pub(crate) fn new(program: &Path) -> Self {
        Self { command: Command::new(program), line: program.display().to_string() }
    }

    /// Adds one argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        let arg = arg.as_ref();
        let text = arg.to_string_lossy();
        let quote = if text.contains(' ') { "'" } else { "" };
        self.line.extend([" ", quote, &text, quote]);
        self.command.arg(arg);
        self
    }

    /// Adds arguments that hold no spaces, written as in a shell.
    pub(crate) fn args(self, args: &str) -> Self {
        args.split_whitespace().fold(self, Self::arg)
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets the working folder.
    pub(crate) fn dir(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Runs it with its output on the terminal.
    pub(crate) fn stream(mut self) -> Result<(), Failure> {
        println!("$ {}", self.line);
        let status = self.command.status();
        self.judge(status, Vec::new())
    }

    /// Runs it with its output on the terminal, and also returns what it wrote to standard output.
    pub(crate) fn stream_and_keep(mut self) -> Result<String, Failure> {
        println!("$ {}", self.line);
        let mut child = self.command.stdout(Stdio::piped()).spawn().map_err(|error| self.not_started(&error))?;
        let mut kept = String::new();
        if let Some(output) = child.stdout.take() {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                println!("{line}");
                kept.extend([&line, "\n"]);
            }
        }
        let status = child.wait();
        self.judge(status, Vec::new()).map(|()| kept)
    }

    /// Runs it with its output in `log`, of which an excerpt is shown if it fails. Ended after `limit`.
    pub(crate) fn quiet(mut self, log: &Path, limit: Duration) -> Result<(), Failure> {
        if let Some(folder) = log.parent() {
            fs::create_dir_all(folder).map_err(Failure::doing(format!("making {}", folder.display())))?;
        }
        let file = File::create(log).map_err(Failure::doing(format!("writing {}", log.display())))?;
        let copy = file.try_clone().map_err(Failure::doing(format!("writing {}", log.display())))?;
        self.command.stdin(Stdio::null()).stdout(file).stderr(copy);
        let mut child = self.command.spawn().map_err(|error| self.not_started(&error))?;
        match wait(&mut child, limit) {
            Some(status) => self.judge(status, excerpt(log)),
            None => Err(Failure {
                what: format!("`{}` had not ended after {} s", self.line, limit.as_secs()),
                output: excerpt(log),
                hint: None,
            }),
        }
    }

    /// Its standard output, if it succeeds. Nothing is printed.
    pub(crate) fn read(mut self) -> Option<String> {
        let output = self.command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    }

    /// Starts it and goes on.
    pub(crate) fn start(mut self) -> Result<Child, Failure> {
        self.command.spawn().map_err(|error| self.not_started(&error))
    }

    fn judge(&self, status: std::io::Result<ExitStatus>, output: Vec<String>) -> Result<(), Failure> {
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure { what: format!("`{}` failed: {status}", self.line), output, hint: None }),
            Err(error) => Err(self.not_started(&error)),
        }
    }

    fn not_started(&self, error: &std::io::Error) -> Failure {
        Failure::new(format!("`{}` could not be started: {error}", self.line))
    }
}

/// Waits at most `limit`, then ends the child: `None`.
fn wait(child: &mut Child, limit: Duration) -> Option<std::io::Result<ExitStatus>> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(Ok(status)),
            Err(error) => return Some(Err(error)),
            Ok(None) if start.elapsed() < limit => thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                // Either call can only fail where the child has just ended by itself.
                child.kill().ok();
                child.wait().ok();
                return None;
            }
        }
    }
}

/// The first and the last lines of a log.
fn excerpt(log: &Path) -> Vec<String> {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let left_out = lines.len().saturating_sub(HEAD + TAIL);
    let note = format!("({left_out} lines more in {})", log.display());
    let mut shown: Vec<String> = lines.iter().take(HEAD).map(ToString::to_string).collect();
    shown.extend((left_out > 0).then_some(note));
    shown.extend(lines.iter().skip(HEAD + left_out).map(ToString::to_string));
    shown
}

/// A time as people say it.
pub(crate) fn took(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{:.1} s", time.as_secs_f32())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Cmd {
        Cmd::new(Path::new("sh")).arg("-c").arg(script)
    }

    fn log(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("xtask-{}-{name}.log", std::process::id()))
    }

    #[test]
    fn a_failure_shows_command_and_what_it_said_first_and_last() {
        let log = log("tail");
        let failure = shell("seq 100; echo no such thing >&2; exit 3").quiet(&log, Duration::from_secs(10));
        let text = failure.expect_err("exit status 3").hint("look it up").to_string();
        fs::remove_file(log).ok();
        assert!(text.contains("sh -c 'seq 100;") && text.contains("exit status: 3"), "{text}");
        assert!(text.contains("| 100\n    | no such thing\n  what helps: look it up"), "{text}");
        assert!(text.contains("| 1\n") && text.contains("(77 lines more in ") && !text.contains("| 42\n"), "{text}");
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        let (log, start) = (log("hang"), Instant::now());
        let failure = Cmd::new(Path::new("sleep")).arg("60").quiet(&log, Duration::from_millis(100));
        fs::remove_file(log).ok();
        assert!(failure.expect_err("too long").to_string().contains("had not ended"));
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn output_is_read_only_from_what_succeeds() {
        assert_eq!(shell("echo 1.2").read(), Some("1.2".into()));
        assert_eq!(shell("echo 1.2; false").read(), None);
        assert_eq!(Cmd::new(Path::new("no-such-program-here")).read(), None);
        assert_eq!(shell("echo a; echo 16 of 16").stream_and_keep().ok(), Some("a\n16 of 16\n".into()));
    }

    #[test]
    fn times_are_readable() {
        assert_eq!(took(Duration::from_millis(1234)), "1.2 s");
        assert_eq!(took(Duration::from_secs(65)), "1 min 05 s");
    }
}
