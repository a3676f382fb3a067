//! `DirectoryStore`: the records of sessions that no process owns, in a directory of the host, so that any process of
//! the user finds a session by its id.
//!
//! Invariant: a process that creates or ends a session holds its lock, so that an id has one sandbox however many
//! processes ask for it at a time.

use std::{path::PathBuf, time::Duration};

use async_trait::async_trait;
use tokio::time::timeout;
use workden_core::{Error, ErrorKind, Result, Sandbox};

use super::{
    Ended, Leaving, Left, OpenRequest, OpenSession, Opened, Pruned, Pruning, SessionFiles, SessionRecord, SessionStore,
    directory, locks::Lock, record::let_go,
};

use crate::{ExistingSandbox, LaunchRequest, Launched, Launcher, SessionId, workspaces::Workspaces};

const OWNER: &str = "owner";
const OWNER_BYTES: usize = 8;
const IDS: &str = "ids";
pub(super) const RECORD: &str = "json";
pub(super) const MAKING: &str = "lock";
pub(super) const USED: &str = "used";
/// How long a process waits before it asks for a lock again, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// How long a sandbox has to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The records of sessions that outlive the processes that use them.
#[derive(Clone, Debug)]
pub struct DirectoryStore {
    directory: PathBuf,
}

/// A session that this process uses, which a shared lock shows to others.
#[derive(Debug)]
struct OpenDirectorySession {
    store: DirectoryStore,
    id: SessionId,
    opened: Opened,
    record: SessionRecord,
    used: Lock,
}

