//! What every family needs: the folder, a driver, copies of maps, and a count of what was checked.

use mrail_conformance::Driver;
use mrail_conformance::vectors::{Folder, resolve, sessions};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use tempfile::TempDir;

/// A driver with copies of the vectors' maps.
pub(crate) struct Bench {
    pub(crate) folder: Folder,
    pub(crate) driver: Driver,
    copies: TempDir,
    sessions: HashMap<String, Vec<Option<Vec<u32>>>>,
    checked: usize,
    left_out: usize,
    faults: Vec<String>,
}

impl Bench {
    /// The vectors of a family, and a bench to check them on. None where the folder has none of it.
    pub(crate) fn of(family: &str) -> Option<(Self, Value)> {
        let folder = Folder::find().unwrap();
        let Some(vectors) = folder.family(family).unwrap() else {
            println!("{family}: not in this folder");
            return None;
        };
        Some((Self::new(folder), vectors))
    }

    fn new(folder: Folder) -> Self {
        let (driver, copies) = (Driver::default(), TempDir::new().unwrap());
        Self { folder, driver, copies, sessions: HashMap::new(), checked: 0, left_out: 0, faults: Vec::new() }
    }

    /// Where a new map may be made.
    pub(crate) fn new_path(&self, name: &str) -> PathBuf {
        self.copies.path().join(name)
    }

    /// A copy of a map.
    pub(crate) fn copy(&self, name: &str) -> PathBuf {
        let from = self.folder.map(name);
        let copy = self.new_path(from.file_name().unwrap().to_str().unwrap());
        if !copy.exists() {
            std::fs::copy(&from, &copy).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        }
        copy
    }

    /// Opens a map by its name in the vectors, with the options that stand beside it.
    pub(crate) fn open(&mut self, name: &str, options: &Value) {
        let path = self.copy(name);
        self.open_path(&path, options);
    }

    pub(crate) fn open_path(&mut self, path: &std::path::Path, options: &Value) {
        let mut request = options.clone();
        request["op"] = json!("open");
        request["path"] = json!(path);
        for extra in request.get_mut("extra").and_then(Value::as_array_mut).into_iter().flatten() {
            extra[0] = json!(self.copy(extra[0].as_str().unwrap()));
        }
        // Not counted as a check: a family whose cases are not where they are looked for must fail.
        let answer = self.driver.ask(&request);
        assert_eq!(answer["ok"], true, "{}: {answer}", path.display());
    }

    /// The tokens of a recipe whose sessions are those of a map.
    pub(crate) fn tokens(&mut self, map: Option<&str>, recipe: &Value) -> Vec<u32> {
        let own = map.map(|name| {
            let file = self.folder.map(name);
            &*self.sessions.entry(name.to_owned()).or_insert_with(|| sessions(&std::fs::read(file).unwrap()).unwrap())
        });
        resolve(recipe, own.map_or(&[][..], |own| own)).unwrap()
    }

    /// Whether a context is too long for a build that is not optimised.
    pub(crate) fn leaves_out(&mut self, context: &[u32]) -> bool {
        let too_long = cfg!(debug_assertions) && context.len() > 15_000;
        self.left_out += usize::from(too_long);
        too_long
    }

    /// Asks the driver.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        self.driver.ask(request)
    }

    /// Counts a check, and keeps what is wrong.
    pub(crate) fn check(&mut self, right: bool, fault: impl FnOnce() -> String) {
        self.checked += 1;
        if !right {
            self.faults.push(fault());
        }
    }

    /// The same with what a rule found.
    pub(crate) fn no_fault(&mut self, fault: Option<String>, what: impl FnOnce() -> String) {
        self.check(fault.is_none(), || format!("{}: {}", what(), fault.unwrap_or_default()));
    }

    /// Fails if anything was wrong, or if nothing was checked.
    pub(crate) fn done(self, family: &str) {
        println!("{family}: {} checks", self.checked);
        if self.left_out > 0 {
            println!("{family}: {} long contexts are checked in optimised builds only", self.left_out);
        }
        let shown: Vec<_> =
            self.faults.iter().take(5).map(|fault| fault.chars().take(600).collect::<String>()).collect();
        assert!(shown.is_empty(), "{} of {} wrong:\n{}", self.faults.len(), self.checked, shown.join("\n"));
        assert!(self.checked > 0, "{family}: no vectors");
    }
}

/// The elements of a list.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[test]
#[should_panic(expected = "no vectors")]
fn a_family_whose_cases_are_not_found_fails() {
    let mut bench = Bench::new(Folder::find().unwrap());
    let path = bench.new_path("new.mrail");
    bench.open_path(&path, &json!({}));
    bench.done("a family");
}

#[test]
#[should_panic(expected = "1 of 2 wrong")]
fn one_fault_among_checks_fails() {
    let mut bench = Bench::new(Folder::find().unwrap());
    bench.check(true, String::new);
    bench.no_fault(Some("got 1, want 2".to_owned()), || "a case".to_owned());
    bench.done("a family");
}
