//! A map of a model's answers to the prompts of a file.

use crate::args::Make;
use crate::chat::Conversation;
use crate::error::{Exit, Failure, Result};
use crate::files::OwnMap;
use crate::identity::Identity;
use crate::model::Loaded;
use crate::output::{bytes, count, note};
use crate::progress::Progress;
use crate::session::Session;
use crate::{files, model};
use mrail_gpu::decode::AnchorRule;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// A prompt, before there is a tokenizer.
#[derive(Debug, PartialEq)]
enum Prompt {
    /// What is said to the model.
    Said(String),
    /// The whole context.
    Context(Vec<u32>),
}

pub(crate) fn run(make: &Make) -> Result<()> {
    let mut prompts = prompts(&make.prompts)?;
    prompts.truncate(make.limit.unwrap_or(usize::MAX));
    let own = OwnMap::open(&make.out, &make.engine)?;
    let mut session = Session::new(model::load(&make.engine)?, &make.saying, AnchorRule::NONE)?;
    session.attach(own)?;

    let started = Instant::now();
    let mut bar = Progress::new("making", prompts.len() as u64);
    let (mut known, mut made, mut tokens, mut evaluated) = (0, 0, 0, 0);
    for (done, prompt) in (0..).zip(&prompts) {
        bar.at(done);
        let in_line = |failure| of_prompt(failure, &make.prompts, done as usize + 1);
        let context = context(&session.model, prompt).map_err(in_line)?;
        if session.knows(&context) {
            known += 1;
            continue;
        }
        let answered = session.answer(&context, |_| Ok(())).map_err(in_line)?;
        made += 1;
        tokens += answered.outcome.tokens.len();
        evaluated += answered.outcome.stats.evaluated;
        let speed = tokens as f64 / started.elapsed().as_secs_f64().max(1e-3);
        bar.say(format!("{} made, {speed:.1} tokens/s", count(made, "answer")));
    }
    drop(bar);
    let size = std::fs::metadata(&make.out).map_or(0, |file| file.len());
    if make.json {
        let value = json!({
            "map": make.out.display().to_string(), "bytes": size, "prompts": prompts.len(), "known": known, "made": made,
            "tokens": tokens, "evaluated": evaluated, "seconds": started.elapsed().as_secs_f64(),
            "adapter": session.model.adapter,
        });
        writeln!(anstream::stdout(), "{value}")?;
    } else {
        note(&format!(
            "{}: {} made, {known} known before · {} in {:.1} s · {} · {} says who wrote it",
            make.out.display(),
            count(made, "answer"),
            count(tokens, "token"),
            started.elapsed().as_secs_f64(),
            bytes(size),
            Identity::path(&make.out).display(),
        ));
    }
    Ok(())
}

fn of_prompt(failure: Failure, path: &Path, number: usize) -> Failure {
    match failure {
        Failure::Said { exit, text } => Failure::of_file(exit, path, format!("prompt {number}: {text}")),
        Failure::Unread => Failure::Unread,
    }
}

fn context(model: &Loaded, prompt: &Prompt) -> Result<Vec<u32>> {
    match prompt {
        Prompt::Said(text) => Conversation::default().ask(model, text.clone()),
        Prompt::Context(tokens) => Ok(tokens.clone()),
    }
}

/// The prompts of a file: lines of JSON where its name says so, else of text.
fn prompts(path: &Path) -> Result<Vec<Prompt>> {
    let text = files::text(path)?;
    let is_json = path.extension().is_some_and(|extension| extension == "jsonl");
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let read = |(number, line): (usize, &str)| {
        if !is_json {
            return Ok(Prompt::Said(line.trim().to_owned()));
        }
        let refused =
            |what: &dyn std::fmt::Display| Failure::of_file(Exit::Usage, path, format!("line {number}: {what}"));
        let value: Value = serde_json::from_str(line).map_err(|error| refused(&error))?;
        prompt(&value).ok_or_else(|| refused(&"no object with `prompt`, a text or token ids, or `request`, a text"))
    };
    lines.map(read).collect()
}

fn prompt(value: &Value) -> Option<Prompt> {
    match value.get("prompt").or_else(|| value.get("request"))? {
        Value::String(text) => Some(Prompt::Said(text.clone())),
        ids => serde_json::from_value(ids.clone()).ok().map(Prompt::Context),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_texts_or_tokens() {
        assert_eq!(prompt(&json!({ "prompt": "hi" })), Some(Prompt::Said("hi".into())));
        assert_eq!(prompt(&json!({ "prompt": [1, 2], "request": "hi" })), Some(Prompt::Context(vec![1, 2])));
        assert_eq!(prompt(&json!({ "request": "hi" })), Some(Prompt::Said("hi".into())));
        for wrong in [json!({}), json!([]), json!({ "prompt": [-1] }), json!({ "prompt": 5 }), json!("hi")] {
            assert_eq!(prompt(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("prompts.jsonl");
        std::fs::write(&path, "{\"prompt\":\"a\"}\n\n{\"prompt\":").expect("written");
        let Err(Failure::Said { exit: Exit::Usage, text }) = prompts(&path) else { panic!("it is read") };
        assert!(text.contains("prompts.jsonl: line 3: EOF"), "{text}");
        std::fs::write(folder.path().join("prompts.txt"), "one\n\n two \n").expect("written");
        let both = ["one", "two"].map(|text| Prompt::Said(text.into()));
        assert_eq!(prompts(&folder.path().join("prompts.txt")).expect("text"), both);
    }
}
