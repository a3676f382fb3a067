//! Brace expansion: `{a,b}` and `{1..5}`.
//!
//! Invariant: a word expands to at most [`MOST_WORDS`] words of [`MOST_CHARACTERS`] in all. A word with unbalanced
//! braces, which versions of shells could read differently, does not expand.

/// A character of a word, and whether it can still have a special meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Atom {
    /// An unquoted character.
    Live(char),
    /// A quoted character.
    Fixed(char),
    /// An unknown part.
    Unknown,
}

/// How many words one word may expand to.
const MOST_WORDS: usize = 64;
/// How many characters the expanded words may have in all.
const MOST_CHARACTERS: usize = 16 * 1024;

/// How many braces one word may have.
const MOST_BRACES: usize = 16;

/// Returns the expanded words, or `None` if they are ambiguous or too many.
pub(super) fn expanded(atoms: &[Atom]) -> Option<Vec<Vec<Atom>>> {
    let mut depth = 0_usize;
    let mut braces = 0_usize;
    for atom in atoms {
        match atom {
            Atom::Live('{') => {
                depth += 1;
                braces += 1;
            }
            Atom::Live('}') => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if braces > MOST_BRACES {
            return None;
        }
    }
    if depth > 0 {
        return None;
    }
    let words = multiplied(atoms)?;
    // An empty unquoted word vanishes; shells differ in which words these are.
    if words.iter().any(Vec::is_empty) && words.len() > 1 {
        return None;
    }
    Some(words)
}

fn multiplied(atoms: &[Atom]) -> Option<Vec<Vec<Atom>>> {
    let Some(open) = atoms.iter().position(|atom| *atom == Atom::Live('{')) else { return Some(vec![atoms.to_vec()]) };
    let (before, rest) = atoms.split_at(open);
    let close = closing(rest)?;
    let inside = rest.get(1..close)?;
    let tails = multiplied(rest.get(close + 1..)?)?;
    let alternatives = split(inside);
    let middles = if alternatives.len() > 1 {
        let mut middles = Vec::new();
        for alternative in alternatives {
            middles.extend(multiplied(alternative)?);
        }
        middles
    } else if let Some(sequence) = sequence(inside)? {
        sequence
    } else {
        // `{x}` stays, but braces in it are expanded.
        multiplied(inside)?
            .into_iter()
            .map(|inner| [&[Atom::Live('{')][..], &inner, &[Atom::Live('}')]].concat())
            .collect()
    };
    if middles.len().saturating_mul(tails.len()) > MOST_WORDS {
        return None;
    }
    let mut words = Vec::new();
    let mut characters = 0;
    for middle in &middles {
        for tail in &tails {
            characters += before.len() + middle.len() + tail.len();
            if characters > MOST_CHARACTERS {
                return None;
            }
            words.push([before, middle.as_slice(), tail.as_slice()].concat());
        }
    }
    Some(words)
}

/// Returns the position at which the first brace closes.
fn closing(atoms: &[Atom]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, atom) in atoms.iter().enumerate() {
        match atom {
            Atom::Live('{') => depth += 1,
            Atom::Live('}') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Splits the text at commas that are in no other braces.
fn split(inside: &[Atom]) -> Vec<&[Atom]> {
    let mut depth = 0_usize;
    inside
        .split(|atom| {
            match atom {
                Atom::Live('{') => depth += 1,
                Atom::Live('}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && *atom == Atom::Live(',')
        })
        .collect()
}

/// Expands `1..5` or `a..e`; `None` for an unsupported sequence such as `01..10..2`.
fn sequence(inside: &[Atom]) -> Option<Option<Vec<Vec<Atom>>>> {
    let mut text = String::new();
    for atom in inside {
        match atom {
            Atom::Live(character) => text.push(*character),
            Atom::Fixed(_) | Atom::Unknown => return Some(None),
        }
    }
    let Some((first, last)) = text.split_once("..") else { return Some(None) };
    if let (Some(first), Some(last)) = (number(first), number(last)) {
        if first.abs_diff(last) >= MOST_WORDS as u64 {
            return None;
        }
        let numbers: Vec<i64> = if first <= last { (first..=last).collect() } else { (last..=first).rev().collect() };
        return Some(Some(
            numbers.iter().map(|number| number.to_string().chars().map(Atom::Fixed).collect()).collect(),
        ));
    }
    match (first.as_bytes(), last.as_bytes()) {
        ([first @ b'a'..=b'z'], [last @ b'a'..=b'z']) => {
            let letters: Vec<u8> =
                if first <= last { (*first..=*last).collect() } else { (*last..=*first).rev().collect() };
            Some(Some(letters.iter().map(|letter| vec![Atom::Fixed(char::from(*letter))]).collect()))
        }
        // Padding, steps and other letters are not supported.
        _ => None,
    }
}

/// Parses a number without padding.
fn number(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.abs() < 1_000_000_000 && number.to_string() == text).then_some(number)
}
