//! The syntax of path patterns: parsed once, with braces expanded, into lists of components.
//!
//! Invariant: the result is bounded for every input. Length, nesting and the number of alternatives have limits that
//! are checked before anything is built, so that a pattern from a model or from a foreign repository can exhaust
//! neither the stack nor the memory.

use crate::limits;

/// One component of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Component {
    /// `**`: any number of directories.
    AnyDepth,
    /// A name, piece by piece.
    Name(Vec<Piece>),
}

/// One piece of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A literal character.
    Char(char),
    /// `?`: any one character.
    AnyChar,
    /// `*`: any characters, or none.
    AnyChars,
    /// `[a-z]` or `[!a-z]`: one character of a class, or one outside it.
    Class {
        /// Whether the class matches the characters outside the ranges.
        negated: bool,
        /// The first and last character of each range.
        ranges: Vec<(char, char)>,
    },
}

/// One pattern without braces, from the expansion of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alternative {
    /// Whether it starts with `/`.
    pub(super) absolute: bool,
    /// Whether it contains a `/`.
    pub(super) has_slash: bool,
    /// Whether it ends with a `/` after a name.
    pub(super) ends_in_slash: bool,
    /// The components, without empty ones and `.`.
    pub(super) components: Vec<Component>,
}

/// Returns every alternative of a pattern, or the reason why it does not parse.
pub(super) fn alternatives(pattern: &str) -> Result<Vec<Alternative>, String> {
    let tokens = parse(pattern)?;
    multiply_out(&tokens)?.iter().map(|tokens| split(tokens)).collect()
}

/// Returns every alternative of a pattern for plain text, in which a `/` is an ordinary character.
pub(super) fn text_alternatives(pattern: &str) -> Result<Vec<Vec<Piece>>, String> {
    let piece = |token: &Token| match token {
        Token::Slash => Some(Piece::Char('/')),
        Token::Piece(piece) => Some(piece.clone()),
        Token::Choice(_) => None,
    };
    Ok(multiply_out(&parse(pattern)?)?.iter().map(|tokens| tokens.iter().filter_map(piece).collect()).collect())
}

/// Checks that a pattern is small enough for engines that recurse into its braces.
pub(super) fn check_size(pattern: &str) -> Result<(), String> {
    if pattern.len() > limits::PATTERN_BYTES {
        return Err(format!("it has {} bytes, and {} is the most", pattern.len(), limits::PATTERN_BYTES));
    }
    // Escaped braces are counted as well: no sensible pattern has that many.
    let mut depth = 0_usize;
    for byte in pattern.bytes() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limits::PATTERN_NESTING {
            return Err(format!("its braces are nested more than {} deep", limits::PATTERN_NESTING));
        }
    }
    Ok(())
}

#[derive(Clone, Debug)]
enum Token {
    Slash,
    Piece(Piece),
    Choice(Vec<Vec<Token>>),
}

fn parse(pattern: &str) -> Result<Vec<Token>, String> {
    check_size(pattern)?;
    if pattern.contains('\0') {
        return Err("it contains a NUL character".to_owned());
    }
    // The branches read so far: the outermost list first, then the branches of each open brace.
    let mut open: Vec<Vec<Vec<Token>>> = vec![vec![Vec::new()]];
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        let inside = open.len() > 1;
        let token = match c {
            '/' => Token::Slash,
            '?' => Token::Piece(Piece::AnyChar),
            '*' => Token::Piece(Piece::AnyChars),
            '[' => Token::Piece(parse_class(&mut rest)?),
            '\\' => match rest.next() {
                Some('/') => Token::Slash,
                Some(c) => Token::Piece(Piece::Char(c)),
                None => return Err("`\\` at its end escapes nothing".to_owned()),
            },
            '{' => {
                open.push(vec![Vec::new()]);
                continue;
            }
            '}' => match open.pop() {
                Some(branches) if inside => Token::Choice(branches),
                _ => return Err("`}` closes nothing; write `\\}` for the character".to_owned()),
            },
            ',' if inside => {
                if let Some(branches) = open.last_mut() {
                    branches.push(Vec::new());
                }
                continue;
            }
            c => Token::Piece(Piece::Char(c)),
        };
        if let Some(branch) = open.last_mut().and_then(|branches| branches.last_mut()) {
            branch.push(token);
        }
    }
    match (open.pop().and_then(|mut branches| branches.pop()), open.is_empty()) {
        (Some(tokens), true) => Ok(tokens),
        _ => Err("`{` is never closed; write `\\{` for the character".to_owned()),
    }
}

