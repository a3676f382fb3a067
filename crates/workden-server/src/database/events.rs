//! Events of sessions, numbered for each session. They also are the audit: every call and decision, and who made it.

use std::collections::BTreeMap;

use sqlx::{AnyConnection, Connection, Row, any::AnyRow};
use workden::Result;

use super::{Database, failed};
use crate::clock::Moment;

/// Events that one statement adds: most of what an event costs is its statement.
const ROWS: usize = 64;

/// An event to record.
#[derive(Clone, Debug)]
pub(crate) struct NewEvent {
    pub(crate) session: String,
    pub(crate) tenant: String,
    pub(crate) at: Moment,
    pub(crate) kind: &'static str,
    /// The id of the key that caused it; empty for the service itself.
    pub(crate) actor: String,
    /// JSON.
    pub(crate) data: String,
}

/// Who records events: one for each process of the service.
#[derive(Clone, Debug)]
pub(crate) struct EventWriter {
    pub(crate) id: String,
    /// How many events it has recorded.
    written: i64,
}

impl EventWriter {
    pub(crate) fn new(id: String) -> Self {
        Self { id, written: 0 }
    }
}

/// A row of `events`.
#[derive(Clone, Debug)]
pub(crate) struct EventRow {
    pub(crate) session: String,
    pub(crate) seq: i64,
    pub(crate) at: Moment,
    pub(crate) kind: String,
    pub(crate) actor: String,
    pub(crate) data: String,
}

/// What a new event is stored in.
const COLUMNS: &str = "session, seq, tenant, at, kind, actor, data";

/// Returns the placeholders of one of several rows.
fn placeholders(row: usize) -> String {
    let columns = COLUMNS.split(',').count();
    let places: Vec<String> = (1..=columns).map(|column| format!("${}", row * columns + column)).collect();
    format!("({})", places.join(", "))
}

fn event(row: &AnyRow) -> sqlx::Result<EventRow> {
    Ok(EventRow {
        session: row.try_get("session")?,
        seq: row.try_get("seq")?,
        at: Moment(row.try_get("at")?),
        kind: row.try_get("kind")?,
        actor: row.try_get("actor")?,
        data: row.try_get("data")?,
    })
}

impl Database {
    /// Records events in one transaction. Raising the session's counter locks its row, so that numbers become visible
    /// in their order, whichever process records. A batch whose answer was lost may be recorded again: the writer's row
    /// says that it is there.
    pub(crate) async fn add_events(&self, writer: &mut EventWriter, events: &[NewEvent]) -> Result<()> {
        let mut connection = self.pool.acquire().await.map_err(failed("cannot record events"))?;
        let recorded = self.record_events(&mut connection, writer, events).await;
        if recorded.is_err() {
            // SQLite ends a transaction itself when the disk is full, and the connection would not know of it.
            connection.close_on_drop();
        }
        recorded
    }

    async fn record_events(
        &self,
        connection: &mut AnyConnection,
        writer: &mut EventWriter,
        events: &[NewEvent],
    ) -> Result<()> {
        let failed = failed("cannot record events");
        let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
        for event in events {
            *counts.entry(&event.session).or_default() += 1;
        }
        let mut transaction = match self.is_postgres {
            true => connection.begin().await,
            // A transaction that starts by reading may find that another one has written meanwhile.
            false => connection.begin_with("BEGIN IMMEDIATE").await,
        }
        .map_err(&failed)?;
        let written = writer.written.saturating_add(i64::try_from(events.len()).unwrap_or(i64::MAX));
        let claim = "INSERT INTO event_writers (id, written) VALUES ($1, $2) ON CONFLICT (id) \
                     DO UPDATE SET written = $2 WHERE event_writers.written = $3";
        let claim = sqlx::query(claim).bind(&writer.id).bind(written).bind(writer.written);
        if claim.execute(&mut *transaction).await.map_err(&failed)?.rows_affected() == 0 {
            writer.written = written;
            return Ok(());
        }
        // Sessions in order, so that two processes never wait for each other.
        let mut next: BTreeMap<&str, i64> = BTreeMap::new();
        for (session, count) in counts {
            let raise = "INSERT INTO counters (session, last_seq) VALUES ($1, $2) ON CONFLICT (session) \
                         DO UPDATE SET last_seq = counters.last_seq + $2 RETURNING last_seq";
            let raised = sqlx::query(raise).bind(session).bind(count).fetch_one(&mut *transaction).await;
            let last: i64 = raised.and_then(|row| row.try_get(0)).map_err(&failed)?;
            next.insert(session, last - count);
        }
        for rows in events.chunks(ROWS) {
            let values: Vec<String> = (0..rows.len()).map(placeholders).collect();
            let insert = format!("INSERT INTO events ({COLUMNS}) VALUES {}", values.join(", "));
            let mut insert = sqlx::query(sqlx::AssertSqlSafe(insert));
            for event in rows {
                let seq = next.entry(event.session.as_str()).or_default();
                *seq += 1;
                insert = insert.bind(&event.session).bind(*seq).bind(&event.tenant).bind(event.at.0);
                insert = insert.bind(event.kind).bind(&event.actor).bind(&event.data);
            }
            // Each number of rows is a statement of its own: the cache has room for the usual ones.
            let insert = insert.persistent(matches!(rows.len(), 1 | ROWS));
            insert.execute(&mut *transaction).await.map_err(&failed)?;
        }
        transaction.commit().await.map_err(&failed)?;
        writer.written = written;
        Ok(())
    }

