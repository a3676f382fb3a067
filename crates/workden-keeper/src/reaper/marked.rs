//! The processes of a command by its mark, a variable in their environment. gVisor before 2023 has neither child
//! subreapers nor lists of children: a process that has detached itself belongs to PID 1 there.
//!
//! Nothing here allocates: reapers use it after their fork.

use std::{ffi::CStr, mem::MaybeUninit, os::fd::AsFd};

use rustix::{
    fd::OwnedFd,
    fs::{CWD, Mode, OFlags, RawDir, openat},
    process::{Pid, Signal},
};

use super::descendants::{self, Found, PathBuffer};

/// Signals all processes with this mark, as far as they fit into `room`, and returns their number. Those that have
/// cleared their environment are signalled while they are children of others, or in the session of the leader.
pub(crate) fn signal_all(mark: &[u8], leader: Option<Pid>, room: &mut [i32], signals: &[Signal]) -> usize {
    let mut found = Found::none(room);
    if let Some(leader) = leader {
        // It may not have executed its program yet.
        found.add(leader.as_raw_pid());
    }
    each_process(&mut |processes, pid, name| {
        let leader = leader.map(Pid::as_raw_pid);
        let is_near = || {
            origin(processes, name)
                .is_some_and(|from| found.pids().contains(&from.parent) || Some(from.session) == leader)
        };
        if Some(pid) != leader && (is_near() || has_variable(processes, name, mark)) {
            found.add(pid);
        }
    });
    descendants::signal(found.pids(), signals)
}

/// Whether a process has this mark.
pub(crate) fn is_any_left(mark: &[u8]) -> bool {
    // A process that forks and exits while `/proc` is read may hide its child, once.
    (0..2).any(|_| {
        let mut found = false;
        each_process(&mut |processes, _, name| found = found || has_variable(processes, name, mark));
        found
    })
}

/// Calls `each` with `/proc`, the id of every process, and that as text.
fn each_process(each: &mut impl FnMut(&OwnedFd, i32, &[u8])) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(processes) = openat(CWD, c"/proc", flags, Mode::empty()) else { return };
    let mut space = [MaybeUninit::uninit(); 2048];
    let mut entries = RawDir::new(processes.as_fd(), &mut space);
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name().to_bytes();
        if let Some(pid) = number(name) {
            each(&processes, pid, name);
        }
    }
}

/// From which processes a process comes.
#[derive(Debug, PartialEq, Eq)]
struct Origin {
    parent: i32,
    /// The leader of its session.
    session: i32,
}

fn origin(processes: &OwnedFd, name: &[u8]) -> Option<Origin> {
    let file = open(processes, name, b"/stat")?;
    // Longer than the name of a program and the fields up to the session.
    let mut stat = [0_u8; 512];
    let read = rustix::io::read(&file, &mut stat).ok()?;
    parse_stat(stat.get(..read)?)
}

fn parse_stat(stat: &[u8]) -> Option<Origin> {
    // The name of the program, in parentheses, may contain any byte.
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let mut fields = stat.get(name_end..)?.split(|&byte| byte == b' ').skip(2);
    let parent = number(fields.next()?)?;
    let session = number(fields.nth(1)?)?;
    Some(Origin { parent, session })
}

fn number(text: &[u8]) -> Option<i32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether a process has this variable in its environment. That of another user cannot be read.
fn has_variable(processes: &OwnedFd, name: &[u8], variable: &[u8]) -> bool {
    let Some(environment) = open(processes, name, b"/environ") else { return false };
    let mut search = VariableSearch::of(variable);
    let mut piece = [0_u8; 4096];
    while let Ok(read @ 1..) = rustix::io::read(&environment, &mut piece) {
        search.read(piece.get(..read).unwrap_or_default());
    }
    search.ends()
}

