//! Translates path patterns of the reference.
//!
//! In the reference, braces and backslashes are ordinary characters, and so is an unclosed `[`; and `**` has a meaning
//! within a name.

use std::iter::Peekable;

use workden_core::{Error, ErrorKind, Result};

/// The scope of a pattern that does not say where it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternScope {
    /// From the root.
    AsWritten,
    /// In every directory, and a directory includes everything in it.
    Wide,
}

/// Translates a pattern of the reference; returns `None` if no valid path can match.
///
/// # Errors
///
/// `InvalidPattern` for a class with a different meaning in the reference.
pub(super) fn path_pattern(pattern: &str, scope: PatternScope) -> Result<Option<String>> {
    if scope == PatternScope::AsWritten
        && let Some(before) = without_directories(pattern)
    {
        return path_pattern(before, scope);
    }
    let named = pattern.trim_end_matches('/');
    let is_directory = !named.is_empty() && named.len() < pattern.len();
    let body = translated(if is_directory { named } else { pattern })?;
    let is_rooted = body.starts_with('/') || body.starts_with("**/") || body == "**";
    // Errors quote the pattern as it was written.
    let is_refused = body.is_empty() || body.starts_with('!') || body.starts_with("~/") || body.trim() != body;
    let from = match scope {
        _ if is_rooted || is_refused => "",
        PatternScope::AsWritten => "/",
        PatternScope::Wide => "**/",
    };
    Ok(match scope {
        PatternScope::AsWritten if is_directory => None,
        PatternScope::Wide if is_directory => Some(format!("{from}{{{body},{body}/**}}")),
        PatternScope::AsWritten | PatternScope::Wide => Some(format!("{from}{body}")),
    })
}

/// The part before a final `**/` within a name: without directories in between, that is all.
fn without_directories(pattern: &str) -> Option<&str> {
    let before = pattern.strip_suffix("**/")?;
    let stars = before.len() - before.trim_end_matches('*').len();
    // Stars are read in pairs: of an odd number, the last one stands alone before the slash.
    (!before.is_empty() && !before.ends_with('/') && stars % 2 == 0).then_some(before)
}

fn translated(pattern: &str) -> Result<String> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern.chars().peekable();
    // Whether a name starts here.
    let mut at_start = true;
    while let Some(c) = rest.next() {
        let was_at_start = std::mem::replace(&mut at_start, c == '/');
        match c {
            '*' if rest.next_if_eq(&'*').is_some() => {
                let is_last = rest.peek().is_none();
                match (was_at_start, rest.next_if_eq(&'/').is_some()) {
                    (true, true) => {
                        out.push_str("**/");
                        at_start = true;
                    }
                    // Without directories in between, the parts before and after are one name.
                    (false, true) => out.push_str("{,*/**/}"),
                    (true, false) => out.push_str(if is_last { "**" } else { "**/*" }),
                    (false, false) => out.push_str(if is_last { "{*,*/**}" } else { "{*,*/**/*}" }),
                }
            }
            '[' => out.push_str(&class(&mut rest)?),
            '{' | '}' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    Ok(out)
}

/// Returns the class after a `[`, or the character itself if there is none.
///
/// # Errors
///
/// `InvalidPattern` if it contains a backslash, which means a class such as any digit in the reference.
pub(super) fn class(rest: &mut Peekable<std::str::Chars<'_>>) -> Result<String> {
    let mut ahead = rest.clone();
    let mut text = String::from("[");
    text.extend(ahead.next_if(|c| matches!(c, '!' | '^')));
    text.extend(ahead.next_if_eq(&']'));
    for c in ahead.by_ref() {
        text.push(c);
        if c == ']' {
            break;
        }
        if c == '\\' {
            return Err(Error::new(ErrorKind::InvalidPattern, "backslashes are not supported in a character class")
                .hint("write the characters out: `[0-9]`, `[A-Za-z0-9_]`"));
        }
    }
    let is_closed = text.len() > 2 && text.ends_with(']') && text != "[]" && text != "[!]" && text != "[^]";
    if !is_closed {
        return Ok("\\[".to_owned());
    }
    *rest = ahead;
    Ok(text)
}
