//! Ports that everyone may reach, and how often the links of a port were ended.

use sqlx::Row;
use workden::Result;

use super::{Database, failed};

impl Database {
    /// Publishes a port; 0 stands for all.
    pub(crate) async fn publish_port(&self, session: &str, port: u16) -> Result<()> {
        let insert =
            "INSERT INTO published_ports (session, port) VALUES ($1, $2) ON CONFLICT (session, port) DO NOTHING";
        let insert = sqlx::query(insert).bind(session).bind(i64::from(port));
        insert.execute(&self.pool).await.map(drop).map_err(failed("cannot publish the port"))
    }

    /// Makes a port private again. Returns whether it was published.
    pub(crate) async fn unpublish_port(&self, session: &str, port: u16) -> Result<bool> {
        let delete = "DELETE FROM published_ports WHERE session = $1 AND port = $2";
        let done = sqlx::query(delete).bind(session).bind(i64::from(port)).execute(&self.pool).await;
        done.map(|done| done.rows_affected() > 0).map_err(failed("cannot make the port private"))
    }

    /// Ends the links of a port; 0 stands for all.
    pub(crate) async fn end_links(&self, session: &str, port: u16) -> Result<()> {
        let count = "INSERT INTO ended_links (session, port, times) VALUES ($1, $2, 1) \
                     ON CONFLICT (session, port) DO UPDATE SET times = ended_links.times + 1";
        let count = sqlx::query(count).bind(session).bind(i64::from(port));
        count.execute(&self.pool).await.map(drop).map_err(failed("cannot end the links of the port"))
    }

    /// Returns how often the links of a port were ended, also with those of all ports.
    pub(crate) async fn ended_links(&self, session: &str, port: u16) -> Result<i64> {
        let select = "SELECT CAST(COALESCE(SUM(times), 0) AS BIGINT) FROM ended_links \
                      WHERE session = $1 AND (port = $2 OR port = 0)";
        let row = sqlx::query(select).bind(session).bind(i64::from(port)).fetch_one(&self.pool).await;
        row.and_then(|row| row.try_get(0)).map_err(failed("cannot look up the links of the port"))
    }

    /// Whether a port, or all of its session, are published.
    pub(crate) async fn is_published(&self, session: &str, port: u16) -> Result<bool> {
        let select = "SELECT 1 FROM published_ports WHERE session = $1 AND (port = $2 OR port = 0)";
        let found = sqlx::query(select).bind(session).bind(i64::from(port)).fetch_optional(&self.pool).await;
        found.map(|found| found.is_some()).map_err(failed("cannot look up the port"))
    }

    /// Returns the published ports of a session, by number.
    pub(crate) async fn published_ports(&self, session: &str) -> Result<Vec<u16>> {
        let failed = failed("cannot list the ports");
        let select = "SELECT port FROM published_ports WHERE session = $1 ORDER BY port";
        let rows = sqlx::query(select).bind(session).fetch_all(&self.pool).await.map_err(&failed)?;
        let port = |row: &sqlx::any::AnyRow| row.try_get(0).map(|port: i64| u16::try_from(port).unwrap_or(0));
        rows.iter().map(port).collect::<sqlx::Result<_>>().map_err(&failed)
    }
}
