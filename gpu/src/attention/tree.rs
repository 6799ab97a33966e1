//! Draft trees: which row of a pass stands behind which.

use std::fmt;

/// Rows of one pass, at most: a tree's nodes with its root.
pub const MOST_ROWS: usize = 64;

/// A draft tree: row 0 is its root, every other row names the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Of each row: rows between it and the root, and the row before it.
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) depth: u32,
    pub(crate) parent: Option<u32>,
}

/// Why rows make no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeError {
    /// No rows, or more than [`MOST_ROWS`].
    Rows(usize),
    /// A row stands behind one that does not come before it.
    Parent {
        /// The row.
        row: usize,
        /// The row it names.
        parent: u32,
    },
    /// A path does not lead from the root from row to row.
    Path {
        /// Place in the path.
        at: usize,
        /// The row there; none where the path is empty.
        row: Option<u32>,
    },
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Rows(rows) => write!(f, "a tree of {rows} rows, of 1 to {MOST_ROWS}"),
            Self::Parent { row, parent } => {
                write!(f, "row {row} of a tree stands behind row {parent}, which does not come before it")
            }
            Self::Path { at, row: Some(row) } => {
                write!(f, "a path has row {row} in place {at}, which does not stand behind the one before it")
            }
            Self::Path { row: None, .. } => f.write_str("a path without its root"),
        }
    }
}

impl std::error::Error for TreeError {}

impl Tree {
    /// A tree whose rows 1, 2, ... stand behind `parents`; row 0 is the root.
    pub fn new(parents: &[u32]) -> Result<Self, TreeError> {
        if parents.len() >= MOST_ROWS {
            return Err(TreeError::Rows(parents.len() + 1));
        }
        let mut nodes = vec![Node { depth: 0, parent: None }];
        for (i, &parent) in parents.iter().enumerate() {
            let before = nodes.get(parent as usize).ok_or(TreeError::Parent { row: i + 1, parent })?;
            nodes.push(Node { depth: before.depth + 1, parent: Some(parent) });
        }
        Ok(Self { nodes })
    }

    /// Rows one behind the other: 1 to [`MOST_ROWS`].
    pub fn chain(rows: usize) -> Result<Self, TreeError> {
        if rows == 0 || rows > MOST_ROWS {
            return Err(TreeError::Rows(rows));
        }
        let parents: Vec<u32> = (0..rows as u32 - 1).collect();
        Self::new(&parents)
    }

    /// Rows, the root among them.
    pub fn rows(&self) -> usize {
        self.nodes.len()
    }

    /// Rows between the root and the row farthest from it.
    pub fn depth(&self) -> u32 {
        self.nodes.iter().map(|node| node.depth).max().unwrap_or(0)
    }

    /// Of each row, how many rows lie between the root and it, itself counted.
    pub fn depths(&self) -> impl Iterator<Item = u32> + '_ {
        self.nodes.iter().map(|node| node.depth)
    }

    /// The tree without the rows that are `depth` or more rows behind the root (which stays), and which rows it kept.
    #[must_use]
    pub fn clipped(&self, depth: u32) -> (Self, Vec<u32>) {
        let mut new_row = vec![None; self.nodes.len()];
        let (mut nodes, mut kept) = (Vec::new(), Vec::new());
        for (row, node) in self.nodes.iter().enumerate() {
            if node.depth < depth.max(1) {
                new_row[row] = Some(nodes.len() as u32);
                nodes.push(Node { depth: node.depth, parent: node.parent.and_then(|parent| new_row[parent as usize]) });
                kept.push(row as u32);
            }
        }
        (Self { nodes }, kept)
    }

    /// Is `path` a way from the root, one row behind the other?
    pub fn check_path(&self, path: &[u32]) -> Result<(), TreeError> {
        let mut before = None;
        for (at, &row) in path.iter().enumerate() {
            let node = self.nodes.get(row as usize);
            if node.is_none_or(|node| node.parent != before) {
                return Err(TreeError::Path { at, row: Some(row) });
            }
            before = Some(row);
        }
        before.map(|_| ()).ok_or(TreeError::Path { at: 0, row: None })
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_knows_its_rows_and_paths() {
        let tree = Tree::new(&[0, 0, 1, 3]).expect("parents come first");
        assert_eq!((tree.rows(), tree.depth()), (5, 3));
        assert_eq!(tree.check_path(&[0, 1, 3, 4]), Ok(()));
        assert_eq!(tree.check_path(&[0]), Ok(()));
        assert_eq!(tree.check_path(&[]), Err(TreeError::Path { at: 0, row: None }));
        assert_eq!(tree.check_path(&[1]), Err(TreeError::Path { at: 0, row: Some(1) }));
        assert_eq!(tree.check_path(&[0, 2, 3]), Err(TreeError::Path { at: 2, row: Some(3) }));
        assert_eq!(tree.check_path(&[0, 5]), Err(TreeError::Path { at: 1, row: Some(5) }));
        assert_eq!(Tree::new(&[1]), Err(TreeError::Parent { row: 1, parent: 1 }));
        assert_eq!(Tree::chain(65), Err(TreeError::Rows(65)));
        assert_eq!(Tree::chain(0), Err(TreeError::Rows(0)));
        assert_eq!(Tree::new(&[0; 64]), Err(TreeError::Rows(65)));
        assert_eq!(Tree::chain(64).map(|tree| tree.depth()), Ok(63));
    }

    #[test]
    fn clipping_keeps_what_is_near_the_root() {
        let tree = Tree::new(&[0, 1, 0, 3, 2]).expect("parents come first");
        let (clipped, kept) = tree.clipped(2);
        assert_eq!(kept, [0, 1, 3]);
        assert_eq!(clipped, Tree::new(&[0, 0]).expect("a tree"));
        assert_eq!(tree.clipped(0).1, [0]);
        assert_eq!(tree.clipped(9), (tree.clone(), vec![0, 1, 2, 3, 4, 5]));
    }
}
