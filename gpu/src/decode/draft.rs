//! One draft tree from several logs.

use mrail::draft::{DraftTree, Rail};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which log a draft comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The own map.
    Own,
    /// The running conversation.
    Conversation,
    /// A foreign map.
    Foreign,
}

/// The tokens of the running conversation, to draft from.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    rail: Rail,
    tokens: Vec<u32>,
}

impl Conversation {
    /// Takes in what is new of a conversation; of another one, all of it. O(tokens), and the new ones are indexed.
    pub(super) fn follow(&mut self, tokens: &[u32]) {
        if !tokens.starts_with(&self.tokens) {
            *self = Self::default();
        }
        let new = tokens.get(self.tokens.len()..).unwrap_or_default();
        // A log that is full drafts from what it has.
        let _ = self.rail.push_draft_only(new.iter().copied());
        self.tokens.extend_from_slice(new);
    }

    pub(super) fn rail(&mut self) -> &mut Rail {
        &mut self.rail
    }
}

/// What a draft may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits<'l> {
    /// Nodes behind the root.
    pub(super) nodes: usize,
    /// Nodes of a path, the root among them.
    pub(super) depth: usize,
    /// Ids are below this.
    pub(super) vocabulary: u32,
    /// Nothing stands behind these.
    pub(super) stops: &'l [u32],
}

/// Nodes behind a root, most promising first: node i is row i + 1 of the pass that verifies it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) tokens: Vec<u32>,
    /// Row of the node before.
    pub(super) parents: Vec<u32>,
    pub(super) sources: Vec<Source>,
}

impl Draft {
    /// The row behind `row` whose token this is.
    pub(super) fn child(&self, row: u32, token: u32) -> Option<u32> {
        let mut nodes = self.parents.iter().zip(&self.tokens);
        nodes.position(|(&parent, &of)| parent == row && of == token).map(|at| at as u32 + 1)
    }
}

struct Node {
    token: u32,
    parent: Option<usize>,
    depth: usize,
    weight: f64,
    source: Source,
    /// Of `weight`, what the source gave that gave most.
    most: f64,
}

/// Makes one tree of several, each of which was grown for as many nodes: a path's weights are added up, as in one log of
/// all, and the heaviest nodes stay. O(nodes²).
pub(super) fn merge(trees: &[(Source, DraftTree)], limits: Limits<'_>) -> Draft {
    let mut nodes = Vec::new();
    for (source, tree) in trees {
        // Where the tree's nodes are in the merged one; those that cannot be verified, and all behind them, are nowhere.
        let mut places: Vec<Option<usize>> = Vec::with_capacity(tree.len());
        for (node, (&token, weight)) in tree.tokens().iter().zip(tree.weights()).enumerate() {
            let parent = tree.parent(node).map(|parent| places.get(parent).copied().flatten());
            places.push(match parent {
                Some(None) => None,
                parent => add(&mut nodes, parent.flatten(), token, (*source, weight), limits),
            });
        }
    }
    best(&nodes, limits.nodes)
}

/// Adds a weight to the node of a token, which is made where it is missing. Returns where it is.
fn add(
    nodes: &mut Vec<Node>,
    parent: Option<usize>,
    token: u32,
    (source, weight): (Source, f64),
    limits: Limits<'_>,
) -> Option<usize> {
    let before = parent.and_then(|parent| nodes.get(parent));
    let depth = before.map_or(1, |before| before.depth + 1);
    let ended = before.is_some_and(|before| limits.stops.contains(&before.token));
    if token >= limits.vocabulary || depth >= limits.depth || ended {
        return None;
    }
    let there = nodes.iter().position(|node| node.parent == parent && node.token == token);
    let at = there.unwrap_or(nodes.len());
    if there.is_none() {
        nodes.push(Node { token, parent, depth, weight: 0.0, source, most: 0.0 });
    }
    let node = nodes.get_mut(at)?;
    node.weight += weight;
    if weight > node.most {
        (node.most, node.source) = (weight, source);
    }
    Some(at)
}

