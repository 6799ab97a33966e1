//! The command line's grammar and help.

use clap::{ArgGroup, Args, Parser, Subcommand};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the map does not know: no answer, no known prefix, no draft, not the track's context
  2  usage: the arguments, or a list of tokens, make no sense
  3  a file cannot be read, or is no .mrail map
  4  damaged: verify found a fault or a torn tail; merge met a damaged map; repair --dry-run has something to do
  5  refused: nothing was written, since the file exists, is locked, or cannot be written";

/// Maps of what a language model has already computed: look into them, ask them, keep them in order.
///
/// Contexts are lists of token ids; a map knows no tokenizer.
#[derive(Debug, Parser)]
#[command(name = "mrail", version, after_help = EXIT_CODES, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// Print JSON instead: one object a line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what maps hold
    Info(Info),
    /// Check every record and every hash of a map
    Verify(Verify),
    /// Find how much of a context a map knows
    Locate(Locate),
    /// Print the model's own answer to exactly this context
    Answer(Answer),
    /// Draft what may follow a context
    Tree(Tree),
    /// List the tracks of a map, or decode one against its context
    ///
    /// Without a run: the list of all tracks. With a run: what it is made of, and its answer where the context is given.
    Tracks(Tracks),
    /// Print every record of a map
    ///
    /// On a terminal a list of tokens is cut to a line, unless --full or --run asks for all of it; elsewhere everything is
    /// printed.
    Dump(Dump),
    /// Write several maps of one model as one
    ///
    /// Runs keep their order, equal ones stay once, use counts are added up. Anchors are left out: each belongs to one exact
    /// model state. Torn tails are left out with a warning; a damaged map stops the merge.
    Merge(Merge),
    /// Cut a torn tail, and find the good records of a damaged map
    ///
    /// The old file stays beside the map as MAP.bak (.bak1, .bak2, ... where that exists). A map without damage is not
    /// touched.
    Repair(Repair),
    /// Say how much memory a map needs where there is no allocator
    ///
    /// The first line is the type to paste into the program.
    Size(Size),
    /// Write the hint with which a map in flash is searched without tables
    ///
    /// A torn tail is left out with a warning. The hint is that of the map as it is: a map that grows needs a new one.
    Index(Index),
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// The maps
    #[arg(required = true, value_name = "MAP")]
    pub(crate) maps: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The map
    pub(crate) map: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Locate {
    #[command(flatten)]
    pub(crate) opening: Opening,
    #[command(flatten)]
    pub(crate) context: Context,
}

#[derive(Debug, Args)]
pub(crate) struct Answer {
    #[command(flatten)]
    pub(crate) opening: Opening,
    #[command(flatten)]
    pub(crate) context: Context,
    /// Tokens to print at most; all of the run's without
    #[arg(long, value_name = "N")]
    pub(crate) max_new: Option<usize>,
    /// End with the first of these tokens
    #[arg(long, value_name = "T,...", value_delimiter = ',')]
    pub(crate) stop: Vec<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Tree {
    #[command(flatten)]
    pub(crate) opening: Opening,
    #[command(flatten)]
    pub(crate) context: Context,
    /// Nodes to draft
    #[arg(long, value_name = "N", default_value_t = 31)]
    pub(crate) budget: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Tracks {
    #[command(flatten)]
    pub(crate) opening: Opening,
    /// The track, by its number among the runs
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<usize>,
    /// The track's context: ids with commas or spaces between
    #[arg(long, value_name = "T,...", requires = "run", conflicts_with = "tokens_file")]
    pub(crate) tokens: Option<String>,
    /// The same from a file: JSON array, or ids with commas or white space between; - is standard input
    #[arg(long, value_name = "FILE", requires = "run")]
    pub(crate) tokens_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// The map
    pub(crate) map: PathBuf,
    /// Only this run
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<usize>,
    /// Whole lists of tokens on a terminal too
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// The new map; it may be one of the others with --force
    pub(crate) out: PathBuf,
    /// The maps to merge
    #[arg(required = true, value_name = "MAP")]
    pub(crate) maps: Vec<PathBuf>,
    /// Replace OUT where it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Merge what can be read of damaged maps
    #[arg(long)]
    pub(crate) skip_damaged: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Repair {
    /// The map
    pub(crate) map: PathBuf,
    /// Say what would be done, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Size {
    /// The map
    pub(crate) map: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Index {
    /// The map
    pub(crate) map: PathBuf,
    /// The new hint
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace FILE where it exists
    #[arg(long)]
    pub(crate) force: bool,
}

/// How a map is opened.
#[derive(Debug, Args)]
pub(crate) struct Opening {
    /// The map
    pub(crate) map: PathBuf,
    /// Another map that drafts but never answers, and how many of its runs to load; may be given several times
    #[arg(long, value_name = "MAP[:LIMIT]")]
    pub(crate) foreign: Vec<OsString>,
    /// Index prompts only at multiples of N
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) stride: NonZeroUsize,
    /// Load only the map's first N runs
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// The context of a question.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("source").required(true).args(["tokens", "tokens_file", "run"])))]
pub(crate) struct Context {
    /// The context: ids with commas or spaces between
    #[arg(long, value_name = "T,...")]
    pub(crate) tokens: Option<String>,
    /// The same from a file: JSON array, or ids with commas or white space between; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens_file: Option<PathBuf>,
    /// The beginning of this run of the map
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<usize>,
    /// How many tokens of the run; without, those that the model was given
    #[arg(long, value_name = "P", requires = "run")]
    pub(crate) at: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_grammar_is_sound() {
        Cli::command().debug_assert();
    }
}
