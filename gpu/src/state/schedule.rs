//! When tokens leave the band.

/// Tokens that leave together, E; also the keys of one piece of a sum.
pub const BLOCK: u32 = 64;

/// When tokens leave the band: a pure function of the position (ATTENTION: semantics).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// None: nothing ever leaves.
    band: Option<u32>,
}

impl Schedule {
    /// Nothing ever leaves.
    pub const fn native() -> Self {
        Self { band: None }
    }

    /// Of a band of `band` tokens, a multiple of [`BLOCK`].
    pub const fn with_band(band: u32) -> Self {
        Self { band: Some(band) }
    }

    /// ev(t): when the token at `position` is processed, every token below this has left the band.
    pub const fn band_start(self, position: u32) -> u32 {
        match self.band {
            Some(band) => position.saturating_sub(band) / BLOCK * BLOCK,
            None => 0,
        }
    }

    /// What has left the band of a state of `tokens` tokens: what was due for rows below.
    pub const fn left(self, tokens: u32) -> u32 {
        match tokens.checked_sub(1) {
            Some(last) => self.band_start(last),
            None => 0,
        }
    }

    /// The first position at or behind `position` at which the band's start grows, if there ever is one.
    pub fn next_growth(self, position: u32) -> Option<u32> {
        let first = self.band?.checked_add(BLOCK)?;
        position.max(first).checked_next_multiple_of(BLOCK)
    }

    /// Tokens a band may hold at once: B + E; none where it grows.
    pub fn most_in_band(self) -> Option<u32> {
        self.band.map(|band| band + BLOCK)
    }

    /// Surprises that must be known before the row at `position`, so that the block which leaves before it can be ranked:
    /// those of all tokens below this.
    pub fn surprises_due(self, position: u32) -> u32 {
        match (self.band, self.next_growth(position)) {
            // The last token that leaves is t - B - 1; its window ends two tokens later.
            (Some(band), Some(growth)) if growth == position => position - band + 2,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_is_at_least_b_and_at_most_b_and_a_block() {
        let schedule = Schedule::with_band(128);
        let mut before = 0;
        for t in 0..2000 {
            let start = schedule.band_start(t);
            let sees = t + 1 - start;
            assert!(if t < 128 { sees == t + 1 } else { (129..=192).contains(&sees) }, "{t}: {sees}");
            assert_eq!(schedule.next_growth(t) == Some(t), start != before, "{t}");
            assert!(start == before || t % BLOCK == 0);
            assert_eq!(schedule.left(t + 1), start);
            before = start;
        }
        assert_eq!(schedule.left(0), 0);
        assert_eq!(Schedule::native().band_start(u32::MAX), 0);
        assert_eq!(Schedule::native().next_growth(5), None);
    }

    #[test]
    fn surprises_are_due_up_to_two_tokens_behind_what_leaves() {
        let schedule = Schedule::with_band(128);
        // Before row 192, tokens 0..64 leave; the window of 63 ends at 65.
        assert_eq!(schedule.surprises_due(192), 66);
        assert_eq!(schedule.surprises_due(191), 0);
        assert_eq!(schedule.surprises_due(64), 0);
    }
}
