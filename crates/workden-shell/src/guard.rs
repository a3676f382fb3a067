//! The caps that keep an analysis small, whatever it is given.
//!
//! Invariant: the parser pays for every token and every level from one budget, also for scripts
//! within scripts, and stops at the first thing that it cannot pay. What is read is read once a
//! level, so that time and stack are bounded by the caps and never by what the text looks like.

use super::analysis::DoubtKind;

/// The longest script that is looked at.
pub(crate) const MOST_BYTES: usize = 64 * 1024;
/// How many bytes are parsed in all, scripts within scripts included.
const MOST_PARSED: usize = 4 * MOST_BYTES;
/// How many words and operators are looked at.
const MOST_TOKENS: usize = 2_000;
/// How deep anything nests.
const MOST_LEVELS: usize = 16;
/// How deep `case` and loops nest.
const MOST_LOOPS: usize = 8;
/// How many characters of a script a doubt quotes.
const QUOTED: usize = 60;

/// Why a script is not looked at any further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// Of what kind the doubt is.
    pub(crate) kind: DoubtKind,
    /// What it is about.
    pub(crate) about: String,
}

/// What may still be spent.
#[derive(Debug)]
pub(crate) struct Budget {
    tokens: usize,
    bytes: usize,
    levels: usize,
    loops: usize,
}

/// What a level is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// `case`, `for`, `while`, `until`, `select`.
    Loop,
    /// Anything else that nests.
    Other,
}

impl Budget {
    /// The whole of it.
    pub(crate) fn new() -> Self {
        Self { tokens: MOST_TOKENS, bytes: MOST_PARSED, levels: MOST_LEVELS, loops: MOST_LOOPS }
    }

    /// Pays for a word or an operator.
    pub(crate) fn token(&mut self) -> Result<(), Refused> {
        self.tokens = self.tokens.checked_sub(1).ok_or_else(|| too_much(format!("over {MOST_TOKENS} words")))?;
        Ok(())
    }

    /// Pays for a text that is to be parsed.
    pub(crate) fn text(&mut self, bytes: usize) -> Result<(), Refused> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(|| too_much("scripts within scripts".to_owned()))?;
        Ok(())
    }

    /// Goes one level down.
    pub(crate) fn enter(&mut self, level: Level) -> Result<(), Refused> {
        if level == Level::Loop {
            self.loops =
                self.loops.checked_sub(1).ok_or_else(|| too_much(format!("loops or `case` over {MOST_LOOPS} deep")))?;
        }
        self.levels = self.levels.checked_sub(1).ok_or_else(|| too_much(format!("nested over {MOST_LEVELS} deep")))?;
        Ok(())
    }

    /// How deep it is now.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.levels, self.loops)
    }

    /// Comes back to where it was.
    pub(crate) fn return_to(&mut self, (levels, loops): (usize, usize)) {
        self.levels = levels;
        self.loops = loops;
    }

    /// Comes back up.
    pub(crate) fn leave(&mut self, level: Level) {
        if level == Level::Loop {
            self.loops += 1;
        }
        self.levels += 1;
    }
}

/// The text of a script, if it is one that a shell could be given at all.
pub(crate) fn admit(script: &[u8]) -> Result<&str, Refused> {
    if script.len() > MOST_BYTES {
        return Err(too_much(format!("{} bytes, over {MOST_BYTES}", script.len())));
    }
    let text = str::from_utf8(script).map_err(|_| syntax("it is not UTF-8"))?;
    if text.contains('\0') {
        return Err(syntax("there is a NUL in it"));
    }
    Ok(text)
}

/// A script that does not parse.
pub(crate) fn syntax(about: impl Into<String>) -> Refused {
    Refused { kind: DoubtKind::Syntax, about: about.into() }
}

pub(crate) fn too_much(about: String) -> Refused {
    Refused { kind: DoubtKind::TooMuch, about }
}

/// A piece of a script, in backticks and short enough for a sentence.
pub(crate) fn quoted(piece: &str) -> String {
    let mut kept: String = piece.chars().take(QUOTED).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if kept.len() < piece.len() {
        kept.push_str("...");
    }
    format!("`{kept}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_shell_could_be_given_is_not_admitted() {
        for (script, expected) in [
            (&b"ls"[..], None),
            (b"", None),
            ("caf\u{e9}".as_bytes(), None),
            (b"ls \xff", Some(DoubtKind::Syntax)),
            (b"ls\0", Some(DoubtKind::Syntax)),
            (&[b'a'; MOST_BYTES], None),
            (&[b'a'; MOST_BYTES + 1], Some(DoubtKind::TooMuch)),
        ] {
            assert_eq!(admit(script).err().map(|refused| refused.kind), expected);
        }
    }

    #[test]
    fn a_level_that_was_left_can_be_entered_again() {
        let mut budget = Budget::new();
        for _ in 0..100 {
            budget.enter(Level::Loop).unwrap();
            budget.leave(Level::Loop);
        }
        for _ in 0..MOST_LOOPS {
            budget.enter(Level::Loop).unwrap();
        }
        assert_eq!(budget.enter(Level::Loop).unwrap_err().kind, DoubtKind::TooMuch);
    }
}
