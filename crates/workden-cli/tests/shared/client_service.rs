//! A running `workden serve` for the clients of other people, and where `cargo xtask clients` has installed those.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

#[path = "state_directory.rs"]
pub(crate) mod state_directory;

use state_directory::StateDirectory;

/// A running service with its first key, an administrator's. It ends with this value.
pub(crate) struct ClientService {
    program: Child,
    pub(crate) url: String,
    pub(crate) key: String,
    _state: StateDirectory,
}

impl ClientService {
    pub(crate) fn start() -> Self {
        Self::start_with("")
    }

    /// Starts a service with the text of a `serve.toml`.
    pub(crate) fn start_with(config: &str) -> Self {
        let state = StateDirectory::new();
        let file = state.path().join("serve.toml");
        std::fs::write(&file, config).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_workden"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--state"]).arg(state.path());
        command.arg("--config").arg(file).stderr(Stdio::piped());
        let mut program = command.spawn().unwrap();
        let mut lines = BufReader::new(program.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut after = |start: &str| lines.find_map(|line| line.strip_prefix(start).map(str::to_owned)).unwrap();
        let url = after("workden: serving ");
        let key = after("workden: your key, shown once: ");
        std::thread::spawn(move || lines.for_each(|line| drop(writeln!(std::io::stderr(), "{line}"))));
        Self { program, url, key, _state: state }
    }
}

impl Drop for ClientService {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.program.id().to_string()]).status();
        let _ = self.program.wait();
    }
}

/// Runs a client.
pub(crate) fn output_of(client: &mut Command) -> Output {
    client.env("NO_PROXY", "127.0.0.1").env_remove("PYTHONPATH").output().unwrap()
}

/// Returns what a client printed, which must have succeeded.
pub(crate) fn said(output: &Output) -> String {
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{wrong}");
    said.into_owned()
}

/// Returns the directory of a client, which must be of the current list.
pub(crate) fn home(name: &str, list: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let home = target.join("clients").join(name);
    let installed = std::fs::read_to_string(home.join("installed")).unwrap_or_default();
    assert!(
        installed == list,
        "the client in {} is missing or of another version\nhint: run cargo xtask clients",
        home.display()
    );
    home
}
