//! Recognition of `sed` scripts that only print, delete and replace lines. A script could also run programs (`e`), and
//! read and write files (`r`, `w`): all but the plain forms are assumed to do so.

/// Whether a script consists only of addresses, printing, deleting and replacing.
pub(crate) fn only_prints_and_replaces(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        if rest.is_empty() {
            return true;
        }
        match after_command(rest) {
            Some(next) => rest = next,
            None => return false,
        }
    }
}

/// Returns the text after one command, or `None` if the command is not a plain one.
fn after_command(text: &str) -> Option<&str> {
    let mut rest = after_address(text)?;
    if let Some(second) = rest.strip_prefix(',') {
        rest = after_address(second.trim_start_matches(['+', '~']))?;
    }
    let rest = rest.trim_start_matches([' ', '\t', '!']);
    let mut chars = rest.chars();
    match chars.next()? {
        '{' => Some(chars.as_str()),
        's' => {
            let after = after_parts(chars.as_str(), 2)?;
            let flags = after.find(|c: char| !"gpiImM0123456789".contains(c)).unwrap_or(after.len());
            ends(&after[flags..])
        }
        'y' => ends(after_parts(chars.as_str(), 2)?),
        'p' | 'd' | 'D' | 'P' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'z' | 'F' => ends(chars.as_str()),
        'q' | 'Q' | 'l' => ends(chars.as_str().trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit())),
        // The text extends to the end of the line.
        'a' | 'i' | 'c' => match chars.as_str().find('\n') {
            Some(at) if chars.as_str()[..at].ends_with('\\') => None,
            Some(at) => Some(&chars.as_str()[at..]),
            None => Some(""),
        },
        _ => None,
    }
}

fn after_address(text: &str) -> Option<&str> {
    let text = text.trim_start_matches([' ', '\t']);
    match text.chars().next() {
        Some('0'..='9' | '$') => Some(text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '$' || c == '~')),
        Some('/') => Some(after_parts(text, 1)?.trim_start_matches(['I', 'M'])),
        Some('\\') => Some(after_parts(&text[1..], 1)?.trim_start_matches(['I', 'M'])),
        Some(_) | None => Some(text),
    }
}

/// Returns the text after `/a/` (one part) or `/a/b/` (two), with any delimiter.
fn after_parts(text: &str, parts: usize) -> Option<&str> {
    let delimiter = text.chars().next().filter(|c| !c.is_alphanumeric() && *c != '\n' && *c != '\\')?;
    let mut seen = 0;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == delimiter {
            seen += 1;
            if seen > parts {
                return Some(&text[at + c.len_utf8()..]);
            }
        }
    }
    None
}

/// Returns the rest of the text if a command ends here: at a line ending, a semicolon, a brace or a comment.
fn ends(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches([' ', '\t']);
    (rest.is_empty() || rest.starts_with([';', '\n', '}', '#'])).then(|| rest.trim_start_matches('#'))
}

#[cfg(test)]
mod tests {
    use super::only_prints_and_replaces;

    #[rustfmt::skip]
    const PLAIN: &[&str] = &[
        "s/a/b/", "s/a/b/g", "s|a/b|c|gi", "1,5p", "10q", "$d", "/re/d", "/a/,/b/p", "/x/!d", "1d;3d", "s/a/b/;s/c/d/g",
        "/^#/d", "s/\\//x/g", "5i\\ hello", "$!N", "2,$s/x/y/", "y/abc/ABC/", "/start/,/end/{s/a/b/;p}", "0~3d", "1,+2p",
        "", "s/x/y/2p",
    ];

    #[rustfmt::skip]
    const MORE: &[&str] = &[
        "s/a/b/e", "s/a/b/w out", "s/a/id/ge", "e", "1e id", "w /etc/passwd", "r .env", "R x", "W x", "1r .env", "/x/w out",
        "s/a/b", "k", "b;e id", "v", "s/a/b/; e id", "{e id}", ":a;e",
    ];

    #[test]
    fn plain_scripts_are_told_from_the_rest() {
        for plain in PLAIN {
            assert!(only_prints_and_replaces(plain), "{plain}");
        }
        for more in MORE {
            assert!(!only_prints_and_replaces(more), "{more}");
        }
    }
}
