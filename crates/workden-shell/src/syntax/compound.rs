//! Compound commands: groups, subshells, conditions and loops.
//!
//! Invariant: each starts with a reserved word or a parenthesis and ends with the matching one; this module reads both,
//! and the redirections after them.

use super::{
    cursor::{Parsed, Parser},
    modes::WordContext,
    tree::{CommandNode, Compound, RawWord, Script, is_name},
};
use crate::budget::Nesting;

impl Parser<'_, '_> {
    /// Reads a compound command, if one starts here.
    pub(super) fn compound(&mut self) -> Parsed<Option<CommandNode>> {
        let compound = if self.peek() == Some(b'(') {
            self.parenthesis()?
        } else if self.keyword("{")? {
            let script = self.nested(Nesting::Other, Parser::body)?;
            self.expect("}")?;
            Compound::Group(script)
        } else if self.keyword("if")? {
            self.nested(Nesting::Other, Parser::branches)?
        } else if self.keyword("while")? || self.keyword("until")? {
            self.nested(Nesting::Loop, Parser::while_loop)?
        } else if self.keyword("for")? {
            self.nested(Nesting::Loop, Parser::for_loop)?
        } else if self.keyword("select")? {
            self.doubts.push("a `select` loop, which sh reads as a command");
            self.nested(Nesting::Loop, Parser::for_loop)?
        } else if self.keyword("case")? {
            self.nested(Nesting::Loop, Parser::cases)?
        } else if self.keyword("[[")? {
            self.nested(Nesting::Other, Parser::test)?
        } else {
            return Ok(None);
        };
        let redirects = self.redirects()?;
        Ok(Some(CommandNode::Compound(compound, redirects)))
    }

    fn parenthesis(&mut self) -> Parsed<Compound> {
        if let Some(inner) = self.arithmetic()? {
            return Ok(Compound::Arithmetic(inner));
        }
        self.budget.token()?;
        self.take(b'(');
        let script = self.nested(Nesting::Other, Parser::body)?;
        if self.peek() != Some(b')') {
            return self.unexpected("`)`");
        }
        self.at += 1;
        Ok(Compound::Subshell(script))
    }

    fn branches(&mut self) -> Parsed<Compound> {
        let mut scripts = Vec::new();
        loop {
            scripts.push(self.body()?);
            self.expect("then")?;
            scripts.push(self.body()?);
            self.skip_blanks();
            if self.keyword("elif")? {
                continue;
            }
            if self.keyword("else")? {
                scripts.push(self.body()?);
            }
            self.expect("fi")?;
            return Ok(Compound::If(scripts));
        }
    }

    fn while_loop(&mut self) -> Parsed<Compound> {
        let condition = self.body()?;
        self.expect("do")?;
        let body = self.body()?;
        self.expect("done")?;
        Ok(Compound::Loop { variable: None, words: Vec::new(), arithmetic: Vec::new(), condition, body })
    }

    fn for_loop(&mut self) -> Parsed<Compound> {
        self.skip_blanks();
        if self.peek() == Some(b'(') {
            return match self.arithmetic()? {
                Some(arithmetic) => {
                    let body = self.loop_body()?;
                    Ok(Compound::Loop {
                        variable: None,
                        words: Vec::new(),
                        arithmetic,
                        condition: Script::default(),
                        body,
                    })
                }
                None => self.unexpected("`((`"),
            };
        }
        let variable = self.word(WordContext::Argument)?;
        let Some(variable) = variable.as_ref().and_then(RawWord::plain).filter(|name| is_name(name)).map(str::to_owned)
        else {
            return self.unexpected("the variable of a loop");
        };
        self.skip_lines()?;
        let mut words = Vec::new();
        if self.keyword("in")? {
            loop {
                self.skip_blanks();
                match self.word(WordContext::Argument)? {
                    Some(word) => words.push(word),
                    None => break,
                }
            }
            if !matches!(self.peek(), Some(b';' | b'\n')) {
                return self.unexpected("`;`");
            }
        }
        let body = self.loop_body()?;
        let (arithmetic, condition) = (Vec::new(), Script::default());
        Ok(Compound::Loop { variable: Some(variable), words, arithmetic, condition, body })
    }

    /// Reads `; do ... done`, with or without the separator.
    fn loop_body(&mut self) -> Parsed<Script> {
        self.skip_blanks();
        self.take(b';');
        self.skip_lines()?;
        if self.keyword("{")? {
            self.doubts.push("a loop with braces instead of `do` and `done`");
            let body = self.body()?;
            self.expect("}")?;
            return Ok(body);
        }
        self.expect("do")?;
        let body = self.body()?;
        self.expect("done")?;
        Ok(body)
    }

    fn cases(&mut self) -> Parsed<Compound> {
        self.skip_blanks();
        let Some(word) = self.word(WordContext::Argument)? else { return self.unexpected("a word") };
        self.skip_lines()?;
        self.expect("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.keyword("esac")? {
                return Ok(Compound::Case { word, arms });
            }
            if !self.take(b'(') && self.substitutions > 0 {
                self.doubts.push("a `case` in a substitution, which old shells end at its `)`");
            }
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks();
                match self.word(WordContext::Argument)? {
                    Some(pattern) => patterns.push(pattern),
                    None => return self.unexpected("a pattern"),
                }
                self.skip_blanks();
                if !self.take(b'|') {
                    break;
                }
            }
            if !self.take(b')') {
                return self.unexpected("`)`");
            }
            let body = self.list()?;
            arms.push((patterns, body));
            self.skip_lines()?;
            if !self.take(b';') {
                self.expect("esac")?;
                return Ok(Compound::Case { word, arms });
            }
            // Reads `;;`, `;&` or `;;&`.
            let closed = self.take(b';');
            if !self.take(b'&') && !closed {
                return self.unexpected("`;;`");
            }
        }
    }
}
