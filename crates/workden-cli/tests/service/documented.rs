//! What docs/service.md shows first is what a newcomer types first: its lines run as they stand.

use std::{path::Path, process::Command};

use crate::served::Served;

/// Where the document says that the service is.
const DOCUMENTED: &str = "http://127.0.0.1:8420";

#[test]
fn the_first_calls_of_the_guide_work_as_they_stand() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/service.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let (_, after) = guide.split_once("## Use it").unwrap();
    let lines = after.split_once("```sh\n").unwrap().1.split_once("```").unwrap().0;
    assert!(lines.contains(DOCUMENTED) && lines.lines().count() >= 4, "{lines}");
    let (_state, served) = Served::new();
    let work = tempfile::tempdir().unwrap();
    std::fs::write(work.path().join("hello.py"), "print('hello from the guide')\n").unwrap();
    let script = format!("set -eu\n{}", lines.replace(DOCUMENTED, &served.url));
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).current_dir(work.path()).env("KEY", &served.key).env("NO_PROXY", "127.0.0.1");
    let done = shell.output().unwrap();
    let printed = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{printed}{}", String::from_utf8_lossy(&done.stderr));
    assert!(printed.contains(r"hello from the guide\n") && !printed.contains(r#""error""#), "{printed}");
}