/// The heaviest nodes, each behind its parent; of equal ones the smaller token.
fn best(nodes: &[Node], most: usize) -> Draft {
    let mut draft = Draft::default();
    let mut open = BinaryHeap::new();
    // Weights are positive, and so are ordered like their bits.
    let behind = |parent: Option<usize>, row: u32, open: &mut BinaryHeap<_>| {
        let children = nodes.iter().enumerate().filter(|(_, node)| node.parent == parent);
        open.extend(children.map(|(at, node)| (node.weight.to_bits(), Reverse(node.token), Reverse(at), row)));
    };
    behind(None, 0, &mut open);
    while draft.tokens.len() < most
        && let Some((_, Reverse(token), Reverse(at), parent)) = open.pop()
        && let Some(node) = nodes.get(at)
    {
        draft.tokens.push(token);
        draft.parents.push(parent);
        draft.sources.push(node.source);
        behind(Some(at), draft.tokens.len() as u32, &mut open);
    }
    draft
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(run: &[u32], context: &[u32]) -> DraftTree {
        let mut rail = Rail::default();
        rail.push_draft_only(run.iter().copied()).expect("room");
        rail.tree(context, 31)
    }

    const ALL: Limits<'_> = Limits { nodes: 31, depth: 64, vocabulary: 100, stops: &[] };

    #[test]
    fn one_tree_stays_as_it_is() {
        let of = tree(&[1, 2, 3, 4, 1, 2, 5, 6], &[1, 2]);
        let draft = merge(&[(Source::Own, of.clone())], ALL);
        assert_eq!(draft.tokens, of.tokens());
        assert!(draft.parents.iter().zip(of.parents()).all(|(&row, &parent)| i64::from(row) == i64::from(parent) + 1));
        assert_eq!(draft.sources, vec![Source::Own; of.len()]);
        assert_eq!(merge(&[], ALL), Draft::default());
    }

    #[test]
    fn the_longer_match_goes_first_and_equal_paths_are_one() {
        let own = tree(&[1, 2, 3, 7, 9], &[1, 2, 3]);
        let said = tree(&[3, 8, 3, 7], &[1, 2, 3]);
        let draft = merge(&[(Source::Own, own), (Source::Conversation, said)], ALL);
        assert_eq!((draft.tokens[0], draft.sources[0]), (7, Source::Own));
        assert_eq!(draft.child(0, 8).map(|row| draft.sources[row as usize - 1]), Some(Source::Conversation));
        let sevens = draft.tokens.iter().zip(&draft.parents).filter(|node| *node == (&7, &0));
        assert_eq!(sevens.count(), 1);
        assert_eq!(draft.child(0, 99), None);
    }

    #[test]
    fn what_cannot_be_accepted_is_left_out() {
        let own = || [(Source::Own, tree(&[1, 2, 3, 200, 4, 5], &[1]))];
        let tokens = |limits| merge(&own(), limits).tokens;
        assert_eq!(tokens(Limits { vocabulary: 300, ..ALL }), [2, 3, 200, 4, 5]);
        assert_eq!(tokens(ALL), [2, 3]);
        assert_eq!(tokens(Limits { depth: 2, ..ALL }), [2]);
        assert!(tokens(Limits { depth: 1, ..ALL }).is_empty());
        assert_eq!(tokens(Limits { nodes: 1, ..ALL }), [2]);
        assert_eq!(tokens(Limits { stops: &[2], ..ALL }), [2]);
    }

    #[test]
    fn another_conversation_starts_a_new_log() {
        let mut said = Conversation::default();
        said.follow(&[1, 2, 3]);
        said.follow(&[1, 2, 3, 4]);
        assert_eq!(said.rail().tokens().collect::<Vec<_>>(), [1, 2, 3, 4]);
        said.follow(&[1, 2]);
        assert_eq!(said.rail().tokens().collect::<Vec<_>>(), [1, 2]);
    }
}
