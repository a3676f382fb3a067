//! Brace expansion: `{a,b}` and `{1..5}`.
//!
//! Invariant: a word becomes at most [`MOST_WORDS`] words of [`MOST_CHARACTERS`] in all, and where
//! braces do not pair up, so that versions of shells could disagree, it becomes none.

/// A character of a word, and whether it can still mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Atom {
    /// Not quoted.
    Live(char),
    /// Quoted.
    Fixed(char),
    /// Something that is not known.
    Unknown,
}

/// Into how many words one word is multiplied.
const MOST_WORDS: usize = 64;
/// How long they are together.
const MOST_CHARACTERS: usize = 16 * 1024;

/// How many braces one word has.
const MOST_BRACES: usize = 16;

/// The words, or none if that is not clear or too much.
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
    // An empty word that was not quoted vanishes; which one that is shells decide.
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
        // `{x}` stays, and braces in it are looked at.
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

/// Where the brace at the start closes.
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

/// The alternatives between commas that are in no other braces.
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

/// `1..5` or `a..e`; an error is one that is not looked into, such as `01..10..2`.
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
        // Padding, steps and other letters.
        _ => None,
    }
}

/// A number without padding.
fn number(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.abs() < 1_000_000_000 && number.to_string() == text).then_some(number)
}
