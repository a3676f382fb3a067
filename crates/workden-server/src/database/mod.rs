//! The state of the service in SQL: SQLite in a file, or Postgres that several processes share.
//!
//! Invariant: every statement is valid in both dialects, and a change that depends on what was read is one statement
//! (`UPDATE ... WHERE`), so that two processes never do the same work.

mod approvals;
mod events;
mod keys;
mod migrations;
mod ports;
mod sessions;
mod snapshots;
mod tenants;

use std::{path::Path, sync::Once, time::Duration};

pub(crate) use approvals::{ApprovalRow, ApprovalState};
pub(crate) use events::{EventRow, EventWriter, NewEvent};
pub(crate) use keys::KeyRow;
use migrations::Changes;
pub(crate) use sessions::{SessionQuery, SessionRow};
pub(crate) use snapshots::{SnapshotQuery, SnapshotRow, SnapshotState};
use sqlx::{AnyPool, Row, any::AnyPoolOptions};
pub(crate) use tenants::TenantRow;
use workden::{Error, ErrorKind, Result};

/// The file of SQLite.
const FILE: &str = "workden.sqlite";
/// Connections of one process; SQLite has one writer at a time.
const CONNECTIONS: u32 = 8;
/// Pages of SQLite that are given back at a time: 16 MB.
const PAGES: u32 = 4096;
/// How long a call waits for a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// The database of the service.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    pool: AnyPool,
    is_postgres: bool,
}

impl Database {
    /// Opens the SQLite file in the directory of the service, and creates it if it is missing.
    pub(crate) async fn in_directory(directory: &Path) -> Result<Self> {
        Self::open(&format!("sqlite://{}?mode=rwc", directory.join(FILE).display())).await
    }

    /// Checks that the database in a directory can be opened, if there is one, and returns the steps that would change
    /// its tables.
    pub(crate) async fn check_in(directory: &Path) -> Result<Vec<&'static str>> {
        let file = directory.join(FILE);
        if file.exists() { Self::check(&format!("sqlite://{}", file.display())).await } else { Ok(Vec::new()) }
    }

    /// Checks that a database can be opened, and returns the steps that would change its tables.
    pub(crate) async fn check(url: &str) -> Result<Vec<&'static str>> {
        let database = Self::connect(url).await?;
        let steps = migrations::run(&database, Changes::Tried).await;
        database.close().await;
        steps
    }

    /// Connects to a database by its URL, and brings its tables up to date.
    pub(crate) async fn open(url: &str) -> Result<Self> {
        let database = Self::connect(url).await?;
        for step in migrations::run(&database, Changes::Stay).await? {
            tracing::info!(step, "changed the tables of the database");
        }
        Ok(database)
    }

    /// Connects to a database by its URL, and changes nothing.
    async fn connect(url: &str) -> Result<Self> {
        static DRIVERS: Once = Once::new();
        DRIVERS.call_once(sqlx::any::install_default_drivers);
        let is_postgres = url.starts_with("postgres://") || url.starts_with("postgresql://");
        if !is_postgres && !url.starts_with("sqlite:") {
            // The URL may contain a password.
            return Err(Error::new(ErrorKind::InvalidArgument, "invalid database URL")
                .hint("use `postgres://USER:PASSWORD@HOST/NAME` or `sqlite://FILE`"));
        }
        let options = AnyPoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(PATIENCE);
        let options = options.after_connect(move |connection, _| {
            Box::pin(async move {
                if !is_postgres {
                    // Of a new file, pages can be given back. That is set once, because it writes.
                    let pages = sqlx::query("SELECT page_count FROM pragma_page_count").fetch_one(&mut *connection);
                    let new: &[_] =
                        if pages.await?.try_get::<i64, _>(0)? == 0 { &["auto_vacuum = INCREMENTAL"] } else { &[] };
                    // A commit survives the end of the process without waiting for the disk; `NORMAL` waits at
                    // checkpoints, so the file stays consistent after a power cut.
                    let always = ["journal_mode = WAL", "synchronous = NORMAL", "busy_timeout = 10000"];
                    for pragma in new.iter().chain(&always) {
                        let pragma = sqlx::AssertSqlSafe(format!("PRAGMA {pragma}"));
                        sqlx::query(pragma).execute(&mut *connection).await?;
                    }
                }
                Ok(())
            })
        });
        let pool = options.connect(url).await.map_err(cannot_open)?;
        Ok(Self { pool, is_postgres })
    }

    /// Checks that the database answers.
    pub(crate) async fn ping(&self) -> Result<()> {
        sqlx::query("SELECT 1").execute(&self.pool).await.map(drop).map_err(failed("the database does not answer"))
    }

    /// Makes the file of SQLite smaller by what was removed from it. Postgres does so itself.
    async fn give_back(&self) -> Result<()> {
        let failed = failed("cannot make the database smaller");
        let some = format!("PRAGMA incremental_vacuum({PAGES})");
        let mut free = if self.is_postgres { 0 } else { self.free_pages().await.map_err(&failed)? };
        while free > 0 {
            // A few pages at a time: others wait for it to write.
            sqlx::query(sqlx::AssertSqlSafe(some.clone())).fetch_all(&self.pool).await.map_err(&failed)?;
            let left = self.free_pages().await.map_err(&failed)?;
            free = if left < free { left } else { 0 };
        }
        Ok(())
    }

    /// Returns how many pages can be given back.
    async fn free_pages(&self) -> sqlx::Result<i64> {
        // Those of a file that was made before they could be are not counted.
        let pages = "SELECT freelist_count FROM pragma_freelist_count, pragma_auto_vacuum WHERE auto_vacuum = 2";
        let row = sqlx::query(pages).fetch_optional(&self.pool).await?;
        row.map_or(Ok(0), |row| row.try_get(0))
    }

    /// Closes all connections, after the statements in progress.
    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// Returns a function that tells an error of the database without its text, which may contain values.
