//! `mrail tree`: what may follow a context.

use crate::args;
use crate::error::{Exit, Result};
use crate::output::{FAINT, ODD, Out, count};
use mrail::draft::DraftTree;
use serde_json::json;
use std::io::{self, Write};

/// Tokens of a track's answer that go on the rail.
const TRACK_LIMIT: usize = 1 << 16;

pub(crate) fn run(args: &args::Tree, out: &mut Out) -> Result<Exit> {
    let mut map = args.opening.open()?;
    let context = args.context.resolve(&map)?;
    let tracks = map.learn_tracks(&context, TRACK_LIMIT);
    let rail = map.rail();
    let tree = rail.tree(&context, args.budget);
    let exit = if tree.is_empty() { Exit::Unknown } else { Exit::Done };
    if out.json() {
        out.value(&json!({
            "context": context.len(),
            "log": rail.len(),
            "tracks": tracks,
            "tokens": tree.tokens(),
            "parents": tree.parents(),
        }))?;
        return Ok(exit);
    }
    let log = count(rail.len() as u64, "token");
    let from = match tracks {
        0 => String::new(),
        tracks => format!(", {} of this context among them", count(tracks as u64, "track")),
    };
    if tree.is_empty() {
        out.field("draft", format!("{ODD}none{ODD:#}: the context's last token is not among {log} of runs"))?;
        return Ok(exit);
    }
    out.field("draft", format!("{} from {log} of runs{from}", count(tree.len() as u64, "node")))?;
    writeln!(out)?;
    print(&tree, out)?;
    Ok(exit)
}

/// Draws the tree, the most promising branch of each place first. A path without branches is one line.
fn print(tree: &DraftTree, out: &mut impl Write) -> io::Result<()> {
    // Children of each node, and of the context at the end.
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); tree.len() + 1];
    for node in 0..tree.len() {
        let parent = tree.parent(node).unwrap_or(tree.len());
        if let Some(children) = children.get_mut(parent) {
            children.push(node);
        }
    }
    let of = |node: usize| children.get(node).map_or(&[][..], |children| children);
    // Nodes to draw, the next one last: what stands before them, and whether they are the last of their siblings.
    let mut open = Vec::new();
    let push = |open: &mut Vec<(usize, String, bool)>, node: usize, before: &str| {
        let last = of(node).len().saturating_sub(1);
        open.extend(of(node).iter().enumerate().rev().map(|(index, &child)| (child, before.to_owned(), index == last)));
    };
    push(&mut open, tree.len(), "  ");
    while let Some((mut node, before, is_last)) = open.pop() {
        let (elbow, bar) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        write!(out, "{FAINT}{before}{elbow}{FAINT:#}")?;
        let token = |node: usize| tree.tokens().get(node).copied().unwrap_or_default();
        write!(out, "{}", token(node))?;
        while let [only] = of(node) {
            node = *only;
            write!(out, " {}", token(node))?;
        }
        writeln!(out)?;
        push(&mut open, node, &format!("{before}{bar}"));
    }
    Ok(())
}
