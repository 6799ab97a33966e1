//! Chooses and runs steps, and sums up.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::project::Project;
use crate::setup::{Consent, Need, Setup};
use crate::shell::{Failure, took};
use crate::steps::{Outcome, Run, STEPS, Step};

/// Which steps run.
pub(crate) struct Plan {
    full: bool,
    /// Every step of this kind of run, with the reason why it is left out, if it is.
    steps: Vec<(&'static Step, Option<&'static str>)>,
}

impl Plan {
    /// `only` and `skip` are names of steps, separated by commas.
    pub(crate) fn new(full: bool, only: Option<&str>, skip: Option<&str>) -> Result<Self, String> {
        let (only, skip) = (only.map(names).transpose()?, skip.map(names).transpose()?);
        let named = |set: &Option<BTreeSet<&str>>, step: &Step| set.as_ref().is_some_and(|set| set.contains(step.name));
        let steps = STEPS.iter().filter(|step| full || !step.only_full || named(&only, step));
        let steps = steps.map(|step| {
            let left_out = only.is_some() && !named(&only, step);
            let reason = if named(&skip, step) { Some("--skip") } else { left_out.then_some("--only") };
            (step, reason)
        });
        let steps: Vec<_> = steps.collect();
        if steps.iter().all(|(_, reason)| reason.is_some()) {
            return Err("no step is left to run".into());
        }
        Ok(Self { full, steps })
    }

    /// What the steps that run need, in the order of the set-up.
    fn needs(&self) -> Vec<Need> {
        let run = self.steps.iter().filter(|(_, reason)| reason.is_none());
        let needs: BTreeSet<Need> = run.flat_map(|(step, _)| step.needs).copied().collect();
        needs.into_iter().collect()
    }
}

/// Names of steps, all of which exist.
fn names(given: &str) -> Result<BTreeSet<&str>, String> {
    let names: BTreeSet<&str> = given.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    match names.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        Some(name) => Err(format!("there is no step `{name}`; there are:\n{}", list())),
        None if names.is_empty() => Err("a list of steps is empty".into()),
        None => Ok(names),
    }
}

/// The steps for people.
pub(crate) fn list() -> String {
    let line = |step: &Step| {
        let full = if step.only_full { " (only with --full)" } else { "" };
        format!("  {:14} {}{full}\n", step.name, step.what)
    };
    STEPS.iter().map(line).collect()
}

/// How a step ended.
enum End {
    Passed,
    Failed(Failure),
    Skipped(String),
}

/// Sets up, runs every step of the plan whatever the others do, and sums up: true where nothing failed.
pub(crate) fn run(project: &Project, consent: Consent, plan: &Plan) -> bool {
    let start = Instant::now();
    let missing = Setup::new(project, consent).run(&plan.needs());
    let mut ends = Vec::new();
    for (step, left_out) in &plan.steps {
        let begun = Instant::now();
        let lacks = step.needs.iter().find_map(|need| missing.get(need));
        let end = match (left_out, lacks) {
            (Some(reason), _) => End::Skipped(format!("left out by {reason}")),
            (None, Some(failure)) => End::Failed(Failure::new(format!("its set-up failed: {failure}"))),
            (None, None) => run_step(project, plan, step),
        };
        ends.push((step.name, end, begun.elapsed()));
    }
    println!("\n{}", summary(&ends));
    println!("in {}", took(start.elapsed()));
    println!("{}", closing_line(&ends));
    !ends.iter().any(|(_, end, _)| matches!(end, End::Failed(_)))
}

fn run_step(project: &Project, plan: &Plan, step: &Step) -> End {
    println!("\n=== {}: {}", step.name, step.what);
    let begun = Instant::now();
    let end = match (step.run)(&Run { project, full: plan.full }) {
        Ok(Outcome::Passed) => End::Passed,
        Ok(Outcome::NotHere(reason)) => End::Skipped(reason.into()),
        Err(failure) => End::Failed(failure),
    };
    let time = took(begun.elapsed());
    match &end {
        End::Passed => println!("=== {}: passed in {time}", step.name),
        End::Skipped(reason) => println!("=== {}: skipped: {reason}", step.name),
        End::Failed(failure) => println!("=== {}: FAILED after {time}: {failure}", step.name),
    }
    end
}

