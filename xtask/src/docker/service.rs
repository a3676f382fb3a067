//! A service for the tests: it ends when its value is dropped, and with this process, however that ends.
//!
//! The kernel signals the service when this process dies (`setpriv --pdeathsig`). The next run removes directories and
//! bridges that a killed run left behind: their names contain the id of the process that created them.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use super::{answers, leftovers, network};
use crate::Outcome;

/// How long a service has to answer for the first time.
const START: Duration = Duration::from_secs(60);
/// How long it has to end by itself.
const END: Duration = Duration::from_secs(20);
const MOMENT: Duration = Duration::from_millis(100);

const LOG: &str = "log";

/// How a service is started, and what is removed after it.
pub(super) struct Plan {
    /// Its address for Docker's API.
    pub(super) host: String,
    /// Its directory; the log is in it.
    pub(super) home: PathBuf,
    /// Another directory, for large files.
    pub(super) data: Option<PathBuf>,
    /// A bridge that was created for it.
    pub(super) bridge: Option<String>,
    /// The program and its arguments.
    pub(super) command: Vec<String>,
}

/// A running service.
pub(super) struct Service {
    child: Child,
    plan: Plan,
}

impl Service {
    /// Starts a service and waits until it answers. If it does not answer, removes everything of it.
    pub(super) fn start(plan: Plan) -> Outcome<Self> {
        let child = spawn(&plan).map_err(|error| format!("cannot start {}: {error}", plan.command.join(" ")))?;
        let mut service = Self { child, plan };
        service.wait_for_answer().map(|()| service)
    }

    fn wait_for_answer(&mut self) -> Outcome {
        let started = Instant::now();
        while !answers(&self.plan.host) {
            if started.elapsed() > START || !matches!(self.child.try_wait(), Ok(None)) {
                let log = fs::read_to_string(self.plan.home.join(LOG)).unwrap_or_default();
                let last: Vec<&str> = log.lines().rev().take(3).collect();
                return Err(format!("it does not answer: {}", last.into_iter().rev().collect::<Vec<_>>().join("\n")));
            }
            sleep(MOMENT);
        }
        Ok(())
    }

    fn end(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        leftovers::remove_containers(&self.plan.host);
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let started = Instant::now();
        while started.elapsed() < END {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            sleep(MOMENT);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
        leftovers::kill_processes(&self.plan.home);
        if let Some(bridge) = &self.plan.bridge {
            network::remove_bridge(bridge);
        }
        for directory in [Some(&self.plan.home), self.plan.data.as_ref()].into_iter().flatten() {
            if let Err(why) = leftovers::remove_directory(directory) {
                println!("=== {why}");
            }
        }
    }
}

fn spawn(plan: &Plan) -> std::io::Result<Child> {
    let log = fs::File::create(plan.home.join(LOG))?;
    Command::new("setpriv")
        .args(["--pdeathsig", "TERM"])
        .args(&plan.command)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        // Ctrl-C must reach only this program; the service ends when this program ends.
        .process_group(0)
        .spawn()
}

/// Removes directories and bridges of killed runs: those named after processes that have exited.
pub(super) fn sweep(large: &Path, short: &Path) {
    let maker = |name: &str| -> Option<u32> { name.rsplit('-').next()?.parse().ok() };
    let is_gone = |id: u32| !Path::new("/proc").join(id.to_string()).exists();
    for (above, prefixes) in [(large, &["data-"][..]), (short, &["workden-docker-", "workden-podman-"])] {
        for entry in fs::read_dir(above).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if prefixes.iter().any(|prefix| name.starts_with(prefix)) && maker(&name).is_some_and(is_gone) {
                leftovers::kill_processes(&entry.path());
                let _ = leftovers::remove_directory(&entry.path());
            }
        }
    }
    for name in network::own_bridges() {
        if name.trim_start_matches(network::BRIDGE).parse().is_ok_and(is_gone) {
            network::remove_bridge(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_ends_by_itself_or_never_starts_is_reported_and_nothing_of_it_stays() {
        for command in ["false", "/no/such/program"] {
            let home = std::env::temp_dir().join(format!("workden-service-{}", std::process::id()));
            fs::create_dir_all(home.join("below")).unwrap();
            let host = format!("unix://{}", home.join("none.sock").display());
            let command = vec![command.to_owned()];
            let plan = Plan { host, home: home.clone(), data: None, bridge: None, command };
            let why = Service::start(plan).map(drop).unwrap_err();
            assert!(why.starts_with("it does not answer"), "{why}");
            assert!(!home.exists());
        }
    }

    #[test]
    fn leavings_of_a_process_that_is_gone_are_swept_and_those_of_a_live_one_stay() {
        let above = std::env::temp_dir().join(format!("workden-sweep-{}", std::process::id()));
        let gone = Command::new("true").spawn().map(|mut child| child.wait().map(|_| child.id())).unwrap().unwrap();
        let (old, own) = (above.join(format!("data-{gone}")), above.join(format!("data-{}", std::process::id())));
        for directory in [&old, &own, &above.join("data-kept")] {
            fs::create_dir_all(directory).unwrap();
        }
        sweep(&above, &above);
        assert!(!old.exists() && own.exists() && above.join("data-kept").exists());
        fs::remove_dir_all(above).unwrap();
    }
}