fn failed(what: impl Into<String>) -> impl Fn(sqlx::Error) -> Error {
    let what = what.into();
    move |error| {
        let kind = match &error {
            sqlx::Error::PoolTimedOut | sqlx::Error::Io(_) | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => {
                ErrorKind::Unreachable
            }
            sqlx::Error::Database(told) => kind_of(told.code().as_deref().unwrap_or_default()),
            _ => ErrorKind::Io,
        };
        let error = Error::new(kind, what.clone()).with_source(error);
        match kind {
            ErrorKind::Unreachable => error.hint("the database does not answer now; retry"),
            ErrorKind::NoSpace => error.hint("free space where the database is, and retry"),
            _ => error,
        }
    }
}

/// Says why a database cannot be opened, for the operator who starts the service. The URL may contain a password.
fn cannot_open(error: sqlx::Error) -> Error {
    let why = match &error {
        sqlx::Error::Io(error) => format!(": {error}"),
        sqlx::Error::Database(told) => format!(": {}", told.message()),
        sqlx::Error::PoolTimedOut => format!(": no connection within {} s", PATIENCE.as_secs()),
        _ => String::new(),
    };
    failed(format!("cannot open the database{why}"))(error)
}

/// Returns the kind of error for a code of Postgres or SQLite.
fn kind_of(code: &str) -> ErrorKind {
    match code {
        // Postgres: connections lost or refused, it stops or starts, it has no more connections.
        "57P01" | "57P02" | "57P03" | "53300" => ErrorKind::Unreachable,
        _ if code.starts_with("08") => ErrorKind::Unreachable,
        // SQLite: busy, also after all waiting.
        "5" | "261" | "517" => ErrorKind::Unreachable,
        "53100" | "13" => ErrorKind::NoSpace,
        _ => ErrorKind::Io,
    }
}

/// Whether a statement failed because a row with the same key exists.
fn is_duplicate(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(told) if told.is_unique_violation())
}
