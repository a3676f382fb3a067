//! Control groups: who holds the limits of all commands together. A group of the sandbox's own is
//! made below or beside the one that this process is in, in whichever version has the controller.
//!
//! Invariant: the keeper and its reapers are outside of the limited group, and what was made is
//! removed by whoever made it.

mod counters;
mod hierarchies;
mod own;
mod transfer;
mod v1;
mod v2;

use std::{
    fs,
    os::fd::{BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};

use self::hierarchies::OwnGroups;
pub(crate) use self::{counters::GroupCounters, own::OwnGroup};
use crate::config::CgroupJoin;

/// The limits that only a group can hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct GroupLimits {
    pub(crate) memory: Option<u64>,
    pub(crate) cpus: Option<f64>,
    pub(crate) processes: Option<u64>,
}

/// Which counters of a group are of use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Counted {
    /// What is used, and how often a limit was hit.
    #[default]
    Usage,
    /// How often a limit was hit: nobody asks a single command for more.
    Hits,
}

/// What became of one of them: held, or why not.
pub(crate) type LimitOutcome = Result<(), String>;

/// The groups of one sandbox.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) join: CgroupJoin,
    pub(crate) watch: GroupCounters,
    /// Where the keeper is to be (version 2, in which a group has either processes or groups).
    keeper: Option<OwnedFd>,
    /// What is to be removed, the deepest first.
    made: CreatedGroups,
    counted: Counted,
    pub(crate) memory: Option<LimitOutcome>,
    pub(crate) cpus: Option<LimitOutcome>,
    pub(crate) processes: Option<LimitOutcome>,
}

/// What groups there are to be, and where.
pub(crate) struct GroupPlan {
    wanted: GroupLimits,
    counted: Counted,
    owner: u32,
    /// Where this process is; nothing when nothing is wanted, or why it is not known.
    place: Option<Result<OwnGroups, String>>,
}

impl GroupPlan {
    /// Looks where groups for what is wanted could be. `owner` is who starts the commands.
    pub(crate) fn new(wanted: GroupLimits, counted: Counted, owner: u32) -> Self {
        let place = (wanted != GroupLimits::default()).then(OwnGroups::read);
        Self { wanted, counted, owner, place }
    }

    /// Whether the keeper is to begin in a group of its own, which is then to be made before it.
    pub(crate) fn has_room_for_keeper(&self) -> bool {
        match &self.place {
            // Those of version 2 are elsewhere; where that is need not be known yet.
            Some(Ok(own)) if !own.all_in_version1() => own.hierarchies().is_ok_and(|found| found.unified_limits()),
            _ => false,
        }
    }

    /// Makes the groups, as far as that goes.
    pub(crate) fn make(&self) -> Group {
        let Self { wanted, counted, owner, ref place } = *self;
        let mut group = Group { counted, ..Group::default() };
        let Some(place) = place else { return group };
        // Version 2 need not be looked at for what it cannot have.
        let all_in_version1 = place.as_ref().is_ok_and(OwnGroups::all_in_version1);
        match place.as_ref().map_err(Clone::clone).and_then(OwnGroups::hierarchies) {
            Err(reason) => {
                group.memory = wanted.memory.map(|_| Err(reason.clone()));
                group.cpus = wanted.cpus.map(|_| Err(reason.clone()));
                group.processes = wanted.processes.map(|_| Err(reason));
                return group;
            }
            Ok(hierarchies) if !all_in_version1 && hierarchies.unified_limits() => {
                v2::fill(&mut group, &hierarchies, &new_name(), wanted, owner);
            }
            Ok(hierarchies) => v1::fill(&mut group, &hierarchies, &new_name(), wanted),
        }
        if ![&group.memory, &group.cpus, &group.processes].into_iter().any(|held| matches!(held, Some(Ok(())))) {
            group.take_made().remove();
            (group.join, group.keeper) = (CgroupJoin::None, None);
        }
        group
    }
}