/// Parses the class after a `[`. Its first character is literal, even `]` or `-`, and so is a character after a
/// backslash.
fn parse_class(rest: &mut std::str::Chars<'_>) -> Result<Piece, String> {
    let unclosed = || "`[` is never closed; write `\\[` for the character".to_owned();
    let mut next = rest.next().ok_or_else(unclosed)?;
    let negated = matches!(next, '!' | '^');
    if negated {
        next = rest.next().ok_or_else(unclosed)?;
    }
    let mut body = vec![next];
    loop {
        match rest.next().ok_or_else(unclosed)? {
            ']' => break,
            other => body.push(other),
        }
    }
    let mut ranges = Vec::new();
    let mut body = body.as_slice();
    loop {
        body = match *body {
            [first, '-', last, ..] if last < first => return Err(format!("the range `{first}-{last}` runs backwards")),
            [first, '-', last, ref after @ ..] => {
                ranges.push((first, last));
                after
            }
            [one, ref after @ ..] => {
                ranges.push((one, one));
                after
            }
            [] => return Ok(Piece::Class { negated, ranges }),
        }
    }
}

/// Expands a token list into all token lists without choices.
fn multiply_out(tokens: &[Token]) -> Result<Vec<Vec<Token>>, String> {
    const MOST_TOKENS: usize = limits::PATTERN_BYTES * 4;
    let length = |lists: &[Vec<Token>]| lists.iter().map(Vec::len).sum::<usize>();
    let mut all: Vec<Vec<Token>> = vec![Vec::new()];
    let mut size = 0;
    for token in tokens {
        let choices = match token {
            Token::Choice(branches) => {
                branches.iter().map(|branch| multiply_out(branch)).collect::<Result<Vec<_>, _>>()?.concat()
            }
            Token::Slash | Token::Piece(_) => vec![vec![token.clone()]],
        };
        let count = all.len().saturating_mul(choices.len());
        size = size * choices.len() + length(&choices) * all.len();
        if count > limits::PATTERN_ALTERNATIVES || size > MOST_TOKENS {
            return Err(format!(
                "its braces stand for too much: {} alternatives are the most",
                limits::PATTERN_ALTERNATIVES
            ));
        }
        match choices.as_slice() {
            // A single choice is appended in place, because copying each time would be quadratic.
            [only] => all.iter_mut().for_each(|list| list.extend_from_slice(only)),
            _ => all = all.iter().flat_map(|head| choices.iter().map(|tail| [&head[..], tail].concat())).collect(),
        }
    }
    Ok(all)
}

fn split(tokens: &[Token]) -> Result<Alternative, String> {
    let absolute = matches!(tokens.first(), Some(Token::Slash));
    let mut components = Vec::new();
    for part in tokens.split(|token| matches!(token, Token::Slash)) {
        let pieces: Vec<Piece> = part
            .iter()
            .filter_map(|token| match token {
                Token::Piece(piece) => Some(piece.clone()),
                Token::Slash | Token::Choice(_) => None,
            })
            .collect();
        match pieces.as_slice() {
            [] | [Piece::Char('.')] => {}
            [Piece::Char('.'), Piece::Char('.')] => return Err("`..` cannot be matched".to_owned()),
            // Several in a row are equivalent to one, which also compiles smaller.
            [Piece::AnyChars, Piece::AnyChars] if components.last() == Some(&Component::AnyDepth) => {}
            [Piece::AnyChars, Piece::AnyChars] => components.push(Component::AnyDepth),
            _ => components.push(Component::Name(pieces)),
        }
    }
    let is_slash = |token: &Token| matches!(token, Token::Slash);
    let ends_in_slash = !components.is_empty() && tokens.last().is_some_and(is_slash);
    Ok(Alternative { absolute, has_slash: tokens.iter().any(is_slash), ends_in_slash, components })
}
