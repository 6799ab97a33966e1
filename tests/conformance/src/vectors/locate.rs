//! When two places of a context agree.

use serde::Deserialize;

/// What `locate` answers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Place {
    /// Length of the longest indexed prefix.
    pub lcp: usize,
    /// The run that answers, -1 for none.
    pub sid: i64,
    /// Hash of the best anchor.
    pub anchor: Option<String>,
    /// Its position, 0 for none.
    #[serde(rename = "P")]
    pub position: u32,
}

/// What is wrong with `got`. Where the reference's binary search is blind (`nonmono`), a longer prefix is right too.
#[must_use]
pub fn locate_differs(got: &Place, want: &Place, nonmono: bool) -> Option<String> {
    let right = got == want || nonmono && got.lcp > want.lcp;
    (!right).then(|| format!("got {got:?}, want {want:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(lcp: usize, sid: i64, anchor: Option<&str>, position: u32) -> Place {
        Place { lcp, sid, anchor: anchor.map(str::to_owned), position }
    }

    #[test]
    fn every_field_counts() {
        let want = place(5, -1, Some("a"), 3);
        assert_eq!(locate_differs(&want, &want, false), None);
        for wrong in [
            place(4, -1, Some("a"), 3),
            place(6, -1, Some("a"), 3),
            place(5, 0, Some("a"), 3),
            place(5, -1, Some("b"), 3),
            place(5, -1, None, 3),
            place(5, -1, Some("a"), 4),
        ] {
            assert!(locate_differs(&wrong, &want, false).is_some(), "{wrong:?}");
        }
    }

    #[test]
    fn only_a_longer_prefix_is_right_where_the_reference_is_blind() {
        let want = place(5, -1, None, 0);
        assert_eq!(locate_differs(&place(6, 2, Some("a"), 6), &want, true), None);
        assert!(locate_differs(&place(4, -1, None, 0), &want, true).is_some());
        assert!(locate_differs(&place(5, 2, None, 0), &want, true).is_some());
    }
}
