//! `ToolboxService`: files and commands by the toolbox of a sandbox, where no keeper runs.
//!
//! The daemon writes in place, follows links without telling, and merges the two outputs of a command.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::time::timeout;
use workden_core::{
    Entry, EntryKind, Error, ErrorKind, IfExists, Link, NameForm, Result, Timestamp, VirtualPath, directory_entry,
    names,
    sandbox::{Ended, Isolation, Usage},
    search::PathPattern,
};

use super::{
    api::{Failure, FileInfo, Toolbox},
    hosted::{HostedSandbox, Made},
    lifecycle, report,
};
use crate::served::{FileService, RanLine, quoted};

/// Directories that are listed at the same time.
const AT_ONCE: usize = 8;
/// How long asking what became of the sandbox may take: the caller has waited for its own call already.
const EXPLAIN_TIME: Duration = Duration::from_secs(5);
/// Directories of the system that a search above them does not enter: they have no files of users, and many entries.
const SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];
/// The errors of directories that a search passes over.
const PASSED_OVER: [ErrorKind; 3] = [ErrorKind::NotFound, ErrorKind::NotDirectory, ErrorKind::PermissionDenied];
/// The most files and directories that one search looks at.
const LOOKS: usize = 100_000;

/// The toolbox of a sandbox.
#[derive(Debug)]
pub(super) struct ToolboxService {
    hosted: Arc<HostedSandbox>,
    made: Made,
    work_dir: VirtualPath,
    /// Why there is no keeper.
    why: String,
    began: Instant,
    /// When it was last used.
    used: Mutex<Instant>,
}

impl ToolboxService {
    pub(super) fn new(hosted: Arc<HostedSandbox>, made: Made, why: String) -> Self {
        let work_dir = hosted.plan.keeper.directory.clone();
        let now = Instant::now();
        Self { hosted, made, work_dir, why, began: now, used: Mutex::new(now) }
    }

    /// Returns the toolbox for a call, which is a use of the sandbox.
    fn toolbox(&self) -> &Toolbox {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        &self.made.toolbox
    }

    /// Returns the error of a call about a file. When the service cannot be reached, it says what became of the sandbox.
    async fn refused(&self, verb: &str, path: &VirtualPath, failure: Failure) -> Error {
        let said = failure.error.sentence().to_lowercase();
        let has = |status: u16, words: &str| failure.is(status) && said.contains(words);
        match () {
            () if failure.is(404) || has(400, "no such file") => self.missing(verb, path).await,
            () if has(400, "not a directory") => Error::not_directory(verb, path),
            () if has(400, "is a directory") => Error::is_directory(verb, path),
            () if failure.is(403) => {
                Error::new(ErrorKind::PermissionDenied, format!("cannot {verb} `{path}`: permission denied"))
            }
            () => self.trouble(failure.error).await,
        }
    }

    /// A file that is not there, or a sandbox that is not.
    async fn missing(&self, verb: &str, path: &VirtualPath) -> Error {
        match self.became().await {
            Some(why) if why.kind() == ErrorKind::Gone => why,
            _ => Error::not_found(verb, path),
        }
    }

    async fn trouble(&self, error: Error) -> Error {
        match self.became().await {
            Some(why) if matches!(why.kind(), ErrorKind::Gone | ErrorKind::Busy) => why,
            _ => error,
        }
    }

    /// Returns why the sandbox does not answer, if it is known soon.
    async fn became(&self) -> Option<Error> {
        timeout(EXPLAIN_TIME, lifecycle::why_gone(&self.hosted.api, &self.made.id)).await.ok()?.err()
    }

    fn entry_of(path: VirtualPath, info: &FileInfo) -> Option<Entry> {
        if names::is_temporary(path.name().unwrap_or_default().as_bytes()) {
            return None;
        }
        if info.is_dir {
            return Some(directory_entry(path));
        }
        let kind = match info.mode.as_deref().and_then(|mode| mode.chars().next()) {
            None | Some('-' | 'L') => EntryKind::File,
            Some(_) => EntryKind::Special,
        };
        let size = info.size.and_then(|size| u64::try_from(size).ok());
        Some(Entry::new(path, kind).size(size).link(Link::Direct).name(NameForm::Exact).modified(modified(info)))
    }

    /// Lists all directories below one that may have a match.
    async fn walk(&self, at: &VirtualPath, enter: impl Fn(&VirtualPath) -> bool) -> Result<Vec<Entry>> {
        let (mut found, mut next) = (Vec::new(), vec![at.clone()]);
        let is_entered = |path: &VirtualPath| !SYSTEM.contains(&path.as_str()) && enter(path);
        while !next.is_empty() {
            let listed = stream::iter(std::mem::take(&mut next)).map(async |directory| self.rows(&directory).await);
            let mut listed = listed.buffered(AT_ONCE);
            while let Some(rows) = listed.next().await {
                let rows = match rows {
                    // It is gone by now, is a file, or is not ours.
                    Err(error) if PASSED_OVER.contains(&error.kind()) => continue,
                    rows => rows?,
                };
                let below = rows.iter().filter(|entry| entry.is_dir() && is_entered(&entry.path));
                next.extend(below.map(|entry| entry.path.clone()));
                found.extend(rows);
            }
            if found.len() > LOOKS {
                let sentence = format!("cannot search `{at}`: there are more than {LOOKS} files");
                return Err(Error::new(ErrorKind::TooLarge, sentence).hint("search in a smaller directory"));
            }
        }
        Ok(found)
    }
}

