//! Validates packages: a name in the index of a package manager, and a version.
//!
//! Invariant: a package that passes is one word, is not an option, and names only a package of the index: not a path,
//! an address, a file beside the Dockerfile, or a package to remove.

use workden_core::Result;

use super::{
    PackageManager,
    field_errors::{shown, wrong},
};

const LONGEST: usize = 200;
/// Suffixes that pip and npm read as a file anywhere in a name.
const ARCHIVES: [&str; 12] =
    [".zip", ".whl", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz", ".tar.xz", ".txz", ".tlz", ".tar.lz", ".tar.lzma"];
/// The comparison operators of pip, longer ones before their prefixes.
const COMPARISONS: [&str; 8] = ["===", "~=", "==", "!=", "<=", ">=", "<", ">"];

/// Checks one package of this manager.
pub(super) fn check(manager: PackageManager, package: &str) -> Result<()> {
    let (is_package, example) = match manager {
        PackageManager::Pip => (is_pip(package), "six, requests[socks]>=2,<3, torch~=2.1 or numpy==2.0.*"),
        PackageManager::Npm => (is_npm(package), "vite, @types/react, vite@^5.1.0 or react@latest"),
        PackageManager::Apt => (is_apt(package), "git, libfoo-dev or nginx=1.22.1-9"),
        PackageManager::Cargo => (is_cargo(package), "ripgrep or ripgrep@14"),
    };
    if is_package && package.len() <= LONGEST {
        return Ok(());
    }
    let why = format!("invalid {} package `{}`", manager.program(), shown(package));
    let hint = format!("use a name and a version without spaces, like {example}; no options, paths or addresses");
    Err(wrong(&why, &hint))
}

impl PackageManager {
    /// Returns the program that installs packages.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Pip => "pip",
            Self::Npm => "npm",
            Self::Apt => "apt-get",
            Self::Cargo => "cargo",
        }
    }
}

/// Accepts `name[extra,extra]>=1,<2`.
fn is_pip(package: &str) -> bool {
    let name_end = package.find(['[', '<', '>', '=', '!', '~']).unwrap_or(package.len());
    let (name, rest) = package.split_at(name_end);
    let (extras, versions) = match rest.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((extras, versions)) => (Some(extras), versions),
            None => return false,
        },
        None => (None, rest),
    };
    let is_name = |name: &str| {
        is_made_of(name, "._-")
            && name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name.ends_with(|last: char| last.is_ascii_alphanumeric())
    };
    let is_clause = |clause: &str| {
        let version = COMPARISONS.iter().find_map(|comparison| clause.strip_prefix(comparison));
        version.is_some_and(|version| is_made_of(version, ".*+!_-"))
    };
    is_name(name)
        && !is_archive(package)
        && extras.is_none_or(|extras| extras.split(',').all(is_name))
        && (versions.is_empty() || versions.split(',').all(is_clause))
}

/// Accepts `name` and `@scope/name`, each with an optional `@version`.
fn is_npm(package: &str) -> bool {
    let (scope, rest) = match package.strip_prefix('@') {
        Some(scoped) => match scoped.split_once('/') {
            Some((scope, rest)) => (Some(scope), rest),
            None => return false,
        },
        None => (None, package),
    };
    let (name, version) = match rest.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (rest, None),
    };
    let is_name =
        |name: &str| is_made_of(name, "._-~") && name.starts_with(|first: char| first.is_ascii_alphanumeric());
    // A version that starts with a dot would be a path.
    let is_version = |version: &str| {
        is_made_of(version, ".^~<>=*+_-")
            && version.starts_with(|first: char| first.is_ascii_alphanumeric() || "^~<>=*".contains(first))
    };
    scope.is_none_or(is_name) && is_name(name) && version.is_none_or(is_version) && !is_archive(package)
}

/// Accepts `name` and `name:architecture`, each with an optional `=version`.
fn is_apt(package: &str) -> bool {
    let (name, version) = match package.split_once('=') {
        Some((name, version)) => (name, Some(version)),
        None => (package, None),
    };
    let (name, architecture) = match name.split_once(':') {
        Some((name, architecture)) => (name, Some(architecture)),
        None => (name, None),
    };
    let is_lower = |text: &str, others: &str| {
        is_made_of(text, others)
            && !text.contains(|each: char| each.is_ascii_uppercase())
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
    };
    let is_version = |version: &str| is_made_of(version, ".+~:*-") && !version.starts_with('-');
    name.len() >= 2
        && is_lower(name, "+.-")
        && architecture.is_none_or(|architecture| is_lower(architecture, "-"))
        && version.is_none_or(is_version)
        // `name-` makes apt remove the package.
        && !name.ends_with('-')
        && !package.ends_with('-')
}

