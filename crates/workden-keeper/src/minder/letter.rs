//! What to run, as a keeper writes it down for a minder that waits: its words in a file without a name, its
//! standard streams beside that. A file takes any length at once, where a socket would make the keeper wait.

use std::{
    ffi::{CStr, CString},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{MemfdFlags, memfd_create},
    io::{Errno, pread, retry_on_intr, write},
};

use super::{Tells, Terminal};
use crate::{
    message::{receive_with, send_with},
    sys::Program,
};

/// Bytes of the numbers before the words.
const HEAD: usize = 20;

/// What to run, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    pub(crate) program: Program,
    pub(crate) directory: CString,
    pub(crate) terminal: Terminal,
    pub(crate) tells: Tells,
}

impl Letter {
    /// Gives it to the minder at the other end, with the standard streams of the command.
    pub(crate) fn send(&self, link: impl AsFd, streams: [BorrowedFd<'_>; 3]) -> Result<(), Errno> {
        let file = memfd_create(c"command", MemfdFlags::CLOEXEC)?;
        let written = self.written();
        let mut rest = written.as_slice();
        while !rest.is_empty() {
            let length = retry_on_intr(|| write(&file, rest))?;
            rest = rest.get(length..).unwrap_or_default();
        }
        let [input, output, error] = streams;
        send_with(link, b"!", &[file.as_fd(), input, output, error])
    }

    /// Waits for one; `None` when none will come.
    pub(super) fn receive(link: impl AsFd) -> Result<Option<(Self, [OwnedFd; 3])>, Errno> {
        let (said, enclosed) = receive_with(link, 1)?;
        if said.is_empty() {
            return Ok(None);
        }
        let enclosed = <[OwnedFd; 4]>::try_from(enclosed);
        // A process that may open no more gets fewer than were sent.
        let [file, input, output, error] = enclosed.map_err(|_| Errno::MFILE)?;
        let letter = Self::read(&content(&file)?).ok_or(Errno::INVAL)?;
        Ok(Some((letter, [input, output, error])))
    }

    /// Numbers, then words that each end with a NUL.
    fn written(&self) -> Vec<u8> {
        let Program { files, arguments, environment } = &self.program;
        let terminal = usize::from(self.terminal == Terminal::Controlling);
        let tells_start = usize::from(self.tells == Tells::StartAndEnd);
        let mut bytes = Vec::with_capacity(4096);
        for number in [terminal, tells_start, files.len(), arguments.len(), environment.len()] {
            bytes.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
        }
        for word in [&self.directory].into_iter().chain(files).chain(arguments).chain(environment) {
            bytes.extend(word.as_bytes_with_nul());
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (head, mut rest) = bytes.split_at_checked(HEAD)?;
        let mut numbers = head.as_chunks().0.iter().map(|number| u32::from_le_bytes(*number));
        let mut word = || {
            let word = CStr::from_bytes_until_nul(rest).ok()?;
            rest = rest.get(word.count_bytes() + 1..)?;
            Some(word.to_owned())
        };
        let terminal = if numbers.next()? == 0 { Terminal::None } else { Terminal::Controlling };
        let tells = if numbers.next()? == 0 { Tells::End } else { Tells::StartAndEnd };
        let directory = word()?;
        let mut words = || (0..numbers.next()?).map(|_| word()).collect::<Option<Vec<_>>>();
        let program = Program { files: words()?, arguments: words()?, environment: words()? };
        Some(Self { program, directory, terminal, tells })
    }
}

/// All that is in a file, wherever its writer stands in it.
fn content(file: &OwnedFd) -> Result<Vec<u8>, Errno> {
    let length = usize::try_from(rustix::fs::fstat(file)?.st_size).map_err(|_| Errno::INVAL)?;
    let mut bytes = vec![0; length];
    let mut read = 0;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match retry_on_intr(|| pread(file, &mut *rest, read as u64))? {
            0 => return Err(Errno::INVAL),
            more => read += more,
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;

    fn words(words: &[&str]) -> Vec<CString> {
        words.iter().map(|word| CString::new(*word).unwrap()).collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let long = "x".repeat(3_000_000);
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        for (arguments, terminal, tells) in [
            (&["sh", "-c", "", "a\nb"][..], Terminal::None, Tells::End),
            (&["x", &long], Terminal::Controlling, Tells::StartAndEnd),
            (&[], Terminal::None, Tells::StartAndEnd),
        ] {
            let program = Program {
                files: words(&["/bin/sh", "./sh"]),
                arguments: words(arguments),
                environment: words(&["A=1", "B="]),
            };
            let directory = CString::new(b"/odd\xff".to_vec()).unwrap();
            let letter = Letter { program, directory, terminal, tells };
            letter.send(&ours, [null.as_fd(); 3]).unwrap();
            let (read, _streams) = Letter::receive(&theirs).unwrap().unwrap();
            assert_eq!(read, letter);
        }
        drop(ours);
        assert!(Letter::receive(&theirs).unwrap().is_none());
    }

    #[test]
    fn what_is_cut_off_is_nothing() {
        let program = Program { files: words(&["/f"]), arguments: words(&["f"]), environment: words(&["A=1"]) };
        let directory = CString::new("/").unwrap();
        let whole = Letter { program, directory, terminal: Terminal::None, tells: Tells::End }.written();
        assert!(Letter::read(&whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(Letter::read(&whole[..length]), None, "{length}");
        }
    }
}
