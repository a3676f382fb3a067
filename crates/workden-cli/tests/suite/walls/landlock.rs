//! Isolation at the level `landlock`: the attempts of the corpus that apply, those that apply only here, and the known
//! gaps.

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::Path,
    process::{Child, Command},
    time::Duration,
};

use workden_core::{
    Sandbox,
    sandbox::{ExecuteRequest, Level},
};
use workden_sandboxes::{KeeperProgram, LinuxSandbox};

use crate::walls::{
    attempts::{
        self, Attempt, Unconfined,
        landlock::{EXISTENCE, GAPS, MORE, MORE_GAPS, OTHERWISE},
    },
    host::{Host, ORDINARY, Runner, Way},
};

/// Returns a host with files that every user may write.
fn host(runner: &Runner) -> (Host, Neighbour) {
    let mut host = Host::at_level(runner, "landlock");
    let (open, own) = (host.path().join("open"), host.path().join("own"));
    fs::create_dir(&open).unwrap();
    for name in ["file", "file2", "file3"] {
        fs::write(open.join(name), "open\n").unwrap();
        fs::set_permissions(open.join(name), fs::Permissions::from_mode(0o666)).unwrap();
    }
    assert!(Command::new("cp").arg("/usr/bin/true").arg(open.join("program")).status().unwrap().success());
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    for path in [&own, &host.path().join("given/of-user")] {
        fs::write(path, "own\n").unwrap();
        chown(path, Some(ORDINARY), Some(ORDINARY)).unwrap();
    }
    // Commands run as the owner of this directory, even if root starts them.
    own_all(&host.workspace());
    let neighbour = Neighbour::start();
    host.told.push(("OWN_PID".to_owned(), neighbour.process.id().to_string()));
    (host, neighbour)
}

/// A process of the host with the same user as the commands.
struct Neighbour {
    process: Child,
    /// Its nice value at the start.
    nice: String,
}

impl Neighbour {
    fn start() -> Self {
        let mut sleep = Command::new("sleep");
        sleep.arg("3600").env("SECRET", "own-secret").uid(ORDINARY).gid(ORDINARY).process_group(0);
        let process = sleep.spawn().unwrap();
        let nice = stat(&process)[NICE].clone();
        Self { process, nice }
    }

    /// Returns the harm that was done to it.
    fn harm(&self) -> Vec<String> {
        let stat = stat(&self.process);
        // Stopped, traced and dead processes are in other states.
        let is_well = ["S", "R", "D"].contains(&stat[0].as_str()) && stat[NICE] == self.nice;
        if is_well { Vec::new() } else { vec![format!("a process of the same user was harmed: {stat:?}")] }
    }
}

/// The index of the nice value among the fields.
const NICE: usize = 16;

/// Returns the fields of `/proc/PID/stat`, from the state on.
fn stat(process: &Child) -> Vec<String> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
    stat.rsplit(") ").next().unwrap_or_default().split(' ').map(str::to_owned).collect()
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn own_all(path: &Path) {
    let there = fs::symlink_metadata(path).unwrap();
    std::os::unix::fs::lchown(path, Some(ORDINARY), Some(ORDINARY)).unwrap();
    for entry in fs::read_dir(path).into_iter().flatten().flatten().filter(|_| there.is_dir()) {
        own_all(&entry.path());
    }
}

fn is_among(attempt: &Attempt, others: &[Attempt]) -> bool {
    others.iter().any(|other| other.name == attempt.name)
}

/// Returns every attempt that must fail.
fn all() -> impl Iterator<Item = &'static Attempt> {
    let is_gap = |attempt: &&Attempt| attempt.name == EXISTENCE || GAPS.contains(&attempt.name);
    let of_corpus = attempts::all().filter(move |attempt| !is_among(attempt, OTHERWISE) && !is_gap(attempt));
    of_corpus.chain(OTHERWISE).chain(MORE)
}

