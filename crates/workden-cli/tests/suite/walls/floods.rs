//! Floods that the limits stop: the message names the limit, and the host keeps its memory.

use crate::{
    counts::times,
    walls::host::{Host, Runner},
};

#[test]
fn a_memory_bomb_is_killed_and_the_limit_is_named() {
    let host = Host::start(&Runner::root());
    let bomb = "my @x; push @x, 'a' x 1000000 while 1";
    let output = host.run(&["--memory", "64M", "--timeout", "600"]).args(["perl", "-e", bomb]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(137), "{told}");
    assert!(told.contains("memory limit 64 MB"), "{told}");
    let after = host.run(&["--memory", "64M"]).args(["echo", "fine"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&after.stdout), "fine\n");
}

#[test]
fn an_ordinary_user_without_a_cgroup_is_refused_a_memory_limit_and_told_what_to_do() {
    let host = Host::start(&Runner::ordinary_user());
    let output = host.run(&["--memory", "64M"]).args(["echo", "ran"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{told}");
    assert!(told.contains("memory") && told.contains("--limits best-effort"), "{told}");
    let output = host.run(&["--memory", "64M", "--limits", "best-effort"]).args(["echo", "ran"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ran\n");
}

/// More output than fits into the address space goes through `workden run --json`, which keeps a head and a tail. A
/// process that held all of it would hit the outer limit.
#[test]
fn gigabytes_of_output_are_bounded() {
    let host = Host::start(&Runner::root());
    let flood = format!("echo first; head -c {} /dev/zero | tr '\\0' x; echo; echo last", times("2200M", "10G"));
    let options = ["--json", "--timeout", "1200"];
    let output = host.run_within(2_000_000_000, &options).args(["sh", "-c", &flood]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.stdout.len() < 1_000_000, "{} bytes came back", output.stdout.len());
    let beginning: String = told.chars().take(300).collect();
    assert!(told.contains("first") && told.contains("last"), "{beginning} {}", String::from_utf8_lossy(&output.stderr));
}