fn modified(info: &FileInfo) -> Option<Timestamp> {
    Timestamp::parse(info.modified_at.as_deref().or(info.mod_time.as_deref())?).ok()
}

#[async_trait]
impl FileService for ToolboxService {
    fn name(&self) -> &'static str {
        "the toolbox of Daytona"
    }

    fn work_dir(&self) -> &VirtualPath {
        &self.work_dir
    }

    async fn rows(&self, directory: &VirtualPath) -> Result<Vec<Entry>> {
        let listed = match self.toolbox().list(directory.as_str()).await {
            Ok(listed) => listed,
            Err(failure) => return Err(self.refused("list", directory, failure).await),
        };
        // The daemon may send anything: only children of the directory count.
        let child = |info: &FileInfo| {
            let path = VirtualPath::parse(&format!("{directory}/{}", info.name)).ok()?;
            let is_child = path.parent().as_ref() == Some(directory);
            if is_child { Self::entry_of(path, info) } else { None }
        };
        Ok(listed.iter().filter_map(child).collect())
    }

    async fn entry(&self, verb: &str, path: &VirtualPath) -> Result<Entry> {
        if path.parent().is_none() {
            return Ok(directory_entry(path.clone()));
        }
        match self.toolbox().info(path.as_str()).await {
            Ok(info) => Self::entry_of(path.clone(), &info).ok_or_else(|| Error::not_found(verb, path)),
            Err(failure) => Err(self.refused(verb, path, failure).await),
        }
    }

    async fn content(&self, verb: &str, path: &VirtualPath) -> Result<Bytes> {
        // The daemon would wait for the writer of a FIFO.
        let entry = self.entry(verb, path).await?;
        match entry.kind {
            EntryKind::Directory => return Err(Error::is_directory(verb, path)),
            EntryKind::File => {}
            EntryKind::BrokenLink | EntryKind::Special => {
                let sentence = format!("cannot {verb} `{path}`: it is a FIFO, a socket or a device");
                return Err(Error::new(ErrorKind::NotRegular, sentence));
            }
        }
        match self.toolbox().download(path.as_str()).await {
            Ok(content) => Ok(content),
            Err(failure) => Err(self.refused(verb, path, failure).await),
        }
    }

    async fn put(&self, path: &VirtualPath, content: Bytes) -> Result<()> {
        match self.toolbox().upload(path.as_str(), &content).await {
            Ok(()) => Ok(()),
            Err(failure) => Err(self.refused("write", path, failure).await),
        }
    }

    async fn rename(&self, from: &VirtualPath, to: &VirtualPath, if_exists: IfExists) -> Result<()> {
        let entry = self.entry("move", from).await?;
        match (self.entry("move", to).await, if_exists) {
            (Ok(_), IfExists::Refuse) => return Err(Error::already_exists("move to", to)),
            (Ok(there), IfExists::Replace) if there.is_dir() && !entry.is_dir() => {
                return Err(Error::is_directory("move to", to));
            }
            (Ok(_), IfExists::Replace) => {}
            (Err(error), _) if error.kind() == ErrorKind::NotFound => {}
            (Err(error), _) => return Err(error),
        }
        match self.toolbox().rename(from.as_str(), to.as_str()).await {
            Ok(()) => Ok(()),
            Err(failure) => Err(self.refused("move", from, failure).await),
        }
    }

    async fn find(&self, at: &VirtualPath, pattern: &str) -> Result<Vec<Entry>> {
        if !self.entry("search", at).await?.is_dir() {
            return Err(Error::not_directory("search", at));
        }
        let pattern = PathPattern::new(pattern, at)?;
        let start = if pattern.start().is_within(at) { pattern.start() } else { at };
        let mut found = self.walk(start, |path| pattern.may_match_below(path)).await?;
        found.retain(|entry| pattern.is_match(&entry.path));
        Ok(found)
    }

    async fn run(&self, line: &str, time: Duration) -> Result<RanLine> {
        // The line is on the input of the shell, where a command would read the rest of it.
        let line = format!("sh -c {} </dev/null", quoted(line));
        let ran = self.toolbox().execute(&line, None, time).await;
        // It was in use until now.
        self.toolbox();
        match ran {
            Ok(Some((code, output))) => Ok(RanLine { output, ended: Ended::Exited(code), is_cut: false }),
            Ok(None) => Ok(RanLine { output: String::new(), ended: Ended::TimedOut, is_cut: false }),
            Err(failure) => Err(self.trouble(failure.error).await),
        }
    }

    async fn usage(&self) -> Result<Usage> {
        lifecycle::why_gone(&self.hosted.api, &self.made.id).await?;
        let idle = self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        Ok(Usage::default().age(self.began.elapsed()).idle(idle))
    }

    async fn isolation(&self) -> Result<Isolation> {
        let info = self.hosted.api.get(&self.made.id).await?;
        Ok(report::of_toolbox(info.as_ref(), &self.why))
    }

    async fn end(&self) -> Result<()> {
        self.hosted.release().await
    }
}
