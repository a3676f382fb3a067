//! The suffix of a file name, and lists of allowed suffixes.
//!
//! Every list of suffixes in workden means the same: letter case does not count, `md` and `.md` are the same, `.tar.gz`
//! is a suffix as well, an empty suffix stands for names without one, and an empty list allows nothing.

/// Returns the last suffix of a name in lower case, with its dot; empty if the name has none. A leading dot makes a
/// hidden file, not a suffix.
#[must_use]
pub fn of(name: &str) -> String {
    let name = name.to_lowercase();
    let stem = name.trim_start_matches('.');
    match stem.rfind('.') {
        Some(at) if at + 1 < stem.len() => stem[at..].to_owned(),
        _ => String::new(),
    }
}

/// A list of suffixes, prepared for matching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suffixes(Vec<String>);

impl Suffixes {
    /// Prepares a configured list.
    #[must_use]
    pub fn new(written: &[String]) -> Self {
        let normal = |suffix: &String| match suffix.trim_start_matches('.') {
            "" => String::new(),
            suffix => format!(".{}", suffix.to_lowercase()),
        };
        Self(written.iter().map(normal).collect())
    }

    /// Whether a file with this name is allowed.
    #[must_use]
    pub fn allow(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        let stem = lower.trim_start_matches('.');
        self.0.iter().any(|suffix| match suffix.as_str() {
            "" => of(name).is_empty(),
            suffix => stem.ends_with(suffix),
        })
    }

    /// Whether the list allows no file at all.
    #[must_use]
    pub fn allow_nothing(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_what_follows_the_last_dot() {
        for (name, expected) in [
            ("a.md", ".md"),
            ("A.MD", ".md"),
            ("a.tar.gz", ".gz"),
            ("Makefile", ""),
            (".md", ""),
            (".profile.md", ".md"),
            ("a.", ""),
            ("", ""),
        ] {
            assert_eq!(of(name), expected, "{name}");
        }
    }

    #[test]
    fn lists_allow_what_they_say_in_any_spelling() {
        let check = |list: &[&str], name: &str, expected: bool| {
            let list: Vec<String> = list.iter().map(ToString::to_string).collect();
            assert_eq!(Suffixes::new(&list).allow(name), expected, "{list:?} on {name}");
        };
        for list in [&[".md"][..], &["md"], &["MD"], &[".txt", ".md"]] {
            check(list, "a.md", true);
            check(list, "a.Md", true);
            check(list, ".md", false);
            check(list, "amd", false);
            check(list, "a.md.exe", false);
            check(list, "Makefile", false);
        }
        check(&["tar.gz"], "a.tar.gz", true);
        check(&[".tar.gz"], "a.gz", false);
        check(&[".gz"], "a.tar.gz", true);
        check(&[""], "Makefile", true);
        check(&[""], ".gitignore", true);
        check(&[""], "a.md", false);
        check(&[], "a.md", false);
        check(&[], "Makefile", false);
    }
}
