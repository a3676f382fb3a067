//! Where an object of a PDF ends and how many parts it has, without building it: a parser makes some
//! hundred bytes of each part, however small it is, so that parts are what has to be counted first.

/// Bytes between which there is nothing else.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0 | 0x0C)
}

/// Bytes that numbers, names and words are made of.
pub(super) fn is_word(byte: u8) -> bool {
    !is_blank(byte) && !matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}

/// The first place from `from` on that holds `wanted`.
pub(super) fn find(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut at = from;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == first)?;
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        at += 1;
    }
}

/// The first byte from `at` on that is no blank and in no comment.
pub(super) fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%' {
            at += bytes[at..].iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(bytes.len() - at);
        } else if is_blank(byte) {
            at += 1;
        } else {
            break;
        }
    }
    at
}

/// The same, but not far: what stands between two words of one object is short.
pub(super) fn skip_blanks_near(bytes: &[u8], at: usize) -> usize {
    skip_blanks(&bytes[..bytes.len().min(at.saturating_add(1024))], at)
}

/// How large an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Where it ends.
    pub(super) end: usize,
    /// Its parts, rather too many than too few.
    pub(super) parts: usize,
}

/// The extent of the one object that starts at `start`; where it was given up when it never ends, or is
/// none.
pub(super) fn object_at(bytes: &[u8], start: usize) -> Result<Extent, usize> {
    let mut at = skip_blanks(bytes, start);
    if let Some(end) = reference_end(bytes, at) {
        return Ok(Extent { end, parts: 1 });
    }
    let (mut depth, mut parts) = (0_usize, 0);
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        parts += 1;
        match rest {
            [b'<', b'<', ..] => (at, depth) = (at + 2, depth + 1),
            [b'>', b'>', ..] => (at, depth) = (at + 2, depth.checked_sub(1).ok_or(at)?),
            [b'[', ..] => (at, depth) = (at + 1, depth + 1),
            [b']', ..] => (at, depth) = (at + 1, depth.checked_sub(1).ok_or(at)?),
            [b'<', ..] => at = find(bytes, at, b">").ok_or(bytes.len())? + 1,
            [b'(', ..] => at = string_end(bytes, at).ok_or(bytes.len())?,
            [b'/', ..] => at += 1 + rest[1..].iter().take_while(|byte| is_word(**byte)).count(),
            [byte, ..] if is_word(*byte) => {
                let word = rest.iter().take_while(|byte| is_word(**byte)).count();
                // Numbers and words may stand together without a blank.
                parts += glued(&rest[..word]);
                at += word;
            }
            _ => return Err(at),
        }
        if depth == 0 {
            return Ok(Extent { end: at, parts });
        }
        at = skip_blanks(bytes, at);
    }
}

fn glued(word: &[u8]) -> usize {
    word.len() / 4 + word.iter().filter(|byte| matches!(byte, b'+' | b'-' | b'.' | b'#')).count()
}

/// The end of two numbers and an `R` that stand here, when they do.
fn reference_end(bytes: &[u8], start: usize) -> Option<usize> {
    let near = &bytes[..bytes.len().min(start.saturating_add(40))];
    let digits = |at: usize| {
        let count = near.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then(|| skip_blanks(near, at + count))
    };
    let at = digits(digits(start)?)?;
    (near.get(at) == Some(&b'R')).then_some(at + 1)
}

/// The end of the string that starts here: brackets in it come in pairs, but those behind a backslash.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0_usize);
    loop {
        match bytes.get(at)? {
            b'\\' => at += 1,
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(at + 1),
            b')' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_ends_where_it_ends() {
        for (text, rest) in [
            ("1 0 R 2", " 2"),
            ("1 0 2", " 0 2"),
            ("[1 2 [3]] 4", " 4"),
            ("% [\n<< /A (a\\)b(c)) /B <41> >> stream", " stream"),
            ("(>> stream\n) 5", " 5"),
            ("<4142>x", "x"),
            ("/Name[", "["),
        ] {
            let extent = object_at(text.as_bytes(), 0);
            assert_eq!(extent.map(|extent| &text[extent.end..]), Ok(rest), "{text}");
        }
        for text in ["", "[1 2", "(a", "]", "<41", "% only"] {
            assert!(object_at(text.as_bytes(), 0).is_err(), "{text}");
        }
    }

    #[test]
    fn parts_are_counted_rather_too_many_than_too_few() {
        for (text, least) in [
            ("[1 1 1]", 3),
            ("[[][][]]", 4),
            ("[////]", 5),
            ("[1-1-1.5.5]", 5),
            ("[truetruetruetrue]", 5),
            ("[()()<>]", 4),
            ("[/a#/a#1]", 3),
        ] {
            let counted = object_at(text.as_bytes(), 0).map_or(0, |extent| extent.parts);
            assert!(counted >= least, "{text}: {counted}");
        }
    }
}
