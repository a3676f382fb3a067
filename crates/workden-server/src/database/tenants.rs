//! Tenants: who shares the service, with their quotas and their policy as JSON.

use sqlx::Row;
use workden::Result;

use super::{Database, failed};
use crate::clock::Moment;

/// A row of `tenants`.
#[derive(Clone, Debug)]
pub(crate) struct TenantRow {
    pub(crate) id: String,
    pub(crate) quotas: String,
    pub(crate) policy: String,
    pub(crate) created_at: Moment,
}

impl Database {
    pub(crate) async fn put_tenant(&self, tenant: &TenantRow) -> Result<()> {
        let insert = "INSERT INTO tenants (id, quotas, policy, created_at) VALUES ($1, $2, $3, $4) \
                      ON CONFLICT (id) DO UPDATE SET quotas = $2, policy = $3";
        let insert = sqlx::query(insert).bind(&tenant.id).bind(&tenant.quotas).bind(&tenant.policy);
        let insert = insert.bind(tenant.created_at.0);
        insert.execute(&self.pool).await.map(drop).map_err(failed("cannot store the tenant"))
    }

    /// Lists the tenants, or the one with this id.
    pub(crate) async fn tenants(&self, id: Option<&str>) -> Result<Vec<TenantRow>> {
        let failed = failed("cannot read the tenants");
        let select = "SELECT id, quotas, policy, created_at FROM tenants WHERE $1 = '' OR id = $1 ORDER BY id";
        let rows = sqlx::query(select).bind(id.unwrap_or_default()).fetch_all(&self.pool).await.map_err(&failed)?;
        let tenant = |row: &sqlx::any::AnyRow| {
            Ok(TenantRow {
                id: row.try_get("id")?,
                quotas: row.try_get("quotas")?,
                policy: row.try_get("policy")?,
                created_at: Moment(row.try_get("created_at")?),
            })
        };
        rows.iter().map(tenant).collect::<sqlx::Result<_>>().map_err(&failed)
    }
}
