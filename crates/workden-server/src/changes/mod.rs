//! What a session has changed since it started: its files compared with those that it started with, as a list, as two
//! versions of a file, or as a patch; and the way back.
//!
//! The start is the snapshot that the session was created from, or no files. The present files are read by file calls,
//! under the policy, and no question is asked: what a caller may not read is counted, and nothing that runs in the
//! sandbox can hide a file or pretend one.

mod comparisons;
mod entries;
mod lines;
mod manifest;
mod patch;
mod present;
mod start;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
pub(crate) use comparisons::Comparisons;
use tokio::time::timeout;
use workden::{
    Error, ErrorKind, Result, Verdict, VirtualPath, Workspace, core::parse_size, policy::approvals::Approvals,
};
use workden_core::{Backend, Resolved, Symlink};

use self::manifest::{Item, Manifest};
use crate::{
    database::SessionRow,
    identity::Principal,
    service::{Answer, Service},
    sessions::LiveSession,
};

/// Changed files in one answer, and the bytes of their names.
const MOST: usize = 10_000;
const NAMES: usize = 4 << 20;
/// The largest file whose versions are shown.
pub(crate) const SHOWN: u64 = 2 << 20;
/// How long a comparison may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A file that differs from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) path: VirtualPath,
    pub(crate) before: Option<Item>,
    pub(crate) after: Option<Item>,
}

impl FileChange {
    fn versions(&self) -> impl Iterator<Item = &Item> {
        [&self.before, &self.after].into_iter().flatten()
    }

    /// Whether either version is not text.
    pub(crate) fn is_binary(&self) -> bool {
        self.versions().any(|item| item.is_binary)
    }

    /// Whether both versions are text, and small enough to show.
    pub(crate) fn is_shown(&self) -> bool {
        self.versions().all(|item| !item.is_binary && item.size <= SHOWN)
    }
}

/// The files that differ from the start, by path.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) changes: Vec<FileChange>,
    /// Names that were not compared: links, names that are not UTF-8, and files that the caller may not read.
    pub(crate) not_compared: u64,
    /// Whether there are more.
    pub(crate) truncated: bool,
}

/// An opened session whose files are compared with their start.
pub(crate) struct ComparedSession {
    pub(crate) service: Arc<Service>,
    pub(crate) principal: Principal,
    pub(crate) live: Arc<LiveSession>,
    pub(crate) row: SessionRow,
    /// Under the policy of the session; what needs an approval is refused.
    unasked: Workspace,
    pub(crate) directory: VirtualPath,
}

impl ComparedSession {
    pub(crate) async fn open(service: Arc<Service>, principal: Principal, id: &str) -> Answer<Self> {
        let row = service.session_row(&principal, id).await?;
        let live = service.session(&principal, &row.id).await?;
        let unasked = live.unrecorded().behind(None, Some(Approvals::none()))?;
        let directory = unasked.working_directory().await?;
        Ok(Self { service, principal, live, row, unasked, directory })
    }

    /// Returns the files that differ from the start, of those that the caller may read.
    pub(crate) async fn changes(&self) -> Answer<Changes> {
        let _turn = self.service.comparisons.turn(&self.row.tenant).await?;
        let _in_use = self.live.begin_use();
        let quotas = self.service.tenant_quotas(&self.row.tenant).await?;
        let most = parse_size(&quotas.snapshot_size)?;
        let comparing = async {
            let (present, not_compared) = self.present();
            let (before, after) = tokio::try_join!(
                async { Manifest::read(self.start().await?, most).await },
                Manifest::read(present, most),
            )?;
            Ok((before, after, not_compared.count()))
        };
        let compared = timeout(PATIENCE, comparing).await.unwrap_or_else(|_| {
            let sentence = format!("the comparison timed out after {} s", PATIENCE.as_secs());
            Err(Error::new(ErrorKind::TimedOut, sentence).hint("remove files that need not be compared"))
        });
        let (before, after, not_compared) = compared?;
        let is_cut = before.is_cut || after.is_cut;
        let (mut changes, mut names, mut truncated) = (Vec::new(), 0, is_cut);
        // What is missing in a part of the files may be in the rest.
        let differing = differing(before.items, after.items).filter(|(_, _, after)| after.is_some() || !is_cut);
        for (name, before, after) in differing {
            let Ok(path) = VirtualPath::parse_from(&self.directory, &name) else { continue };
            names += name.len();
            if changes.len() == MOST || names > NAMES {
                truncated = true;
                break;
            }
            // A file that is gone is judged by its path; the others were read.
            if after.is_some() || self.require_readable(&path).is_ok() {
                changes.push(FileChange { path, before, after });
            }
        }
        Ok(Changes { changes, not_compared, truncated })
    }

    /// Returns the present content of a file; `None` if there is none, or it is too large to show.
    pub(crate) async fn after(&self, path: &VirtualPath) -> Result<Option<Bytes>> {
        let files = self.unasked.files();
        let read = async {
            let at = files.resolve(path, Symlink::NoFollow).await?;
            files.read(&at, workden_core::ByteRange::Whole { most: SHOWN }).await
        };
        match read.await {
            Ok(read) => Ok(Some(read.bytes)),
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::IsDirectory | ErrorKind::NotRegular | ErrorKind::TooLarge => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Refuses what the policy does not let the caller read, also of files that are gone.
    pub(crate) fn require_readable(&self, path: &VirtualPath) -> Result<()> {
        let at = Resolved::literal(path.clone());
        match self.unasked.policy().judge(workden_core::Op::Read(&at)) {
            Verdict::Allow => Ok(()),
            Verdict::Ask(error) | Verdict::Deny(error) => Err(error),
        }
    }
}

/// Returns the names whose items differ.
fn differing(
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
