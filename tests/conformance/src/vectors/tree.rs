//! When two draft trees agree.
//!
//! Nodes of equal weight and token have no order of their own: the vectors list such groups. Everything else is exact.

use serde_json::Value;
use std::collections::BTreeSet;

type Path = Vec<u32>;

/// Places of a tree whose nodes have equal weight and token.
#[derive(Clone, Debug)]
pub struct Group {
    /// First place, and one past the last.
    pub from: usize,
    /// See `from`.
    pub to: usize,
    /// Paths that may stand there: more than there are places where the budget cuts the group.
    pub paths: BTreeSet<Path>,
}

impl Group {
    /// Reads `[from, to, [path, ...]]`.
    ///
    /// # Errors
    /// It is something else.
    pub fn read(value: &Value) -> Result<Self, String> {
        let (from, to, paths) = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        Ok(Self { from, to, paths })
    }
}

/// What is wrong with the tree `got`: lists of (token, parent).
#[must_use]
pub fn tree_differs(got: &[(u32, i64)], want: &[(u32, i64)], groups: &[Group]) -> Option<String> {
    if !got.iter().map(|(token, _)| token).eq(want.iter().map(|(token, _)| token)) {
        return Some("other tokens".to_owned());
    }
    let got = match paths(got) {
        Ok(paths) => paths,
        Err(node) => return Some(format!("node {node} has no parent before it")),
    };
    let Ok(want) = paths(want) else { return Some("the vector is no tree".to_owned()) };
    if got.iter().collect::<BTreeSet<_>>().len() != got.len() {
        return Some("a path twice".to_owned());
    }
    let mut free = BTreeSet::new();
    for Group { from, to, paths } in groups {
        free.extend(*from..*to);
        if !got.get(*from..*to).is_some_and(|places| places.iter().all(|path| paths.contains(path))) {
            return Some(format!("another path in the group {from}..{to}"));
        }
    }
    let differs = |node: &usize| !free.contains(node) && got.get(*node) != want.get(*node);
    (0..got.len()).find(differs).map(|node| format!("node {node} hangs elsewhere"))
}

/// The path of each node, or the node that has no parent.
fn paths(tree: &[(u32, i64)]) -> Result<Vec<Path>, usize> {
    let mut paths: Vec<Path> = Vec::with_capacity(tree.len());
    for (node, &(token, parent)) in tree.iter().enumerate() {
        let mut path = match usize::try_from(parent) {
            Ok(parent) => paths.get(parent).ok_or(node)?.clone(),
            Err(_) if parent == -1 => Path::new(),
            Err(_) => return Err(node),
        };
        path.push(token);
        paths.push(path);
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    // 1 -> 5, 2 -> 5, 3 -> 5, all the 5s of equal weight.
    const WANT: [(u32, i64); 6] = [(1, -1), (2, -1), (3, -1), (5, 0), (5, 1), (5, 2)];

    fn group() -> Vec<Group> {
        vec![Group { from: 3, to: 6, paths: [vec![1, 5], vec![2, 5], vec![3, 5]].into() }]
    }

    fn with(node: usize, value: (u32, i64)) -> Vec<(u32, i64)> {
        let mut tree = WANT.to_vec();
        tree[node] = value;
        tree
    }

    #[test]
    fn the_order_in_a_group_is_free_and_nothing_else() {
        let turned = [WANT[0], WANT[1], WANT[2], WANT[5], WANT[3], WANT[4]];
        assert_eq!(tree_differs(&WANT, &WANT, &[]), None);
        assert_eq!(tree_differs(&turned, &WANT, &group()), None);
        assert!(tree_differs(&turned, &WANT, &[]).is_some());
    }

    #[test]
    fn other_tokens_lengths_and_parents_are_found() {
        let groups = group();
        for (why, wrong) in [
            ("order", vec![WANT[1], WANT[0], WANT[2], WANT[3], WANT[4], WANT[5]]),
            ("short", WANT[..5].to_vec()),
            ("long", [&WANT[..], &[(9, -1)]].concat()),
            ("empty", vec![]),
            ("token", with(2, (4, -1))),
            ("parent", with(2, (3, 0))),
            ("a path twice", with(4, (5, 0))),
            ("itself", with(3, (5, 3))),
            ("ahead", with(3, (5, 4))),
            ("below the root", with(3, (5, -2))),
            ("not in the group", with(5, (5, -1))),
        ] {
            assert!(tree_differs(&wrong, &WANT, &groups).is_some(), "{why}");
        }
    }

    #[test]
    fn a_group_cut_by_the_budget_takes_any_of_its_paths_and_no_other() {
        let want = &WANT[..5];
        let mut groups = group();
        groups[0].to = 5;
        let other = [WANT[0], WANT[1], WANT[2], (5, 2), (5, 0)];
        assert_eq!(tree_differs(&other, want, &groups), None);
        groups[0].paths.remove(&vec![3, 5]);
        assert!(tree_differs(&other, want, &groups).is_some());
        // A group that reaches past the tree's end cannot be right.
        groups[0].to = 6;
        assert!(tree_differs(want, want, &groups).is_some());
    }

    #[test]
    fn groups_are_read_as_the_vectors_write_them() {
        let group = Group::read(&serde_json::json!([3, 5, [[1, 5], [2, 5]]])).unwrap();
        assert_eq!((group.from, group.to, group.paths.len()), (3, 5, 2));
        assert!(Group::read(&serde_json::json!([3, 5])).is_err());
    }
}
