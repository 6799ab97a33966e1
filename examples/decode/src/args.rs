//! The command line's grammar and help.

use clap::{Args, Parser, Subcommand, ValueEnum};
use mrail_gpu::decode::AnchorRule;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

const NOTES: &str = "\
Memory: what attention keeps has one size, whatever the context: a band of recent tokens and a store of far ones. Until carriers \
are fitted to a model, what neither holds is forgotten, so the store is wide enough to be exact: with the default sizes answers \
are those of native attention up to 2048 tokens, and past that the program says so. --store widens it, --native keeps everything.

Maps: the own map (--map) answers what this model has answered before, and every new answer is added to it. It belongs to one \
model, one storage of keys and values and one memory: MAP.json says which, and others are refused. Foreign maps only draft. \
Without --map the own map is kept in memory.

Colours: green from the map, cyan drafted by the own map, blue by the conversation, magenta by a foreign map; plain is what the \
model had to compute.

Exit codes:
  0  done
  2  usage: the arguments, or a list of tokens, make no sense
  3  a file cannot be read, or is no model, map, or text
  4  refused: the map is another model's, damaged, locked, or cannot be written
  5  the model cannot be run, or failed";

/// A small language model beside its map
///
/// Answers a prompt, or holds a conversation. What the map knows is not computed again, what it suggests is verified, and the
/// answer is the model's own, token by token, whatever the maps hold.
#[derive(Debug, Parser)]
#[command(
    name = "mrail-decode", version, after_help = NOTES, max_term_width = 100, disable_help_subcommand = true,
    args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, args_override_self = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) ask: Ask,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a map: the model's answers to the prompts of a file
    ///
    /// Killed, it has kept all answers but the last, and goes on from there when it is run again.
    #[command(args_override_self = true)]
    Make(Make),
}

/// One prompt, or a conversation without any.
#[derive(Debug, Args)]
pub(crate) struct Ask {
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) saying: Saying,
    /// The own map, which answers and grows; it is made where there is none. `off`: no map at all
    #[arg(long, value_name = "FILE|off")]
    pub(crate) map: Option<PathBuf>,
    /// Another map, which only drafts; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) foreign: Vec<PathBuf>,
    /// Where states are anchored in the map: `prompt`, `every=N` tokens, `shared=N` (where contexts part that share N more)
    #[arg(long, value_name = "RULE,...", value_delimiter = ',', value_parser = anchor_rule)]
    pub(crate) anchor: Vec<Rule>,
    /// What to say to the model
    #[arg(long, value_name = "TEXT", conflicts_with = "tokens")]
    pub(crate) prompt: Option<String>,
    /// The same from a file; with --prompt, the file stands before it
    #[arg(long, value_name = "FILE", conflicts_with = "tokens")]
    pub(crate) file: Option<PathBuf>,
    /// The context as token ids, as they are: a JSON list in a file, - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,
    /// Go on with the text, which is not put into the model's chat template
    #[arg(long)]
    pub(crate) complete: bool,
    /// Print one JSON object an answer, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Make {
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) saying: Saying,
    /// The map. One that is there is gone on with: prompts that it answers are left out
    #[arg(value_name = "OUT.mrail")]
    pub(crate) out: PathBuf,
    /// Prompts: a text a line, or of .jsonl an object a line with `prompt`, a text or token ids, or `request`, a text
    #[arg(value_name = "PROMPTS")]
    pub(crate) prompts: PathBuf,
    /// Only the first N prompts
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Print one JSON object at the end
    #[arg(long)]
    pub(crate) json: bool,
}

/// How the model is run.
#[derive(Clone, Debug, Args)]
pub(crate) struct EngineArgs {
    /// The model, a GGUF file
    // Optional only as clap sees it: what a subcommand is given is not given here.
    #[arg(long, value_name = "FILE", required = true)]
    model: Option<PathBuf>,
    /// Keep every token instead of a state of one size
    #[arg(long, conflicts_with_all = ["store", "band", "carriers"])]
    pub(crate) native: bool,
    /// Far tokens kept exactly, a multiple of 64
    #[arg(long, value_name = "N", default_value_t = 1728)]
    pub(crate) store: u32,
    /// Recent tokens kept exactly, a multiple of 64
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(crate) band: u32,
    /// How keys and values are kept
    #[arg(long, value_enum, default_value_t = Kv::F16)]
    pub(crate) kv: Kv,
    /// What runs the model
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    pub(crate) backend: Backend,
    /// What summarises tokens that are not kept: fitted parameters, a safetensors file
    #[arg(long, value_name = "FILE")]
    pub(crate) carriers: Option<PathBuf>,
}

impl EngineArgs {
    /// The model's file.
    pub(crate) fn model(&self) -> &Path {
        self.model.as_deref().unwrap_or(Path::new(""))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kv {
    F16,
    F32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    Auto,
    Gpu,
    Cpu,
}

/// How answers are made.
#[derive(Clone, Debug, Args)]
pub(crate) struct Saying {
    /// Tokens of an answer at most
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(crate) max_new: usize,
    /// Tokens drafted for a pass; `off` drafts nothing [default: 8 on a GPU, 3 on a processor]
    #[arg(long, value_name = "N|off", value_parser = draft)]
    pub(crate) draft: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Prompt,
    Every(NonZeroUsize),
    Shared(NonZeroUsize),
}

/// The rules as one.
pub(crate) fn anchors(rules: &[Rule]) -> AnchorRule {
    rules.iter().fold(AnchorRule::NONE, |all, rule| match *rule {
        Rule::Prompt => AnchorRule { prompt: true, ..all },
        Rule::Every(tokens) => AnchorRule { every: Some(tokens), ..all },
        Rule::Shared(tokens) => AnchorRule { shared: Some(tokens), ..all },
    })
}

fn anchor_rule(text: &str) -> Result<Rule, String> {
    let number = |number: &str| number.parse().map_err(|_| format!("{number:?} is no number of tokens above 0"));
    match text.split_once('=') {
        None if text == "prompt" => Ok(Rule::Prompt),
        Some(("every", tokens)) => number(tokens).map(Rule::Every),
        Some(("shared", tokens)) => number(tokens).map(Rule::Shared),
        _ => Err("none of prompt, every=N and shared=N".into()),
    }
}

fn draft(text: &str) -> Result<usize, String> {
    if text == "off" { Ok(0) } else { text.parse().map_err(|_| "neither a number of tokens nor off".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_grammar_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn rules_and_drafts_are_read() {
        let cli = Cli::parse_from(["mrail-decode", "--model", "m", "--anchor", "prompt,every=64", "--draft", "off"]);
        let ask = cli.ask;
        assert!(cli.command.is_none());
        let every = NonZeroUsize::new(64);
        assert_eq!(anchors(&ask.anchor), AnchorRule { prompt: true, every, shared: None });
        assert_eq!(ask.saying.draft, Some(0));
        let refused = |args: &[&str]| Cli::try_parse_from([&["mrail-decode"], args].concat()).is_err();
        assert!(refused(&["--model", "m", "--anchor", "every=0"]));
        assert!(refused(&["--model", "m", "--draft", "-1"]));
        assert!(refused(&["--model", "m", "--native", "--band", "64"]));
        assert!(refused(&["--prompt", "no model"]));
        assert!(refused(&[]));
        let cli = Cli::parse_from(["mrail-decode", "make", "--model", "m", "out.mrail", "prompts.txt"]);
        let Some(Command::Make(make)) = cli.command else { panic!("no make") };
        assert_eq!(make.engine.model(), Path::new("m"));
    }
}
