//! Page ranges as a model writes them: `3`, `10-20`, `5-`.

use std::ops::RangeInclusive;

/// Pages of one answer unless the call names some.
pub(super) const DEFAULT_PAGES: u32 = 20;
/// The largest page number accepted: extractors store it in a signed integer.
pub(super) const MAX_PAGE: u32 = i32::MAX as u32 - 1;

/// Parses a range of pages, counted from 1.
pub(super) fn parse(typed: &str) -> Option<RangeInclusive<u32>> {
    let number = |typed: &str| typed.trim().parse().ok().filter(|page| (1..=MAX_PAGE).contains(page));
    match typed.split_once('-') {
        None => number(typed).map(|page| page..=page),
        Some((first, last)) => {
            let first: u32 = number(first)?;
            let last = match last.trim() {
                "" => (first + DEFAULT_PAGES - 1).min(MAX_PAGE),
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
            ("2147483646-", Some(MAX_PAGE..=MAX_PAGE)),
            ("2147483647", None),
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
