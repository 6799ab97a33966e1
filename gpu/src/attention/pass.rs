//! What a pass does, segment by segment, and the uniform buffers that tell the kernels.

use super::plan::Wanted;
use super::tree::{MOST_ROWS, Tree, TreeError};
use crate::state::Schedule;
use crate::state::snapshot::MAX_TOKENS;
use std::fmt;

/// Bytes between the uniform blocks of two segments: a multiple of WebGPU's alignment of dynamic offsets.
pub(super) const STRIDE: u64 = 768;

/// Bytes of a segment's uniform block: eight numbers, the nodes and the path.
pub(super) const BLOCK_BYTES: u64 = 4 * (8 + 2 * MOST_ROWS as u64);

/// Passes of a few rows whose uniform blocks are kept at least.
pub const PASSES_IN_FLIGHT: u64 = 64;

/// Where the layers are in their context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    /// Tokens taken in.
    pub(super) tokens: u32,
    /// The band's first position: what has left before `tokens` or, after a root was verified, before that root.
    pub(super) start: u32,
    /// Surprises known: of tokens below this.
    pub(super) surprised: u32,
}

/// Rows that run at once: the band does not move among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Position of its first row.
    pub(super) first: u32,
    /// The band's start for its rows.
    pub(super) start: u32,
    /// A block leaves before.
    pub(super) turns: bool,
    /// The caller's row that is its first.
    pub(super) offset: u32,
    pub(super) tree: Tree,
    /// Rows to take in.
    pub(super) path: Vec<u32>,
    /// Where its uniform block lies.
    pub(super) at: u32,
    /// Blocks written before it.
    pub(super) serial: u64,
}

/// A pass that was planned: what to encode for every layer.
///
/// What tells the kernels of it lies in a ring on the device, which later passes overwrite: submit a pass before two more of
/// the most rows, or [`PASSES_IN_FLIGHT`] of a few, are planned.
#[derive(Clone, Debug)]
#[must_use = "the state's position has moved on: encode the pass for every layer"]
pub struct Pass {
    pub(super) segments: Vec<Segment>,
    /// How often the state had been replaced when it was planned.
    pub(super) epoch: u64,
}

/// Why a pass cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassError {
    /// No rows, or more than the caller's buffers or a tree have room for.
    Rows {
        /// Rows given.
        rows: u32,
        /// The most that can be taken.
        most: u32,
    },
    /// A row of a tree stands where the band's start has grown: it is to be clipped before the model runs.
    TooDeep {
        /// Rows between the root and the deepest row.
        depth: u32,
        /// Rows of one path that fit before the band moves.
        most: u32,
    },
    /// The cache of native mode is full: [`super::Attention::reserve`] more.
    Capacity {
        /// Tokens after the pass.
        needs: u32,
        /// Tokens that fit.
        most: u32,
    },
    /// Positions have 32 bits, and no state has more tokens than [`MAX_TOKENS`].
    TooLong {
        /// Tokens taken in.
        tokens: u32,
        /// Rows given.
        rows: u32,
    },
    /// A block cannot be ranked before more surprises are handed in.
    Surprises {
        /// Those of all tokens below this are needed.
        needed: u32,
        /// Those of tokens below this are known.
        known: u32,
    },
    /// More surprises than tokens read and the one that comes next.
    TooManySurprises {
        /// Those of tokens below this would be known.
        known: u32,
        /// The most that can be.
        most: u32,
    },
    /// The pass was planned before the state was replaced or the cache grew, or so many passes ago that what tells the kernels of
    /// it was overwritten.
    Stale,
    /// Nothing was verified that could be accepted.
    NothingWaits,
    /// A path is none of the tree that waits.
    Tree(TreeError),
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { rows, most } => write!(f, "a pass of {rows} rows, of 1 to {most}"),
            Self::TooDeep { depth, most } => {
                write!(f, "a tree {depth} rows deep, where {most} rows of a path fit before the band moves")
            }
            Self::Capacity { needs, most } => write!(f, "a cache for {most} tokens has no room for {needs}"),
            Self::TooLong { tokens, rows } => {
                write!(f, "{tokens} tokens and {rows} rows are more than the {MAX_TOKENS} a state may have")
            }
            Self::Surprises { needed, known } => {
                write!(f, "surprises of {needed} tokens are needed before this pass, and of {known} are known")
            }
            Self::TooManySurprises { known, most } => {
                write!(f, "surprises of {known} tokens, where at most {most} can be known")
            }
            Self::Stale => f.write_str("a pass that was planned for another state, or too long ago"),
            Self::NothingWaits => f.write_str("nothing was verified that could be accepted"),
            Self::Tree(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PassError {}

/// What passes are planned by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) schedule: Schedule,
    /// Rows that run at once.
    pub(super) rows: u32,
    pub(super) wanted: Wanted,
    /// Tokens that fit in native mode.
    pub(super) capacity: Option<u32>,
    pub(super) wants_surprises: bool,
}

