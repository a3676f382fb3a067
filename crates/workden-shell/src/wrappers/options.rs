//! The options of a wrapper, parsed by a table.
//!
//! Invariant: an option that is not in the table is an error; the parser does not guess.

use crate::analysis::Word;

/// The options of a wrapper.
#[derive(Clone, Copy, Debug)]
pub(super) struct OptionTable {
    /// Letters without a value.
    pub(super) flags: &'static str,
    /// Letters with a value, in the same word or the next.
    pub(super) values: &'static str,
    /// Words after `--` without a value.
    pub(super) long_flags: &'static [&'static str],
    /// Words after `--` with a value, after `=` or in the next word.
    pub(super) long_values: &'static [&'static str],
}

/// A given option: a letter or a word.
pub(super) type GivenOption = (String, Option<Word>);

/// Parses the options; the rest starts with the first word that is not an option.
pub(super) fn parse_options<'words>(
    words: &'words [Word],
    options: &OptionTable,
) -> Result<(Vec<GivenOption>, &'words [Word]), String> {
    let mut given = Vec::new();
    let mut rest = words;
    while let [Word::Literal(word), after @ ..] = rest {
        if word == "--" {
            return Ok((given, after));
        }
        rest = if let Some(long) = word.strip_prefix("--") {
            taken_long(word, long, after, options, &mut given)?
        } else {
            match word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                Some(letters) => taken_letters(word, letters, after, options, &mut given)?,
                None => return Ok((given, rest)),
            }
        };
    }
    Ok((given, rest))
}

fn taken_long<'words>(
    word: &str,
    long: &str,
    after: &'words [Word],
    options: &OptionTable,
    given: &mut Vec<GivenOption>,
) -> Result<&'words [Word], String> {
    let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
    if options.long_values.contains(&name) {
        if let Some(value) = value {
            given.push((name.to_owned(), Some(Word::Literal(value.to_owned()))));
            return Ok(after);
        }
        let (value, after) = after.split_first().ok_or(word)?;
        given.push((name.to_owned(), Some(value.clone())));
        return Ok(after);
    }
    if options.long_flags.contains(&name) && value.is_none() {
        given.push((name.to_owned(), None));
        return Ok(after);
    }
    Err(word.to_owned())
}

fn taken_letters<'words>(
    word: &str,
    letters: &str,
    after: &'words [Word],
    options: &OptionTable,
    given: &mut Vec<GivenOption>,
) -> Result<&'words [Word], String> {
    for (at, letter) in letters.char_indices() {
        if options.flags.contains(letter) {
            given.push((letter.to_string(), None));
            continue;
        }
        if !options.values.contains(letter) {
            return Err(word.to_owned());
        }
        let inline = letters.get(at + letter.len_utf8()..).unwrap_or_default();
        if !inline.is_empty() {
            given.push((letter.to_string(), Some(Word::Literal(inline.to_owned()))));
            return Ok(after);
        }
        let (value, after) = after.split_first().ok_or(word)?;
        given.push((letter.to_string(), Some(value.clone())));
        return Ok(after);
    }
    Ok(after)
}