    /// Forgets a writer that records nothing any more.
    pub(crate) async fn forget_writer(&self, id: &str) -> Result<()> {
        let delete = sqlx::query("DELETE FROM event_writers WHERE id = $1").bind(id);
        delete.execute(&self.pool).await.map(drop).map_err(failed("cannot forget a writer of events"))
    }

    /// Returns events of a session after a number, oldest first.
    pub(crate) async fn events(&self, session: &str, after: i64, most: i64) -> Result<Vec<EventRow>> {
        let failed = failed("cannot read the events");
        let select = "SELECT session, seq, at, kind, actor, data FROM events WHERE session = $1 AND seq > $2 \
                      ORDER BY seq LIMIT $3";
        let select = sqlx::query(select).bind(session).bind(after).bind(most);
        let rows = select.fetch_all(&self.pool).await.map_err(&failed)?;
        rows.iter().map(event).collect::<sqlx::Result<_>>().map_err(&failed)
    }

    /// Returns the newest events of a session between two numbers, newest first.
    pub(crate) async fn newest_events(
        &self,
        session: &str,
        (after, before): (i64, i64),
        most: i64,
    ) -> Result<Vec<EventRow>> {
        let failed = failed("cannot read the events");
        let select = "SELECT session, seq, at, kind, actor, data FROM events \
                      WHERE session = $1 AND seq > $2 AND seq < $3 ORDER BY seq DESC LIMIT $4";
        let select = sqlx::query(select).bind(session).bind(after).bind(before).bind(most);
        let rows = select.fetch_all(&self.pool).await.map_err(&failed)?;
        rows.iter().map(event).collect::<sqlx::Result<_>>().map_err(&failed)
    }

    /// Returns the last event of a session.
    pub(crate) async fn last_event(&self, session: &str) -> Result<Option<EventRow>> {
        Ok(self.newest_events(session, (0, i64::MAX), 1).await?.pop())
    }

    /// Returns the oldest events of a tenant, or of all, from a moment on.
    pub(crate) async fn audit_from(&self, tenant: Option<&str>, from: Moment, most: i64) -> Result<Vec<EventRow>> {
        let failed = failed("cannot read the audit");
        let select = "SELECT session, seq, at, kind, actor, data FROM events \
                      WHERE ($1 = '' OR tenant = $1) AND at >= $2 ORDER BY at, session, seq LIMIT $3";
        let select = sqlx::query(select).bind(tenant.unwrap_or_default()).bind(from.0).bind(most);
        let rows = select.fetch_all(&self.pool).await.map_err(&failed)?;
        rows.iter().map(event).collect::<sqlx::Result<_>>().map_err(&failed)
    }

    /// Returns the newest events of a tenant, or of all, before a moment.
    pub(crate) async fn audit(&self, tenant: Option<&str>, before: Moment, most: i64) -> Result<Vec<EventRow>> {
        let failed = failed("cannot read the audit");
        let select = "SELECT session, seq, at, kind, actor, data FROM events \
                      WHERE ($1 = '' OR tenant = $1) AND at < $2 ORDER BY at DESC, session, seq DESC LIMIT $3";
        let select = sqlx::query(select).bind(tenant.unwrap_or_default()).bind(before.0).bind(most);
        let rows = select.fetch_all(&self.pool).await.map_err(&failed)?;
        rows.iter().map(event).collect::<sqlx::Result<_>>().map_err(&failed)
    }
}
