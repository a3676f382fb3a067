//! The tables, step by step. A step that has run is never changed: a later one changes its tables.

use sqlx::Row;
use workden::{Error, ErrorKind, Result};

use super::{Database, failed};

/// The steps, in order. Each is a list of statements.
const STEPS: &[&[&str]] = &[TABLES, PUBLISHED_PORTS];

const TABLES: &[&str] = &[
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

/// Port 0 stands for all.
const PUBLISHED_PORTS: &[&str] =
    &["CREATE TABLE published_ports (session TEXT NOT NULL, port BIGINT NOT NULL, PRIMARY KEY (session, port))"];

/// Runs the steps that have not run yet.
pub(super) async fn run(database: &Database) -> Result<()> {
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
    let table = "CREATE TABLE IF NOT EXISTS migrations (step BIGINT PRIMARY KEY)";
    sqlx::query(table).execute(&mut *transaction).await.map_err(&failed)?;
    let counted = sqlx::query("SELECT COUNT(*) FROM migrations").fetch_one(&mut *transaction).await.map_err(&failed)?;
    let done: i64 = counted.try_get(0).map_err(&failed)?;
    let done = usize::try_from(done).unwrap_or(usize::MAX);
    if done > STEPS.len() {
        return Err(Error::new(ErrorKind::Unsupported, "the database was made by a newer version of workden")
            .hint("start that version, or name another database"));
    }
    for (index, step) in STEPS.iter().enumerate().skip(done) {
        for statement in *step {
            sqlx::query(*statement).execute(&mut *transaction).await.map_err(&failed)?;
        }
        let number = i64::try_from(index).unwrap_or(i64::MAX);
        let insert = sqlx::query("INSERT INTO migrations (step) VALUES ($1)").bind(number);
        insert.execute(&mut *transaction).await.map_err(&failed)?;
    }
    transaction.commit().await.map_err(&failed)
}
