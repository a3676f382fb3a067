//! The time of records: milliseconds since 1970, and as RFC 3339 for clients. The clock of a machine can be set while the
//! service runs, which [`ClockWatch`] notices.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, SchemaFormat, schema::KnownFormat, schema::Type},
};

/// A moment, to the millisecond. Databases keep it as a number, clients see RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub(crate) i64);

impl Moment {
    /// Returns the current moment.
    #[must_use]
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// Returns the moment this much later.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Returns the time since an earlier moment; zero if the clock was set back.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Returns the seconds since 1970, for interfaces that count so.
    #[must_use]
    pub fn as_seconds(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of this century fit")]
        let millis = self.0 as f64;
        millis / 1000.0
    }
}

/// Notices that the clock was set: it and the steady clock disagree about the time since the last look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockWatch {
    seen: Moment,
    steady: Instant,
}

impl ClockWatch {
    /// Smaller differences are the clock being adjusted, or a busy machine.
    const TOLERANCE: Duration = Duration::from_secs(30);

    pub(crate) fn new(now: Moment, steady: Instant) -> Self {
        Self { seen: now, steady }
    }

    /// Looks at both clocks, and returns whether the clock was set since the last look.
    pub(crate) fn was_set(&mut self, now: Moment, steady: Instant) -> bool {
        let expected = self.seen.after(steady.saturating_duration_since(self.steady));
        *self = Self::new(now, steady);
        now.since(expected).max(expected.since(now)) > Self::TOLERANCE
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            // Always three digits, so that clients can sort moments as text.
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => f.write_str("1970-01-01T00:00:00.000Z"),
        }
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse::<jiff::Timestamp>().map(|time| Self(time.as_millisecond())).map_err(D::Error::custom)
    }
}

impl PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::KnownFormat(KnownFormat::DateTime);
        ObjectBuilder::new().schema_type(Type::String).format(Some(format)).into()
    }
}

impl ToSchema for Moment {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_is_noticed_once() {
        let (start, steady) = (Moment(1_763_500_000_000), Instant::now());
        let mut watch = ClockWatch::new(start, steady);
        let mut look = |wall_ms: i64, steady_ms: u64| {
            watch.was_set(Moment(start.0 + wall_ms), steady + Duration::from_millis(steady_ms))
        };
        assert!(!look(1_000, 1_000) && !look(3_600_000, 3_600_000), "an hour without a look");
        assert!(!look(3_610_000, 3_601_000), "adjusted by nine seconds");
        assert!(look(7_200_000, 3_602_000) && !look(7_201_000, 3_603_000), "an hour forwards");
        assert!(look(1_000, 3_604_000) && !look(2_000, 3_605_000), "two hours back");
    }

    #[test]
    fn clients_see_and_send_rfc_3339() {
        let moment = Moment(1_763_500_000_250);
        let text = serde_json::to_string(&moment).unwrap();
        assert_eq!(text, "\"2025-11-18T21:06:40.250Z\"");
        assert_eq!(serde_json::from_str::<Moment>(&text).unwrap(), moment);
        assert_eq!(Moment(5).since(Moment(9)), Duration::ZERO);
        assert!(Moment(moment.0 + 1).to_string() > moment.to_string(), "sorted as text");
    }
}
