//! Runs a line in a confinement, by the example `confined`, as the user who runs the tests and, when that is root, as
//! an ordinary user as well.

use std::{
    collections::BTreeMap,
    fs::File,
    os::{
        fd::AsRawFd,
        unix::{fs::chown, process::CommandExt},
    },
    path::Path,
    process::{Command, Output},
    sync::LazyLock,
};

use workden_core::{
    VirtualPath,
    sandbox::{Confinement, Level, Limits, Network, RootFiles, WorkFiles},
};

/// An unassigned user id.
const ORDINARY: u32 = 54321;

/// The user who starts a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Starter {
    /// The user who runs the tests.
    Tester,
    /// An ordinary user, when the tests are run by root.
    Ordinary,
}

/// Returns the users who can start a sandbox here.
pub(crate) fn starters() -> Vec<Starter> {
    if rustix::process::geteuid().is_root() { vec![Starter::Tester, Starter::Ordinary] } else { vec![Starter::Tester] }
}

/// A workspace on the host, and what is run in it.
pub(crate) struct TestSandbox {
    pub(crate) workspace: tempfile::TempDir,
    starter: Starter,
}

impl TestSandbox {
    pub(crate) fn new(starter: Starter) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        if starter == Starter::Ordinary {
            chown(workspace.path(), Some(ORDINARY), Some(ORDINARY)).unwrap();
        }
        Self { workspace, starter }
    }

    pub(crate) fn confinement(&self) -> Confinement {
        Confinement {
            level: Level::Namespaces,
            root: RootFiles::Host,
            work: WorkFiles::Directory(self.workspace.path().to_owned()),
            directory: VirtualPath::parse("/workspace").unwrap(),
            mounts: Vec::new(),
            read_only: Vec::new(),
            git_links: Vec::new(),
            expected: BTreeMap::new(),
            masked: Vec::new(),
            network: Network::None,
            git_identity: None,
            environment: BTreeMap::new(),
            limits: Limits::default(),
        }
    }

    /// Runs a line, and returns its outcome.
    pub(crate) fn run(&self, confinement: &Confinement, line: &str) -> Ran {
        Ran::from(self.command(confinement, line).output().unwrap())
    }

    /// Returns the process that runs a line.
    pub(crate) fn command(&self, confinement: &Confinement, line: &str) -> Command {
        let mut command = Command::new(program());
        command.arg(serde_json::to_string(confinement).unwrap()).args(["sh", "-c", line]);
        command.env("SECRET_OF_HOST", "sesame");
        if self.starter == Starter::Ordinary {
            command.uid(ORDINARY).gid(ORDINARY);
        }
        command
    }

    /// Writes a file into the workspace, as its owner.
    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.workspace.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        if self.starter == Starter::Ordinary {
            for path in path.ancestors().take_while(|path| path.starts_with(self.workspace.path())) {
                chown(path, Some(ORDINARY), Some(ORDINARY)).unwrap();
            }
        }
    }
}

/// The outcome of a line.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Returns the path of the example, which cargo builds beside the tests, as an inherited descriptor: an ordinary user
/// may not be able to enter the build directory.
fn program() -> String {
    static OPENED: LazyLock<File> = LazyLock::new(|| {
        let test = std::env::current_exe().unwrap();
        let profile = test.parent().and_then(Path::parent).unwrap();
        let opened = File::open(profile.join("examples").join("confined"));
        let opened =
            opened.expect("`cargo test -p workden-keeper` builds the example `confined`, `--test suite` does not");
        rustix::io::fcntl_setfd(&opened, rustix::io::FdFlags::empty()).unwrap();
        opened
    });
    format!("/proc/self/fd/{}", OPENED.as_raw_fd())
}
