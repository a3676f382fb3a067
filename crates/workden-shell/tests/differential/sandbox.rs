//! From outside: the stage with the stand-ins, and the sandbox in which the driver runs.
//!
//! No script ever runs anywhere else. Without bubblewrap, or where it may not make namespaces, there
//! is no comparison but an error.

use std::{
    env, fs,
    io::Write,
    os::unix::{fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use super::{driver, stand_in};

/// Where the stand-ins are in the sandbox; the whole `PATH` of a script.
pub(crate) const STAND_INS: &str = "/tmp/bin";
/// Real programs among them: those whose way of running others is compared.
const REAL: &[&str] = &["env", "nice", "timeout", "nohup", "setsid", "stdbuf", "xargs", "find", "sh", "bash", "dash"];
/// An unprivileged user.
const UNPRIVILEGED: u32 = 65_534;

/// A directory with the stand-ins, gone when this is.
pub(crate) struct Stage(PathBuf);

impl Stage {
    pub(crate) fn new() -> Result<Self, String> {
        let stage = Self(env::temp_dir().join(format!("workden-differential-{}", std::process::id())));
        stage.fill().map_err(|error| format!("cannot make the stand-ins: {error}"))?;
        Ok(stage)
    }

    fn fill(&self) -> std::io::Result<()> {
        fs::create_dir_all(&self.0)?;
        let program = self.0.join("driver");
        fs::copy(env::current_exe()?, &program)?;
        for name in stand_in::NAMES {
            // Names of one file each, by which the program knows what it is.
            fs::hard_link(&program, self.0.join(name))?;
        }
        for name in REAL {
            let real = Path::new("/usr/bin").join(name);
            if real.exists() {
                symlink(real, self.0.join(name))?;
            }
        }
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// A running driver.
pub(crate) struct Sandbox {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

/// The outcome of a script.
#[derive(Default)]
pub(crate) struct Ran {
    /// Whether `bash -n` accepts it.
    pub(crate) accepted: bool,
    /// By bash, then by sh.
    pub(crate) shells: Vec<Trace>,
}

/// The record of one shell.
#[derive(Default)]
pub(crate) struct Trace {
    pub(crate) calls: Vec<Call>,
    pub(crate) files: Vec<String>,
}

/// A stand-in that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) directory: String,
    pub(crate) arguments: Vec<String>,
}

impl Sandbox {
    pub(crate) fn start(stage: &Stage) -> Result<Self, String> {
        let mut command = Command::new("bwrap");
        command
            .args(["--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"])
            .args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"])
            .arg("--ro-bind")
            .arg(&stage.0)
            .args([STAND_INS, "--chdir", "/tmp", "/tmp/bin/driver", driver::ROLE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
            command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
        }
        let mut child = command.spawn().map_err(|error| format!("cannot start bwrap: {error}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("bwrap has no pipes".to_owned());
        };
        Ok(Self { child, input, output })
    }

    pub(crate) fn run(&mut self, script: &str) -> Result<Ran, String> {
        let mut request = (script.len() as u32).to_le_bytes().to_vec();
        request.extend(script.as_bytes());
        let gone = || format!("the sandbox is gone at {script:?}");
        self.input.write_all(&request).and_then(|()| self.input.flush()).map_err(|_| gone())?;
        let mut accepted = [0];
        std::io::Read::read_exact(&mut self.output, &mut accepted).map_err(|_| gone())?;
        let mut ran = Ran { accepted: accepted == [1], shells: Vec::new() };
        for _ in 0..2 {
            let log = driver::frame(&mut self.output).ok_or_else(gone)?;
            let files = driver::frame(&mut self.output).ok_or_else(gone)?;
            ran.shells.push(Trace { calls: calls(&log), files: entries(&files).collect() });
        }
        Ok(ran)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn entries(bytes: &[u8]) -> impl Iterator<Item = String> {
    let entries = bytes.split(|byte| *byte == stand_in::AFTER).filter(|entry| !entry.is_empty());
    entries.map(|entry| String::from_utf8_lossy(entry).into_owned())
}

fn calls(log: &[u8]) -> Vec<Call> {
    entries(log)
        .map(|entry| {
            let mut parts = entry.split(char::from(stand_in::BETWEEN)).map(str::to_owned);
            let name = parts.next().unwrap_or_default();
            let directory = parts.next().unwrap_or_default();
            Call { name, directory, arguments: parts.collect() }
        })
        .collect()
}
