//! API keys by id. The key itself is never stored, only its hash.

use sqlx::{Row, any::AnyRow};
use workden::Result;

use super::{Database, failed};
use crate::clock::Moment;

/// A row of `keys`.
#[derive(Clone, Debug)]
pub(crate) struct KeyRow {
    pub(crate) id: String,
    pub(crate) tenant: String,
    pub(crate) role: String,
    pub(crate) label: String,
    pub(crate) hash: String,
    pub(crate) created_at: Moment,
    pub(crate) revoked_at: Option<Moment>,
}

const COLUMNS: &str = "id, tenant, role, label, hash, created_at, revoked_at";

fn key(row: &AnyRow) -> sqlx::Result<KeyRow> {
    Ok(KeyRow {
        id: row.try_get("id")?,
        tenant: row.try_get("tenant")?,
        role: row.try_get("role")?,
        label: row.try_get("label")?,
        hash: row.try_get("hash")?,
        created_at: Moment(row.try_get("created_at")?),
        revoked_at: row.try_get::<Option<i64>, _>("revoked_at")?.map(Moment),
    })
}

impl Database {
    pub(crate) async fn add_key(&self, key: &KeyRow) -> Result<()> {
        let insert = "INSERT INTO keys (id, tenant, role, label, hash, created_at) VALUES ($1, $2, $3, $4, $5, $6)";
        let insert = sqlx::query(insert).bind(&key.id).bind(&key.tenant).bind(&key.role).bind(&key.label);
        let insert = insert.bind(&key.hash).bind(key.created_at.0);
        insert.execute(&self.pool).await.map(drop).map_err(failed("cannot store the key"))
    }

    pub(crate) async fn key(&self, id: &str) -> Result<Option<KeyRow>> {
        let query = sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} FROM keys WHERE id = $1"));
        let failed = failed("cannot read the key");
        let row = sqlx::query(query).bind(id).fetch_optional(&self.pool).await.map_err(&failed)?;
        row.as_ref().map(key).transpose().map_err(&failed)
    }

    /// Lists the keys of a tenant, or of all.
    pub(crate) async fn keys(&self, tenant: Option<&str>) -> Result<Vec<KeyRow>> {
        let query = format!("SELECT {COLUMNS} FROM keys WHERE $1 = '' OR tenant = $1 ORDER BY created_at, id");
        let failed = failed("cannot list the keys");
        let query = sqlx::query(sqlx::AssertSqlSafe(query)).bind(tenant.unwrap_or_default());
        let rows = query.fetch_all(&self.pool).await.map_err(&failed)?;
        rows.iter().map(key).collect::<sqlx::Result<_>>().map_err(&failed)
    }

    /// Returns whether the key existed and was valid until now.
    pub(crate) async fn revoke_key(&self, id: &str, tenant: Option<&str>, at: Moment) -> Result<bool> {
        let update =
            "UPDATE keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL AND ($3 = '' OR tenant = $3)";
        let update = sqlx::query(update).bind(at.0).bind(id).bind(tenant.unwrap_or_default());
        let done = update.execute(&self.pool).await.map_err(failed("cannot revoke the key"))?;
        Ok(done.rows_affected() > 0)
    }

    /// Whether any key exists.
    pub(crate) async fn has_keys(&self) -> Result<bool> {
        let row = sqlx::query("SELECT COUNT(*) FROM keys").fetch_one(&self.pool).await;
        let count: i64 = row.and_then(|row| row.try_get(0)).map_err(failed("cannot count the keys"))?;
        Ok(count > 0)
    }

    /// Returns a setting, and stores this value first if there is none. All processes see the same value.
    pub(crate) async fn setting_or(&self, name: &str, value: &str) -> Result<String> {
        let failed = failed("cannot read the settings");
        let insert = "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
        sqlx::query(insert).bind(name).bind(value).execute(&self.pool).await.map_err(&failed)?;
        let select = sqlx::query("SELECT value FROM settings WHERE name = $1").bind(name);
        select.fetch_one(&self.pool).await.and_then(|row| row.try_get(0)).map_err(&failed)
    }
}
