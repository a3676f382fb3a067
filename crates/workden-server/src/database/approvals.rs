//! Approvals: questions of sessions, each answered once.

use sqlx::{Row, any::AnyRow};
use workden::Result;

use super::{Database, failed};
use crate::clock::Moment;

/// A row of `approvals`.
#[derive(Clone, Debug)]
pub(crate) struct ApprovalRow {
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) tenant: String,
    /// The question, as JSON.
    pub(crate) request: String,
    pub(crate) state: ApprovalState,
    /// The answer, as JSON; empty until then.
    pub(crate) answer: String,
    pub(crate) asked_at: Moment,
    pub(crate) expires_at: Moment,
    pub(crate) answered_at: Option<Moment>,
    /// The id of the key that answered.
    pub(crate) answered_by: String,
}

/// Whether a question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalState {
    /// It waits for an answer.
    Pending,
    /// It was approved.
    Approved,
    /// It was denied.
    Denied,
    /// Its time passed without an answer.
    Expired,
    /// The caller went away.
    Withdrawn,
}

impl ApprovalState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }

    fn of(name: &str) -> Self {
        let all = [Self::Pending, Self::Approved, Self::Denied, Self::Expired];
        all.into_iter().find(|state| state.name() == name).unwrap_or(Self::Withdrawn)
    }
}

const COLUMNS: &str = "id, session, tenant, request, state, answer, asked_at, expires_at, answered_at, answered_by";

fn approval(row: &AnyRow) -> sqlx::Result<ApprovalRow> {
    Ok(ApprovalRow {
        id: row.try_get("id")?,
        session: row.try_get("session")?,
        tenant: row.try_get("tenant")?,
        request: row.try_get("request")?,
        state: ApprovalState::of(&row.try_get::<String, _>("state")?),
        answer: row.try_get("answer")?,
        asked_at: Moment(row.try_get("asked_at")?),
        expires_at: Moment(row.try_get("expires_at")?),
        answered_at: row.try_get::<Option<i64>, _>("answered_at")?.map(Moment),
        answered_by: row.try_get("answered_by")?,
    })
}

impl Database {
    pub(crate) async fn add_approval(&self, new: &ApprovalRow) -> Result<()> {
        let insert = "INSERT INTO approvals (id, session, tenant, request, state, answer, asked_at, expires_at, \
                      answered_by) VALUES ($1, $2, $3, $4, 'pending', '', $5, $6, '')";
        let insert = sqlx::query(insert).bind(&new.id).bind(&new.session).bind(&new.tenant).bind(&new.request);
        let insert = insert.bind(new.asked_at.0).bind(new.expires_at.0);
        insert.execute(&self.pool).await.map(drop).map_err(failed("cannot store the question for approval"))
    }

    pub(crate) async fn approval(&self, id: &str) -> Result<Option<ApprovalRow>> {
        let failed = failed("cannot read the approval");
        let select = sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} FROM approvals WHERE id = $1"));
        let row = sqlx::query(select).bind(id).fetch_optional(&self.pool).await.map_err(&failed)?;
        row.as_ref().map(approval).transpose().map_err(&failed)
    }

    /// Lists approvals, oldest first: of a tenant and a session (empty: of all), in a state (empty: in any).
    pub(crate) async fn approvals(
        &self,
        tenant: &str,
        session: &str,
        state: &str,
        most: i64,
    ) -> Result<Vec<ApprovalRow>> {
        let failed = failed("cannot list the approvals");
        let select = format!(
            "SELECT {COLUMNS} FROM approvals WHERE ($1 = '' OR tenant = $1) AND ($2 = '' OR session = $2) AND \
             ($3 = '' OR state = $3) ORDER BY asked_at, id LIMIT $4"
        );
        let select = sqlx::query(sqlx::AssertSqlSafe(select)).bind(tenant).bind(session).bind(state).bind(most);
        let rows = select.fetch_all(&self.pool).await.map_err(&failed)?;
        rows.iter().map(approval).collect::<sqlx::Result<_>>().map_err(&failed)
    }

    /// Returns how many questions wait for an answer.
    pub(crate) async fn pending_approvals(&self) -> Result<i64> {
        let row = sqlx::query("SELECT COUNT(*) FROM approvals WHERE state = 'pending'").fetch_one(&self.pool).await;
        row.and_then(|row| row.try_get(0)).map_err(failed("cannot count the approvals"))
    }

    /// Answers a pending question. Returns whether it was still pending: only the first answer counts.
    pub(crate) async fn answer_approval(
        &self,
        id: &str,
        (state, answer): (ApprovalState, &str),
        (at, by): (Moment, &str),
    ) -> Result<bool> {
        let update = "UPDATE approvals SET state = $1, answer = $2, answered_at = $3, answered_by = $4 \
                      WHERE id = $5 AND state = 'pending'";
        let update = sqlx::query(update).bind(state.name()).bind(answer).bind(at.0).bind(by).bind(id);
        let done = update.execute(&self.pool).await.map_err(failed("cannot store the answer"))?;
        Ok(done.rows_affected() > 0)
    }
}