impl Group {
    /// Where the keeper is to be cloned into, if it matters.
    pub(crate) fn keeper(&self) -> Option<BorrowedFd<'_>> {
        use std::os::fd::AsFd;
        self.keeper.as_ref().map(AsFd::as_fd)
    }

    /// Opens a counter of what is used, where that is of use.
    fn usage(&self, directory: &Path, file: &str) -> Option<OwnedFd> {
        match self.counted {
            Counted::Usage => open(directory, file, OFlags::RDONLY).ok(),
            Counted::Hits => None,
        }
    }

    /// Takes what is to be removed, for whoever outlives the sandbox.
    pub(crate) fn take_made(&mut self) -> CreatedGroups {
        std::mem::take(&mut self.made)
    }
}

/// Directories of groups that were made, and are to be removed.
#[derive(Debug, Default)]
pub(crate) struct CreatedGroups(Vec<PathBuf>);

/// How long an empty group may still be in use, as the kernel sees it.
const REMOVING: Duration = Duration::from_secs(5);
const NAME: &str = "workden-";

impl CreatedGroups {
    fn directory(&mut self, path: &Path) -> Result<(), String> {
        fs::create_dir(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => "this user may not make a control group here".to_owned(),
            std::io::ErrorKind::ReadOnlyFilesystem => "the control groups are read-only here".to_owned(),
            _ => "the kernel makes no control group here".to_owned(),
        })?;
        self.0.insert(0, path.to_owned());
        Ok(())
    }

    /// Removes the groups, and ends what is still in them.
    pub(crate) fn remove(self) {
        for directory in self.0 {
            let (mut waited, mut pause) = (Duration::ZERO, Duration::from_micros(500));
            while fs::remove_dir(&directory).is_err_and(|error| error.kind() != std::io::ErrorKind::NotFound) {
                if waited >= REMOVING {
                    break;
                }
                // Everybody has ended; the kernel is a little late to notice.
                if waited > Duration::from_millis(20) {
                    end_all_in(&directory);
                }
                thread::sleep(pause);
                waited += pause;
                pause = (pause * 2).min(Duration::from_millis(20));
            }
        }
    }

    /// Removes the groups of others beside ours that were left behind: those of supervisors that
    /// are no longer there, and that nobody is in.
    pub(crate) fn sweep(&self) {
        let parents = self.0.iter().filter(|path| file_name(path).starts_with(NAME)).filter_map(|path| path.parent());
        for entry in parents.filter_map(|parent| fs::read_dir(parent).ok()).flatten().flatten() {
            let path = entry.path();
            let pid = file_name(&path).strip_prefix(NAME).and_then(|rest| rest.split('-').next()?.parse().ok());
            let Some(pid) = pid.and_then(Pid::from_raw) else { continue };
            if is_gone(pid) {
                for leaf in ["keeper", "commands"] {
                    let _ = fs::remove_dir(path.join(leaf));
                }
                let _ = fs::remove_dir(&path);
            }
        }
    }
}

/// Whether a process has ended, also when nobody has asked for its end yet.
fn is_gone(pid: Pid) -> bool {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => {
            let mut watched = [PollFd::new(&process, PollFlags::IN)];
            poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ended| ended > 0)
        }
        Err(errno) => errno == Errno::SRCH,
    }
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Kills whatever is still in a group.
fn end_all_in(directory: &Path) {
    let inside = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    for pid in inside.lines().filter_map(|line| line.parse().ok()).filter_map(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// `workden-<pid>-<random>`: the process that removes it, and no other group's name.
fn new_name() -> String {
    let mut random = [0; 4];
    // Without random bytes the number of the process alone has to do.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    format!("{NAME}{}-{:08x}", rustix::process::getpid().as_raw_pid(), u32::from_ne_bytes(random))
}

/// Sets a file of a group.
fn set(directory: &Path, file: &str, value: &str) -> Result<(), String> {
    fs::write(directory.join(file), value).map_err(|_| format!("the kernel refuses `{file}` = `{value}`"))
}

/// Opens a file of a group, for a process that will have other rights.
fn open(directory: &Path, file: &str, flags: OFlags) -> Result<OwnedFd, String> {
    rustix::fs::openat(rustix::fs::CWD, directory.join(file), flags | OFlags::CLOEXEC, Mode::empty())
        .map_err(|_| format!("the kernel does not open `{file}` of its control group"))
}