fn try_all(runner: &Runner) {
    let (host, neighbour) = host(runner);
    let mut failures = Vec::new();
    let mut count = 0;
    for attempt in all() {
        count += 1;
        let tried = host.try_in_sandbox(attempt, Way::Keeper);
        // A process limit that an ordinary user cannot enforce is refused, and nothing runs.
        if !tried.held() && !tried.is_refused("cannot enforce the process limit") {
            failures.push(format!("{}: {tried}", attempt.name));
        }
    }
    failures.extend(host.harm());
    failures.extend(neighbour.harm());
    for name in ["file", "file2", "file3"] {
        let content = fs::read_to_string(host.path().join("open").join(name)).unwrap_or_default();
        if content != "open\n" {
            failures.push(format!("`{name}` of the host was changed: {content:?}"));
        }
    }
    assert!(count >= 120, "only {count} attempts");
    assert!(failures.is_empty(), "{} of {count} attempts:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn nothing_else_gets_through_when_an_ordinary_user_starts_it() {
    try_all(&Runner::ordinary_user());
}

#[test]
fn nothing_else_gets_through_when_root_starts_it_in_a_directory_of_a_user() {
    try_all(&Runner::root());
}

#[test]
fn without_the_level_the_attempts_do_get_through() {
    let (host, _neighbour) = host(&Runner::ordinary_user());
    let real = |attempt: &&Attempt| attempt.unconfined == Unconfined::Escapes;
    let tried = MORE.iter().filter(real).map(|attempt| (attempt.name, host.try_unconfined(attempt)));
    let blunt: Vec<String> =
        tried.filter(|(_, tried)| !tried.escaped()).map(|(name, tried)| format!("{name}: {tried}")).collect();
    assert!(blunt.is_empty(), "these would not have shown an escape:\n{}", blunt.join("\n"));
}

/// The documented gaps exist. If one closes, update the documents.
#[test]
fn what_is_known_to_get_through_does() {
    let (host, _neighbour) = host(&Runner::ordinary_user());
    let named = |name: &str| attempts::all().find(|attempt| attempt.name == name).unwrap();
    for attempt in GAPS.iter().map(|name| named(name)).chain(MORE_GAPS) {
        let tried = host.try_in_sandbox(attempt, Way::Keeper);
        assert!(tried.escaped(), "{}: {tried}", attempt.name);
    }
}

/// What commands do to their own sandbox, without searching for the ids of its threads.
#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_survives_what_its_commands_do_to_it() {
    let place = tempfile::tempdir().unwrap();
    chown(place.path(), Some(ORDINARY), Some(ORDINARY)).unwrap();
    let program = KeeperProgram::at(env!("CARGO_BIN_EXE_workden"));
    let builder = LinuxSandbox::builder().keeper(program).level(Level::Landlock).root(place.path()).pids(128);
    let sandbox = builder.start().await.unwrap();
    for worst in [
        "kill -9 -1",
        "kill -STOP -1; sleep 77",
        "kill -STOP $PPID; sleep 77",
        "kill -9 $PPID; sleep 77",
        "(trap '' TERM; kill -STOP $PPID; setsid sh -c 'trap \"\" TERM; sleep 77' & sleep 77)",
        ":(){ :|:& };:; sleep 77",
        "chmod 000 \"$TMPDIR\" \"$HOME\"",
        "chmod 000 .",
        "exec 1>&- 2>&-; sleep 77",
    ] {
        let request = ExecuteRequest::shell(worst).timeout(Duration::from_secs(1));
        let executed = sandbox.execute(&request).await;
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let after = sandbox.execute(&ExecuteRequest::shell("echo fine")).await;
        assert!(after.as_ref().is_ok_and(|after| after.output.head == "fine\n"), "`{worst}`: {executed:?}, {after:?}");
    }
    sandbox.stop().await.unwrap();
}

/// A command can end processes of another command of the same sandbox.
#[tokio::test]
async fn commands_of_one_sandbox_reach_each_other_and_not_those_of_another() {
    let place = tempfile::tempdir().unwrap();
    chown(place.path(), Some(ORDINARY), Some(ORDINARY)).unwrap();
    let start = async || {
        let program = KeeperProgram::at(env!("CARGO_BIN_EXE_workden"));
        let builder = LinuxSandbox::builder().keeper(program).level(Level::Landlock).root(place.path());
        builder.start().await.unwrap()
    };
    let (one, other) = (start().await, start().await);
    let run = async |sandbox: &LinuxSandbox, line: &str| {
        sandbox.execute(&ExecuteRequest::shell(line)).await.unwrap().output.text()
    };
    run(&one, "sleep 300 & echo $! > pid").await;
    let signal = "kill -0 $(cat pid) 2>/dev/null && echo reached || echo not";
    assert_eq!((run(&one, signal).await, run(&other, signal).await), ("reached\n".to_owned(), "not\n".to_owned()));
}
