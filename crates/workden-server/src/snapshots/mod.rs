//! Snapshots: copies of the files of a session, from which others start. They outlive the session, and any machine of
//! the service can start one from them.
//!
//! The archive of a snapshot is in the database, in pieces. The snapshot that a session started from is kept as long as
//! the session: its files are compared with it.

mod archive;

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use serde_json::json;
use workden::{Error, ErrorKind, LazySandbox, Result, core::parse_size};

use crate::{
    clock::Moment,
    database::{Database, SnapshotRow, SnapshotState},
    identity::{Principal, new_id},
    service::{Answer, Service},
    sessions::LiveSession,
};

/// Bytes of a piece in the database.
const PIECE: usize = 1 << 20;

impl Service {
    /// Copies the files of a running session. The copy stays unfinished, which protects it for a while, until the caller
    /// finishes it.
    pub(crate) async fn copy_files(&self, principal: &Principal, session: &str, name: &str) -> Answer<SnapshotRow> {
        principal.require_tenant()?;
        let row = self.session_row(principal, session).await?;
        let live = self.session(principal, &row.id).await?;
        let _in_use = live.begin_use();
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
        self.database.add_snapshot(&snapshot, quotas.max_snapshots).await?;
        match self.store_archive(&live, &snapshot.id, parse_size(&quotas.snapshot_size)?).await {
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
        session: &str,
        name: &str,
    ) -> Answer<SnapshotRow> {
        let taken = self.copy_files(principal, session, name).await?;
        self.database.finish_snapshot(&taken.id, SnapshotState::Ready, taken.size).await?;
        let recorder = self.recorder(&taken.session, &taken.tenant, principal);
        recorder.tell("snapshot_taken", &json!({ "snapshot": taken.id, "name": taken.name, "bytes": taken.size }));
        Ok(SnapshotRow { state: SnapshotState::Ready, ..taken })
    }

    async fn store_archive(&self, live: &LiveSession, snapshot: &str, most: u64) -> Result<i64> {
        let mut pieces = self.archive_of_session(live).await?;
        let (mut waiting, mut number, mut size) = (BytesMut::with_capacity(PIECE), 0, 0u64);
        while let Some(bytes) = pieces.try_next().await? {
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
        self.unpack_archive(live, archive_of(self.database.clone(), snapshot.clone()).boxed()).await
    }

    /// Unpacks an archive into a session, over the files that are there.
    pub(crate) async fn unpack_archive(
        &self,
        live: &LiveSession,
        archive: BoxStream<'static, Result<Bytes>>,
    ) -> Result<()> {
        let directory = live.unrecorded().working_directory().await?;
        archive::unpack(live.sandbox()?, &directory, archive).await
    }

    /// Returns the present files of a session as an archive.
    pub(crate) async fn archive_of_session(&self, live: &LiveSession) -> Result<BoxStream<'static, Result<Bytes>>> {
        let directory = live.unrecorded().working_directory().await?;
        archive::pack(live.sandbox()?, &directory).await
    }

    /// Removes what no session needs any more of hidden snapshots and of ones that were not finished.
    pub(crate) async fn sweep_snapshots(&self, now: Moment) -> Result<()> {
        for id in self.database.unneeded_snapshots(now).await? {
            self.database.remove_snapshot(&id).await?;
        }
        Ok(())
    }
}

impl LiveSession {
    /// Returns the sandbox without the policy, for what the service itself does there.
    pub(crate) fn sandbox(&self) -> Result<&LazySandbox> {
        let lazy = self.unrecorded().lazy();
        lazy.ok_or_else(|| Error::new(ErrorKind::Unsupported, "the session has no sandbox of its own"))
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