impl DirectoryStore {
    /// Uses the records in this directory, which is created when the first session is opened.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self { directory: std::path::absolute(&directory).unwrap_or(directory) }
    }

    /// The directory of the leases of Linux sandboxes.
    #[must_use]
    pub fn leases(&self) -> PathBuf {
        self.directory.join("sessions")
    }

    /// Returns the name by which a daemon recognises the containers of these sessions. It is random, and kept in the
    /// directory: each directory has its own, so that equal paths on two machines do not collide.
    ///
    /// # Errors
    ///
    /// When the directory cannot be used, or other users could have changed it.
    pub fn owner(&self) -> Result<String> {
        self.prepare()?;
        let path = self.directory.join(OWNER);
        let _alone = Lock::alone(&path.with_extension(MAKING))?;
        let digits = match directory::read(&path)? {
            Some(text) => String::from_utf8(text).ok().filter(|digits| is_owner(digits)).ok_or_else(|| {
                Error::new(ErrorKind::Io, format!("invalid owner file `{}`", path.display()))
                    .hint("remove it: containers of earlier sessions are not found then, and end when idle")
            })?,
            None => {
                let digits = random_digits(OWNER_BYTES)?;
                directory::write(&path, digits.as_bytes())?;
                digits
            }
        };
        Ok(format!("cli-{digits}"))
    }

    /// Returns the workspace of a session that names no other directory, and creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// `Escapes` for a link where the directory should be, and what the host reports.
    pub fn workspace(&self, id: &SessionId) -> Result<PathBuf> {
        self.prepare()?;
        self.workspaces().prepare(id)
    }

    fn workspaces(&self) -> Workspaces {
        Workspaces::new(self.directory.join("workspaces"))
    }

    pub(super) fn file(&self, id: &SessionId, what: &str) -> PathBuf {
        self.directory.join(IDS).join(format!("{id}.{what}"))
    }

    /// Returns the record of a session; `None` when there is none.
    ///
    /// # Errors
    ///
    /// When its record cannot be read.
    pub fn record(&self, id: &SessionId) -> Result<Option<SessionRecord>> {
        self.text(id)?.map(|text| Self::parsed(id, &text)).transpose()
    }

    /// Returns the record of a session; for a new one, a record with its default workspace.
    fn record_or_default(&self, id: &SessionId, idle: Duration) -> Result<SessionRecord> {
        match self.record(id)? {
            Some(record) => Ok(record),
            None => SessionRecord::new(self.workspace(id)?, idle),
        }
    }

    pub(super) fn text(&self, id: &SessionId) -> Result<Option<Vec<u8>>> {
        self.check()?;
        directory::read(&self.file(id, RECORD))
    }

    pub(super) fn parsed(id: &SessionId, text: &[u8]) -> Result<SessionRecord> {
        serde_json::from_slice(text).map_err(|error| {
            Error::new(ErrorKind::Io, format!("the record of the session `{id}` cannot be understood: {error}"))
                .hint(format!("`workden sessions release {id}` ends it, and keeps its files"))
        })
    }

    /// Returns the ids of all sessions that have a record, in order.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read; a missing directory is not an error.
    pub fn ids(&self) -> Result<Vec<SessionId>> {
        self.check()?;
        let entries = match std::fs::read_dir(self.directory.join(IDS)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| directory::unusable(&error))?,
        };
        let id = |name: String| name.strip_suffix(&format!(".{RECORD}"))?.parse().ok();
        let mut all: Vec<SessionId> =
            entries.flatten().filter_map(|entry| id(entry.file_name().into_string().ok()?)).collect();
        all.sort();
        Ok(all)
    }

    /// How long a session has been idle; zero while it is in use.
    #[must_use]
    pub fn idle(&self, id: &SessionId) -> Duration {
        let path = self.file(id, USED);
        let is_free = path.exists() && matches!(Lock::alone_now(&path), Ok(Some(_)));
        let since = || path.metadata().ok()?.modified().ok()?.elapsed().ok();
        if is_free { since().unwrap_or_default() } else { Duration::ZERO }
    }

    /// Checks that the files of a session are where its record says: commands that can change a parent directory could
    /// have put a link in its place.
    fn check_workspace(&self, id: &SessionId, record: &SessionRecord) -> Result<()> {
        if !record.has_directory() {
            return Ok(());
        }
        if record.workspace == self.workspaces().path(id) {
            return self.workspaces().prepare(id).map(drop);
        }
        match record.workspace.canonicalize() {
            Ok(real) if real == record.workspace => Ok(()),
            _ => {
                let sentence = format!("the files of the session `{id}` have been moved or replaced");
                Err(Error::new(ErrorKind::Conflict, sentence).hint(let_go(id)))
            }
        }
    }

    pub(super) async fn end(
        &self,
        id: &SessionId,
        launcher: &dyn Launcher,
        files: SessionFiles,
        making: Lock,
    ) -> Result<Ended> {
        let mut ended = if self.file(id, RECORD).symlink_metadata().is_ok() { Ended::Now } else { Ended::NotThere };
        for found in launcher.find().await?.into_iter().filter(|found| is_of(found, id)) {
            launcher.remove(&found.name).await?;
            ended = Ended::Now;
        }
        if files == SessionFiles::Go && self.workspaces().purge(id)? {
            ended = Ended::Now;
        }
        for what in [RECORD, USED] {
            let _ = std::fs::remove_file(self.file(id, what));
        }
        making.remove();
        Ok(ended)
    }

    /// Waits for the lock of a session. Asks again and again: a thread that waits in the kernel could not be called off.
    pub(super) async fn lock(&self, id: &SessionId) -> Result<Lock> {
        let mut pause = FIRST_PAUSE;
        loop {
            let (this, path) = (self.clone(), self.file(id, MAKING));
            let taken = tokio::task::spawn_blocking(move || {
                this.prepare()?;
                Lock::alone_now(&path)
            });
            let failed = |_| Err(Error::new(ErrorKind::Io, "waiting for the lock of a session failed"));
            if let Some(lock) = taken.await.unwrap_or_else(failed)? {
                return Ok(lock);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    pub(super) fn use_now(&self, id: &SessionId) -> Result<Lock> {
        let used = Lock::together(&self.file(id, USED))?;
        used.touch();
        Ok(used)
    }

    pub(super) fn write(&self, id: &SessionId, record: &SessionRecord) -> Result<()> {
        let text = serde_json::to_vec_pretty(record)
            .map_err(|error| Error::new(ErrorKind::Io, format!("cannot write a session record: {error}")))?;
        directory::write(&self.file(id, RECORD), &text)
    }

    /// Creates the directories if they do not exist, and rejects them if other users can change them.
    pub(super) fn prepare(&self) -> Result<()> {
        directory::prepare(&self.directory)?;
        directory::prepare(&self.directory.join(IDS))
    }

    fn check(&self) -> Result<()> {
        directory::check(&self.directory)?;
        directory::check(&self.directory.join(IDS))
    }
}

#[async_trait]
impl SessionStore for DirectoryStore {
    async fn open(&self, request: OpenRequest, launcher: &dyn Launcher) -> Result<(Launched, Box<dyn OpenSession>)> {
        let id = &request.id;
        let wanted = match request.record {
            Some(record) => record,
            None => self.record_or_default(id, request.idle)?,
        };
        let open = |opened, record, used| -> Box<dyn OpenSession> {
            Box::new(OpenDirectorySession { store: self.clone(), id: id.clone(), opened, record, used })
        };
        let _making = self.lock(id).await?;
        let used = self.use_now(id)?;
        let there = self.record(id)?;
        if let Some(there) = &there {
            there.fits(id, &wanted)?;
            if let Some(placed) = running(id, launcher).await? {
                return Ok((placed, open(Opened::Existing, there.clone(), used)));
            }
        }
        // A session that has ended is created again with its old record, but with what must be hidden now.
        let is_new = there.is_none();
        let mut record = there.unwrap_or_else(|| wanted.clone());
        self.check_workspace(id, &record)?;
        record.masked = wanted.masked;
        record.read_only = wanted.read_only;
        let order = LaunchRequest {
            session: Some(id.clone()),
            runtime: None,
            workspace: record.has_directory().then(|| record.workspace.clone()),
            idle: Some(record.idle),
        };
        self.write(id, &record)?;
        match launcher.create(&order).await {
            Ok(placed) => Ok((placed, open(Opened::New, record, used))),
            Err(error) => {
                // Keep the record of an existing session: it may start next time.
                if is_new {
                    let _ = std::fs::remove_file(self.file(id, RECORD));
                    used.remove();
                }
                Err(error)
            }
        }
    }

    async fn look(&self, id: &SessionId, launcher: &dyn Launcher) -> Result<Option<Launched>> {
        let found = launcher.find().await?.into_iter().find(|found| is_of(found, id) && found.running);
        match found {
            Some(found) => launcher.adopt(&found).await.map(Some),
            None => Ok(None),
        }
    }

    async fn release(&self, id: &SessionId, launcher: &dyn Launcher, files: SessionFiles) -> Result<Ended> {
        let making = self.lock(id).await?;
        self.end(id, launcher, files, making).await
    }

    async fn remove_dead(&self, id: &SessionId, launcher: &dyn Launcher) -> Result<()> {
        let _making = self.lock(id).await?;
        for found in launcher.find().await?.into_iter().filter(|found| is_of(found, id)) {
            if !answers(&found, launcher).await {
                launcher.remove(&found.name).await?;
            }
        }
        Ok(())
    }

    async fn prune(&self, id: &SessionId, launcher: &dyn Launcher, most: Duration, doing: Pruning) -> Result<Pruned> {
        self.prune_one(id, launcher, most, doing).await
    }

    async fn prune_unknown(&self, launcher: &dyn Launcher, doing: Pruning) -> Result<usize> {
        self.prune_others(launcher, doing).await
    }

    async fn list(&self) -> Result<Vec<SessionId>> {
        self.ids()
    }
}

#[async_trait]
impl OpenSession for OpenDirectorySession {
    fn opened(&self) -> Opened {
        self.opened
    }

    fn record(&self) -> Option<&SessionRecord> {
        Some(&self.record)
    }

    async fn leave(&self, launcher: &dyn Launcher, _why: Leaving) -> Result<Left> {
        let making = self.store.lock(&self.id).await?;
        if !self.used.make_exclusive()? {
            return Ok(Left::GoesOn);
        }
        self.store.end(&self.id, launcher, SessionFiles::Stay, making).await.map(|_| Left::Ended)
    }
}

impl Drop for OpenDirectorySession {
    fn drop(&mut self) {
        self.used.touch();
    }
}

/// Connects to the sandbox of a session. Removes sandboxes that have ended.
async fn running(id: &SessionId, launcher: &dyn Launcher) -> Result<Option<Launched>> {
    let mut all = None;
    for found in launcher.find().await?.into_iter().filter(|found| is_of(found, id)) {
        let adopted = if found.running && all.is_none() { Some(launcher.adopt(&found).await) } else { None };
        match adopted {
            Some(Ok(placed)) => all = Some(placed),
            Some(Err(error)) if !matches!(error.kind(), ErrorKind::Gone | ErrorKind::NotFound) => return Err(error),
            _ => launcher.remove(&found.name).await?,
        }
    }
    Ok(all)
}

/// Whether a sandbox answers on a new connection.
async fn answers(found: &ExistingSandbox, launcher: &dyn Launcher) -> bool {
    let asked = async { launcher.adopt(found).await?.sandbox.usage().await };
    found.running && timeout(PATIENCE, asked).await.is_ok_and(|answer| answer.is_ok())
}

fn is_of(found: &ExistingSandbox, id: &SessionId) -> bool {
    found.session.as_ref() == Some(id)
}

fn random_digits(bytes: usize) -> Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|_| Error::new(ErrorKind::Io, "this machine has no random numbers"))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn is_owner(digits: &str) -> bool {
    digits.len() == OWNER_BYTES * 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_session_that_cannot_be_started_again_is_not_forgotten() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let kept = DirectoryStore::at(root.join("state"));
        let fails = |_: LaunchRequest| async { Err(Error::new(ErrorKind::Unreachable, "not today")) };
        let (new, old): (SessionId, SessionId) = ("new".parse().unwrap(), "old".parse().unwrap());
        let files = root.join("files");
        std::fs::create_dir(&files).unwrap();
        let record = SessionRecord {
            kind: "linux".to_owned(),
            options: Default::default(),
            workspace: files.clone(),
            directory: workden_core::VirtualPath::root(),
            masked: Vec::new(),
            read_only: Vec::new(),
            idle: Duration::from_secs(60),
        };
        kept.prepare().unwrap();
        kept.write(&old, &record).unwrap();
        let request = |id: &SessionId| OpenRequest { id: id.clone(), record: Some(record.clone()), idle: record.idle };
        for (id, stays) in [(&new, false), (&old, true)] {
            let error = kept.open(request(id), &fails).await.unwrap_err();
            assert_eq!((error.kind(), kept.record(id).unwrap().is_some()), (ErrorKind::Unreachable, stays), "{id}");
        }
        std::fs::rename(&files, root.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("/etc", &files).unwrap();
        assert_eq!(kept.open(request(&old), &fails).await.unwrap_err().kind(), ErrorKind::Conflict);
    }

    #[test]
    fn an_owner_is_random_and_stays() {
        let place = tempfile::tempdir().unwrap();
        let (one, other) =
            (DirectoryStore::at(place.path().join("one")), DirectoryStore::at(place.path().join("other")));
        let owner = one.owner().unwrap();
        assert!(owner.strip_prefix("cli-").is_some_and(is_owner), "{owner}");
        assert_eq!((one.owner().unwrap(), one.clone().owner().unwrap()), (owner.clone(), owner.clone()));
        assert_ne!(other.owner().unwrap(), owner);
        let file = place.path().join("one/owner");
        std::fs::remove_file(&file).unwrap();
        assert_ne!(one.owner().unwrap(), owner, "the same path has another on another machine");
        std::fs::write(&file, "../x").unwrap();
        assert!(one.owner().unwrap_err().sentence().contains("invalid owner file"));
    }
}