/// Uniform blocks that a pass may need, of which `rows` rows run at once: one for each block of positions it touches and each
/// full set of rows.
pub(super) fn most_segments(rows: u32, pass_rows: u32) -> u64 {
    let block = crate::state::BLOCK;
    u64::from(pass_rows / rows.clamp(1, block)) + u64::from(pass_rows / block) + 3
}

/// Uniform blocks that are kept: for two passes of the most rows, even where these run one at once, and for some small ones.
pub(super) fn kept_segments(pass_rows: u32) -> u64 {
    2 * most_segments(1, pass_rows) + 2 * PASSES_IN_FLIGHT
}

impl Rules {
    fn room(&self, clock: &Clock, rows: u32, most: u32) -> Result<(), PassError> {
        if rows == 0 || rows > most {
            return Err(PassError::Rows { rows, most });
        }
        let end = clock.tokens.checked_add(rows).filter(|&end| end <= MAX_TOKENS);
        let needs = end.ok_or(PassError::TooLong { tokens: clock.tokens, rows })?;
        match self.capacity {
            Some(most) if needs > most => Err(PassError::Capacity { needs, most }),
            _ => Ok(()),
        }
    }

    fn surprises_known(&self, clock: &Clock, first: u32) -> Result<(), PassError> {
        let (needed, known) = (self.schedule.surprises_due(first), clock.surprised);
        if self.wants_surprises && needed > known {
            return Err(PassError::Surprises { needed, known });
        }
        Ok(())
    }

    /// Rows that are read and taken in. Advances the clock only where all is well.
    pub(super) fn extend(&self, clock: &mut Clock, rows: u32) -> Result<Vec<Segment>, PassError> {
        self.room(clock, rows, self.wanted.pass_rows)?;
        let (mut next, end) = (clock.clone(), clock.tokens + rows);
        let mut segments = Vec::new();
        while next.tokens < end {
            let first = next.tokens;
            let start = self.schedule.band_start(first);
            if start != next.start {
                self.surprises_known(&next, first)?;
            }
            let growth = self.schedule.next_growth(first + 1).unwrap_or(end);
            let until = end.min(growth).min(first + self.rows);
            let tree = Tree::chain((until - first) as usize).map_err(PassError::Tree)?;
            let path = (0..until - first).collect();
            let (turns, offset) = (start != next.start, first - clock.tokens);
            segments.push(Segment { first, start, turns, offset, tree, path, at: 0, serial: 0 });
            next = Clock { tokens: until, start, ..next };
        }
        *clock = next;
        Ok(segments)
    }

    /// Rows of one path, the root among them, that fit before the band's start moves again.
    pub(super) fn depth_left(&self, clock: &Clock) -> u32 {
        let moves = self.schedule.next_growth(clock.tokens + 1);
        let room = self.capacity.map_or(u32::MAX, |capacity| capacity.saturating_sub(clock.tokens));
        moves.map_or(u32::MAX, |position| position - clock.tokens).min(room)
    }

