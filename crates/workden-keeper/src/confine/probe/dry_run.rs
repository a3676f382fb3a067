//! A sandbox made and thrown away, in a process of its own, to see whether it works; and the words of findings.

use std::{collections::BTreeMap, process::Command};

use rustix::process::{WaitOptions, getppid, waitpid};
use workden_core::{
    Error, ErrorKind, VirtualPath,
    sandbox::{Confinement, Finding, Level, Limits, Need, Network, Outcome, RootFiles, WorkFiles},
};

use crate::{
    config::KeeperConfig,
    confine::{errors::refused, setup::enter_with_open_files, setup_channel},
    sys::{
        confine::{CloneSide, clone_process},
        exit_now,
    },
};

pub(super) fn finding(name: &str, title: &str, need: Need, outcome: Outcome) -> Finding {
    Finding::new(name, title, need, outcome)
}

pub(super) fn lacking(why: impl Into<String>, fix: impl Into<Option<String>>) -> Outcome {
    Outcome::Lacking { why: why.into(), fix: fix.into() }
}

/// Checks a whole sandbox.
pub(super) fn whole() -> Finding {
    let outcome = match dry_run() {
        Ok(()) => Outcome::Works("a program ran in a sandbox".to_owned()),
        Err(error) => lacking(error.sentence(), error.hint_text().map(str::to_owned)),
    };
    finding("sandbox", "a whole sandbox", Need::Sandbox, outcome)
}

/// Sets up a sandbox in a process of its own, and runs `true` in it.
fn dry_run() -> Result<(), Error> {
    dry_run_of(&minimal()?, |_| run_true())
}

/// Enters a confinement in a process of its own, and calls `inside` there.
pub(super) fn dry_run_of(
    confinement: &Confinement,
    inside: impl FnOnce(KeeperConfig) -> Result<(), Error>,
) -> Result<(), Error> {
    let (here, there) = setup_channel::pair()?;
    let forked = clone_process(0, None).map_err(|errno| refused("start a process", errno))?;
    let CloneSide::Parent(pid, _process) = forked else {
        drop(here);
        match enter_with_open_files(confinement, getppid()).and_then(inside) {
            Ok(()) => {
                let _ = there.ready();
            }
            Err(error) => there.failed(&error),
        }
        exit_now(0)
    };
    drop(there);
    let ready = here.wait_until_ready();
    let _ = waitpid(Some(pid), WaitOptions::empty());
    ready
}

pub(super) fn run_true() -> Result<(), Error> {
    match Command::new("/usr/bin/true").env_clear().status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Error::new(ErrorKind::Io, "the sandbox starts, but cannot run a program")),
    }
}

pub(super) fn minimal() -> Result<Confinement, Error> {
    Ok(Confinement {
        level: Level::Namespaces,
        root: RootFiles::Host,
        work: WorkFiles::Ephemeral { most_bytes: 1 << 20 },
        directory: VirtualPath::parse("/workspace")?,
        mounts: Vec::new(),
        read_only: Vec::new(),
        git_links: Vec::new(),
        expected: BTreeMap::new(),
        masked: Vec::new(),
        network: Network::None,
        git_identity: None,
        environment: BTreeMap::new(),
        limits: Limits::default(),
    })
}
