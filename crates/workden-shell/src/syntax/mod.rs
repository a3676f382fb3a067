//! The parser: recursive descent, for the shell language that bash reads.
//!
//! Invariant: the parser only moves forward and pays for each token and level from a [`Budget`], so that it is linear
//! and shallow on any input. An unknown construct is an error, never a guess; a text that bash and sh would read
//! differently is refused or marked in the tree.

mod ansi;
mod commands;
mod compound;
mod conditions;
mod cursor;
mod expansions;
mod heredocs;
mod modes;
mod parameters;
mod redirects;
mod tree;
mod word_parts;
mod words;

pub(crate) use tree::{
    Assign, CommandNode, Compound, Connector, Item, Parameter, Pipeline, RawWord, Redirect, RedirectSource,
    RedirectTarget, RunMode, Script, Simple, Splitting, WordPart, is_name,
};

use cursor::Parser;

use crate::budget::{Budget, Rejection};

/// Parses a whole script.
pub(crate) fn parse(text: &str, budget: &mut Budget) -> Result<Script, Rejection> {
    budget.text(text.len())?;
    let place = budget.place();
    let mut parser = Parser::new(text, budget);
    let parsed = parser.list().and_then(|script| parser.finish().map(|()| script));
    let parsed = parsed.map(|mut script| {
        if has_torn_operator(text) {
            script.doubts.push("an operator or expansion split by a line continuation");
        }
        script
    });
    // An error leaves nested levels open.
    budget.return_to(place);
    parsed
}

/// Whether a backslash before a newline splits `&&`, `$(` or a similar operator, which some parsers of the language
/// join again and others do not. Errs towards yes: the operator may be in quotes.
fn has_torn_operator(text: &str) -> bool {
    const JOIN: &str = "\\\n";
    text.match_indices(JOIN).any(|(at, _)| {
        let (before, after) = text.split_at(at);
        let continues = match before.bytes().next_back() {
            Some(b'$') => return true,
            Some(b'&') => "&>",
            Some(b'|') => "|&",
            Some(b';') => ";&",
            Some(b'<') => "<>&(-",
            Some(b'>') => ">|&(",
            Some(b'(') => "(",
            _ => return false,
        };
        after.trim_start_matches(JOIN).starts_with(|first| continues.contains(first))
    })
}
