//! `Rates`: how many requests a tenant may make in a second.

use std::num::NonZeroU32;

use axum::http::StatusCode;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use workden::{Error, ErrorKind};

use crate::api_error::ApiError;

/// The rates of all tenants. Tenants come from the database, so their number is bounded.
#[derive(Debug)]
pub(crate) struct Rates(Option<DefaultKeyedRateLimiter<String>>);

impl Rates {
    /// Returns rates of this many requests in a second, with bursts of as many; 0 is no limit.
    pub(crate) fn per_second(most: u32) -> Self {
        Self(NonZeroU32::new(most).map(|most| RateLimiter::keyed(Quota::per_second(most))))
    }

    /// Counts a request.
    pub(crate) fn admit(&self, tenant: &String) -> Result<(), ApiError> {
        match self.0.as_ref().map(|rates| rates.check_key(tenant)) {
            None | Some(Ok(())) => Ok(()),
            Some(Err(_)) => Err(ApiError {
                status: StatusCode::TOO_MANY_REQUESTS,
                error: Error::new(ErrorKind::Busy, "too many requests").hint("retry after a second"),
            }),
        }
    }
}
