//! The escapes of `$'...'`.
//!
//! Invariant: decoded text is what bash would produce. Escapes that versions of bash could read differently (bytes that
//! are not a character, control characters, a NUL) are not decoded at all.

/// Returns the decoded text, unless it has an unsupported escape.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        decoded.push_str(rest.get(..at)?);
        rest = rest.get(at + 1..)?;
        let kind = rest.chars().next()?;
        let after = rest.get(kind.len_utf8()..)?;
        let (character, left) = match kind {
            'a' => ('\u{7}', after),
            'b' => ('\u{8}', after),
            'e' | 'E' => ('\u{1b}', after),
            'f' => ('\u{c}', after),
            'n' => ('\n', after),
            'r' => ('\r', after),
            't' => ('\t', after),
            'v' => ('\u{b}', after),
            '\\' | '"' | '?' => (kind, after),
            '0'..='7' => number(rest, 8, 3, 0x7f)?,
            'x' => number(after, 16, 2, 0x7f)?,
            'u' => number(after, 16, 4, 0x7f)?,
            'U' => number(after, 16, 8, 0x7f)?,
            _ => return None,
        };
        decoded.push(character);
        rest = left;
    }
    decoded.push_str(rest);
    Some(decoded)
}

/// Decodes a character from its number; only ASCII, because other characters depend on the locale.
fn number(text: &str, radix: u32, most_digits: usize, most: u32) -> Option<(char, &str)> {
    let digits = text.chars().take(most_digits).take_while(|c| c.is_digit(radix)).count();
    let value = u32::from_str_radix(text.get(..digits)?, radix).ok()?;
    if value == 0 || value > most {
        return None;
    }
    Some((char::from_u32(value)?, text.get(digits..)?))
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn escapes_are_decoded_as_bash_does() {
        for (text, expected) in [
            ("rm", Some("rm")),
            (r"\x72m", Some("rm")),
            (r"\162\155", Some("rm")),
            (r"\u72m", Some("rm")),
            (r"\U00000072m", Some("rm")),
            (r"a\nb\tc\\", Some("a\nb\tc\\")),
            (r"\x6", Some("\u{6}")),
            (r"\x", None),
            (r"\x00", None),
            (r"\xff", None),
            (r"\q", None),
            (r"\cA", None),
            (r"\", None),
            ("\u{e9}\\x41", Some("\u{e9}A")),
        ] {
            assert_eq!(decoded(text).as_deref(), expected, "{text}");
        }
    }
}
