//! Requires packages from the public registries, so that every reader can build this. A mirror in a lock file or a
//! configuration would be a private address.

use super::Finding;

/// In files of this name, a line with the first must also have the second.
const EXPECTED: &[(&str, &str, &str)] = &[
    ("Cargo.lock", "source = ", "\"registry+https://github.com/rust-lang/crates.io-index\""),
    ("package-lock.json", "\"resolved\": \"http", "\"https://registry.npmjs.org/"),
    ("uv.lock", "registry = ", "\"https://pypi.org/simple\""),
];

/// Settings that select another registry, in files that configure a package manager.
const REDIRECTIONS: &[&str] =
    &["[source.", "[registries", "replace-with", "registry-index", "index-url", "index_url", "find-links"];

pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let lines = || text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let mut findings = Vec::new();
    for (file, marker, expected) in EXPECTED {
        if name == *file {
            let odd = lines().filter(|(_, line)| line.contains(marker) && !line.contains(expected));
            findings
                .extend(odd.map(|(number, line)| Finding::new(path, number, format!("not from {expected}: {line}"))));
        }
    }
    if configures_packages(path, name) {
        let odd = lines().filter(|(_, line)| REDIRECTIONS.iter().any(|redirection| line.contains(redirection)));
        findings.extend(odd.map(|(number, line)| Finding::new(path, number, format!("another registry: {line}"))));
    }
    findings
}

fn configures_packages(path: &str, name: &str) -> bool {
    let ending = [".toml", ".cfg", ".conf", ".ini", ".txt", ".yml", ".yaml", ".sh"];
    // The commands of a corpus are never run.
    if path.contains("/corpus/") {
        return false;
    }
    ending.iter().any(|ending| name.ends_with(ending)) || name.starts_with(".npmrc") || path == ".ci/run"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_registries_are_named() {
        let crates_io = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
        for (path, text, expected) in [
            ("Cargo.lock", crates_io, 0),
            ("Cargo.lock", "source = \"registry+https://mirror.example/index\"\n", 1),
            ("Cargo.lock", "source = \"git+https://example.org/x\"\n", 1),
            ("web/package-lock.json", "  \"resolved\": \"https://registry.npmjs.org/a/-/a.tgz\",\n", 0),
            ("web/package-lock.json", "  \"resolved\": \"https://mirror.example/a.tgz\",\n", 1),
            ("uv.lock", "source = { registry = \"https://pypi.org/simple\" }\n", 0),
            ("uv.lock", "source = { registry = \"https://mirror.example\" }\n", 1),
            (".cargo/config.toml", "[alias]\nxtask = \"run\"\n", 0),
            (".cargo/config.toml", "[source.crates-io]\nreplace-with = \"mirror\"\n", 2),
            ("requirements.txt", "--extra-index-url https://mirror.example\n", 1),
            (".ci/run", "pip install --index-url https://mirror.example x\n", 1),
            ("docs/pip.md", "pass --index-url for a mirror\n", 0),
        ] {
            assert_eq!(check(path, text).len(), expected, "{path}: {text}");
        }
    }
}
