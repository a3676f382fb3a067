//! Patterns that count from the project: `src/**` means the `src` of the project, at whatever path the agent sees it.

use workden_core::VirtualPath;
use workden_policy::{Operation, Rule, Ruleset};

/// Puts the path of the project before relative patterns and examples. Patterns of commands stay as they are.
pub(super) fn rooted(rules: &Ruleset, project: &VirtualPath) -> Ruleset {
    let mut all = rules.clone();
    for operation in Operation::ALL.into_iter().filter(|operation| *operation != Operation::Execute) {
        let rules = all.of_mut(operation).iter_mut().flat_map(|rules| &mut rules.rules);
        rules.for_each(|rule| root(rule, project));
    }
    all
}

fn root(rule: &mut Rule, project: &VirtualPath) {
    let prefix = match project.is_root() {
        true => String::new(),
        false => escaped(project.as_str()),
    };
    let patterns = std::iter::once(&mut rule.pattern).chain(&mut rule.except);
    patterns.filter(|text| is_relative(text)).for_each(|text| *text = format!("{prefix}/{}", without_dot(text)));
    let plain = if project.is_root() { "" } else { project.as_str() };
    // An example without a `/` is a file of the project, too.
    let examples = rule.matches.iter_mut().chain(&mut rule.not_match);
    examples.filter(|text| !text.starts_with('/')).for_each(|text| *text = format!("{plain}/{}", without_dot(text)));
}

/// Whether a pattern counts from the project: neither an absolute path, nor a name in any directory.
fn is_relative(pattern: &str) -> bool {
    pattern.contains('/') && !pattern.starts_with('/') && !pattern.starts_with("**/")
}

/// Directories that a machine has at its root.
const MACHINE: [&str; 20] = [
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt", "proc", "root", "run", "sbin",
    "srv", "sys", "tmp", "usr", "var",
];

/// Whether an absolute pattern is about a directory that neither a machine has, nor one of these paths is in.
pub(super) fn is_elsewhere(pattern: &str, paths: &[VirtualPath]) -> bool {
    let Some(rest) = pattern.strip_prefix('/') else { return false };
    let first = rest.split('/').next().unwrap_or_default();
    let is_plain = !first.is_empty() && !first.contains(['*', '?', '[', '{', '\\']);
    let has_first = |path: &VirtualPath| path.is_root() || path.as_str().split('/').nth(1) == Some(first);
    is_plain && !MACHINE.contains(&first) && !paths.iter().any(has_first)
}

fn without_dot(text: &str) -> &str {
    text.strip_prefix("./").unwrap_or(text)
}

/// Escapes characters that have a meaning in a pattern.
fn escaped(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for character in path.chars() {
        if "*?[]{}\\!,".contains(character) {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_pattern_that_no_path_can_match_is_known() {
        let paths = ["/workspace", "/data/in"].map(|path| VirtualPath::parse(path).unwrap());
        for (pattern, expected) in [
            ("/src/**", true),
            ("/workspace/src/**", false),
            ("/data/**", false),
            ("/etc/passwd", false),
            ("/{src,docs}/**", false),
            ("src/**", false),
            ("*.pem", false),
        ] {
            assert_eq!(is_elsewhere(pattern, &paths), expected, "{pattern}");
        }
        assert!(!is_elsewhere("/src/**", &[VirtualPath::root()]));
    }

    #[test]
    fn a_pattern_with_a_slash_counts_from_the_project_and_a_name_from_anywhere() {
        let at = |project: &str, pattern: &str| {
            let rules: Ruleset =
                toml::from_str(&format!("[read]\nrules = [{{ pattern = '{pattern}', action = 'deny' }}]\n")).unwrap();
            let rooted = rooted(&rules, &VirtualPath::parse(project).unwrap());
            rooted.read.unwrap().rules[0].pattern.clone()
        };
        for (pattern, with_sandbox, without) in [
            ("src/**", "/workspace/src/**", "/src/**"),
            ("./src/*.rs", "/workspace/src/*.rs", "/src/*.rs"),
            ("{src,docs}/**", "/workspace/{src,docs}/**", "/{src,docs}/**"),
            ("*.pem", "*.pem", "*.pem"),
            ("**/secrets/*", "**/secrets/*", "**/secrets/*"),
            ("/etc/**", "/etc/**", "/etc/**"),
        ] {
            assert_eq!((at("/workspace", pattern).as_str(), at("/", pattern).as_str()), (with_sandbox, without));
        }
        assert_eq!(at("/my [dir]", "a/b"), "/my \\[dir\\]/a/b");
    }
}