    /// Rows of a tree that are read and wait. The block that leaves before the root leaves now.
    pub(super) fn verify(&self, clock: &mut Clock, tree: &Tree) -> Result<Segment, PassError> {
        let rows = tree.rows() as u32;
        self.room(clock, rows, self.rows.min(self.wanted.pass_rows)).or_else(|error| match error {
            // A tree may have more rows than there are tokens to come: its depth counts.
            PassError::Capacity { .. } if clock.tokens + tree.depth() < self.capacity.unwrap_or(u32::MAX) => Ok(()),
            error => Err(error),
        })?;
        let most = self.depth_left(clock);
        if tree.depth() >= most {
            return Err(PassError::TooDeep { depth: tree.depth(), most });
        }
        let (first, start) = (clock.tokens, self.schedule.band_start(clock.tokens));
        let turns = start != clock.start;
        if turns {
            self.surprises_known(clock, first)?;
        }
        clock.start = start;
        Ok(Segment { first, start, turns, offset: 0, tree: tree.clone(), path: Vec::new(), at: 0, serial: 0 })
    }
}

impl Segment {
    /// The uniform block.
    pub(super) fn uniform(&self) -> Vec<u8> {
        let rows = self.tree.rows() as u32;
        let mut words = vec![self.first, self.start, rows, self.offset, self.path.len() as u32, 0, 0, 0];
        words.extend(self.tree.nodes().iter().map(|node| node.depth | (node.parent.unwrap_or(255) << 8)));
        words.resize(8 + MOST_ROWS, 0);
        words.extend(&self.path);
        words.resize(8 + 2 * MOST_ROWS, 0);
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Position of its last row.
    pub(super) fn last(&self) -> u32 {
        self.first + self.tree.depth()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(band: u32, rows: u32, pass_rows: u32, wants_surprises: bool) -> Rules {
        let wanted = Wanted { rows, pass_rows, capacity: 0 };
        Rules { schedule: Schedule::with_band(band), rows, wanted, capacity: None, wants_surprises }
    }

    #[test]
    fn segments_end_where_the_band_moves_and_where_rows_run_out() {
        let rules = rules(64, 32, 256, false);
        let mut clock = Clock { tokens: 120, start: 0, surprised: 0 };
        let segments = rules.extend(&mut clock, 80).expect("a good pass");
        let seen: Vec<_> = segments.iter().map(|s| (s.first, s.start, s.turns, s.offset, s.path.len())).collect();
        assert_eq!(
            seen,
            [(120, 0, false, 0, 8), (128, 64, true, 8, 32), (160, 64, false, 40, 32), (192, 128, true, 72, 8)]
        );
        assert_eq!(clock, Clock { tokens: 200, start: 128, surprised: 0 });
        assert!(segments.len() as u64 <= most_segments(32, 256));
    }

    /// `SplitMix64`.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u32) -> u32 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((bits ^ (bits >> 31)) % u64::from(n)) as u32
        }
    }