/// Accepts `name` or `name@version`.
fn is_cargo(package: &str) -> bool {
    let (name, version) = match package.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (package, None),
    };
    let is_version = |version: &str| {
        is_made_of(version, ".^~<>=*+-")
            && version.starts_with(|first: char| first.is_ascii_digit() || "^~<>=*".contains(first))
    };
    is_made_of(name, "_-")
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && version.is_none_or(is_version)
}

/// Whether a text is not empty and has only letters, digits and these characters.
fn is_made_of(text: &str, others: &str) -> bool {
    !text.is_empty() && text.chars().all(|each| each.is_ascii_alphanumeric() || others.contains(each))
}

fn is_archive(package: &str) -> bool {
    let lower = package.to_ascii_lowercase();
    ARCHIVES.iter().any(|ending| lower.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::{PackageManager::*, *};

    #[test]
    fn versions_are_written_as_each_manager_has_them() {
        for (manager, fine) in [
            (
                Pip,
                &[
                    "six",
                    "torch>=2",
                    "requests[socks]>=2,<3",
                    "pkg==1.0.*",
                    "a~=1.4",
                    "a!=1.0",
                    "a===1.0+local",
                    "zope.interface",
                    "a[b,c]",
                    "ruamel.yaml<0.18",
                    "pkg==1!2.0",
                    "A_b-c",
                ][..],
            ),
            (
                Npm,
                &[
                    "react",
                    "@types/react",
                    "vite@^5.1.0",
                    "react@latest",
                    "@types/node@20.x",
                    "a@>=1",
                    "a@~1.2",
                    "lodash.get",
                ],
            ),
            (
                Apt,
                &[
                    "git",
                    "libfoo-dev",
                    "nginx=1.2-3",
                    "g++",
                    "libc6:i386",
                    "x11-apps=1:2.0~rc1+b2",
                    "python3.11",
                    "a0=1.*",
                ],
            ),
            (Cargo, &["ripgrep", "ripgrep@14", "cargo-edit@^0.12", "a_b@=1.0.0-rc.1"]),
        ] {
            for package in fine {
                assert_eq!(check(manager, package), Ok(()), "{package}");
            }
        }
    }

    #[test]
    fn nothing_else_reaches_a_manager() {
        let nowhere = [
            "",
            "-r",
            "--index-url=http://x",
            "-e.",
            " six",
            "six ",
            "a b",
            "a\nRUN x",
            "a\r",
            "a\0",
            "a\u{1b}[2J",
            "a;b",
            "a|b",
            "a&b",
            "a$b",
            "$(b)",
            "`b`",
            "a\\",
            "a\"b",
            "a'b",
            "a#b",
            "a(b)",
            "{a}",
            "a?b",
            "http://x/y",
            "git+https://x/y",
            "file:///x",
            "./a",
            "../a",
            "/a",
            "a/b",
            "~/a",
            "C:\\a",
            ".",
            "..",
            "é",
            "a\u{a0}b",
            "*",
            "a,b",
            "a@http://x",
            "a@file:x",
            "a@../b",
            "a@./b",
            "a @ b",
            &"a".repeat(201),
        ];
        for manager in [Pip, Npm, Apt, Cargo] {
            for package in nowhere {
                let error = check(manager, package).expect_err(package);
                assert!(error.sentence().contains(manager.program()), "{error}");
                assert!(!error.to_string().contains(['\r', '\0', '\u{1b}']), "{error:?}");
            }
        }
        for (manager, wrong) in [
            (
                Pip,
                &[
                    "a.zip",
                    "a.tar.gz",
                    "x.WHL",
                    "a==",
                    "a==1,",
                    "a[",
                    "a[]",
                    "a[b",
                    "a[b]c",
                    "a[-b]",
                    "a>=1 ",
                    "a<>1",
                    "a=1",
                    "a-",
                    "a@b",
                    "a;python_version<'3'",
                ][..],
            ),
            (
                Npm,
                &[
                    "@types", "@/x", "@a/", "@a/b/c", "a@", "a@b@c", "a.tgz", "a@x.tgz", "a@.b", "_a", "a@npm:b",
                    "a@b/c", "a@||",
                ],
            ),
            (Apt, &["A", "a", "git-", "git=1-", "git=", "git:", "git/stable", "git=-1", "+git", "git*", "git@1"]),
            (Cargo, &["1a", "a@", "a@b", "a@1@2", "a.b", "a=1"]),
        ] {
            for package in wrong {
                assert!(check(manager, package).is_err(), "{manager:?} {package}");
            }
        }
    }
}
