//! Runs a test in a separate process, by starting this program again for that test. No other test in the process can
//! then change its descriptors, children or user.

use std::process::Command;

/// Set in the process that is started for one test.
const ALONE: &str = "WORKDEN_TEST_ALONE";

/// Runs the body of a test in a separate process, with a separate directory for temporary files.
pub(crate) fn alone(body: impl FnOnce()) {
    alone_by(&[], body);
}

/// Does the same, with a command that starts the process.
pub(crate) fn alone_by(starter: &[&str], body: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some() {
        return body();
    }
    let own = std::env::current_exe().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let mut command = match starter {
        [] => Command::new(own),
        [program, words @ ..] => {
            let mut command = Command::new(program);
            command.args(words).arg(own);
            command
        }
    };
    passes(command.env(ALONE, "1").env("TMPDIR", temporary.path()), name_of(&body));
}

/// Runs one test of this program with a command that already names the program.
pub(crate) fn passes(command: &mut Command, test: &str) {
    let ran = command.args(["--exact", test, "--nocapture"]).output().unwrap();
    let printed = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{printed}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(printed.contains("test result: ok. 1 passed"), "`{test}` is not a test: {printed}");
}

/// Returns the name of the test that contains this closure or block.
pub(crate) fn name_of<T>(_body: &T) -> &'static str {
    let path = std::any::type_name::<T>();
    let path = path.split("::{{closure}}").next().unwrap_or(path);
    path.split_once("::").map_or(path, |(_program, test)| test)
}
