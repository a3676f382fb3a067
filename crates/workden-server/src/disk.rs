//! Quotas of disks: how much the files of a tenant take on this machine, measured now and then, and the gate that refuses
//! more of them.
//!
//! The files of sessions are ordinary directories, so that nothing stops a command that is running: the quota refuses
//! what comes after it.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use workden::{Error, ErrorKind, Result, SessionId, core::parse_size, files::disk_usage};
use workden_core::{Access, Gate, Judgement, Op, Resolved, Verdict, Visibility};

use crate::{
    clock::Moment,
    database::{SessionQuery, SessionRow},
    service::Service,
};

/// How often to measure.
const EVERY: Duration = Duration::from_secs(5);
/// The most sessions of a tenant that are looked up at a time.
const PAGE: i64 = 500;

/// What the files of tenants take.
#[derive(Debug, Default)]
pub(crate) struct DiskUse(Mutex<HashMap<String, TenantDisk>>);

/// What the files of one tenant take.
#[derive(Debug, Default)]
struct TenantDisk {
    /// Bytes by session, with the time of their measurement. A session that was not used since takes as much.
    sessions: HashMap<String, (u64, Moment)>,
    is_full: Arc<AtomicBool>,
}

impl DiskUse {
    /// Returns the gate of a tenant's sessions.
    pub(crate) fn gate(&self, tenant: &str) -> DiskGate {
        DiskGate { is_full: self.of(tenant, |disk| Arc::clone(&disk.is_full)) }
    }

    fn of<T>(&self, tenant: &str, look: impl FnOnce(&mut TenantDisk) -> T) -> T {
        let mut tenants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        look(tenants.entry(tenant.to_owned()).or_default())
    }
}

/// Refuses what makes more files where the quota is reached. Commands are refused, too: nothing limits what they write.
#[derive(Debug)]
pub(crate) struct DiskGate {
    is_full: Arc<AtomicBool>,
}

impl DiskGate {
    /// Refuses more files if the quota is reached.
    pub(crate) fn require_room(&self) -> Result<()> {
        match self.is_full.load(Ordering::Relaxed) {
            true => Err(Error::new(ErrorKind::NoSpace, "the files of the tenant reach their quota `disk`")
                .hint("remove files by file calls, delete a session, or ask an administrator for more")),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl Gate for DiskGate {
    async fn judge(&self, op: Op<'_>) -> Judgement {
        let grows = match op {
            Op::Stat(_) | Op::List(_) | Op::Read(_) | Op::Remove(_) | Op::Glob(_) | Op::Grep(_) => false,
            Op::Write(_) | Op::Change(_) | Op::MakeDir(_) | Op::Rename { .. } | Op::Copy { .. } | Op::Execute(_) => {
                true
            }
        };
        match self.require_room() {
            Err(error) if grows => Verdict::Deny(error).into(),
            _ => Verdict::Allow.into(),
        }
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        Visibility::everything()
    }

    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }
}

/// Measures until the service ends.
pub(crate) async fn measure(service: Arc<Service>) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = service.measure_disks().await {
            tracing::warn!(%error, "cannot measure the files of sessions");
        }
    }
}

impl Service {
    /// Measures the files of tenants that have a quota and use sessions here.
    async fn measure_disks(&self) -> Result<()> {
        let mut tenants: Vec<String> = self.all_live().iter().map(|live| live.tenant.clone()).collect();
        tenants.sort_unstable();
        tenants.dedup();
        for tenant in tenants {
            let quota = self.tenant_quotas(&tenant).await.map_err(|failed| failed.error)?.disk;
            let is_full = match quota.as_deref().map(parse_size).transpose()? {
                Some(most) => self.used_by(&tenant).await?.is_none_or(|used| used > most),
                None => false,
            };
            self.disk.of(&tenant, |disk| disk.is_full.store(is_full, Ordering::Relaxed));
        }
        Ok(())
    }

    /// Returns how many bytes the files of a tenant take here; `None` if some cannot be measured.
    async fn used_by(&self, tenant: &str) -> Result<Option<u64>> {
        let mut sizes = HashMap::new();
        let mut query = SessionQuery { tenant: Some(tenant.to_owned()), limit: PAGE, ..SessionQuery::default() };
        let mut is_measured = true;
        loop {
            let rows = self.database.sessions(&query).await?;
            for row in rows.iter().filter(|row| row.place == self.place) {
                match self.size_of(tenant, row).await? {
                    Some(size) => drop(sizes.insert(row.id.clone(), size)),
                    None => is_measured = false,
                }
            }
            match rows.last() {
                Some(last) if rows.len() as i64 == PAGE => query.after.clone_from(&last.id),
                _ => break,
            }
        }
        let used = sizes.values().map(|(size, _)| size).sum();
        self.disk.of(tenant, |disk| disk.sessions = sizes);
        Ok(is_measured.then_some(used))
    }

    async fn size_of(&self, tenant: &str, row: &SessionRow) -> Result<Option<(u64, Moment)>> {
        let known = self.disk.of(tenant, |disk| disk.sessions.get(&row.id).copied());
        let in_use = self.live(&row.id).is_some_and(|live| live.is_in_use());
        // A use is recorded a few seconds after it began.
        if let Some((size, at)) = known
            && !in_use
            && row.used_at.after(2 * EVERY) < at
        {
            return Ok(Some((size, at)));
        }
        let id: SessionId = row.id.parse()?;
        let Some(record) = self.sandboxes.store().record(&id)?.filter(|record| record.has_directory()) else {
            return Ok(Some((0, Moment(0))));
        };
        let now = Moment::now();
        let size = tokio::task::spawn_blocking(move || disk_usage(&record.workspace)).await;
        Ok(match size {
            Ok(Ok(size)) => Some((size, now)),
            // It is being removed.
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => Some((0, now)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use workden_core::VirtualPath;

    use super::*;

    #[tokio::test]
    async fn a_full_disk_can_be_read_and_emptied() {
        let disk = DiskUse::default();
        let (gate, other) = (disk.gate("ada"), disk.gate("ben"));
        disk.of("ada", |disk| disk.is_full.store(true, Ordering::Relaxed));
        let at = Resolved::literal(VirtualPath::root());
        let refused = async |gate: &DiskGate, op| !gate.judge(op).await.verdict.is_allow();
        for op in [Op::Write(&at), Op::Change(&at), Op::MakeDir(&at), Op::Copy { from: &at, to: &at }] {
            assert!(refused(&gate, op).await && !refused(&other, op).await, "{op:?}");
        }
        for op in [Op::Read(&at), Op::List(&at), Op::Remove(&at), Op::Grep(&at)] {
            assert!(!refused(&gate, op).await, "{op:?}");
        }
    }
}
