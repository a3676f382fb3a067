//! Sessions: one row each, from its creation to its deletion.

use sqlx::{AnyConnection, Row, any::AnyRow};
use workden::{Error, ErrorKind, Result};

use super::{Database, failed, is_duplicate};
use crate::clock::Moment;

/// A row of `sessions`.
#[derive(Clone, Debug)]
pub(crate) struct SessionRow {
    pub(crate) id: String,
    /// Empty for a spare one, which no client sees.
    pub(crate) tenant: String,
    /// Unique in the tenant; the id, if the client gave none.
    pub(crate) name: String,
    pub(crate) runtime: String,
    /// `running`, `paused` or `ending`; `spare` before any client has it.
    pub(crate) state: String,
    /// What it was created with, as JSON.
    pub(crate) spec: String,
    /// JSON.
    pub(crate) labels: String,
    pub(crate) created_at: Moment,
    pub(crate) used_at: Moment,
    /// How long it may be idle; 0 for as long as it exists.
    pub(crate) idle_ms: i64,
    /// When it ends, used or not.
    pub(crate) ends_at: Moment,
    /// When the files of a paused session go. `None`: when it is deleted.
    pub(crate) kept_until: Option<Moment>,
    /// Which directory of a service has its files; empty if they are in its sandbox, which is reached from everywhere.
    pub(crate) place: String,
    /// The snapshot with the files that it started with; empty if it started with none.
    pub(crate) started_from: String,
    /// Whether it has them.
    pub(crate) is_filled: bool,
}

impl SessionRow {
    /// Whether no client has had it.
    pub(crate) fn is_spare(&self) -> bool {
        self.tenant.is_empty()
    }
}

/// Which sessions to list.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionQuery {
    /// Of this tenant only.
    pub(crate) tenant: Option<String>,
    /// In this state only.
    pub(crate) state: Option<String>,
    /// After this id.
    pub(crate) after: String,
    /// At most this many.
    pub(crate) limit: i64,
}

const COLUMNS: &str = "id, tenant, name, runtime, state, spec, labels, created_at, used_at, idle_ms, ends_at, kept_until, \
                       place, started_from, is_filled";

/// What stands in `kept_until` for files that stay until their session is deleted.
const FOR_EVER: Moment = Moment(0);
/// What stands there for files that go now: those of a session that is being deleted.
const NO_LONGER: Moment = Moment(1);

fn session(row: &AnyRow) -> sqlx::Result<SessionRow> {
    Ok(SessionRow {
        id: row.try_get("id")?,
        tenant: row.try_get("tenant")?,
        name: row.try_get("name")?,
        runtime: row.try_get("runtime")?,
        state: row.try_get("state")?,
        spec: row.try_get("spec")?,
        labels: row.try_get("labels")?,
        created_at: Moment(row.try_get("created_at")?),
        used_at: Moment(row.try_get("used_at")?),
        idle_ms: row.try_get("idle_ms")?,
        ends_at: Moment(row.try_get("ends_at")?),
        kept_until: Some(Moment(row.try_get("kept_until")?)).filter(|until| *until != FOR_EVER),
        place: row.try_get("place")?,
        started_from: row.try_get("started_from")?,
        is_filled: row.try_get::<i64, _>("is_filled")? != 0,
    })
}

impl Database {
    /// Stores a new session if the tenant has fewer than `most`. `Conflict` when the tenant has one of that name.
    pub(crate) async fn add_session(&self, new: &SessionRow, most: i64) -> Result<()> {
        let mut connection = self.pool.acquire().await.map_err(failed("cannot store the session"))?;
        insert(&mut connection, new, most).await
    }

    /// Stores a new session, as [`Database::add_session`], in place of the spare one with its id. Returns whether that
    /// was still there.
    pub(crate) async fn give_spare(&self, new: &SessionRow, most: i64) -> Result<bool> {
        let failed = failed("cannot store the session");
        let mut transaction = self.pool.begin().await.map_err(&failed)?;
        let delete = sqlx::query("DELETE FROM sessions WHERE id = $1 AND state = 'spare'").bind(&new.id);
        if delete.execute(&mut *transaction).await.map_err(&failed)?.rows_affected() == 0 {
            return Ok(false);
        }
        insert(&mut transaction, new, most).await?;
        transaction.commit().await.map_err(&failed)?;
        Ok(true)
    }

    /// Returns the session with this id.
    pub(crate) async fn session(&self, id: &str) -> Result<Option<SessionRow>> {
        self.one_session("id = $1 AND $2 = ''", id, "").await
    }

    /// Returns the session of a tenant with this name.
    pub(crate) async fn session_named(&self, tenant: &str, name: &str) -> Result<Option<SessionRow>> {
        self.one_session("name = $1 AND tenant = $2", name, tenant).await
    }

