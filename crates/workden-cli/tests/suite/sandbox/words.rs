//! Error messages of `run`: the reason, and alternatives that work.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::project::{self, Project, Ran};

/// The user id of the ordinary user; no account has it.
const ORDINARY: u32 = 48_231;

/// The program and a directory, where an ordinary user can reach them.
struct Ordinary {
    place: TempDir,
    home: PathBuf,
}

impl Ordinary {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        project::place(Path::new(env!("CARGO_BIN_EXE_workden")), &place.path().join("workden"));
        let home = place.path().join("home");
        fs::create_dir(&home).unwrap();
        if rustix::process::getuid().is_root() {
            chown(&home, Some(ORDINARY), Some(ORDINARY)).unwrap();
        }
        Self { place, home }
    }

    /// Runs `workden` as that user, or as the user of the tests if that is not root.
    fn workden(&self, words: &[&str]) -> Ran {
        let program = self.place.path().join("workden");
        let mut command = Command::new(&program);
        if rustix::process::getuid().is_root() {
            let id = ORDINARY.to_string();
            command = Command::new("setpriv");
            command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(program);
        }
        Ran::of(command.args(words).current_dir(&self.home).output().unwrap())
    }
}

fn limits_of(user: &Ordinary) -> Vec<(String, Value)> {
    let document: Value = serde_json::from_str(&user.workden(&["doctor", "--json"]).out).unwrap();
    let findings = document["findings"].as_array().unwrap();
    let limits = findings.iter().filter(|finding| finding["need"] == "limits");
    limits.map(|finding| (finding["name"].as_str().unwrap().to_owned(), finding["outcome"].clone())).collect()
}

#[test]
fn a_limit_that_the_doctor_says_works_is_held_and_one_that_is_missing_is_refused() {
    let user = Ordinary::new();
    let limits = limits_of(&user);
    assert_eq!(limits.len(), 3);
    for (name, outcome) in limits {
        let option = match name.as_str() {
            "memory_limit" => ["--memory", "64M"],
            "cpu_limit" => ["--cpus", "1"],
            "process_limit" => ["--pids", "20"],
            other => panic!("{other} is new"),
        };
        let works = outcome["works"].is_string();
        let ran = user.workden(&[&["run"], &option[..], &["--", "true"]].concat());
        assert_eq!(ran.code, Some(if works { 0 } else { 125 }), "{name}: {outcome} {ran:?}");
        if name == "process_limit" {
            assert!(works, "without a group the user namespace holds it: {outcome}");
            let many = "for i in $(seq 60); do sleep 60 & done";
            let ran = user.workden(&["run", "--pids", "20", "--", "sh", "-c", many]);
            assert!(ran.err.contains("annot fork"), "{ran:?}");
        } else if !works {
            assert!(ran.err.contains("\n         `--limits best-effort` runs without"), "{name}: {ran:?}");
            assert!(!ran.err.contains("--sandbox host"), "that could not hold it either: {ran:?}");
        }
    }
}

#[test]
fn doing_without_limits_is_no_choice_where_a_wall_is_missing() {
    let words = "run --limits best-effort --memory 1G -- true";
    let script = format!("echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" {words}");
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "--", "sh", "-c", &script, env!("CARGO_BIN_EXE_workden")]);
    let ran = Ran::of(unshare.current_dir(Project::new().path()).output().unwrap());
    assert!(ran.err.contains("`--sandbox host` runs") && !ran.err.contains("best-effort"), "{ran:?}");
}

#[test]
fn a_place_that_cannot_be_made_is_refused_with_one_that_can() {
    let project = Project::new();
    fs::create_dir(project.at("data")).unwrap();
    for places in [&["--mount", "data:/usr/share/new"][..], &["--mount", "data:/a:ro", "--mount", "data:/a/new"]] {
        let ran = project.run(&[places, &["--", "true"]].concat());
        assert_eq!(ran.code, Some(125), "{ran:?}");
        let (sentence, hint) = ran.err.split_once('\n').unwrap();
        assert!(sentence.ends_with("new`: the path is read-only"), "{ran:?}");
        assert!(hint.starts_with("hint: use a path that exists") && hint.contains("`/data`"), "{ran:?}");
        assert!(!hint.contains("choices:"), "{ran:?}");
    }
    fs::create_dir(project.at("data/new")).unwrap();
    let there = project.run(&["--mount", "data:/a:ro", "--mount", "data:/a/new", "--", "ls", "/a/new"]);
    assert_eq!(there.printed(), "new\n");
}

#[test]
fn a_sandbox_in_a_sandbox_is_refused_for_what_it_is() {
    let project = Project::new();
    let program = format!("{}:/opt/workden:ro", env!("CARGO_BIN_EXE_workden"));
    let inside = |words: &[&str]| project.run(&[&["--mount", &program, "--", "/opt/workden"], words].concat());
    let nested = inside(&["run", "--", "true"]);
    let expected = "error: the sandbox cannot start: sandboxes cannot be nested\n\
                    hint: run the command directly, it is isolated already; or start another sandbox on the host\n";
    assert_eq!((nested.code, nested.err.as_str()), (Some(125), expected));
    let doctor = inside(&["doctor"]);
    assert!(doctor.out.contains("sandboxes cannot be nested") && !doctor.out.contains("container"), "{doctor:?}");
    assert_eq!(inside(&["run", "--sandbox", "host", "--", "echo", "as it is"]).printed(), "as it is\n");
}
