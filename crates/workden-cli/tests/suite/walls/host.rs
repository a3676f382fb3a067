//! The host around a sandbox: the things that must stay out of reach, and the user who starts the sandbox.

use std::{
    fmt, fs,
    io::Read,
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::{MetadataExt, PermissionsExt, chown, symlink},
            net::{SocketAddr, UnixListener},
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use tempfile::TempDir;

use crate::{
    project,
    walls::{attempts::Attempt, numbers::NUMBERS},
};

/// The user id of the ordinary user; no account has it.
pub(crate) const ORDINARY: u32 = 48_231;
/// The most address space of an attempt, in bytes.
const ADDRESS_SPACE: u64 = 16 << 30;

/// The user who starts the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    Root,
    Ordinary,
}

impl Runner {
    pub(crate) fn root() -> Self {
        Self::Root
    }

    pub(crate) fn ordinary_user() -> Self {
        Self::Ordinary
    }

    /// Returns a command as this user, under limits that hold even if the sandbox's do not.
    pub(crate) fn command(self, bytes: u64, program: &Path) -> Command {
        // A core limit of one byte writes no core file; a process that starts with 0 could not raise it.
        let outer = [&format!("--as={bytes}"), "--nproc=4000", "--core=1"];
        match self {
            Self::Root => {
                let mut command = Command::new("prlimit");
                command.args(outer).arg(program);
                command
            }
            Self::Ordinary => {
                let id = ORDINARY.to_string();
                let mut command = Command::new("setpriv");
                command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "prlimit"]).args(outer).arg(program);
                command
            }
        }
    }

    fn id(self) -> u32 {
        match self {
            Self::Root => 0,
            Self::Ordinary => ORDINARY,
        }
    }
}

/// How the command gets its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Directly from this process, without a keeper.
    Direct,
    /// From a keeper, for one JSON document.
    Keeper,
}

/// A host with things that must stay out of reach.
pub(crate) struct Host {
    runner: Runner,
    level: Option<&'static str>,
    directory: TempDir,
    program: PathBuf,
    process: Child,
    _socket: UnixListener,
    _abstract: UnixListener,
    port: TcpListener,
    abstract_name: String,
    /// Further facts that an attacker knows.
    pub(crate) told: Vec<(String, String)>,
}

impl Host {
    /// Sets up a host for sandboxes of another level.
    pub(crate) fn at_level(runner: &Runner, level: &'static str) -> Self {
        let mut host = Self::start(runner);
        host.level = Some(level);
        host
    }

