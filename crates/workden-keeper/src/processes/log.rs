//! The log of a command: the last bytes of its output, in a file once they exceed a few KB. Most commands print less,
//! and a file costs a descriptor.
//!
//! Invariant: a log never exceeds its size limit, only the keeper can write it, a named log is complete, and nothing
//! of it remains when the keeper ends, for any reason.

use std::{
    fs::File,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::fs::FileExt,
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, linkat, mkdirat, openat, unlinkat},
    io::Errno,
    rand::{GetRandomFlags, getrandom},
};
use workden_core::{VirtualPath, limits, sandbox::JobId};

use crate::config::Logs;

/// The most bytes that are kept without a file.
const FEW: usize = 64 * 1024;

/// The name of an output file, in a directory of its own.
const OUTPUT: &str = "output";

/// The last bytes of an output.
#[derive(Debug)]
pub(crate) struct OutputLog {
    held: LogStore,
    /// The name of the file, while it holds the complete output.
    name: Option<LinkedName>,
    ceiling: u64,
    /// Bytes that were printed, including lost ones.
    printed: u64,
    /// The offset of the first byte that is kept.
    first: u64,
}

/// Where the bytes are stored.
#[derive(Debug)]
enum LogStore {
    /// In memory; with the directory for a file later.
    Few(Vec<u8>, LogDirectory),
    File(File),
    /// Not at all: they are only counted.
    Lost,
}

/// A directory for files.
#[derive(Clone, Debug)]
enum LogDirectory {
    At(PathBuf),
    In(Arc<OwnedFd>),
}

impl OutputLog {
    /// Creates a log without a name. A log whose file cannot be created only counts.
    pub(crate) fn unseen(logs: &Logs) -> Self {
        let place = match logs {
            Logs::Unseen(directory) => LogDirectory::At(directory.clone()),
            Logs::Shown { directory, .. } => LogDirectory::In(Arc::clone(directory)),
        };
        let held = LogStore::Few(Vec::new(), place);
        Self { held, name: None, ceiling: limits::LOG_BYTES, printed: 0, first: 0 }
    }

    /// Moves the bytes from memory into a file.
    fn write_out(&mut self) {
        let LogStore::Few(bytes, place) = &self.held else { return };
        let file = match place {
            LogDirectory::At(directory) => nameless(CWD, directory),
            LogDirectory::In(directory) => nameless(directory, Path::new(".")),
        };
        match file.ok().filter(|file| file.write_all_at(bytes, 0).is_ok()) {
            Some(file) => self.held = LogStore::File(file),
            None => self.forget(),
        }
    }

    /// Gives the file a name under which commands can read it, if there is such a directory. The name contains the id
    /// of the command and a random part that cannot be guessed.
    pub(crate) fn show(&mut self, logs: &Logs, id: &JobId) {
        self.write_out();
        let (Logs::Shown { directory, at }, LogStore::File(file), 0) = (logs, &self.held, self.first) else { return };
        self.name = LinkedName::give(file, directory, at, id).ok();
    }

    /// Returns the path at which commands can read the complete output.
    pub(crate) fn path(&self) -> Option<&VirtualPath> {
        self.name.as_ref().map(|name| &name.path)
    }

    /// Appends bytes; the oldest are dropped when the log is full.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if let LogStore::Few(few, _) = &mut self.held {
            if few.len() + bytes.len() <= FEW.min(usize::try_from(self.ceiling).unwrap_or(FEW)) {
                few.extend_from_slice(bytes);
                self.printed += bytes.len() as u64;
                return;
            }
            self.write_out();
        }
        let from = self.printed;
        self.printed += bytes.len() as u64;
        self.first = self.first.max(self.printed.saturating_sub(self.ceiling));
        if self.first > 0 {
            // The file no longer starts with the start of the output.
            self.name = None;
        }
        let LogStore::File(file) = &self.held else {
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
                // The disk is full: neither old nor new content of the file is reliable.
                self.forget();
                return;
            }
            at += fits as u64;
            rest = &rest[fits..];
        }
    }

    /// Drops the content; the bytes stay counted.
    pub(crate) fn forget(&mut self) {
        (self.held, self.name) = (LogStore::Lost, None);
        self.first = self.printed;
    }

    /// Returns how many bytes were printed.
    pub(crate) fn printed(&self) -> u64 {
        self.printed
    }

    /// Returns how many bytes are kept.
    pub(crate) fn kept(&self) -> u64 {
        self.printed - self.first
    }

    /// Reads at most `most` bytes from an offset on. Returns them with the offset of the first.
    pub(crate) fn read(&self, offset: u64, most: u64) -> (u64, Vec<u8>) {
        let from = offset.max(self.first);
        let wanted = self.printed.saturating_sub(from).min(most);
        let wanted = usize::try_from(wanted).unwrap_or(0);
        if let LogStore::Few(few, _) = &self.held {
            let start = usize::try_from(from).unwrap_or(few.len());
            return (from, few.iter().skip(start).take(wanted).copied().collect());
        }
        let mut bytes = vec![0; wanted];
        let mut filled = 0;
        while let (LogStore::File(file), true) = (&self.held, filled < bytes.len()) {
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

/// Creates a file without a name.
fn nameless(base: impl AsFd, directory: &Path) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    match openat(base, directory, flags | OFlags::TMPFILE, Mode::RUSR) {
        Ok(file) => Ok(file.into()),
        // The file system does not support that: a file in memory, limited by the size of the log.
        Err(_) => rustix::fs::memfd_create(c"log", rustix::fs::MemfdFlags::CLOEXEC).map(File::from),
    }
}

/// The name of a file that commands can read, in a directory of its own. Dropping it removes both.
#[derive(Debug)]
struct LinkedName {
    logs: Arc<OwnedFd>,
    directory: String,
    path: VirtualPath,
}

impl LinkedName {
    fn give(file: &File, logs: &Arc<OwnedFd>, at: &VirtualPath, id: &JobId) -> Result<Self, Errno> {
        let mut random = [0; 8];
        getrandom(&mut random, GetRandomFlags::empty())?;
        // File calls list the directory of a file, so it is not the directory of all logs.
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

impl Drop for LinkedName {
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
        let mut log = OutputLog::unseen(&Logs::Unseen(directory.path().to_owned()));
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
    #[test]
    fn little_is_kept_without_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = OutputLog::unseen(&Logs::Unseen(directory.path().to_owned()));
        for _ in 0..FEW / 4 {
            log.push(b"four");
        }
        assert!(matches!(log.held, LogStore::Few(..)));
        assert_eq!(log.read(2, 6), (2, b"urfour".to_vec()));
        assert_eq!(log.read(99_999, 6), (99_999, Vec::new()));
        log.push(b"more");
        assert!(matches!(log.held, LogStore::File(_)));
        assert_eq!(log.read(FEW as u64 - 4, 100), (FEW as u64 - 4, b"fourmore".to_vec()));
        assert_eq!((log.printed(), log.kept()), (FEW as u64 + 4, FEW as u64 + 4));
    }
}
