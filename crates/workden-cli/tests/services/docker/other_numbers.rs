//! Mounts of a daemon that numbers files differently, as one in a virtual machine does: they are proven by what both
//! sides see, and a directory that only has the same name is refused.
//!
//! The command line runs in a mount namespace in which another file system lies over the directory; the daemon sees
//! the directory itself.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use crate::docker::places::BUSYBOX;

/// Runs `workden run` in a container, after `mount` in its mount namespace. `$1` is the directory.
fn run(directory: &Path, mount: &str, command: &str) -> Output {
    let script =
        format!("{mount} && cd \"$1\" && exec \"$2\" run --sandbox docker --image {BUSYBOX} -- sh -c '{command}'");
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh"]);
    unshare.arg(directory).arg(env!("CARGO_BIN_EXE_workden")).output().unwrap()
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A project with a git directory, whose files are protected by mounts of their own.
fn project() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join(".git/hooks")).unwrap();
    fs::write(place.path().join(".git/config"), "[core]\n").unwrap();
    fs::write(place.path().join("file"), "content\n").unwrap();
    place
}

#[test]
fn a_directory_with_other_numbers_is_proven_by_a_token() {
    let place = project();
    let command = "cat file; echo made > new; echo x >> .git/config || echo protected; ls -A";
    let output = run(place.path(), "bindfs \"$1\" \"$1\"", command);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed, "content\nprotected\n.git\nfile\nnew\n", "{}", told(&output));
    assert_eq!(fs::read_to_string(place.path().join("new")).unwrap(), "made\n");
}

#[test]
fn another_directory_of_the_same_name_is_refused() {
    let (place, other) = (project(), project());
    // With the same names, so that only the token tells them apart.
    let mount = format!("mount --bind {} \"$1\"", other.path().display());
    let output = run(place.path(), &mount, "cat file");
    assert_eq!(output.status.code(), Some(125), "{}", told(&output));
    assert!(told(&output).contains("is not the intended"), "{}", told(&output));
    for directory in [place, other] {
        let names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "a token was left behind: {names:?}");
    }
}

#[test]
fn a_directory_that_cannot_be_marked_is_refused() {
    // A copy would have the same names.
    let (place, other) = (project(), project());
    let copy = format!("mount --bind {} \"$1\" && mount -o remount,ro,bind \"$1\"", other.path().display());
    for mount in ["bindfs -r \"$1\" \"$1\"", &copy] {
        let output = run(place.path(), mount, "cat file");
        assert_eq!(output.status.code(), Some(125), "{}", told(&output));
        assert!(told(&output).contains("cannot verify the mount at `/workspace"), "{}", told(&output));
    }
}
