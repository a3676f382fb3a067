//! The last steps of a command before exec: session, terminal, control groups, limits, directory, streams, signals,
//! Landlock, and the command's filter.

use std::{convert::Infallible, ffi::CStr};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
    net::SendFlags,
    process::{Pid, Rlimit, getrlimit, setrlimit},
};

use super::{
    descendants::PathBuffer,
    message::{ReaperReport, StartStage},
    plan::{Reporting, SpawnPlan, Terminal},
};
use crate::{
    config::{CgroupJoin, OomPreference},
    sys,
};

/// Executes the program, or reports why not and exits.
pub(crate) fn exec_command(plan: &mut SpawnPlan<'_>) -> Infallible {
    if plan.reporting == Reporting::StartAndEnd {
        // Reported by the command's own process before it runs any program: a command may stop its reaper.
        let here = ReaperReport::Started(rustix::process::getpid().as_raw_pid());
        let _ = rustix::net::send(plan.link, &here.encode(), SendFlags::NOSIGNAL);
    }
    let (stage, why) = match prepare(plan) {
        Err(failed) => failed,
        Ok(()) => (StartStage::Exec, plan.image.exec()),
    };
    let _ = rustix::net::send(plan.link, &ReaperReport::Failed(stage, why).encode(), SendFlags::NOSIGNAL);
    sys::exit_now(127)
}

fn prepare(plan: &SpawnPlan<'_>) -> Result<(), (StartStage, Errno)> {
    let preparing = |why| (StartStage::Prepare, why);
    sys::new_session().map_err(preparing)?;
    if plan.terminal == Terminal::Controlling {
        rustix::process::ioctl_tiocsctty(plan.streams[0]).map_err(preparing)?;
    }
    if let CgroupJoin::Tasks(files) = plan.join {
        for file in files {
            // In version 1 of control groups `0` means the writing process; it must be written at offset 0.
            rustix::io::pwrite(file, b"0", 0).map_err(preparing)?;
        }
    }
    if plan.oom_preference == OomPreference::CommandsFirst {
        go_first();
    }
    rustix::process::chdir(plan.directory).map_err(|why| (StartStage::Directory, why))?;
    let [input, output, error] = plan.streams;
    rustix::stdio::dup2_stdin(input).map_err(preparing)?;
    rustix::stdio::dup2_stdout(output).map_err(preparing)?;
    rustix::stdio::dup2_stderr(error).map_err(preparing)?;
    for &(resource, most) in plan.rlimits {
        // A stricter limit stays.
        let most = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, limit).map_err(preparing)?;
    }
    sys::default_signals();
    if let Some(domain) = plan.domain {
        rustix::thread::set_no_new_privs(true).map_err(preparing)?;
        sys::confine::landlock_restrict(domain).map_err(preparing)?;
    }
    if !plan.filter.is_empty() {
        seccompiler::apply_filter(plan.filter).map_err(|_| preparing(Errno::PERM))?;
    }
    Ok(())
}

/// The highest value of `oom_score_adj`. Pods start with values close to it, which only rise without privileges.
const FIRST: &[u8] = b"1000";

/// Makes the kernel kill this process before the keeper when memory runs out. If that fails, the kernel kills the
/// largest process, which is rarely the keeper.
fn go_first() {
    write_first(c"/proc/self/oom_score_adj");
}

/// Does the same for a command that was started. Before that the process is not dumpable, and only root can open the
/// file.
pub(super) fn let_go_first(command: Pid) {
    let mut path = PathBuffer::new();
    path.text(b"/proc/");
    path.number(command.as_raw_pid());
    path.text(b"/oom_score_adj");
    write_first(path.as_c_str());
}

fn write_first(path: &CStr) {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) {
        let _ = rustix::io::write(file, FIRST);
    }
}
