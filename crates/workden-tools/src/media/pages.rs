//! Which pages of a document: `3`, `10-20`, `5-`.

use std::ops::RangeInclusive;

/// Pages that are shown unless they are named.
pub(super) const USUAL_PAGES: u32 = 20;

/// The pages that were meant, from 1 on.
pub(super) fn parse(typed: &str) -> Option<RangeInclusive<u32>> {
    let number = |typed: &str| typed.trim().parse::<u32>().ok().filter(|page| *page > 0);
    match typed.split_once('-') {
        None => number(typed).map(|page| page..=page),
        Some((first, last)) => {
            let first = number(first)?;
            let last = match last.trim() {
                "" => first.saturating_add(USUAL_PAGES - 1),
                last => number(last)?,
            };
            (first <= last).then_some(first..=last)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_as_people_write_them() {
        for (typed, expected) in [
            ("3", Some(3..=3)),
            ("10-20", Some(10..=20)),
            (" 1 - 2 ", Some(1..=2)),
            ("5-", Some(5..=24)),
            ("4294967295-", Some(4_294_967_295..=u32::MAX)),
            ("0", None),
            ("2-1", None),
            ("-3", None),
            ("a", None),
            ("", None),
            ("99999999999", None),
        ] {
            assert_eq!(parse(typed), expected, "{typed:?}");
        }
    }
}
