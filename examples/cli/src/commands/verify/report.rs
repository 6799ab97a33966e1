//! What verifying found.

use mrail::record::{is_known, kind_name};
use std::collections::BTreeMap;

/// One thing to say about one place.
pub(super) struct Finding {
    /// Where in the file.
    pub(super) offset: usize,
    /// What is there.
    pub(super) what: String,
    /// What is to be said.
    pub(super) text: String,
}

/// Things to say, of which only the first are kept.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) kept: Vec<Finding>,
    pub(super) total: u64,
}

/// A map may have millions of use counts that nobody can verify.
const KEPT: usize = 1000;

impl Findings {
    pub(super) fn add(&mut self, offset: usize, what: impl Into<String>, text: impl Into<String>) {
        self.total += 1;
        if self.kept.len() < KEPT {
            self.kept.push(Finding { offset, what: what.into(), text: text.into() });
        }
    }
}

/// Records of one kind.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) good: u64,
    pub(super) faulty: u64,
    pub(super) unverifiable: u64,
}

impl Tally {
    pub(super) fn records(self) -> u64 {
        self.good + self.faulty + self.unverifiable
    }
}

/// Everything found.
#[derive(Default)]
pub(super) struct Report {
    tallies: BTreeMap<u8, Tally>,
    pub(super) faults: Findings,
    pub(super) unverifiable: Findings,
    pub(super) notes: Findings,
    /// Whether the tail is one torn record, and so one of the faults.
    pub(super) torn: bool,
}

impl Report {
    /// Each kind with its tally. Kinds that this library does not know are one.
    pub(super) fn tallies(&self) -> impl Iterator<Item = (&'static str, Tally)> {
        self.tallies.iter().map(|(kind, tally)| (kind_name(*kind), *tally))
    }

    fn tally(&mut self, kind: u8) -> &mut Tally {
        self.tallies.entry(if is_known(kind) { kind } else { u8::MAX }).or_default()
    }

    pub(super) fn good(&mut self, kind: u8) {
        self.tally(kind).good += 1;
    }

    pub(super) fn fault(&mut self, kind: u8, offset: usize, what: impl Into<String>, text: impl Into<String>) {
        self.tally(kind).faulty += 1;
        self.faults.add(offset, what, text);
    }

    pub(super) fn unverifiable(&mut self, kind: u8, offset: usize, what: impl Into<String>, text: impl Into<String>) {
        self.tally(kind).unverifiable += 1;
        self.unverifiable.add(offset, what, text);
    }

    /// Sorts what was found by its place.
    pub(super) fn in_order(&mut self) {
        for findings in [&mut self.faults, &mut self.unverifiable, &mut self.notes] {
            findings.kept.sort_by_key(|finding| finding.offset);
        }
    }
}
