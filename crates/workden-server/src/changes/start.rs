//! The files that a session started with: read, brought back one by one, and replaced by the present ones.

use bytes::Bytes;
use futures_util::{StreamExt, stream::BoxStream};
use serde_json::json;
use workden::{BackendExt, Error, ErrorKind, Result, Verdict, VirtualPath};
use workden_core::{Op, Removal, Resolved};

use super::{ComparedSession, SHOWN, entries, single};
use crate::{
    database::{SnapshotRow, SnapshotState},
    service::Answer,
    snapshots::archive_of,
};

impl ComparedSession {
    /// Returns the files that the session started with.
    pub(super) async fn start(&self) -> Result<BoxStream<'static, Result<Bytes>>> {
        Ok(match self.snapshot().await? {
            Some(snapshot) => archive_of(self.service.database.clone(), snapshot).boxed(),
            None => futures_util::stream::empty().boxed(),
        })
    }

    async fn snapshot(&self) -> Result<Option<SnapshotRow>> {
        if self.row.started_from.is_empty() {
            return Ok(None);
        }
        let found = self.service.database.snapshot(&self.row.started_from).await?;
        let missing = || Error::new(ErrorKind::NotFound, "the files that the session started with are gone");
        found.ok_or_else(missing).map(Some)
    }

    /// Returns the content that a file had at the start; `None` if there was none, or it is too large to show.
    pub(crate) async fn before(&self, path: &VirtualPath) -> Result<Option<Bytes>> {
        let Some(name) = self.name_of(path) else { return Ok(None) };
        let mut found = entries::contents(self.start().await?, [name.clone()].into(), SHOWN).await?;
        Ok(found.remove(&name))
    }

    /// Brings a file back to what it was at the start: its content, mode and links. One that was not there goes.
    pub(crate) async fn revert(&self, path: &VirtualPath) -> Answer<()> {
        self.principal.require_tenant()?;
        let name = self.name_of(path).ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, format!("`{path}` is not below `{}`", self.directory))
        })?;
        let at = Resolved::literal(path.clone());
        let _in_use = self.live.begin_use();
        match single::source(self.start().await?, &name).await? {
            Some(source) => {
                self.require(Op::Write(&at))?;
                let file = single::archive(self.start().await?, source, name);
                self.service.unpack_archive(&self.live, file).await?;
            }
            None => {
                self.require(Op::Remove(&at))?;
                self.live.sandbox()?.remove_path(path, Removal::One).await?;
            }
        }
        let recorder = self.service.recorder(&self.row.id, &self.row.tenant, &self.principal);
        recorder.tell("reverted", &json!({ "path": path }));
        Ok(())
    }

    /// Takes the present files as the start: what follows is compared with them.
    pub(crate) async fn accept(&self) -> Answer<()> {
        let copy = self.service.copy_files(&self.principal, &self.row.id, "").await?;
        self.service.database.set_session_start(&self.row.id, &copy.id).await?;
        self.service.database.finish_snapshot(&copy.id, SnapshotState::Hidden, copy.size).await?;
        let recorder = self.service.recorder(&self.row.id, &self.row.tenant, &self.principal);
        recorder.tell("changes_accepted", &json!({ "bytes": copy.size }));
        Ok(())
    }

    /// Refuses what the policy denies. What it asks about is answered: the caller asks for it.
    fn require(&self, op: Op<'_>) -> Result<()> {
        match self.workspace.policy().judge(op) {
            Verdict::Allow | Verdict::Ask(_) => Ok(()),
            Verdict::Deny(error) => Err(error),
        }
    }

    /// Returns the name of a path in archives.
    pub(super) fn name_of(&self, path: &VirtualPath) -> Option<String> {
        let below = path.strip_prefix(&self.directory)?;
        (!below.is_root()).then(|| below.as_str().trim_start_matches('/').to_owned())
    }
}
