//! The task runner: `cargo xtask setup | demo | test`.
//!
//! It knows which tools the project needs and which steps prove it; it holds no logic of the project itself. Only the
//! standard library is used, so that it is there within a second of a fresh clone.

mod build;
mod debian;
mod demo;
mod model;
mod package;
mod project;
mod rust;
mod setup;
mod shell;
mod steps;
mod test;
mod tools;

use std::process::ExitCode;

use project::Project;
use setup::{Consent, Need, Setup};

const HELP: &str = "\
The project's tasks.

  cargo xtask demo  [--yes] [--port N] [--no-open]
        sets up what the demo needs, builds it and serves it on 127.0.0.1 with the sample map open
  cargo xtask test  [--yes] [--full] [--only STEP,...] [--skip STEP,...] [--list]
        sets up what the tests need and runs them all; --full adds what is too long for every run
  cargo xtask setup [--yes] [--for demo|test]
        only sets up; what is there already is not done again

  --yes  install system packages and write outside the project without asking
         (nor is anybody asked where CI is set or standard input is no terminal)";

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let command = if words.is_empty() { String::new() } else { words.remove(0) };
    let done = match command.as_str() {
        "setup" => setup_command(words),
        "demo" => demo_command(words),
        "test" => test_command(words),
        "" | "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(true)
        }
        other => Err(format!("there is no task `{other}`\n\n{HELP}")),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn setup_command(words: Vec<String>) -> Result<bool, String> {
    let mut options = Options(words);
    let consent = Consent::new(options.flag("--yes"));
    let needs = match options.value("--for")?.as_deref() {
        Some("demo") => Need::DEMO,
        None | Some("test") => Need::ALL,
        Some(other) => return Err(format!("--for takes `demo` or `test`, not `{other}`")),
    };
    options.end()?;
    let project = Project::find();
    Ok(Setup::new(&project, consent).run(needs).is_empty())
}

fn demo_command(words: Vec<String>) -> Result<bool, String> {
    let mut options = Options(words);
    let consent = Consent::new(options.flag("--yes"));
    let open = !options.flag("--no-open");
    let port = match options.value("--port")? {
        Some(port) => Some(port.parse().map_err(|_| format!("--port takes a number below 65536, not `{port}`"))?),
        None => None,
    };
    options.end()?;
    let project = Project::find();
    if !Setup::new(&project, consent).run(Need::DEMO).is_empty() {
        return Ok(false);
    }
    demo::run(&project, port, open).map_err(|failure| failure.to_string())?;
    Ok(true)
}

fn test_command(words: Vec<String>) -> Result<bool, String> {
    let mut options = Options(words);
    if options.flag("--list") {
        options.end()?;
        print!("{}", test::list());
        return Ok(true);
    }
    let consent = Consent::new(options.flag("--yes"));
    let full = options.flag("--full");
    let (only, skip) = (options.value("--only")?, options.value("--skip")?);
    options.end()?;
    let plan = test::Plan::new(full, only.as_deref(), skip.as_deref())?;
    let project = Project::find();
    Ok(test::run(&project, consent, &plan))
}

/// What is left of the command line.
struct Options(Vec<String>);

impl Options {
    /// Takes `name`, if it is there.
    fn flag(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|word| word != name);
        self.0.len() < before
    }

    /// Takes `name VALUE` or `name=VALUE`.
    fn value(&mut self, name: &str) -> Result<Option<String>, String> {
        let joined = format!("{name}=");
        let Some(at) = self.0.iter().position(|word| word == name || word.starts_with(&joined)) else {
            return Ok(None);
        };
        let word = self.0.remove(at);
        if let Some(value) = word.strip_prefix(&joined) {
            return Ok(Some(value.to_string()));
        }
        if at < self.0.len() { Ok(Some(self.0.remove(at))) } else { Err(format!("{name} needs a value")) }
    }

    /// Whatever nobody took is a mistake.
    fn end(self) -> Result<(), String> {
        match self.0.first() {
            Some(word) => Err(format!("`{word}` is not understood here\n\n{HELP}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn options(line: &str) -> Options {
        Options(line.split_whitespace().map(String::from).collect())
    }

    #[test]
    fn options_are_taken_in_any_order() {
        let mut some = options("--port 80 --yes --only=a,b");
        assert!(some.flag("--yes"));
        assert!(!some.flag("--yes"));
        assert_eq!(some.value("--only"), Ok(Some("a,b".into())));
        assert_eq!(some.value("--port"), Ok(Some("80".into())));
        assert_eq!(some.value("--port"), Ok(None));
        assert_eq!(some.end(), Ok(()));
    }

    #[test]
    fn what_nobody_takes_is_a_mistake() {
        assert!(options("--for").value("--for").is_err());
        assert!(options("--ful").end().is_err());
    }
}
