//! Reads what a whole run said, so that a part of one, or one that failed, cannot pass for it.

use crate::prompts::Prompts;
use crate::real::all;

/// Is it the log of a whole run over these contexts, all of which were equal?
fn is_whole(log: &str, names: &[String]) -> Result<(), String> {
    let told = log.lines().filter(|line| line.contains(" drafted, ") && line.contains(" tokens, "));
    let mut told = told.filter(|line| !line.starts_with("all, "));
    for (at, name) in names.iter().enumerate() {
        let line = told.next().ok_or(format!("context {}, {name}, is missing", at + 1))?;
        let begins = line.trim_start().strip_prefix(&format!("{} {name}, ", at + 1)).is_some();
        if !begins || !line.contains(" wrong, equal, ") {
            return Err(format!("context {}, {name}: {line}", at + 1));
        }
    }
    if let Some(line) = told.next() {
        return Err(format!("one too many: {line}"));
    }
    let last = log.lines().find(|line| line.starts_with("all, in ")).ok_or("it does not end")?;
    if last.contains(&format!(": {} contexts, ", names.len())) && last.ends_with(", 0 divergences") {
        Ok(())
    } else {
        Err(last.into())
    }
}

/// What a whole run is asked, in its order.
fn names() -> Vec<String> {
    let mut queue = all(&Prompts::read(u32::MAX));
    let mut names = Vec::new();
    while let Some(asked) = queue.pop_front() {
        names.push(asked.name.clone());
        queue.extend(asked.next(Vec::new()));
    }
    names
}

#[test]
fn the_committed_log_is_of_a_whole_run() {
    assert_eq!(is_whole(include_str!("../data/decoding/full.log"), &names()), Ok(()));
}

#[test]
fn a_log_that_is_not_whole_is_told() {
    let names = names();
    assert!(names.len() > 240, "{}", names.len());
    let line = |(at, name): (usize, &String)| {
        format!("{:3} {name}, 43 tokens, foreign, read: 9 drafted, 2 accepted, 7 wrong, equal, 1.0 s\n", at + 1)
    };
    let lines: String = names.iter().enumerate().map(line).collect();
    let end = |divergences| {
        let count = names.len();
        format!("all, in 9 s: {count} contexts, 9 tokens with their logits, 9 drafted, {divergences} divergences\n")
    };
    let good = lines.clone() + &end(0);
    assert_eq!(is_whole(&good, &names), Ok(()));
    assert!(is_whole(&(lines.clone() + &end(1)), &names).is_err());
    assert!(is_whole(&(lines.clone() + &end(10)), &names).is_err());
    assert!(is_whole(&lines, &names).is_err_and(|error| error == "it does not end"));
    assert!(is_whole(&good.replacen("equal", "DIVERGENT", 1), &names).is_err());
    assert!(is_whole(&good.replacen("coding12,", "coding13,", 1), &names).is_err());
    assert!(is_whole(&good, &names[1..]).is_err());
    let without_one: String = good.lines().filter(|line| !line.starts_with(" 77 ")).collect::<Vec<_>>().join("\n");
    assert!(is_whole(&without_one, &names).is_err());
}
