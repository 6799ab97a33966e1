//! One prompt, or a conversation.

use crate::args::Ask;
use crate::chat::Conversation;
use crate::error::{Exit, Failure, Result};
use crate::files::OwnMap;
use crate::model::Loaded;
use crate::output::{self, FAINT, STRONG, Speech, note};
use crate::session::Session;
use crate::{files, model, report};
use mrail_gpu::model::text::Special;
use std::io::{BufRead, Write};
use std::path::Path;

pub(crate) fn run(ask: &Ask) -> Result<()> {
    // What is wrong with the files is told before a model is loaded.
    let tokens = ask.tokens.as_deref().map(ids).transpose()?;
    let text = match (ask.file.as_deref().map(files::text).transpose()?, &ask.prompt) {
        (Some(file), Some(prompt)) => Some(format!("{}\n\n{prompt}", file.trim_end())),
        (file, prompt) => file.or_else(|| prompt.clone()),
    };
    if ask.complete && tokens.is_none() && text.is_none() {
        return Err(Failure::new(Exit::Usage, "--complete goes on with a text: give it as --prompt or --file"));
    }
    let own = ask.map.as_deref().filter(|map| *map != Path::new("off"));
    let own = own.map(|path| OwnMap::open(path, &ask.engine)).transpose()?;
    let session = &mut Session::open(model::load(&ask.engine)?, ask, own)?;
    match (tokens, text) {
        (Some(context), _) => answer(session, ask, &context).map(|_| ()),
        (None, Some(text)) => {
            let context = if ask.complete {
                raw(&session.model, &text)?
            } else {
                Conversation::default().ask(&session.model, text)?
            };
            answer(session, ask, &context).map(|_| ())
        }
        (None, None) => converse(session, ask),
    }
}

/// A list of token ids from a file.
fn ids(path: &Path) -> Result<Vec<u32>> {
    let usage =
        |what: &dyn std::fmt::Display| Failure::of_file(Exit::Usage, path, format!("no list of token ids: {what}"));
    serde_json::from_str(&files::text(path)?).map_err(|error| usage(&error))
}

/// A text that is not put into a template.
fn raw(model: &Loaded, text: &str) -> Result<Vec<u32>> {
    let bos = model.tokenizer.bos().filter(|_| model.tokenizer.adds_bos());
    let tokens = model.tokenizer.encode(text, Special::Ignored).map_err(|error| Failure::new(Exit::Usage, error))?;
    Ok(bos.into_iter().chain(tokens).collect())
}

/// Answers, and says so. Returns the answer's tokens.
fn answer(session: &mut Session, ask: &Ask, context: &[u32]) -> Result<Vec<u32>> {
    let answered = if ask.json {
        session.answer(context, |_| Ok(()))?
    } else {
        let tokenizer = session.model.tokenizer.clone();
        let mut speech = Speech::new(&tokenizer);
        let answered = session.answer(context, |tokens| speech.say(tokens))?;
        speech.finish()?;
        answered
    };
    if ask.json {
        writeln!(anstream::stdout(), "{}", report::value(session, &answered))?;
    } else {
        note(&report::line(session, &answered));
    }
    Ok(answered.outcome.ids())
}

/// A conversation: a line is what is said. Without a terminal, all lines of the input are.
fn converse(session: &mut Session, ask: &Ask) -> Result<()> {
    let shown = output::is_terminal() && !ask.json;
    if shown {
        note(&report::heading(session));
        note("a line is what you say; /new forgets the conversation, /quit or the end of the input ends it");
    }
    let mut conversation = Conversation::default();
    let mut lines = std::io::stdin().lock().lines();
    loop {
        if shown {
            let mut out = anstream::stdout();
            write!(out, "\n{STRONG}>{STRONG:#} ")?;
            out.flush()?;
        }
        let Some(line) = lines.next() else { break };
        let line = line.map_err(|error| Failure::new(Exit::Unreadable, format!("standard input: {error}")))?;
        match line.trim() {
            "" => {}
            "/quit" => break,
            "/new" => {
                conversation = Conversation::default();
                note("forgotten");
            }
            said => {
                let context = conversation.ask(&session.model, said.to_owned())?;
                let ids = answer(session, ask, &context)?;
                conversation.answered(&session.model, context, &ids);
            }
        }
    }
    if shown {
        writeln!(anstream::stdout(), "{FAINT}bye{FAINT:#}")?;
    }
    Ok(())
}
