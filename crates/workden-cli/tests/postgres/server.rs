//! A Postgres of the tests, which starts again when it is killed, and ends with the process of the tests.

use std::{
    fs::Permissions,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// How long it may take to start.
const START: Duration = Duration::from_secs(120);
/// The password of its user, so that the tests see that it is shown nowhere.
pub(crate) const PASSWORD: &str = "only-in-the-url";

/// Starts the server again whenever it ends, until this shell is told to end.
const KEEP_RUNNING: &str = r#"
home=$1; shift
trap 'touch "$home/over"; kill -INT $server 2>/dev/null; wait $server; rm -rf "$home"; exit' TERM
until [ -e "$home/over" ]; do "$@" >>"$home/log" 2>&1 & server=$!; wait $server; sleep 0.2; done
"#;

/// A running server.
pub(crate) struct Postgres {
    keeper: Child,
    programs: PathBuf,
    home: PathBuf,
    port: u16,
}

impl Postgres {
    pub(crate) fn start() -> Self {
        let home = TempDir::new().unwrap().keep();
        // Its user is another one.
        std::fs::set_permissions(&home, Permissions::from_mode(0o777)).unwrap();
        let programs = programs();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let file = home.join("password");
        std::fs::write(&file, PASSWORD).unwrap();
        let data = home.join("data");
        let mut create = as_its_user(&programs.join("initdb"));
        create.args(["--no-sync", "--username=workden", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]);
        succeed(create.arg(format!("--pwfile={}", file.display())).arg(&data));
        let keeper = keep_running(&home, &programs, &data, port);
        let postgres = Self { keeper, programs, home, port };
        postgres.wait();
        postgres
    }

    /// Returns the URL of a database, which is created if there is none.
    pub(crate) fn database(&self, name: &str) -> String {
        let there = self.ask("postgres", &format!("SELECT 1 FROM pg_database WHERE datname = '{name}'"));
        if there.is_empty() {
            self.ask("postgres", &format!("CREATE DATABASE {name}"));
        }
        format!("postgres://workden:{PASSWORD}@127.0.0.1:{}/{name}", self.port)
    }

    /// Runs a statement, and returns what it prints.
    pub(crate) fn ask(&self, database: &str, statement: &str) -> String {
        let output = succeed(self.client(database).args(["--command", statement]));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Ends all its processes at once, as a crash does. It starts again by itself.
    pub(crate) fn crash(&self) {
        let data = self.home.join("data");
        succeed(as_its_user(&self.programs.join("pg_ctl")).args(["stop", "--mode=immediate", "--pgdata"]).arg(data));
    }

    /// Waits until it answers.
    pub(crate) fn wait(&self) {
        let start = Instant::now();
        while !self.client("postgres").args(["--command", "SELECT 1"]).output().unwrap().status.success() {
            let log = || std::fs::read_to_string(self.home.join("log")).unwrap_or_default();
            assert!(start.elapsed() < START, "Postgres does not start: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn client(&self, database: &str) -> Command {
        let mut client = Command::new(self.programs.join("psql"));
        client.args([
            "--no-psqlrc",
            "--quiet",
            "--tuples-only",
            "--no-align",
            "--username=workden",
            "--host=127.0.0.1",
        ]);
        client.arg(format!("--port={}", self.port)).args(["--dbname", database]).env("PGPASSWORD", PASSWORD);
        client
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.keeper.id().to_string()]).status();
        let _ = self.keeper.wait();
    }
}

/// Starts the server, which ends with this process. The signal of a parent's end comes when the thread ends that
/// started the program, so that is one that never ends.
fn keep_running(home: &Path, programs: &Path, data: &Path, port: u16) -> Child {
    let mut shell = Command::new("setpriv");
    shell.args(["--pdeathsig", "TERM", "sh", "-c", KEEP_RUNNING, "sh"]).arg(home);
    let server = as_its_user(&programs.join("postgres"));
    shell.arg(server.get_program()).args(server.get_args()).arg("-D").arg(data).args(["-p", &port.to_string()]);
    for setting in ["fsync=off", "listen_addresses=127.0.0.1", "max_connections=300", "unix_socket_directories="] {
        shell.args(["-c", setting]);
    }
    shell.stdin(Stdio::null());
    let (sender, started) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = sender.send(shell.spawn().unwrap());
        loop {
            std::thread::park();
        }
    });
    started.recv().unwrap()
}

/// Returns the directory of the programs of Debian's package `postgresql`, which has no links to them.
pub(crate) fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").unwrap().flatten();
    let found = versions.map(|entry| entry.path().join("bin")).find(|bin| bin.join("initdb").exists());
    found.unwrap()
}

/// Returns a command of a user that Postgres accepts: it refuses root.
fn as_its_user(program: &Path) -> Command {
    let mut command = match rustix::process::getuid().is_root() {
        true => {
            let mut setpriv = Command::new("setpriv");
            setpriv.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
            setpriv
        }
        false => Command::new(program),
    };
    // The directory of the tests may be closed to that user.
    command.current_dir("/");
    command
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}