type Ends = [(&'static str, End, Duration)];

/// A table of all steps.
fn summary(ends: &Ends) -> String {
    let line = |(name, end, time): &(&'static str, End, Duration)| match end {
        End::Passed => format!("  {name:14} passed   {:>12}\n", took(*time)),
        End::Skipped(reason) => format!("  {name:14} skipped  {reason}\n"),
        End::Failed(failure) => {
            let text = failure.to_string();
            let first = text.lines().next().unwrap_or_default().to_string();
            format!("  {name:14} FAILED   {:>12}  {first}\n", took(*time))
        }
    };
    ends.iter().map(line).collect()
}

/// What readers of test output look for.
fn closing_line(ends: &Ends) -> String {
    let count = |kind: fn(&End) -> bool| ends.iter().filter(|(_, end, _)| kind(end)).count();
    let passed = count(|end| matches!(end, End::Passed));
    let failed = count(|end| matches!(end, End::Failed(_)));
    let skipped = count(|end| matches!(end, End::Skipped(_)));
    let line = format!("{passed} passed, {failed} failed");
    if skipped == 0 { line } else { format!("{line}, {skipped} skipped") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(plan: &Plan) -> Vec<&str> {
        plan.steps.iter().filter(|(_, reason)| reason.is_none()).map(|(step, _)| step.name).collect()
    }

    fn plan(full: bool, only: Option<&str>, skip: Option<&str>) -> Plan {
        Plan::new(full, only, skip).expect("known steps")
    }

    #[test]
    fn an_ordinary_run_is_all_but_what_only_a_full_one_does() {
        let usual = plan(false, None, None);
        assert!(usual.steps.iter().all(|(step, reason)| reason.is_none() && !step.only_full));
        assert_eq!(running(&plan(true, None, None)).len(), STEPS.len());
        assert!(running(&usual).len() < STEPS.len());
    }

    #[test]
    fn what_is_left_out_stays_in_the_summary() {
        let some = plan(false, Some("doc, fmt"), None);
        assert_eq!(running(&some), ["fmt", "doc"]);
        assert!(some.needs().is_empty());
        assert!(some.steps.iter().any(|(step, reason)| step.name == "live" && *reason == Some("--only")));
        let rest = plan(false, None, Some("live"));
        assert!(!running(&rest).contains(&"live") && running(&rest).contains(&"better"));
    }

    #[test]
    fn a_step_of_the_full_run_can_be_asked_for() {
        assert_eq!(running(&plan(false, Some("fuzz"), None)), ["fuzz"]);
        assert_eq!(plan(false, Some("fuzz"), None).needs(), [Need::CargoFuzz]);
    }

    #[test]
    fn unknown_names_and_empty_plans_are_mistakes() {
        assert!(Plan::new(false, Some("ftm"), None).is_err_and(|text| text.contains("`ftm`") && text.contains("fmt")));
        assert!(Plan::new(false, None, Some("nothing")).is_err());
        assert!(Plan::new(false, Some(","), None).is_err());
        assert!(Plan::new(false, Some("fmt"), Some("fmt")).is_err());
    }

    #[test]
    fn names_are_told_apart() {
        let names: BTreeSet<&str> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), STEPS.len());
        assert!(names.iter().all(|name| !name.contains([',', ' '])));
    }

    #[test]
    fn every_need_of_an_ordinary_step_is_set_up() {
        assert!(plan(false, None, None).needs().iter().all(|need| Need::ALL.contains(need)));
        assert!(Need::ALL.iter().all(|need| plan(false, None, None).needs().contains(need)));
    }

    #[test]
    fn the_closing_line_counts_each_kind() {
        let end = |end| ("step", end, Duration::ZERO);
        let good = [end(End::Passed), end(End::Passed)];
        assert_eq!(closing_line(&good), "2 passed, 0 failed");
        let mixed = [end(End::Passed), end(End::Failed(Failure::new("no"))), end(End::Skipped("why".into()))];
        assert_eq!(closing_line(&mixed), "1 passed, 1 failed, 1 skipped");
        assert!(summary(&mixed).contains("FAILED") && summary(&mixed).contains("why"));
    }
}
