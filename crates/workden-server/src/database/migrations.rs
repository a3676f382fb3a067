//! The tables, step by step. A step that has run is never changed: a later one changes its tables.
//!
//! The database remembers steps by their names, and those that it does not know are run in the order of this file.

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, Row};
use workden::{Error, ErrorKind, Result};

use super::{Database, failed};
use crate::clock::Moment;

/// A change of the tables.
struct Step {
    /// Never changed: the database remembers it.
    name: &'static str,
    statements: &'static [&'static str],
}

/// All steps, in order.
const STEPS: &[Step] = &[
    Step { name: "first tables", statements: FIRST_TABLES },
    // Which events of a process are stored, so that a batch whose answer was lost is not stored twice.
    Step {
        name: "event writers",
        statements: &["CREATE TABLE event_writers (id TEXT PRIMARY KEY, written BIGINT NOT NULL)"],
    },
    Step { name: "kept files", statements: &["ALTER TABLE sessions ADD COLUMN kept_until BIGINT NOT NULL DEFAULT 0"] },
    // On which machine the files of a session are.
    Step { name: "places", statements: &["ALTER TABLE sessions ADD COLUMN place TEXT NOT NULL DEFAULT ''"] },
    // Port 0 stands for all.
    Step {
        name: "published ports",
        statements: &[
            "CREATE TABLE published_ports (session TEXT NOT NULL, port BIGINT NOT NULL, PRIMARY KEY (session, port))",
        ],
    },
    // How often the links of a port were ended; port 0 stands for all.
    Step {
        name: "ended port links",
        statements: &["CREATE TABLE ended_links (session TEXT NOT NULL, port BIGINT NOT NULL, times BIGINT NOT NULL, \
             PRIMARY KEY (session, port))"],
    },
    // Copies of the files of sessions, in pieces, and from which one a session started.
    Step {
        name: "snapshots",
        statements: &[
            "CREATE TABLE snapshots (id TEXT PRIMARY KEY, tenant TEXT NOT NULL, session TEXT NOT NULL, \
             name TEXT NOT NULL, runtime TEXT NOT NULL, state TEXT NOT NULL, size BIGINT NOT NULL, \
             created_at BIGINT NOT NULL)",
            "CREATE INDEX snapshots_by_tenant ON snapshots (tenant, name)",
            "CREATE TABLE snapshot_pieces (snapshot TEXT NOT NULL, number BIGINT NOT NULL, bytes BLOB NOT NULL, \
             PRIMARY KEY (snapshot, number))",
            "ALTER TABLE sessions ADD COLUMN started_from TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE sessions ADD COLUMN is_filled BIGINT NOT NULL DEFAULT 1",
            "CREATE INDEX sessions_by_start ON sessions (started_from)",
        ],
    },
    // The audit of all tenants is read by time.
    Step { name: "events by time", statements: &["CREATE INDEX events_by_time ON events (at)"] },
];

const FIRST_TABLES: &[&str] = &[
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE tenants (id TEXT PRIMARY KEY, quotas TEXT NOT NULL, policy TEXT NOT NULL, created_at BIGINT NOT NULL)",
    "CREATE TABLE keys (id TEXT PRIMARY KEY, tenant TEXT NOT NULL, role TEXT NOT NULL, label TEXT NOT NULL, \
     hash TEXT NOT NULL, created_at BIGINT NOT NULL, revoked_at BIGINT)",
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, tenant TEXT NOT NULL, name TEXT NOT NULL, runtime TEXT NOT NULL, \
     state TEXT NOT NULL, spec TEXT NOT NULL, labels TEXT NOT NULL, created_at BIGINT NOT NULL, \
     used_at BIGINT NOT NULL, idle_ms BIGINT NOT NULL, ends_at BIGINT NOT NULL, \
     claimed_until BIGINT NOT NULL)",
    "CREATE UNIQUE INDEX sessions_by_name ON sessions (tenant, name)",
    "CREATE INDEX sessions_by_state ON sessions (state, ends_at)",
    "CREATE TABLE approvals (id TEXT PRIMARY KEY, session TEXT NOT NULL, tenant TEXT NOT NULL, request TEXT NOT NULL, \
     state TEXT NOT NULL, answer TEXT NOT NULL, asked_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, \
     answered_at BIGINT, answered_by TEXT NOT NULL)",
    "CREATE INDEX approvals_by_session ON approvals (session, asked_at)",
    "CREATE INDEX approvals_by_state ON approvals (state, tenant, asked_at)",
    "CREATE TABLE counters (session TEXT PRIMARY KEY, last_seq BIGINT NOT NULL)",
    "CREATE TABLE events (session TEXT NOT NULL, seq BIGINT NOT NULL, tenant TEXT NOT NULL, at BIGINT NOT NULL, \
     kind TEXT NOT NULL, actor TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (session, seq))",
    "CREATE INDEX events_by_tenant ON events (tenant, at)",
];

/// Whether the changes of steps stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changes {
    Stay,
    /// They are made and taken back, to see that they can be made.
    Tried,
}

/// Runs the steps that have not run yet, and returns their names.
pub(super) async fn run(database: &Database, changes: Changes) -> Result<Vec<&'static str>> {
    let failed = failed("cannot bring the tables of the database up to date");
    // Two processes may start at a time: the statement that takes the lock waits for the other one.
    let mut transaction = match database.is_postgres {
        true => database.pool.begin().await,
        false => database.pool.begin_with("BEGIN IMMEDIATE").await,
    }
    .map_err(&failed)?;
    if database.is_postgres {
        sqlx::query("SELECT pg_advisory_xact_lock(7203861)").execute(&mut *transaction).await.map_err(&failed)?;
    }
    let table = "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, at BIGINT NOT NULL)";
    sqlx::query(table).execute(&mut *transaction).await.map_err(&failed)?;
    let rows = sqlx::query("SELECT name FROM migrations").fetch_all(&mut *transaction).await.map_err(&failed)?;
    let done = rows.iter().map(|row| row.try_get("name")).collect::<sqlx::Result<BTreeSet<String>>>();
    let done = done.map_err(&failed)?;
    if done.iter().any(|name| STEPS.iter().all(|step| step.name != name)) {
        return Err(Error::new(ErrorKind::Unsupported, "the database was made by a newer version of workden")
            .hint("start that version, or name another database"));
    }
    let due = || STEPS.iter().filter(|step| !done.contains(step.name));
    for step in due() {
        for statement in step.statements {
            sqlx::query(in_dialect(statement, database.is_postgres))
                .execute(&mut *transaction)
                .await
                .map_err(&failed)?;
        }
        let insert = sqlx::query("INSERT INTO migrations (name, at) VALUES ($1, $2)");
        insert.bind(step.name).bind(Moment::now().0).execute(&mut *transaction).await.map_err(&failed)?;
    }
    match changes {
        Changes::Stay => transaction.commit().await,
        Changes::Tried => transaction.rollback().await,
    }
    .map_err(&failed)?;
    Ok(due().map(|step| step.name).collect())
}

/// The two dialects name bytes differently.
fn in_dialect(statement: &'static str, is_postgres: bool) -> AssertSqlSafe<String> {
    AssertSqlSafe(if is_postgres { statement.replace(" BLOB ", " BYTEA ") } else { statement.to_owned() })
}