    async fn one_session(&self, which: &str, first: &str, second: &str) -> Result<Option<SessionRow>> {
        let failed = failed("cannot read the session");
        let select = sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} FROM sessions WHERE {which} AND tenant <> ''"));
        let row = sqlx::query(select).bind(first).bind(second).fetch_optional(&self.pool).await.map_err(&failed)?;
        row.as_ref().map(session).transpose().map_err(&failed)
    }

    /// Lists sessions by id.
    pub(crate) async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>> {
        let failed = failed("cannot list the sessions");
        let select = format!(
            "SELECT {COLUMNS} FROM sessions WHERE ($1 = '' OR tenant = $1) AND ($2 = '' OR state = $2) AND id > $3 \
             AND tenant <> '' ORDER BY id LIMIT $4"
        );
        let select = sqlx::query(sqlx::AssertSqlSafe(select));
        let select =
            select.bind(query.tenant.clone().unwrap_or_default()).bind(query.state.clone().unwrap_or_default());
        let rows = select.bind(&query.after).bind(query.limit).fetch_all(&self.pool).await.map_err(&failed)?;
        rows.iter().map(session).collect::<sqlx::Result<_>>().map_err(&failed)
    }

    /// Returns how many sessions of a tenant, or of all, run.
    pub(crate) async fn running_sessions(&self, tenant: Option<&str>) -> Result<i64> {
        let select = "SELECT COUNT(*) FROM sessions WHERE state = 'running' AND ($1 = '' OR tenant = $1)";
        let row = sqlx::query(select).bind(tenant.unwrap_or_default()).fetch_one(&self.pool).await;
        row.and_then(|row| row.try_get(0)).map_err(failed("cannot count the sessions"))
    }

    /// Records that a session is in use, if that was not recorded a moment ago.
    pub(crate) async fn touch_session(&self, id: &str, at: Moment) -> Result<()> {
        let update = "UPDATE sessions SET used_at = $1 WHERE id = $2 AND \
                      used_at + (CASE WHEN idle_ms > 0 AND idle_ms < 20000 THEN idle_ms / 4 ELSE 5000 END) <= $1";
        let update = sqlx::query(update).bind(at.0).bind(id);
        update.execute(&self.pool).await.map(drop).map_err(failed("cannot record the use of the session"))
    }

    /// Sets when a session ends.
    pub(crate) async fn set_session_end(&self, id: &str, ends_at: Moment) -> Result<()> {
        let update = sqlx::query("UPDATE sessions SET ends_at = $1 WHERE id = $2").bind(ends_at.0).bind(id);
        update.execute(&self.pool).await.map(drop).map_err(failed("cannot set the end of the session"))
    }

    /// Records that the sandbox of a session has started: its time counts from now on. Returns whether the session runs.
    pub(crate) async fn session_started(&self, id: &str, (now, ends_at): (Moment, Moment)) -> Result<bool> {
        let update = "UPDATE sessions SET used_at = $1, ends_at = $2, is_filled = 1 \
                      WHERE id = $3 AND state = 'running'";
        let done = sqlx::query(update).bind(now.0).bind(ends_at.0).bind(id).execute(&self.pool).await;
        done.map(|done| done.rows_affected() > 0).map_err(failed("cannot record the start of the session"))
    }

    /// Moves a paused session to `running`, with a new end: its old time is over. Returns whether it was paused.
    pub(crate) async fn restart_session(&self, id: &str, (now, ends_at): (Moment, Moment)) -> Result<bool> {
        let update = "UPDATE sessions SET state = 'running', claimed_until = 0, kept_until = $1, used_at = $2, \
                      ends_at = $3 WHERE id = $4 AND state = 'paused'";
        let update = sqlx::query(update).bind(FOR_EVER.0).bind(now.0).bind(ends_at.0).bind(id);
        let done = update.execute(&self.pool).await;
        done.map(|done| done.rows_affected() > 0).map_err(failed("cannot change the state of the session"))
    }

    /// Pauses a session in a state. Its files stay until then, or until it is deleted. Returns whether it was in the state.
    pub(crate) async fn pause_session(&self, id: &str, from: &str, kept_until: Option<Moment>) -> Result<bool> {
        self.move_session(id, (from, "paused"), (Moment(0), kept_until.unwrap_or(FOR_EVER))).await
    }

    /// Begins to delete a session in a state: it is claimed, and its files are removed next, if need be by another process. Returns
    /// whether it was in the state.
    pub(crate) async fn begin_deletion(&self, id: &str, from: &str, claim_until: Moment) -> Result<bool> {
        self.move_session(id, (from, "ending"), (claim_until, NO_LONGER)).await
    }

    async fn move_session(
        &self,
        id: &str,
        (from, to): (&str, &str),
        (claimed_until, kept_until): (Moment, Moment),
    ) -> Result<bool> {
        let update = "UPDATE sessions SET state = $1, claimed_until = $2, kept_until = $3 WHERE id = $4 AND state = $5";
        let update = sqlx::query(update).bind(to).bind(claimed_until.0).bind(kept_until.0).bind(id).bind(from);
        let done = update.execute(&self.pool).await;
        done.map(|done| done.rows_affected() > 0).map_err(failed("cannot change the state of the session"))
    }

    /// Starts the idle time of all sessions again: the clock was set, and says nothing about it.
    pub(crate) async fn restart_idle_times(&self, now: Moment) -> Result<()> {
        let update = sqlx::query("UPDATE sessions SET used_at = $1 WHERE state = 'running'").bind(now.0);
        update.execute(&self.pool).await.map(drop).map_err(failed("cannot start the idle times again"))
    }

    /// Claims sessions whose time is over: running ones that are idle or have ended, paused ones whose files are kept no
    /// longer, spare ones that were not wanted, and ones whose end another process began and did not finish, of this
    /// place and of none. Each is returned to one process only, until the claim expires.
    pub(crate) async fn claim_ended(
        &self,
        place: &str,
        (now, claim_until): (Moment, Moment),
        most: i64,
    ) -> Result<Vec<SessionRow>> {
        let failed = failed("cannot claim sessions that have ended");
        let is_over = "(state = 'ending' OR (state = 'paused' AND kept_until > 0 AND kept_until < $1) OR \
                       (state = 'spare' AND ends_at < $1) OR \
                       (state = 'running' AND (ends_at < $1 OR (idle_ms > 0 AND used_at + idle_ms < $1))))";
        let claim = format!(
            "UPDATE sessions SET state = 'ending', claimed_until = $2 WHERE id IN (SELECT id FROM sessions WHERE \
             claimed_until < $1 AND (place = '' OR place = $4) AND {is_over} ORDER BY ends_at LIMIT $3) \
             AND claimed_until < $1 RETURNING {COLUMNS}"
        );
        let claim = sqlx::query(sqlx::AssertSqlSafe(claim)).bind(now.0).bind(claim_until.0).bind(most).bind(place);
        let rows = claim.fetch_all(&self.pool).await.map_err(&failed)?;
        rows.iter().map(session).collect::<sqlx::Result<_>>().map_err(&failed)
    }

    /// Removes a session. Its events stay.
    pub(crate) async fn remove_session(&self, id: &str) -> Result<bool> {
        let failed = failed("cannot remove the session");
        let mut transaction = self.pool.begin().await.map_err(&failed)?;
        let ports = sqlx::query("DELETE FROM published_ports WHERE session = $1").bind(id);
        ports.execute(&mut *transaction).await.map_err(&failed)?;
        let links = sqlx::query("DELETE FROM ended_links WHERE session = $1").bind(id);
        links.execute(&mut *transaction).await.map_err(&failed)?;
        let session = sqlx::query("DELETE FROM sessions WHERE id = $1").bind(id);
        let done = session.execute(&mut *transaction).await.map_err(&failed)?;
        transaction.commit().await.map_err(&failed)?;
        Ok(done.rows_affected() > 0)
    }
}

