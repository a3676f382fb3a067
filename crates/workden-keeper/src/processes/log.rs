//! The log of a command: a file that holds the last so many bytes of its output.
//!
//! Invariant: it never grows past its ceiling, nobody but the keeper can write it, what it is shown by
//! is whole, and nothing remains of it when the keeper ends, however that happens.

use std::{
    fs::File,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::fs::FileExt,
    },
    path::Path,
    sync::Arc,
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, linkat, mkdirat, openat, unlinkat},
    io::Errno,
    rand::{GetRandomFlags, getrandom},
};
use workden_core::{VirtualPath, limits, sandbox::JobId};

use crate::setting::Logs;

/// What the file of an output is called, in a directory of its own.
const OUTPUT: &str = "output";

/// The last bytes of an output, in a file.
#[derive(Debug)]
pub(crate) struct Log {
    file: Option<File>,
    /// The name of the file, as long as it holds all that came.
    name: Option<Name>,
    ceiling: u64,
    /// Bytes that came, also those that are gone.
    printed: u64,
    /// The first byte that is still to be had.
    first: u64,
}

impl Log {
    /// A log without a name. One that cannot be made counts, and holds nothing.
    pub(crate) fn unseen(logs: &Logs) -> Self {
        let file = match logs {
            Logs::Unseen(directory) => nameless(CWD, directory),
            Logs::Shown { directory, .. } => nameless(directory, Path::new(".")),
        };
        Self { file: file.ok(), name: None, ceiling: limits::LOG_BYTES, printed: 0, first: 0 }
    }

    /// Gives it a name under which commands can read it, where there are such. The name of the command
    /// is in it, and something that cannot be guessed: who was not told does not find it.
    pub(crate) fn show(&mut self, logs: &Logs, id: &JobId) {
        let (Logs::Shown { directory, at }, Some(file), 0) = (logs, &self.file, self.first) else { return };
        self.name = Name::give(file, directory, at, id).ok();
    }

    /// Where commands can read all of it.
    pub(crate) fn path(&self) -> Option<&VirtualPath> {
        self.name.as_ref().map(|name| &name.path)
    }

    /// Adds to the end; the oldest goes when there is no room.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let from = self.printed;
        self.printed += bytes.len() as u64;
        self.first = self.first.max(self.printed.saturating_sub(self.ceiling));
        if self.first > 0 {
            // What is in the file does not begin at its beginning any more.
            self.name = None;
        }
        let Some(file) = &self.file else {
            self.first = self.printed;
            return;
        };
        let skipped = bytes.len().saturating_sub(usize::try_from(self.ceiling).unwrap_or(usize::MAX));
        let mut at = from + skipped as u64;
        let mut rest = &bytes[skipped..];
        while !rest.is_empty() {
            let place = at % self.ceiling;
            let fits = usize::try_from(self.ceiling - place).unwrap_or(usize::MAX).min(rest.len());
            if file.write_all_at(&rest[..fits], place).is_err() {
                // No room on the disk. What is there is not to be trusted, nor what comes.
                self.forget();
                return;
            }
            at += fits as u64;
            rest = &rest[fits..];
        }
    }

    /// Gives up the file; what was printed stays counted.
    pub(crate) fn forget(&mut self) {
        (self.file, self.name) = (None, None);
        self.first = self.printed;
    }

    /// Bytes that came.
    pub(crate) fn printed(&self) -> u64 {
        self.printed
    }

    /// Bytes that are here.
    pub(crate) fn kept(&self) -> u64 {
        self.printed - self.first
    }

    /// What is here from an offset on, at most so much; with the offset at which it begins.
    pub(crate) fn read(&self, offset: u64, most: u64) -> (u64, Vec<u8>) {
        let from = offset.max(self.first);
        let wanted = self.printed.saturating_sub(from).min(most);
        let mut bytes = vec![0; usize::try_from(wanted).unwrap_or(0)];
        let mut filled = 0;
        while let (Some(file), true) = (&self.file, filled < bytes.len()) {
            let place = (from + filled as u64) % self.ceiling;
            let fits = usize::try_from(self.ceiling - place).unwrap_or(usize::MAX).min(bytes.len() - filled);
            if file.read_exact_at(&mut bytes[filled..filled + fits], place).is_err() {
                break;
            }
            filled += fits;
        }
        bytes.truncate(filled);
        (from, bytes)
    }
}

/// A file that is in no directory.
fn nameless(base: impl AsFd, directory: &Path) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    match openat(base, directory, flags | OFlags::TMPFILE, Mode::RUSR) {
        Ok(file) => Ok(file.into()),
        // A file system that cannot do that: a file in memory then, as small as the ceiling.
        Err(_) => rustix::fs::memfd_create(c"log", rustix::fs::MemfdFlags::CLOEXEC).map(File::from),
    }
}

/// The name of a file that commands can read, in a directory of its own. Both go when this does.
#[derive(Debug)]
struct Name {
    logs: Arc<OwnedFd>,
    directory: String,
    path: VirtualPath,
}

impl Name {
    fn give(file: &File, logs: &Arc<OwnedFd>, at: &VirtualPath, id: &JobId) -> Result<Self, Errno> {
        let mut random = [0; 8];
        getrandom(&mut random, GetRandomFlags::empty())?;
        // File calls list the directory that a file is in, which is why it is not the one of all logs.
        let directory = format!("{id}-{:016x}", u64::from_ne_bytes(random));
        let path = VirtualPath::parse(&format!("{at}/{directory}/{OUTPUT}")).map_err(|_| Errno::INVAL)?;
        mkdirat(logs, directory.as_str(), Mode::RWXU)?;
        let name = Self { logs: Arc::clone(logs), directory, path };
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        linkat(CWD, open, logs, name.file(), AtFlags::SYMLINK_FOLLOW)?;
        Ok(name)
    }

    fn file(&self) -> String {
        format!("{}/{OUTPUT}", self.directory)
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = unlinkat(&self.logs, self.file(), AtFlags::empty());
        let _ = unlinkat(&self.logs, self.directory.as_str(), AtFlags::REMOVEDIR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_are_kept_and_the_rest_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = Log::unseen(&Logs::Unseen(directory.path().to_owned()));
        log.ceiling = 10;
        for piece in ["abc", "defgh", "ijklmn", "", "o"] {
            log.push(piece.as_bytes());
        }
        assert_eq!((log.printed(), log.kept()), (15, 10));
        assert_eq!(log.read(0, 100), (5, b"fghijklmno".to_vec()));
        assert_eq!(log.read(12, 2), (12, b"mn".to_vec()));
        assert_eq!(log.read(15, 2), (15, Vec::new()));
        assert_eq!(log.read(99, 2), (99, Vec::new()));
        log.push(b"0123456789abcdefghijklmnopq");
        assert_eq!(log.read(0, 100), (32, b"hijklmnopq".to_vec()));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