    /// Sets up a host. The tests run as root: only root can prepare a set-user-id program, and become another user.
    pub(crate) fn start(runner: &Runner) -> Self {
        assert!(rustix::process::getuid().is_root(), "these tests must run as root");
        let directory = tempfile::Builder::new().prefix("workden-walls-").tempdir().unwrap();
        let path = directory.path();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        // The ordinary user may not be able to reach cargo's target directory.
        let program = path.join("workden");
        project::place(Path::new(env!("CARGO_BIN_EXE_workden")), &program);
        fs::write(path.join("secret"), "workden-host-secret\n").unwrap();
        fs::create_dir(path.join("given")).unwrap();
        fs::write(path.join("given/read-me"), "given\n").unwrap();
        // One name for each: a process that still ends may hold the socket of an earlier host of this thread.
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let abstract_name = format!("workden-walls-{}-{number}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let socket = UnixListener::bind(path.join("socket")).unwrap();
        fs::set_permissions(path.join("socket"), fs::Permissions::from_mode(0o777)).unwrap();
        let process = Command::new("sh")
            .args(["-c", "while :; do sleep 1; done", "workden-host-process"])
            .env("SECRET", "workden-host-environment")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let host = Self {
            runner: *runner,
            level: None,
            program,
            process,
            _socket: socket,
            _abstract: UnixListener::bind_addr(&address).unwrap(),
            port: TcpListener::bind("127.0.0.1:0").unwrap(),
            abstract_name,
            told: Vec::new(),
            directory,
        };
        host.fill_workspace();
        host
    }

    /// Fills the workspace, with targets for an attacker in it.
    fn fill_workspace(&self) {
        let (work, id) = (self.workspace(), self.runner.id());
        fs::create_dir_all(work.join(".git/hooks")).unwrap();
        fs::write(work.join(".git/config"), "[core]\n").unwrap();
        fs::write(work.join("try"), include_str!("try.pl")).unwrap();
        symlink(self.directory.path().join("secret"), work.join("host-link")).unwrap();
        for path in [&work, &work.join(".git"), &work.join(".git/hooks"), &work.join(".git/config"), &work.join("try")]
        {
            chown(path, Some(id), Some(id)).unwrap();
        }
        let set_user_id = work.join("suid-id");
        fs::copy("/usr/bin/id", &set_user_id).unwrap();
        fs::set_permissions(&set_user_id, fs::Permissions::from_mode(0o4755)).unwrap();
        let made = Command::new("mknod").arg("-m666").arg(work.join("device-zero")).args(["c", "1", "5"]).status();
        assert!(made.unwrap().success());
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.directory.path().join("workspace")
    }

    /// Returns `workden run` with these options, up to and including `--`.
    pub(crate) fn run(&self, options: &[&str]) -> Command {
        self.run_within(ADDRESS_SPACE, options)
    }

    /// Does the same with this many bytes of address space for each process.
    pub(crate) fn run_within(&self, bytes: u64, options: &[&str]) -> Command {
        let mut command = self.runner.command(bytes, &self.program);
        command.arg("run").args(options).arg("--root").arg(self.workspace());
        let given = self.directory.path().join("given");
        // Without namespaces a mount is at its host path.
        let at = if self.level.is_some() { given.as_path() } else { Path::new("/given") };
        command.arg("--mount").arg(format!("{}:{}:ro", given.display(), at.display()));
        command.args(self.level.into_iter().flat_map(|level| ["--level", level]));
        for (name, value) in self.known() {
            command.arg("--env").arg(format!("{name}={value}"));
        }
        command.env("SECRET", "workden-host-environment").stdin(Stdio::null()).arg("--");
        command
    }

    /// Returns the facts that an attacker knows.
    fn known(&self) -> Vec<(String, String)> {
        let mut known: Vec<(String, String)> =
            NUMBERS.iter().map(|(name, number)| (format!("SYS_{name}"), number.to_string())).collect();
        known.extend([
            ("HOST_DIR".to_owned(), self.directory.path().display().to_string()),
            ("HOST_PID".to_owned(), self.process.id().to_string()),
            ("HOST_PORT".to_owned(), self.port.local_addr().unwrap().port().to_string()),
            ("HOST_ABSTRACT".to_owned(), self.abstract_name.clone()),
        ]);
        known.extend(self.told.clone());
        known
    }

    pub(crate) fn try_in_sandbox(&self, attempt: &Attempt, way: Way) -> Tried {
        let mut options = vec!["--sandbox", "linux"];
        if !attempt.options.contains(&"--timeout") {
            options.extend(["--timeout", "300"]);
        }
        options.extend(attempt.options);
        if way == Way::Keeper {
            options.push("--json");
        }
        let mut output = self.run(&options).args(["sh", "-c", attempt.script]).output().unwrap();
        if way == Way::Keeper {
            // The other fields of the document come from `workden`, not from the command.
            let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            output.stdout = document["output"].as_str().unwrap_or_default().as_bytes().to_vec();
        }
        Tried::of(output)
    }

    pub(crate) fn try_unconfined(&self, attempt: &Attempt) -> Tried {
        let mut command = self.runner.command(ADDRESS_SPACE, Path::new("sh"));
        command.args(["-c", attempt.script]).current_dir(self.workspace()).envs(self.known()).stdin(Stdio::null());
        Tried::of(command.output().unwrap())
    }

    /// Returns what has changed.
    pub(crate) fn harm(&self) -> Vec<String> {
        let path = self.directory.path();
        let mut harm = Vec::new();
        let mut check = |fine: bool, what: &str| {
            if !fine {
                harm.push(format!("the host was harmed: {what}"));
            }
        };
        let secret = fs::metadata(path.join("secret")).unwrap();
        check(fs::read_to_string(path.join("secret")).unwrap() == "workden-host-secret\n", "a file was changed");
        check(secret.nlink() == 1, "a file has a second name");
        check(!path.join("given/probe").exists(), "a read-only mount was written");
        check(!Path::new("/usr/workden-probe").exists(), "/usr was written");
        check(Path::new(&format!("/proc/{}", self.process.id())).exists(), "a process has exited");
        check(fs::read_dir(self.workspace().join(".git/hooks")).unwrap().next().is_none(), "a hook was planted");
        harm
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The outcome of an attempt.
#[derive(Debug)]
pub(crate) struct Tried {
    printed: String,
    code: Option<i32>,
}

impl Tried {
    fn of(output: Output) -> Self {
        let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
        output.stderr.as_slice().read_to_string(&mut printed).ok();
        Self { printed, code: output.status.code() }
    }

    pub(crate) fn held(&self) -> bool {
        self.printed.contains("held") && !self.printed.contains("escaped")
    }

    /// Returns whether the attempt was refused for this reason, and nothing ran.
    pub(crate) fn is_refused(&self, why: &str) -> bool {
        self.code == Some(125) && self.printed.contains(why)
    }

    pub(crate) fn escaped(&self) -> bool {
        self.printed.contains("escaped")
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printed: String = self.printed.chars().take(400).collect();
        write!(f, "exit {:?}: {:?}", self.code, printed.trim())
    }
}
