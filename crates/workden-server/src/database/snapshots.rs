//! Snapshots: one row each, and their archives in pieces.

use sqlx::{Row, any::AnyRow};
use workden::{Error, ErrorKind, Result};

use super::{Database, failed};
use crate::clock::Moment;

/// How long an unfinished copy is kept: what a process that died was copying goes after this.
const COPYING: i64 = 3_600_000;
/// The most unfinished copies of a tenant.
const UNFINISHED: i64 = 16;
/// Pieces that are removed in one statement, so that other writers wait for a short time.
const BATCH: i64 = 32;

/// A row of `snapshots`.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotRow {
    pub(crate) id: String,
    pub(crate) tenant: String,
    /// The session whose files it has.
    pub(crate) session: String,
    /// Empty, or a name that several may have: it means the newest.
    pub(crate) name: String,
    pub(crate) runtime: String,
    pub(crate) state: SnapshotState,
    /// Bytes of the archive.
    pub(crate) size: i64,
    pub(crate) created_at: Moment,
}

/// What a snapshot is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SnapshotState {
    /// It is being made, or sessions are being started from it.
    Unfinished,
    /// It is listed, and sessions can be started from it.
    Ready,
    /// It was deleted, or never listed: it stays as long as a session that started from it.
    Hidden,
}

impl SnapshotState {
    fn name(self) -> &'static str {
        match self {
            Self::Unfinished => "unfinished",
            Self::Ready => "ready",
            Self::Hidden => "hidden",
        }
    }

    fn named(name: &str) -> Self {
        let all = [Self::Unfinished, Self::Ready];
        all.into_iter().find(|state| state.name() == name).unwrap_or(Self::Hidden)
    }
}

/// Which snapshots to list.
#[derive(Clone, Debug, Default)]
pub(crate) struct SnapshotQuery {
    /// Of this tenant only.
    pub(crate) tenant: Option<String>,
    /// Of this session only.
    pub(crate) session: Option<String>,
    /// Of this name only.
    pub(crate) name: Option<String>,
    /// After this id.
    pub(crate) after: String,
    /// At most this many.
    pub(crate) limit: i64,
}

const COLUMNS: &str = "id, tenant, session, name, runtime, state, size, created_at";

fn snapshot(row: &AnyRow) -> sqlx::Result<SnapshotRow> {
    Ok(SnapshotRow {
        id: row.try_get("id")?,
        tenant: row.try_get("tenant")?,
        session: row.try_get("session")?,
        name: row.try_get("name")?,
        runtime: row.try_get("runtime")?,
        state: SnapshotState::named(row.try_get("state")?),
        size: row.try_get("size")?,
        created_at: Moment(row.try_get("created_at")?),
    })
}

const FINISH: &str = "UPDATE snapshots SET state = $1, size = $2 WHERE id = $3 AND state = 'unfinished'";

/// It took so long that it was swept, or its tenant is gone.
fn given_up() -> Error {
    Error::new(ErrorKind::Gone, "the copy of the files was given up").hint("retry")
}

impl Database {
    /// Stores a new, unfinished snapshot if the tenant has fewer than `most` finished ones.
    pub(crate) async fn add_snapshot(&self, new: &SnapshotRow, most: i64) -> Result<()> {
        let insert = "INSERT INTO snapshots (id, tenant, session, name, runtime, state, size, created_at) \
                      SELECT $1, $2, $3, $4, $5, $6, $7, $8 \
                      WHERE (SELECT COUNT(*) FROM snapshots WHERE tenant = $2 AND state = 'ready') < $9 \
                      AND (SELECT COUNT(*) FROM snapshots WHERE tenant = $2 AND state = 'unfinished') < $10";
        let insert = sqlx::query(insert).bind(&new.id).bind(&new.tenant).bind(&new.session).bind(&new.name);
        let insert = insert.bind(&new.runtime).bind(new.state.name()).bind(new.size).bind(new.created_at.0).bind(most);
        let insert = insert.bind(UNFINISHED);
        let done = insert.execute(&self.pool).await.map_err(failed("cannot store the snapshot"))?;
        match done.rows_affected() {
            0 if self.unfinished_snapshots(&new.tenant).await? >= UNFINISHED => {
                Err(Error::new(ErrorKind::Busy, format!("{UNFINISHED} copies of the tenant are being made"))
                    .hint("retry when they are done"))
            }
            0 => Err(Error::new(ErrorKind::Busy, format!("the limit of {most} snapshots is reached"))
                .hint("delete a snapshot, or ask an administrator to raise `max_snapshots`")),
            _ => Ok(()),
        }
    }