    #[test]
    fn no_pass_has_more_segments_than_there_are_uniform_blocks_for() {
        let mut random = Random(1);
        let mut closest = u64::MAX;
        for _ in 0..3000 {
            let (band, at_once) = (64 * (1 + random.below(4)), 1 + random.below(64));
            let pass_rows = 1 + random.below(700);
            let mut rules = rules(band, at_once, pass_rows, false);
            if random.below(4) == 0 {
                rules.schedule = Schedule::native();
            }
            // Any place, among them those next to a growth.
            let tokens = match random.below(3) {
                0 => random.below(3 * band),
                1 => 64 * random.below(1000) + random.below(3),
                _ => random.below(MAX_TOKENS - 700),
            };
            // A block that is due may wait or, after a root was verified, be gone.
            let start =
                if random.below(2) == 0 { rules.schedule.left(tokens) } else { rules.schedule.band_start(tokens) };
            let mut clock = Clock { tokens, start, surprised: 0 };
            let segments = rules.extend(&mut clock, pass_rows).expect("a good pass");
            let most = most_segments(at_once, pass_rows);
            assert!(segments.len() as u64 <= most, "{} of {most}: {rules:?} at {tokens}", segments.len());
            closest = closest.min(most - segments.len() as u64);

            // They are the rows of the pass, in order, and the band moves only between them.
            let (mut next, mut before) = (tokens, start);
            for segment in &segments {
                assert_eq!((segment.first, segment.offset), (next, next - tokens));
                assert!(segment.path.len() <= at_once as usize && segment.path.len() == segment.tree.rows());
                assert_eq!(segment.start, rules.schedule.band_start(segment.first));
                assert_eq!(segment.start, rules.schedule.band_start(segment.last()));
                // No more than one block leaves at once.
                assert_eq!(segment.start - before, if segment.turns { crate::state::BLOCK } else { 0 });
                (next, before) = (segment.last() + 1, segment.start);
            }
            assert_eq!(clock, Clock { tokens: next, start: before, surprised: 0 });
            assert_eq!(next, tokens + pass_rows);
        }
        // The bound is no idle one.
        assert!(closest <= 1, "never closer than {closest}");
    }

    #[test]
    fn bounds_of_segments_do_not_overflow() {
        assert_eq!(most_segments(1, u32::MAX), u64::from(u32::MAX) + u64::from(u32::MAX / 64) + 3);
        assert_eq!(most_segments(0, 0), 3);
        assert_eq!(most_segments(u32::MAX, 64), 5);
    }

    #[test]
    fn what_cannot_be_planned_changes_nothing() {
        let rules = rules(64, 32, 256, true);
        let mut clock = Clock { tokens: 120, start: 0, surprised: 65 };
        let before = clock.clone();
        assert_eq!(rules.extend(&mut clock, 0).err(), Some(PassError::Rows { rows: 0, most: 256 }));
        assert_eq!(rules.extend(&mut clock, 257).err(), Some(PassError::Rows { rows: 257, most: 256 }));
        assert_eq!(rules.extend(&mut clock, 80).err(), Some(PassError::Surprises { needed: 66, known: 65 }));
        let deep = Tree::chain(9).expect("a tree");
        assert_eq!(rules.verify(&mut clock, &deep).err(), Some(PassError::TooDeep { depth: 8, most: 8 }));
        let wide = Tree::new(&[0; 32]).expect("a tree");
        assert_eq!(rules.verify(&mut clock, &wide).err(), Some(PassError::Rows { rows: 33, most: 32 }));
        assert_eq!(clock, before);
        assert!(rules.verify(&mut clock, &Tree::chain(8).expect("a tree")).is_ok());
        clock.surprised = 66;
        assert!(rules.extend(&mut clock, 9).is_ok());
        let mut late = Clock { tokens: MAX_TOKENS - 1, start: 0, surprised: 0 };
        assert_eq!(rules.extend(&mut late, 2).err(), Some(PassError::TooLong { tokens: MAX_TOKENS - 1, rows: 2 }));
    }

    #[test]
    fn a_root_where_the_band_moves_has_a_block_before_it() {
        let rules = rules(64, 32, 256, false);
        let mut clock = Clock { tokens: 128, start: 0, surprised: 0 };
        assert_eq!(rules.depth_left(&clock), 64);
        let segment = rules.verify(&mut clock, &Tree::chain(32).expect("a tree")).expect("a good pass");
        assert!(segment.turns);
        assert_eq!((segment.start, clock.start), (64, 64));
        // A row in the last place before it has nothing behind it.
        assert_eq!(rules.depth_left(&Clock { tokens: 191, start: 64, surprised: 0 }), 1);
    }
}
