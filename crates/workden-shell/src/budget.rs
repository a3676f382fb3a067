//! The caps that keep an analysis small, whatever it is given.
//!
//! Invariant: the parser pays for every token and every level from one budget, also for scripts
//! within scripts, and stops at the first thing that it cannot pay. Text is read once per
//! level, so that time and stack are bounded by the caps and never by what the text looks like.

use crate::analysis::DoubtKind;

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
pub(crate) struct Rejection {
    /// The kind of the doubt.
    pub(crate) kind: DoubtKind,
    /// The text that is in doubt.
    pub(crate) about: String,
}

/// The tokens, bytes and levels that are left.
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
    /// Anything else that nests.
    Other,
}

impl Budget {
    /// The whole of it.
    pub(crate) fn new() -> Self {
        Self { tokens: MOST_TOKENS, bytes: MOST_PARSED, levels: MOST_LEVELS, loops: MOST_LOOPS }
    }

    /// Pays for a word or an operator.
    pub(crate) fn token(&mut self) -> Result<(), Rejection> {
        self.tokens = self.tokens.checked_sub(1).ok_or_else(|| over_limit(format!("over {MOST_TOKENS} words")))?;
        Ok(())
    }

    /// Pays for a text that is to be parsed.
    pub(crate) fn text(&mut self, bytes: usize) -> Result<(), Rejection> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(|| over_limit("scripts nested too deep".to_owned()))?;
        Ok(())
    }

    /// Goes one level down.
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
    pub(crate) fn leave(&mut self, level: Nesting) {
        if level == Nesting::Loop {
            self.loops += 1;
        }
        self.levels += 1;
    }
}

/// The text of a script, if it is one that a shell could be given at all.
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

/// A script that does not parse.
pub(crate) fn syntax(about: impl Into<String>) -> Rejection {
    Rejection { kind: DoubtKind::Syntax, about: about.into() }
}

pub(crate) fn over_limit(about: String) -> Rejection {
    Rejection { kind: DoubtKind::TooMuch, about }
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
            budget.enter(Nesting::Loop).unwrap();
            budget.leave(Nesting::Loop);
        }
        for _ in 0..MOST_LOOPS {
            budget.enter(Nesting::Loop).unwrap();
        }
        assert_eq!(budget.enter(Nesting::Loop).unwrap_err().kind, DoubtKind::TooMuch);
    }
}