    async fn unfinished_snapshots(&self, tenant: &str) -> Result<i64> {
        let select = sqlx::query("SELECT COUNT(*) FROM snapshots WHERE tenant = $1 AND state = 'unfinished'");
        let row = select.bind(tenant).fetch_one(&self.pool).await;
        row.and_then(|row| row.try_get(0)).map_err(failed("cannot count the snapshots"))
    }

    /// Stores a piece of an unfinished snapshot.
    pub(crate) async fn add_snapshot_piece(&self, snapshot: &str, number: i64, bytes: &[u8]) -> Result<()> {
        let insert = "INSERT INTO snapshot_pieces (snapshot, number, bytes) SELECT $1, $2, $3 \
                      WHERE EXISTS (SELECT 1 FROM snapshots WHERE id = $1 AND state = 'unfinished')";
        let insert = sqlx::query(insert).bind(snapshot).bind(number).bind(bytes.to_vec());
        let done = insert.execute(&self.pool).await.map_err(failed("cannot store the snapshot"))?;
        if done.rows_affected() == 0 { Err(given_up()) } else { Ok(()) }
    }

    pub(crate) async fn snapshot_piece(&self, snapshot: &str, number: i64) -> Result<Option<Vec<u8>>> {
        let select = sqlx::query("SELECT bytes FROM snapshot_pieces WHERE snapshot = $1 AND number = $2");
        let row = select.bind(snapshot).bind(number).fetch_optional(&self.pool).await;
        row.and_then(|row| row.map(|row| row.try_get(0)).transpose()).map_err(failed("cannot read the snapshot"))
    }

    /// Ends the making of a snapshot.
    pub(crate) async fn finish_snapshot(&self, id: &str, state: SnapshotState, size: i64) -> Result<()> {
        let done = sqlx::query(FINISH).bind(state.name()).bind(size).bind(id).execute(&self.pool).await;
        let done = done.map_err(failed("cannot store the snapshot"))?;
        if done.rows_affected() == 0 { Err(given_up()) } else { Ok(()) }
    }

    /// Ends the making of a snapshot with which the files of a session are compared from now on.
    pub(crate) async fn accept_start(&self, session: &str, snapshot: &str, size: i64) -> Result<()> {
        let failed = failed("cannot set the start of the session");
        let mut transaction = self.pool.begin().await.map_err(&failed)?;
        let finish = sqlx::query(FINISH).bind(SnapshotState::Hidden.name()).bind(size).bind(snapshot);
        if finish.execute(&mut *transaction).await.map_err(&failed)?.rows_affected() == 0 {
            return Err(given_up());
        }
        let update = sqlx::query("UPDATE sessions SET started_from = $1 WHERE id = $2").bind(snapshot).bind(session);
        update.execute(&mut *transaction).await.map_err(&failed)?;
        transaction.commit().await.map_err(&failed)
    }

    /// Hides a snapshot of a tenant, or of any: it goes when no session needs it. Returns whether it was there.
    pub(crate) async fn hide_snapshot(&self, tenant: Option<&str>, id: &str) -> Result<bool> {
        let update = "UPDATE snapshots SET state = 'hidden' \
                      WHERE id = $1 AND ($2 = '' OR tenant = $2) AND state = 'ready'";
        let done = sqlx::query(update).bind(id).bind(tenant.unwrap_or_default()).execute(&self.pool).await;
        done.map(|done| done.rows_affected() > 0).map_err(failed("cannot delete the snapshot"))
    }

