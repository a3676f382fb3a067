//! Translates command patterns of the reference.
//!
//! In the reference, a pattern matches the text of a command, and a star is any text except a slash. Patterns of
//! workden match words: a star that may stand for several words is written explicitly, and one rule becomes as many as
//! there are readings.

use workden_core::{Error, ErrorKind, Result};

use super::path_pattern::{PatternScope, class};

/// Maximum number of stars within a word that may be several words: each doubles the number of readings.
const MOST_INNER_STARS: usize = 4;

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Star,
}

/// A translated pattern, and an exception to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) pattern: String,
    pub(super) except: Vec<String>,
}

/// Translates a pattern of the reference. A wide one is also matched against the line as it is written.
///
/// # Errors
///
/// `InvalidPattern` if it has no translation.
pub(super) fn command_patterns(pattern: &str, scope: PatternScope) -> Result<Vec<Said>> {
    let words = words(pattern)?;
    let inner: usize = words.iter().map(|word| inner_stars(word)).sum();
    if inner > MOST_INNER_STARS {
        return Err(Error::new(ErrorKind::InvalidPattern, format!("more than {MOST_INNER_STARS} stars within words"))
            .hint("put blanks around a star that stands for whole words"));
    }
    let mut all: Vec<Said> = match scope {
        PatternScope::AsWritten => Vec::new(),
        PatternScope::Wide => vec![Said { pattern: as_written(&words), except: Vec::new() }],
    };
    for split in 0..1_usize << inner {
        let pattern = in_words(&words, split, scope);
        let except = match scope {
            // More words after it make another command.
            PatternScope::AsWritten if !pattern.ends_with("**") && !pattern.is_empty() => {
                vec![format!("{pattern} * **")]
            }
            PatternScope::AsWritten | PatternScope::Wide => Vec::new(),
        };
        let said = Said { pattern, except };
        if !all.contains(&said) {
            all.push(said);
        }
    }
    Ok(all)
}

fn words(pattern: &str) -> Result<Vec<Vec<Piece>>> {
    let mut all: Vec<Vec<Piece>> = Vec::new();
    let mut word: Vec<Piece> = Vec::new();
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        let text = match c {
            c if c.is_whitespace() => {
                all.push(std::mem::take(&mut word));
                continue;
            }
            '*' => {
                word.push(Piece::Star);
                continue;
            }
            '[' => class(&mut rest)?,
            '{' | '}' | '\\' => format!("\\{c}"),
            c => c.to_string(),
        };
        if text.contains(char::is_whitespace) {
            return Err(Error::new(ErrorKind::InvalidPattern, "blanks are not supported in a character class")
                .hint("words are matched one by one: write the blank between them"));
        }
        match word.last_mut() {
            Some(Piece::Text(before)) => before.push_str(&text),
            Some(Piece::Star) | None => word.push(Piece::Text(text)),
        }
    }
    all.push(word);
    all.retain(|word| !word.is_empty());
    all.iter_mut().for_each(|word| word.dedup_by(|later, before| *later == Piece::Star && *before == Piece::Star));
    Ok(all)
}

fn inner_stars(word: &[Piece]) -> usize {
    let stars = word.iter().enumerate().filter(|(_, piece)| **piece == Piece::Star);
    stars.filter(|(nth, _)| *nth > 0 && nth + 1 < word.len()).count()
}

/// The pattern unchanged, for the text of a line.
fn as_written(words: &[Vec<Piece>]) -> String {
    let word = |word: &Vec<Piece>| -> String {
        word.iter().map(|piece| if let Piece::Text(text) = piece { text } else { "*" }).collect()
    };
    words.iter().map(word).collect::<Vec<String>>().join(" ")
}

/// Returns the pattern over words; the bits of `split` choose the stars within a word that become two.
fn in_words(words: &[Vec<Piece>], mut split: usize, scope: PatternScope) -> String {
    let mut said: Vec<String> = Vec::new();
    for word in words {
        if *word == [Piece::Star] {
            // With blanks around it, it is at least one word.
            if scope == PatternScope::AsWritten && words.len() > 1 {
                said.push("*".to_owned());
            }
            said.push("**".to_owned());
            continue;
        }
        let mut one = String::new();
        for (nth, piece) in word.iter().enumerate() {
            match piece {
                // Quotes are removed from the words of a command.
                Piece::Text(text) => one.extend(text.chars().filter(|c| !matches!(c, '"' | '\''))),
                Piece::Star if nth == 0 => {
                    said.push("**".to_owned());
                    one.push('*');
                }
                Piece::Star if nth + 1 == word.len() => one.push('*'),
                Piece::Star => {
                    one.push('*');
                    if split & 1 == 1 {
                        said.extend([std::mem::take(&mut one), "**".to_owned()]);
                        one.push('*');
                    }
                    split >>= 1;
                }
            }
        }
        said.push(one);
        if word.last() == Some(&Piece::Star) {
            said.push("**".to_owned());
        }
    }
    said.dedup_by(|later, before| later == "**" && before == "**");
    said.retain(|word| !word.is_empty());
    said.join(" ")
}
