//! The client of sandboxd, unchanged, against a real `workden serve` with Linux sandboxes. It has a test binary of its own
//! because it needs packages of other people: `cargo xtask clients` installs them.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

/// A running service with its first key.
struct SandboxdService {
    program: Child,
    url: String,
    key: String,
    _state: TempDir,
}

impl SandboxdService {
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

    /// Runs a script, and returns what it printed.
    fn run(&self, script: &str) -> String {
        let output = Command::new(python())
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sandboxd").join(script))
            .env("SANDBOXD_URL", format!("{}/sandboxd", self.url))
            .env("SANDBOXD_TOKEN", &self.key)
            .env("NO_PROXY", "127.0.0.1")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env_remove("PYTHONPATH")
            .output()
            .unwrap();
        let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}\n{wrong}");
        said.into_owned()
    }
}

impl Drop for SandboxdService {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.program.id().to_string()]).status();
        let _ = self.program.wait();
    }
}

/// Returns the interpreter with the client, which must be of the current list.
fn python() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let home = target.join("clients/sandboxd");
    let installed = std::fs::read_to_string(home.join("installed")).unwrap_or_default();
    let is_current = installed == include_str!("requirements.txt");
    assert!(
        is_current,
        "the client in {} is missing or of another version\nhint: run cargo xtask clients",
        home.display()
    );
    home.join("bin/python")
}

#[test]
fn the_client_works_unchanged_and_its_attacks_are_refused() {
    let parts = SandboxdService::start().run("everything.py");
    assert_eq!(parts.lines().collect::<Vec<_>>(), ["runs", "files", "sessions", "events", "archives", "refusals"]);
}
