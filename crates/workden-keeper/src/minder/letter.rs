//! What to run, as a keeper writes it down for a minder that waits: words, and beside them the standard streams. Long
//! words go in a file without a name, which takes any length at once, where a socket would make the keeper wait.

use std::{
    ffi::{CStr, CString},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{MemfdFlags, memfd_create},
    io::{Errno, pread, retry_on_intr, write},
    net::{RecvFlags, recv},
};

use super::{Tells, Terminal};
use crate::{
    message::{Wait, receive_with, send_with},
    sys::Program,
};

/// Words that go beside the message, up to so many bytes: a socket takes these at once.
const BESIDE: u8 = b'w';
const INLINE: usize = 32 * 1024;
/// Words that are in a file.
const IN_FILE: u8 = b'f';

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
        let words = self.written();
        let length = u32::try_from(words.len()).map_err(|_| Errno::TOOBIG)?.to_le_bytes();
        let [input, output, error] = streams;
        if words.len() <= INLINE {
            let message = [&[BESIDE], &length[..], &words].concat();
            return send_with(link, &message, &[input, output, error], Wait::Never);
        }
        let file = memfd_create(c"command", MemfdFlags::CLOEXEC)?;
        let mut rest = words.as_slice();
        while !rest.is_empty() {
            let length = retry_on_intr(|| write(&file, rest))?;
            rest = rest.get(length..).unwrap_or_default();
        }
        let message = [&[IN_FILE], &length[..]].concat();
        send_with(link, &message, &[input, output, error, file.as_fd()], Wait::Never)
    }

    /// Waits for one; `None` when none will come.
    pub(super) fn receive(link: impl AsFd) -> Result<Option<(Self, [OwnedFd; 3])>, Errno> {
        let (head, enclosed) = receive_with(&link, 5)?;
        let (kind, length) = match *head.as_slice() {
            [] => return Ok(None),
            [kind, a, b, c, d] => (kind, u32::from_le_bytes([a, b, c, d])),
            _ => return Err(Errno::INVAL),
        };
        let mut words = vec![0; usize::try_from(length).map_err(|_| Errno::TOOBIG)?];
        let mut enclosed = enclosed.into_iter();
        // A process that may open no more gets fewer than were sent.
        let mut next = || enclosed.next().ok_or(Errno::MFILE);
        let streams = [next()?, next()?, next()?];
        match kind {
            BESIDE => fill(&mut words, |rest, _| recv(&link, rest, RecvFlags::empty()).map(|(_, length)| length))?,
            IN_FILE => {
                let file = next()?;
                fill(&mut words, |rest, at| pread(&file, rest, at))?;
            }
            _ => return Err(Errno::INVAL),
        }
        let letter = Self::read(&words).ok_or(Errno::INVAL)?;
        Ok(Some((letter, streams)))
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

/// Fills a buffer by reads at offsets.
fn fill(buffer: &mut [u8], mut read: impl FnMut(&mut [u8], u64) -> Result<usize, Errno>) -> Result<(), Errno> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match retry_on_intr(|| read(rest, filled as u64))? {
            0 => return Err(Errno::INVAL),
            more => filled += more,
        }
    }
    Ok(())
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