/// Inserts a session if its tenant has fewer than `most` that run.
async fn insert(connection: &mut AnyConnection, new: &SessionRow, most: i64) -> Result<()> {
    // One statement counts and inserts. SQLite has one writer; in Postgres two processes may exceed the limit by
    // one each, which a quota can bear and a lock on the tenant would cost every creation.
    let insert = "INSERT INTO sessions (id, tenant, name, runtime, state, spec, labels, created_at, used_at, \
                  idle_ms, ends_at, place, started_from, is_filled, claimed_until) \
                  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $12, $13, $14, 0 \
                  WHERE (SELECT COUNT(*) FROM sessions WHERE tenant = $2 AND state = 'running') < $11";
    let insert = sqlx::query(insert).bind(&new.id).bind(&new.tenant).bind(&new.name).bind(&new.runtime);
    let insert = insert.bind(&new.state).bind(&new.spec).bind(&new.labels).bind(new.created_at.0);
    let insert = insert.bind(new.idle_ms).bind(new.ends_at.0).bind(most).bind(&new.place);
    let insert = insert.bind(&new.started_from).bind(i64::from(new.is_filled));
    match insert.execute(connection).await {
        Ok(done) if done.rows_affected() == 0 => {
            Err(Error::new(ErrorKind::Busy, format!("the limit of {most} sessions is reached"))
                .hint("delete or pause a session, or ask an administrator to raise `max_sessions`"))
        }
        Ok(_) => Ok(()),
        Err(error) if is_duplicate(&error) => {
            Err(Error::new(ErrorKind::Conflict, format!("session `{}` exists already", new.name))
                .hint("send `\"if_exists\": \"attach\"` to use it, or choose another name"))
        }
        Err(error) => Err(failed("cannot store the session")(error)),
    }
}
