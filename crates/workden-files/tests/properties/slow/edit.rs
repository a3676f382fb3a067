//! Search and replace on a `String`, place by place.

/// What an edit comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The text after it, and how many places changed.
    Edited(String, u64),
    /// The text to replace is not there.
    NoMatch,
    /// It is there more than once.
    Ambiguous,
    /// It is empty.
    Empty,
}

/// Whether a text has line endings, and all of them are CRLF.
pub(crate) fn is_crlf(text: &str) -> bool {
    let bare = text.replace("\r\n", "");
    text.contains("\r\n") && !bare.contains('\n')
}

/// Every line ending as CRLF.
pub(crate) fn to_crlf(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c == '\n' && !out.ends_with('\r') {
            out.push('\r');
        }
        out.push(c);
    }
    out
}

/// Replaces `old` by `new`: everywhere, or in the one place where it stands.
pub(crate) fn replace(text: &str, old: &str, new: &str, everywhere: bool) -> Outcome {
    if old.is_empty() {
        return if text.is_empty() { Outcome::Edited(new.to_owned(), 1) } else { Outcome::Empty };
    }
    let adapts = is_crlf(text) && (old.contains('\n') || new.contains('\n'));
    let new = if adapts { to_crlf(new) } else { new.to_owned() };
    let old = if adapts && places(text, old) == 0 { to_crlf(old) } else { old.to_owned() };
    match places(text, &old) {
        0 => return Outcome::NoMatch,
        1 => {}
        _ if everywhere => {}
        _ => return Outcome::Ambiguous,
    }
    let mut out = String::new();
    let mut count = 0;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(old.as_str()) {
            out.push_str(&new);
            count += 1;
            rest = after;
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    Outcome::Edited(out, count)
}

/// In how many places `old` starts, overlapping ones included.
fn places(text: &str, old: &str) -> usize {
    text.char_indices().filter(|(at, _)| text[*at..].starts_with(old)).count()
}
