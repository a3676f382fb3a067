//! The descendants of a process, as the kernel lists them in `/proc/<pid>/task/<tid>/children`.
//!
//! Nothing here allocates: reapers use it after their fork.

use std::{
    ffi::CStr,
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{
    fs::{CWD, Mode, OFlags, RawDir, openat},
    process::{Pid, Signal, kill_process},
};

/// Signals all descendants of this process that fit into `room`, and returns their number. Ids beyond its length are
/// left for the next call.
pub(crate) fn signal_all(room: &mut [i32], signals: &[Signal]) -> usize {
    let mut found = Found::none(room);
    found.add_descendants();
    signal(found.pids(), signals)
}

/// Signals processes, and returns their number.
pub(super) fn signal(pids: &[i32], signals: &[Signal]) -> usize {
    for pid in pids.iter().filter_map(|&pid| Pid::from_raw(pid)) {
        for &signal in signals {
            // The process may have exited.
            let _ = kill_process(pid, signal);
        }
    }
    pids.len()
}

/// Ids of processes, in space that exists already.
pub(super) struct Found<'a> {
    room: &'a mut [i32],
    count: usize,
}

impl<'a> Found<'a> {
    pub(super) fn none(room: &'a mut [i32]) -> Self {
        Self { room, count: 0 }
    }

    pub(super) fn pids(&self) -> &[i32] {
        self.room.get(..self.count).unwrap_or_default()
    }

    /// Adds a process, if there is space.
    pub(super) fn add(&mut self, pid: i32) {
        if let Some(place) = self.room.get_mut(self.count) {
            *place = pid;
            self.count += 1;
        }
    }

    /// Adds all descendants of this process, children before grandchildren.
    fn add_descendants(&mut self) {
        children(None, &mut |pid| self.add(pid));
        let mut looked_at = 0;
        while let Some(&parent) = self.pids().get(looked_at) {
            children(Some(parent), &mut |pid| self.add(pid));
            looked_at += 1;
        }
    }
}

/// Calls `each` with the children of a process, or of this one, for each of its threads.
pub(crate) fn children(of: Option<i32>, each: &mut impl FnMut(i32)) {
    let mut path = PathBuffer::new();
    path.text(b"/proc/");
    match of {
        Some(pid) => path.number(pid),
        None => path.text(b"self"),
    }
    path.text(b"/task");
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(tasks) = openat(CWD, path.as_c_str(), flags, Mode::empty()) else { return };
    let mut space = [MaybeUninit::uninit(); 2048];
    let mut entries = RawDir::new(tasks.as_fd(), &mut space);
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name().to_bytes();
        if name.first().is_some_and(u8::is_ascii_digit) {
            let mut file = PathBuffer::new();
            file.text(name);
            file.text(b"/children");
            listed(tasks.as_fd(), file.as_c_str(), each);
        }
    }
}

/// Calls `each` with the numbers in a file.
fn listed(directory: BorrowedFd<'_>, file: &CStr, each: &mut impl FnMut(i32)) {
    let Ok(file) = openat(directory, file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else { return };
    let mut number: i32 = 0;
    let mut buffer = [0_u8; 1024];
    while let Ok(read @ 1..) = rustix::io::read(&file, &mut buffer) {
        for &byte in buffer.iter().take(read) {
            if byte.is_ascii_digit() {
                number = number.wrapping_mul(10).wrapping_add(i32::from(byte.wrapping_sub(b'0')));
            } else if number > 0 {
                each(number);
                number = 0;
            }
        }
    }
    if number > 0 {
        each(number);
    }
}

/// A short path, built without allocating.
pub(super) struct PathBuffer {
    bytes: [u8; 64],
    length: usize,
}

impl PathBuffer {
    pub(super) fn new() -> Self {
        Self { bytes: [0; 64], length: 0 }
    }

    /// Appends text, as far as it fits with the final NUL.
    pub(super) fn text(&mut self, text: &[u8]) {
        for &byte in text {
            if self.length < self.bytes.len() - 1 {
                self.bytes[self.length] = byte;
                self.length += 1;
            }
        }
    }

    pub(super) fn number(&mut self, number: i32) {
        let mut digits = [0_u8; 10];
        let mut rest = number.unsigned_abs();
        let mut first = digits.len();
        while first > 0 && (rest > 0 || first == digits.len()) {
            first -= 1;
            digits[first] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
        }
        self.text(&digits[first..]);
    }

    pub(super) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"")
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn numbers_are_written_as_people_do() {
        for (number, text) in [(0, c"0"), (7, c"7"), (10, c"10"), (4_194_304, c"4194304"), (i32::MAX, c"2147483647")] {
            let mut path = PathBuffer::new();
            path.number(number);
            assert_eq!(path.as_c_str(), text);
        }
    }

    #[test]
    fn children_and_grandchildren_are_found() {
        let mut shell = Command::new("sh").args(["-c", "sleep 60 & sleep 60 & wait"]).spawn().unwrap();
        let shell_pid = i32::try_from(shell.id()).unwrap();
        let mut found = Vec::new();
        while found.len() < 2 {
            found.clear();
            children(Some(shell_pid), &mut |pid| found.push(pid));
        }
        let mut room = [0; 64];
        let mut all = Found::none(&mut room);
        all.add_descendants();
        assert!(found.iter().chain([&shell_pid]).all(|pid| all.pids().contains(pid)), "{found:?} in {:?}", all.pids());
        for pid in found {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        shell.wait().unwrap();
    }
}
