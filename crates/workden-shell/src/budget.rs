//! The limits that keep an analysis small for any input.
//!
//! Invariant: the parser pays for every token and every level from one budget, which nested scripts share, and stops
//! when the budget is exhausted. Text is read once per level, so time and stack are bounded by the limits and never by
//! the form of the text.

use crate::analysis::DoubtKind;

/// The length of the longest script that is analysed.
pub(crate) const MOST_BYTES: usize = 64 * 1024;
/// How many bytes are parsed in all, including nested scripts.
const MOST_PARSED: usize = 4 * MOST_BYTES;
/// How many words and operators are parsed.
const MOST_TOKENS: usize = 2_000;
/// How deep constructs may nest.
const MOST_LEVELS: usize = 16;
/// How deep `case` and loops may nest.
const MOST_LOOPS: usize = 8;
/// How many characters of a script a doubt quotes.
const QUOTED: usize = 60;

/// The reason why a script is not analysed further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    /// The kind of the doubt.
    pub(crate) kind: DoubtKind,
    /// The doubtful text.
    pub(crate) about: String,
}

/// The remaining tokens, bytes and levels.
#[derive(Debug)]
pub(crate) struct Budget {
    tokens: usize,
    bytes: usize,
    levels: usize,
    loops: usize,
}

/// A kind of nesting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// `case`, `for`, `while`, `until`, `select`.
    Loop,
    /// Any other nesting.
    Other,
}

impl Budget {
    /// Returns the full budget.
    pub(crate) fn new() -> Self {
        Self { tokens: MOST_TOKENS, bytes: MOST_PARSED, levels: MOST_LEVELS, loops: MOST_LOOPS }
    }

    /// Pays for a word or an operator.
    pub(crate) fn token(&mut self) -> Result<(), Rejection> {
        self.tokens = self.tokens.checked_sub(1).ok_or_else(|| over_limit(format!("over {MOST_TOKENS} words")))?;
        Ok(())
    }

    /// Pays for a text before it is parsed.
    pub(crate) fn text(&mut self, bytes: usize) -> Result<(), Rejection> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(|| over_limit("scripts nested too deep".to_owned()))?;
        Ok(())
    }

    /// Enters a nested level.
    pub(crate) fn enter(&mut self, level: Nesting) -> Result<(), Rejection> {
        if level == Nesting::Loop {
            self.loops = self
                .loops
                .checked_sub(1)
                .ok_or_else(|| over_limit(format!("loops or `case` over {MOST_LOOPS} deep")))?;
        }
        self.levels =
            self.levels.checked_sub(1).ok_or_else(|| over_limit(format!("nested over {MOST_LEVELS} deep")))?;
        Ok(())
    }

    /// Returns the current depth.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.levels, self.loops)
    }

    /// Returns to an earlier depth.
    pub(crate) fn return_to(&mut self, (levels, loops): (usize, usize)) {
        self.levels = levels;
        self.loops = loops;
    }

    /// Leaves a nested level.
    pub(crate) fn leave(&mut self, level: Nesting) {
        if level == Nesting::Loop {
            self.loops += 1;
        }
        self.levels += 1;
    }
}

/// Returns the text of a script, if it is short enough and a shell could accept it.
pub(crate) fn admit(script: &[u8]) -> Result<&str, Rejection> {
    if script.len() > MOST_BYTES {
        return Err(over_limit(format!("{} bytes, over {MOST_BYTES}", script.len())));
    }
    let text = str::from_utf8(script).map_err(|_| syntax("invalid UTF-8"))?;
    if text.contains('\0') {
        return Err(syntax("NUL byte in the script"));
    }
    Ok(text)
}

/// Returns the rejection of a script that does not parse.
pub(crate) fn syntax(about: impl Into<String>) -> Rejection {
    Rejection { kind: DoubtKind::Syntax, about: about.into() }
}

pub(crate) fn over_limit(about: String) -> Rejection {
    Rejection { kind: DoubtKind::TooMuch, about }
}

/// Quotes a piece of a script, in backticks and short enough for a sentence.
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
            budget.enter(Nesting::Loop).unwrap();
            budget.leave(Nesting::Loop);
        }
        for _ in 0..MOST_LOOPS {
            budget.enter(Nesting::Loop).unwrap();
        }
        assert_eq!(budget.enter(Nesting::Loop).unwrap_err().kind, DoubtKind::TooMuch);
    }
}
