//! What a session has changed since it started: its files compared with those that it started with, as a list, as two
//! versions of a file, or as a patch; and the way back.
//!
//! The start is the snapshot that the session was created from, or no files. Both sides are read as archives, one entry
//! at a time, so that a comparison costs one pass and no copy.

mod entries;
mod manifest;
mod patch;
mod single;
mod start;

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use tokio::sync::Semaphore;
use workden::{BackendExt, Error, ErrorKind, Result, Verdict, VirtualPath, Workspace, core::parse_size};
use workden_core::{Gate, Op, Resolved, Sight};

use self::manifest::{Item, Manifest};
use crate::{
    database::SessionRow,
    identity::Principal,
    service::{Answer, Service},
    sessions::LiveSession,
};

/// Changed files in one answer.
const MOST: usize = 10_000;
/// The largest file whose versions are shown.
pub(crate) const SHOWN: u64 = 2 << 20;
/// Comparisons at a time: each reads all files of a session.
static COMPARISONS: Semaphore = Semaphore::const_new(4);

/// A file that differs from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) path: VirtualPath,
    pub(crate) before: Option<Item>,
    pub(crate) after: Option<Item>,
}

impl FileChange {
    /// Whether either version is not text.
    pub(crate) fn is_binary(&self) -> bool {
        [&self.before, &self.after].into_iter().flatten().any(|item| item.is_binary)
    }

    /// Whether both versions are text, and small enough to show.
    pub(crate) fn is_shown(&self) -> bool {
        !self.is_binary() && [&self.before, &self.after].into_iter().flatten().all(|item| item.size <= SHOWN)
    }
}

/// The files that differ from the start, by path.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) changes: Vec<FileChange>,
    /// Whether there are more.
    pub(crate) truncated: bool,
}

/// An opened session whose files are compared with their start.
pub(crate) struct ComparedSession {
    pub(crate) service: Arc<Service>,
    pub(crate) principal: Principal,
    pub(crate) live: Arc<LiveSession>,
    pub(crate) row: SessionRow,
    pub(crate) workspace: Workspace,
    pub(crate) directory: VirtualPath,
}

impl ComparedSession {
    pub(crate) async fn open(service: Arc<Service>, principal: Principal, id: &str) -> Answer<Self> {
        let row = service.session_row(&principal, id).await?;
        let live = service.session(&principal, &row.id).await?;
        let workspace = live.workspace(&service, &principal);
        let directory = workspace.working_directory().await?;
        Ok(Self { service, principal, live, row, workspace, directory })
    }

    /// Returns the files that differ from the start, and that the policy lets the caller read.
    pub(crate) async fn changes(&self) -> Answer<Changes> {
        let _permit = COMPARISONS.acquire().await.map_err(|_| Error::new(ErrorKind::Io, "the service ends"))?;
        let _in_use = self.live.begin_use();
        let quotas = self.service.tenant_quotas(&self.row.tenant).await?;
        let most = parse_size(&quotas.snapshot_size)?;
        let now = self.service.archive_of_session(&self.live).await?;
        let (before, after) = tokio::try_join!(
            async { Manifest::read(self.start().await?, most).await },
            Manifest::read(now, most), //
        )?;
        let at = Resolved::literal(self.directory.clone());
        let sights = self.workspace.policy().visibility(Op::Read(&at)).compile()?;
        let changes = compared(before.items, after.items).filter_map(|(name, before, after)| {
            let path = VirtualPath::parse_from(&self.directory, &name).ok()?;
            (sights.to_read(&path) == Sight::Shown).then_some(FileChange { path, before, after })
        });
        let mut changes = changes.take(MOST + 1).collect::<Vec<_>>();
        let truncated = changes.len() > MOST || before.is_cut || after.is_cut;
        changes.truncate(MOST);
        Ok(Changes { changes, truncated })
    }

    /// Returns the current content of a file; `None` if there is none, or it is no file that is shown.
    pub(crate) async fn after(&self, path: &VirtualPath) -> Result<Option<Bytes>> {
        match self.workspace.files().read_bytes(path).await {
            Ok(content) if content.len() as u64 <= SHOWN => Ok(Some(content)),
            Ok(_) => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::IsDirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Refuses what the policy does not let the caller read, also of files that are gone.
    pub(crate) fn require_readable(&self, path: &VirtualPath) -> Result<()> {
        let at = Resolved::literal(path.clone());
        match self.workspace.policy().judge(Op::Read(&at)) {
            Verdict::Allow => Ok(()),
            Verdict::Ask(error) | Verdict::Deny(error) => Err(error),
        }
    }
}

/// Returns the names whose items differ.
fn compared(
    before: BTreeMap<String, Item>,
    mut after: BTreeMap<String, Item>,
) -> impl Iterator<Item = (String, Option<Item>, Option<Item>)> {
    let mut all = BTreeMap::new();
    for (name, old) in before {
        match after.remove(&name) {
            Some(new) if new == old => {}
            new => drop(all.insert(name, (Some(old), new))),
        }
    }
    all.extend(after.into_iter().map(|(name, new)| (name, (None, Some(new)))));
    all.into_iter().map(|(name, (before, after))| (name, before, after))
}
