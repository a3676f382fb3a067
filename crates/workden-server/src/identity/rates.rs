//! `Rates`: how many requests a tenant may make in a second, as its quotas say.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use workden::{Error, ErrorKind};

use crate::{api_error::ApiError, service::Service};

/// How long the quotas of a tenant are not looked up again.
const TRUST: Duration = Duration::from_secs(2);

/// The rates of all tenants. Tenants come from the database, so their number is bounded.
#[derive(Debug, Default)]
pub(crate) struct Rates(Mutex<HashMap<String, TenantRate>>);

#[derive(Clone, Debug)]
struct TenantRate {
    /// Requests in a second; 0 is no limit.
    most: u32,
    /// With bursts of as many.
    limiter: Option<Arc<DefaultDirectRateLimiter>>,
    known_until: Instant,
}

impl Rates {
    /// Returns the rate of a tenant, if it was looked up a moment ago.
    fn known(&self, tenant: &str, now: Instant) -> Option<TenantRate> {
        let rates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rates.get(tenant).filter(|rate| now < rate.known_until).cloned()
    }

    /// Looks all quotas up again: some have changed.
    pub(crate) fn renew(&self, now: Instant) {
        let mut rates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rates.values_mut().for_each(|rate| rate.known_until = now);
    }

    /// Sets the rate of a tenant. What it has used of the same rate still counts.
    fn set(&self, tenant: &str, most: u32, now: Instant) -> TenantRate {
        let mut rates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let limiter = match rates.get(tenant) {
            Some(rate) if rate.most == most => rate.limiter.clone(),
            _ => NonZeroU32::new(most).map(|most| Arc::new(RateLimiter::direct(Quota::per_second(most)))),
        };
        let rate = TenantRate { most, limiter, known_until: now + TRUST };
        rates.insert(tenant.to_owned(), rate.clone());
        rate
    }
}

impl TenantRate {
    fn admit(&self) -> Result<(), ApiError> {
        match self.limiter.as_ref().map(|limiter| limiter.check()) {
            None | Some(Ok(())) => Ok(()),
            Some(Err(_)) => Err(ApiError {
                status: StatusCode::TOO_MANY_REQUESTS,
                error: Error::new(ErrorKind::Busy, "too many requests").hint("retry after a second"),
            }),
        }
    }
}

impl Service {
    /// Counts a request of a tenant.
    pub(crate) async fn count_request(&self, tenant: &str) -> Result<(), ApiError> {
        let now = Instant::now();
        let rate = match self.rates.known(tenant, now) {
            Some(rate) => rate,
            None => self.rates.set(tenant, self.tenant_quotas(tenant).await?.requests_per_second, now),
        };
        rate.admit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tenant_has_a_rate_that_changes_when_its_quota_does() {
        let (rates, now) = (Rates::default(), Instant::now());
        assert!(rates.known("ada", now).is_none());
        rates.set("ada", 3, now);
        rates.set("ben", 0, now);
        let admitted = |tenant: &str| {
            let rate = rates.known(tenant, now).unwrap();
            (0..10).filter(|_| rate.admit().is_ok()).count()
        };
        assert_eq!((admitted("ada"), admitted("ben")), (3, 10));
        rates.set("ada", 3, now);
        assert_eq!(admitted("ada"), 0, "a look at the quotas is no new second");
        rates.set("ada", 5, now);
        assert_eq!(admitted("ada"), 5);
        assert!(rates.known("ada", now + TRUST).is_none());
        rates.renew(now);
        assert!(rates.known("ada", now).is_none());
    }
}
