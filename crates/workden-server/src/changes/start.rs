//! The files that a session started with: read, brought back one by one, and replaced by the present ones.

use bytes::Bytes;
use futures_util::{StreamExt, stream::BoxStream};
use serde_json::json;
use workden::{Backend, BackendExt, Error, ErrorKind, Result, VirtualPath};
use workden_core::{Expect, Removal, Symlink};

use super::{
    ComparedSession, SHOWN,
    entries::{self, Found},
};
use crate::{
    database::SnapshotRow,
    service::Answer,
    snapshots::{CopyFor, archive_of},
};

/// The largest file that is brought back.
const REVERTED: u64 = 64 << 20;

impl ComparedSession {
    /// Returns the files that the session started with, as an archive.
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
    pub(crate) async fn before(&self, path: &VirtualPath) -> Answer<Option<Bytes>> {
        let _turn = self.service.comparisons.turn(&self.row.tenant).await?;
        match self.name_of(path) {
            Some(name) => match self.at_start(name, SHOWN).await? {
                Found::Content(content) => Ok(Some(content)),
                Found::Nothing | Found::TooLarge | Found::SameAs(_) => Ok(None),
            },
            None => Ok(None),
        }
    }

    /// Returns what the session started with under a name, and under the first name of a file with several.
    async fn at_start(&self, name: String, largest: u64) -> Result<Found> {
        match entries::find(self.start().await?, name, largest).await? {
            Found::SameAs(first) => entries::find(self.start().await?, first, largest).await,
            found => Ok(found),
        }
    }

    /// Brings a file back to its content at the start; one that was not there is removed. The policy judges both as calls
    /// of the caller.
    pub(crate) async fn revert(&self, path: &VirtualPath) -> Answer<()> {
        self.principal.require_tenant()?;
        let Some(name) = self.name_of(path) else {
            let sentence = format!("`{path}` is not below `{}`", self.directory);
            return Err(Error::new(ErrorKind::InvalidArgument, sentence).into());
        };
        let turn = self.service.comparisons.turn(&self.row.tenant).await?;
        let start = self.at_start(name, REVERTED).await?;
        drop(turn);
        let workspace = self.live.workspace(&self.service, &self.principal);
        let files = workspace.files();
        let at = files.resolve(path, Symlink::NoFollow).await?;
        if at.real != *path {
            let sentence = format!("cannot bring `{path}` back: a link leads elsewhere now");
            return Err(Error::new(ErrorKind::Conflict, sentence).hint("remove the link first").into());
        }
        let entry = files.stat(&at).await;
        if entry.is_ok_and(|entry| entry.is_dir()) {
            let sentence = format!("cannot bring `{path}` back: it is a directory");
            return Err(Error::new(ErrorKind::Conflict, sentence).hint("name a file").into());
        }
        match start {
            Found::Content(content) => drop(files.write_path(path, content, Expect::Anything).await?),
            Found::Nothing => files.remove_path(path, Removal::One).await?,
            // To remove it would lose what there is.
            Found::TooLarge | Found::SameAs(_) => {
                let sentence = format!("cannot bring `{path}` back: it had more than {} bytes", REVERTED);
                return Err(Error::new(ErrorKind::TooLarge, sentence)
                    .hint("write the file yourself, or accept it as it is")
                    .into());
            }
        }
        let recorder = self.service.recorder(&self.row.id, &self.row.tenant, &self.principal);
        recorder.tell("reverted", &json!({ "path": path }));
        Ok(())
    }

    /// Takes the present files as the start: what follows is compared with them.
    pub(crate) async fn accept(self) -> Answer<()> {
        self.principal.require_tenant()?;
        let service = std::sync::Arc::clone(&self.service);
        // Also if the client goes away: an unfinished copy would stay for a while.
        let accepting = async move {
            let _turn = self.service.comparisons.turn(&self.row.tenant).await?;
            let _in_use = self.live.begin_use();
            let (present, _) = self.present();
            let copy = self.service.copy_archive(&self.row, (CopyFor::Sessions, ""), present).await?;
            self.service.database.accept_start(&self.row.id, &copy.id, copy.size).await?;
            let recorder = self.service.recorder(&self.row.id, &self.row.tenant, &self.principal);
            recorder.tell("changes_accepted", &json!({ "bytes": copy.size }));
            Ok(())
        };
        service.to_its_end(accepting).await
    }

    /// Returns the name of a path in archives.
    pub(super) fn name_of(&self, path: &VirtualPath) -> Option<String> {
        let below = path.strip_prefix(&self.directory)?;
        (!below.is_root()).then(|| below.as_str().trim_start_matches('/').to_owned())
    }
}
