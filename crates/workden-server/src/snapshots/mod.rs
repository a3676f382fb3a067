//! Snapshots: copies of the files of a session, from which others start. They outlive the session, and any machine of
//! the service can start one from them.
//!
//! The archive of a snapshot is in the database, in pieces. The snapshot that a session started from is kept as long as
//! the session: its files are compared with it.

mod archive;

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use serde_json::json;
use tokio::time::timeout;
use workden::{Error, ErrorKind, LazySandbox, Result, core::parse_size};

use crate::{
    clock::Moment,
    database::{Database, SessionRow, SnapshotRow, SnapshotState},
    identity::{Principal, new_id},
    service::{Answer, Service},
    sessions::LiveSession,
};

/// Bytes of a piece in the database.
const PIECE: usize = 1 << 20;
/// How long a copy may take, which is less than how long an unfinished one is kept; and how long it waits for its sandbox,
/// which a command of the session may have stopped.
const COPYING: Duration = Duration::from_secs(1800);
const WAITING: Duration = Duration::from_secs(60);

/// What a copy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyFor {
    /// It is listed, and counts as a snapshot of the tenant.
    Tenant,
    /// Sessions start from it.
    Sessions,
}

impl Service {
    /// Copies the files of a running session. The copy is unfinished, which protects it for a while, until the caller
    /// finishes it.
    pub(crate) async fn copy_files(
        &self,
        principal: &Principal,
        row: &SessionRow,
        (purpose, name): (CopyFor, &str),
    ) -> Answer<SnapshotRow> {
        principal.require_tenant()?;
        let live = self.session(principal, &row.id).await?;
        let _in_use = live.begin_use();
        let directory = live.unrecorded().working_directory().await?;
        let archive = archive::pack(live.sandbox()?, &directory, live.refusals()).await?;
        self.copy_archive(row, (purpose, name), archive).await
    }

    /// Stores an archive of the files of a session, as [`Service::copy_files`].
    pub(crate) async fn copy_archive(
        &self,
        row: &SessionRow,
        (purpose, name): (CopyFor, &str),
        archive: BoxStream<'static, Result<Bytes>>,
    ) -> Answer<SnapshotRow> {
        let quotas = self.tenant_quotas(&row.tenant).await?;
        let snapshot = SnapshotRow {
            id: new_id()?,
            tenant: row.tenant.clone(),
            session: row.id.clone(),
            name: name.to_owned(),
            runtime: row.runtime.clone(),
            state: SnapshotState::Unfinished,
            size: 0,
            created_at: Moment::now(),
        };
        let most = if purpose == CopyFor::Tenant { quotas.max_snapshots } else { i64::MAX };
        self.database.add_snapshot(&snapshot, most).await?;
        let storing = self.store_archive(&snapshot.id, archive, parse_size(&quotas.snapshot_size)?);
        let stored = timeout(COPYING, storing).await.unwrap_or_else(|_| Err(stalled(COPYING)));
        match stored {
            Ok(size) => Ok(SnapshotRow { size, ..snapshot }),
            Err(error) => {
                self.database.finish_snapshot(&snapshot.id, SnapshotState::Hidden, 0).await?;
                Err(error.into())
            }
        }
    }

    /// Takes a snapshot of a running session.
    pub(crate) async fn take_snapshot(
        self: &Arc<Self>,
        principal: &Principal,
        row: SessionRow,
        name: String,
    ) -> Answer<SnapshotRow> {
        let (service, principal) = (Arc::clone(self), principal.clone());
        // Also if the client goes away: a copy that is not finished would stay for a while.
        let taking = async move {
            let taken = service.copy_files(&principal, &row, (CopyFor::Tenant, &name)).await?;
            service.database.finish_snapshot(&taken.id, SnapshotState::Ready, taken.size).await?;
            let recorder = service.recorder(&taken.session, &taken.tenant, &principal);
            recorder.tell("snapshot_taken", &json!({ "snapshot": taken.id, "name": taken.name, "bytes": taken.size }));
            Ok(SnapshotRow { state: SnapshotState::Ready, ..taken })
        };
        self.to_its_end(taking).await
    }

    async fn store_archive(
        &self,
        snapshot: &str,
        mut archive: BoxStream<'static, Result<Bytes>>,
        most: u64,
    ) -> Result<i64> {
        let (mut waiting, mut number, mut size) = (BytesMut::with_capacity(PIECE), 0, 0u64);
        while let Some(bytes) = timeout(WAITING, archive.try_next()).await.map_err(|_| stalled(WAITING))?? {
            size += bytes.len() as u64;
            if size > most {
                let sentence = format!("the files of the session are larger than the quota of {most} bytes");
                return Err(Error::new(ErrorKind::TooLarge, sentence)
                    .hint("remove files, or ask an administrator to raise `snapshot_size`"));
            }
            waiting.extend_from_slice(&bytes);
            while waiting.len() >= PIECE {
                self.database.add_snapshot_piece(snapshot, number, &waiting.split_to(PIECE)).await?;
                number += 1;
            }
        }
        self.database.add_snapshot_piece(snapshot, number, &waiting).await?;
        Ok(i64::try_from(size).unwrap_or(i64::MAX))
    }

    /// Unpacks the files of a snapshot into a session that has just started.
    pub(crate) async fn unpack_snapshot(&self, live: &LiveSession, snapshot: &SnapshotRow) -> Result<()> {
        let directory = live.unrecorded().working_directory().await?;
        let archive = archive_of(self.database.clone(), snapshot.clone());
        archive::unpack(live.sandbox()?, &directory, archive.boxed()).await
    }

    /// Removes what no session needs any more of hidden snapshots and of ones that were not finished.
    pub(crate) async fn sweep_snapshots(&self, now: Moment) -> Result<()> {
        for id in self.database.unneeded_snapshots(now).await? {
            self.database.remove_snapshot(&id).await?;
        }
        Ok(())
    }
}

fn stalled(time: Duration) -> Error {
    Error::new(ErrorKind::TimedOut, format!("the copy of the files timed out after {} s", time.as_secs()))
        .hint("a command of the session may have stopped it; retry")
}

impl LiveSession {
    /// Returns the sandbox without the policy, for what the service itself does there.
    pub(crate) fn sandbox(&self) -> Result<&LazySandbox> {
        let lazy = self.unrecorded().lazy();
        lazy.ok_or_else(|| Error::new(ErrorKind::Unsupported, "the session has no sandbox of its own"))
    }

    /// Returns what becomes of files that the sandbox does not let its commands read.
    fn refusals(&self) -> archive::Unreadable {
        match self.unrecorded().policy().is_empty() {
            true => archive::Unreadable::Fails,
            false => archive::Unreadable::LeftOut,
        }
    }
}

/// Returns the archive of a snapshot. One that was removed meanwhile ends with an error.
pub(crate) fn archive_of(database: Database, snapshot: SnapshotRow) -> impl Stream<Item = Result<Bytes>> + Send {
    stream::try_unfold((database, snapshot, 0, 0), |(database, snapshot, number, read)| async move {
        match database.snapshot_piece(&snapshot.id, number).await? {
            Some(piece) => {
                let read = read + i64::try_from(piece.len()).unwrap_or(i64::MAX);
                Ok(Some((Bytes::from(piece), (database, snapshot, number + 1, read))))
            }
            None if read == snapshot.size => Ok(None),
            None => Err(Error::new(ErrorKind::Gone, "the snapshot was deleted")),
        }
    })
}