    /// Returns the snapshot with this id, in whichever state.
    pub(crate) async fn snapshot(&self, id: &str) -> Result<Option<SnapshotRow>> {
        let failed = failed("cannot read the snapshot");
        let select = sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} FROM snapshots WHERE id = $1"));
        let row = sqlx::query(select).bind(id).fetch_optional(&self.pool).await.map_err(&failed)?;
        row.as_ref().map(snapshot).transpose().map_err(&failed)
    }

    /// Returns the snapshot of a tenant with this id, or the newest with this name.
    pub(crate) async fn listed_snapshot(&self, tenant: &str, id_or_name: &str) -> Result<Option<SnapshotRow>> {
        let failed = failed("cannot read the snapshot");
        let select = format!(
            "SELECT {COLUMNS} FROM snapshots WHERE tenant = $1 AND (id = $2 OR name = $2) AND state = 'ready' \
             ORDER BY created_at DESC, id LIMIT 1"
        );
        let select = sqlx::query(sqlx::AssertSqlSafe(select)).bind(tenant).bind(id_or_name);
        let row = select.fetch_optional(&self.pool).await.map_err(&failed)?;
        row.as_ref().map(snapshot).transpose().map_err(&failed)
    }

    /// Lists snapshots by id.
    pub(crate) async fn snapshots(&self, query: &SnapshotQuery) -> Result<Vec<SnapshotRow>> {
        let failed = failed("cannot list the snapshots");
        let select = format!(
            "SELECT {COLUMNS} FROM snapshots WHERE ($1 = '' OR tenant = $1) AND ($2 = '' OR session = $2) \
             AND ($3 = '' OR name = $3) AND id > $4 AND state = 'ready' ORDER BY id LIMIT $5"
        );
        let select = sqlx::query(sqlx::AssertSqlSafe(select)).bind(query.tenant.clone().unwrap_or_default());
        let select = select.bind(query.session.clone().unwrap_or_default());
        let select = select.bind(query.name.clone().unwrap_or_default()).bind(&query.after).bind(query.limit);
        let rows = select.fetch_all(&self.pool).await.map_err(&failed)?;
        rows.iter().map(snapshot).collect::<sqlx::Result<_>>().map_err(&failed)
    }

    /// Returns the ids of snapshots that nothing needs any more.
    pub(crate) async fn unneeded_snapshots(&self, now: Moment) -> Result<Vec<String>> {
        let failed = failed("cannot look for snapshots to remove");
        let select = "SELECT id FROM snapshots WHERE (state = 'hidden' OR (state = 'unfinished' AND created_at < $1)) \
                      AND NOT EXISTS (SELECT 1 FROM sessions WHERE started_from = snapshots.id) LIMIT 16";
        let rows = sqlx::query(select).bind(now.0 - COPYING).fetch_all(&self.pool).await.map_err(&failed)?;
        rows.iter().map(|row| row.try_get(0)).collect::<sqlx::Result<_>>().map_err(&failed)
    }

    /// Removes a snapshot, its last pieces first: what is left of it is not whole, and is removed next time.
    pub(crate) async fn remove_snapshot(&self, id: &str) -> Result<()> {
        let failed = failed("cannot remove the snapshot");
        let pieces = "DELETE FROM snapshot_pieces WHERE snapshot = $1 AND number IN \
                      (SELECT number FROM snapshot_pieces WHERE snapshot = $1 ORDER BY number DESC LIMIT $2)";
        while sqlx::query(pieces).bind(id).bind(BATCH).execute(&self.pool).await.map_err(&failed)?.rows_affected() > 0 {
        }
        let row = sqlx::query("DELETE FROM snapshots WHERE id = $1").bind(id);
        row.execute(&self.pool).await.map_err(&failed)?;
        self.give_back().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(id: &str) -> SnapshotRow {
        SnapshotRow {
            id: id.to_owned(),
            tenant: "ada".to_owned(),
            session: "of".to_owned(),
            name: "name".to_owned(),
            runtime: "base".to_owned(),
            state: SnapshotState::Unfinished,
            size: 0,
            created_at: Moment::now(),
        }
    }

    #[tokio::test]
    async fn the_file_shrinks_with_what_is_removed() {
        let state = tempfile::tempdir().unwrap();
        let database = Database::in_directory(state.path()).await.unwrap();
        let size = async || {
            sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_all(&database.pool).await.unwrap();
            std::fs::metadata(state.path().join("workden.sqlite")).unwrap().len()
        };
        let empty = size().await;
        database.add_snapshot(&new("a"), 1).await.unwrap();
        for number in 0..20 {
            database.add_snapshot_piece("a", number, &vec![7; 1 << 20]).await.unwrap();
        }
        assert!(size().await > empty + (20 << 20));
        database.remove_snapshot("a").await.unwrap();
        assert!(size().await < empty + (1 << 20));
    }

    #[tokio::test]
    async fn a_snapshot_goes_with_its_pieces_when_no_session_needs_it() {
        let state = tempfile::tempdir().unwrap();
        let database = Database::in_directory(state.path()).await.unwrap();
        let now = Moment::now();
        let unneeded = async || database.unneeded_snapshots(now).await.unwrap();
        for id in ["a", "b", "c"] {
            database.add_snapshot(&new(id), 3).await.unwrap();
            for number in 0..(BATCH + 3) {
                database.add_snapshot_piece(id, number, b"piece").await.unwrap();
            }
        }
        assert!(database.listed_snapshot("ada", "name").await.unwrap().is_none() && unneeded().await.is_empty());
        database.finish_snapshot("a", SnapshotState::Ready, 175).await.unwrap();
        assert_eq!(database.add_snapshot(&new("d"), 1).await.unwrap_err().kind(), ErrorKind::Busy);
        assert_eq!(database.finish_snapshot("a", SnapshotState::Ready, 1).await.unwrap_err().kind(), ErrorKind::Gone);
        assert_eq!(database.add_snapshot_piece("a", 999, b"late").await.unwrap_err().kind(), ErrorKind::Gone);
        database.finish_snapshot("b", SnapshotState::Hidden, 175).await.unwrap();
        assert_eq!(database.listed_snapshot("ada", "name").await.unwrap().unwrap().size, 175);
        assert!(database.listed_snapshot("ben", "a").await.unwrap().is_none());
        assert!(!database.hide_snapshot(Some("ben"), "a").await.unwrap());
        assert!(database.hide_snapshot(Some("ada"), "a").await.unwrap());
        // A session started from one of them.
        let insert = "INSERT INTO sessions (id, tenant, name, runtime, state, spec, labels, created_at, used_at, idle_ms, \
                      ends_at, place, started_from, claimed_until) \
                      VALUES ('s', 'ada', 's', '', 'running', '', '', 0, 0, 0, 0, '', 'a', 0)";
        sqlx::query(insert).execute(&database.pool).await.unwrap();
        assert_eq!(unneeded().await, ["b"]);
        // What a process that died was copying goes after a while.
        assert_eq!(database.unneeded_snapshots(Moment(now.0 + 2 * COPYING)).await.unwrap(), ["b", "c"]);
        database.remove_session("s").await.unwrap();
        assert_eq!(unneeded().await, ["a", "b"]);
        for id in unneeded().await {
            database.remove_snapshot(&id).await.unwrap();
            assert!(database.snapshot_piece(&id, 0).await.unwrap().is_none());
            assert!(database.snapshot(&id).await.unwrap().is_none());
        }
        assert!(database.snapshot_piece("c", 0).await.unwrap().is_some());
    }
}
