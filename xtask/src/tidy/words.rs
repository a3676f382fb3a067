//! Rejects indefinite pronouns in our text: the subject of a sentence is a named thing or "you", so that a reader need
//! not guess who is meant.

use super::Finding;

/// Written in two pieces, or this file would be its own first finding.
const WORDS: &[&str] = &[
    concat!("who", "ever"),
    concat!("some", "body"),
    UNIX_USER,
    concat!("any", "body"),
    concat!("every", "body"),
    concat!("some", "one"),
    concat!("any", "one"),
];

/// The word that is also the name of a user.
const UNIX_USER: &str = concat!("no", "body");

/// Files whose text is not ours.
const EXEMPT: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT", "Cargo.lock"];

pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    if EXEMPT.contains(&path) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let lower = line.to_ascii_lowercase();
        // The words of a name count too: the name of a test is a sentence.
        for word in lower.split(|c: char| !c.is_ascii_alphanumeric()) {
            if WORDS.contains(&word) && !is_unix_user(&lower, word) {
                findings.push(Finding::new(path, index + 1, format!("`{word}`: name the thing, or say \"you\"")));
            }
        }
    }
    findings
}

/// Whether the word is the name of the user: quoted, in a user database, or an argument of `chown`.
fn is_unix_user(line: &str, word: &str) -> bool {
    let quoted = || ["\"", "'", "`"].iter().any(|quote| line.contains(&format!("{quote}{word}{quote}")));
    let in_database = || line.contains(&format!("{word}:")) || line.contains("65534");
    word == UNIX_USER && (quoted() || in_database() || line.contains("chown "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vague_subject_is_found_and_the_unix_user_is_not() {
        let (vague, user) = (WORDS[0], UNIX_USER);
        for (line, expected) in [
            (format!("// {vague} calls this waits"), 1),
            (format!("{} and {vague}", WORDS[1].to_uppercase()), 2),
            ("// the caller waits".to_owned(), 0),
            (format!("fn {vague}_calls_this_waits() {{"), 1),
            (format!("runs as `{user}`"), 0),
            (format!("{user}:x:65534:65534:{user}:/:/bin/false"), 0),
            (format!("chown -R {user} /"), 0),
            (format!("{user} may read it"), 1),
        ] {
            assert_eq!(check("a.rs", &line).len(), expected, "{line}");
        }
    }

    #[test]
    fn licences_are_not_ours() {
        assert!(check("LICENSE-MIT", WORDS[0]).is_empty());
    }
}
