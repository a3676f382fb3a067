//! Finds paths of the machine on which a text was written: they mean nothing elsewhere, and reveal the author.

use super::Finding;

/// The directories of people and build machines. Written in two pieces, or this file would be its own first finding.
const PRIVATE: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("/fa", "rm/"),
];

/// User names that examples use, and the user of every sandbox of Daytona, whose home is part of that interface.
const EXAMPLE_USERS: &[&str] = &["user", "agent", "me", "you", "daytona"];

pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    // The commands of a corpus are about any machine.
    if path.contains("/corpus/") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for place in PRIVATE {
            let found = line.match_indices(place).find(|(at, _)| is_private(line, *at, place));
            if let Some((at, _)) = found {
                let shown: String = line[at..].chars().take(30).take_while(|c| !c.is_whitespace()).collect();
                findings.push(Finding::new(path, index + 1, format!("a path of one machine: `{shown}`")));
            }
        }
    }
    findings
}

/// Whether an absolute path starts here (`docs/work/a` does not), and leads into a home or a build directory.
fn is_private(line: &str, at: usize, place: &str) -> bool {
    let before = line[..at].chars().next_back();
    if before.is_some_and(|c| c.is_alphanumeric() || "_-.~}*".contains(c)) {
        return false;
    }
    let rest = &line[at + place.len()..];
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).unwrap_or(rest.len());
    let name = &rest[..end];
    !name.is_empty() && !EXAMPLE_USERS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_path_into_a_home_is_found() {
        for (before, place, after, expected) in [
            ("cd ", PRIVATE[0], "marta/code", 1),
            ("\"", PRIVATE[1], ".cargo\"", 1),
            ("file://", PRIVATE[0], "marta", 1),
            ("", PRIVATE[2], "marta/x", 1),
            ("(", PRIVATE[3], "main)", 1),
            ("", PRIVATE[4], "a", 1),
            // Texts that only look like one.
            ("cd ", PRIVATE[0], "user/code", 0),
            ("cd ", PRIVATE[0], "daytona/code", 0),
            ("cd ", PRIVATE[0], "daytonas/code", 1),
            ("", PRIVATE[0], "<name>/code", 0),
            ("docs", PRIVATE[3], "plan.md", 0),
            ("..", PRIVATE[3], "main", 0),
            ("https://example.org", PRIVATE[0], "marta", 0),
        ] {
            let line = format!("{before}{place}{after}");
            assert_eq!(check("a.md", &line).len(), expected, "{line}");
        }
    }

    #[test]
    fn the_sandboxs_own_directory_is_fine() {
        assert!(check("a.md", "commands see `/workspace/src` and `/workspace`").is_empty());
    }

    #[test]
    fn a_finding_names_the_line() {
        let text = format!("one\ntwo {}marta/x three\n", PRIVATE[0]);
        let findings = check("a.md", &text);
        assert_eq!(findings[0].line, 2);
        assert!(findings[0].what.ends_with("marta/x`"), "{}", findings[0]);
    }
}