fn open(processes: &OwnedFd, name: &[u8], file: &[u8]) -> Option<OwnedFd> {
    let mut path = PathBuffer::new();
    path.text(name);
    path.text(file);
    let path: &CStr = path.as_c_str();
    openat(processes, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Searches for a variable in an environment that is read in pieces. Each variable ends with a NUL byte.
struct VariableSearch<'a> {
    variable: &'a [u8],
    /// How many bytes of the variable are the first ones of the current one; `None` if it is another one.
    same: Option<usize>,
    found: bool,
}

impl<'a> VariableSearch<'a> {
    fn of(variable: &'a [u8]) -> Self {
        Self { variable, same: Some(0), found: false }
    }

    fn read(&mut self, piece: &[u8]) {
        for &byte in piece {
            if byte == 0 {
                self.found |= self.same == Some(self.variable.len());
                self.same = Some(0);
            } else {
                self.same = self.same.filter(|&same| self.variable.get(same) == Some(&byte)).map(|same| same + 1);
            }
        }
    }

    /// Returns whether the variable was found.
    fn ends(mut self) -> bool {
        self.read(&[0]);
        self.found
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader},
        process::{Child, Command, Stdio},
    };

    use super::*;

    #[test]
    fn a_variable_is_found_whole_wherever_a_piece_ends() {
        for (environment, expected) in [
            ("A=1\0MARK=7\0B=2\0", true),
            ("MARK=7\0", true),
            ("B=2\0MARK=7", true),
            ("MARK=77\0", false),
            ("MARK=\0", false),
            ("XMARK=7\0", false),
            ("A=MARK=7\0", false),
            ("", false),
        ] {
            for length in 1..=environment.len().max(1) {
                let mut search = VariableSearch::of(b"MARK=7");
                environment.as_bytes().chunks(length).for_each(|piece| search.read(piece));
                assert_eq!(search.ends(), expected, "{environment:?} in pieces of {length}");
            }
        }
    }

    #[test]
    fn the_origin_of_a_process_is_read_whatever_its_name_is() {
        let stat = b"7 (a) b (c) S 3 7 5 0 -1";
        assert_eq!(parse_stat(stat), Some(Origin { parent: 3, session: 5 }));
        assert_eq!(parse_stat(b"7 (a) S 3"), None);
    }

    /// Starts a shell with a mark, and returns it with the id of a process that it prints.
    fn start(mark: &str, line: &str) -> (Child, i32) {
        let mut shell = Command::new("setsid");
        shell.args(["sh", "-c", line]).env("WORKDEN_TEST_MARK", mark).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut pid = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut pid).unwrap();
        (shell, pid.trim().parse().unwrap())
    }

    fn exists(pid: i32) -> bool {
        std::path::Path::new(&format!("/proc/{pid}")).exists()
    }

    #[test]
    fn a_process_that_has_detached_itself_is_ended_and_one_of_another_mark_is_not() {
        let own = format!("detached-{}", std::process::id());
        let mark = format!("WORKDEN_TEST_MARK={own}");
        let (mut gone, detached) = start(&own, "setsid sleep 60 & echo $!");
        gone.wait().unwrap();
        let (mut other, _) = start("another", "echo $$; exec sleep 60");
        assert!(is_any_left(mark.as_bytes()));
        assert_eq!(signal_all(mark.as_bytes(), None, &mut [0; 64], &[Signal::KILL]), 1);
        while is_any_left(mark.as_bytes()) || exists(detached) {
            std::thread::yield_now();
        }
        assert!(other.try_wait().unwrap().is_none(), "another command was ended");
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_process_without_environment_is_ended_with_its_session() {
        let own = format!("cleared-{}", std::process::id());
        let (mut shell, cleared) = start(&own, "env -i sleep 60 & echo $!; wait");
        let leader = Pid::from_raw(i32::try_from(shell.id()).unwrap());
        let mark = format!("WORKDEN_TEST_MARK={own}");
        while has_variable_of(cleared, &mark) {
            std::thread::yield_now();
        }
        signal_all(mark.as_bytes(), leader, &mut [0; 64], &[Signal::KILL]);
        shell.wait().unwrap();
        while exists(cleared) {
            std::thread::yield_now();
        }
    }

    fn has_variable_of(pid: i32, mark: &str) -> bool {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
        environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
    }
}
