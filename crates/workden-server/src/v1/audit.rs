//! `/v1/audit/stream`: what happens in all sessions that a key sees, as it happens.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    extract::State,
    response::{
        Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::Stream;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{description::ServerEvent, events::EventView};
use crate::{
    clock::Moment,
    database::EventRow,
    identity::TenantKey,
    service::{Answer, Service},
};

/// Events that are read at a time.
const PAGE: i64 = 1000;
/// How often is looked, at most: many events that come at once are one look.
const PAUSE: Duration = Duration::from_millis(250);
/// How often events of other processes of the service are looked for.
const LOOK: Duration = Duration::from_secs(2);
/// Another process may store an event a moment after its time.
const LATE: i64 = 5_000;

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(follow))
}

/// Follow what happens in all sessions, and to keys and tenants
///
/// Server-sent events from now on, each with its kind as the name and the event as data. `/v1/sessions/{id}/events/stream`
/// resumes by number; this stream does not, and a client that was away lists again.
#[utoipa::path(get, operation_id = "follow_audit", path = "/v1/audit/stream", tag = "events",
    responses((status = 200, description = "Events as they happen",
        body = ServerEvent, content_type = "text/event-stream")))]
pub(super) async fn follow(
    State(service): State<Arc<Service>>,
    TenantKey(principal): TenantKey,
) -> Answer<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let mut stored = service.events.follow();
    let mut seen = Seen::new(Moment::now());
    let events = async_stream::stream! {
        loop {
            let looked = Instant::now();
            let Ok(rows) = service.database.audit_from(principal.scope(), seen.from(), PAGE).await else { return };
            for row in seen.fresh(rows) {
                let kind = row.kind.clone();
                let data = serde_json::to_string(&EventView::of(row)).unwrap_or_default();
                yield Ok(Event::default().event(kind).data(data));
            }
            let _ = tokio::time::timeout(LOOK, stored.changed()).await;
            tokio::time::sleep(PAUSE.saturating_sub(looked.elapsed())).await;
        }
    };
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// The events that were sent of the last moments.
struct Seen {
    start: Moment,
    newest: i64,
    sent: HashMap<(String, i64), i64>,
}

impl Seen {
    fn new(start: Moment) -> Self {
        Self { start, newest: start.0, sent: HashMap::new() }
    }

    /// Returns the moment from which to read.
    fn from(&self) -> Moment {
        Moment(self.start.0.max(self.newest - LATE))
    }

    /// Returns the events that were not sent before.
    fn fresh(&mut self, mut rows: Vec<EventRow>) -> Vec<EventRow> {
        let is_full = i64::try_from(rows.len()).is_ok_and(|rows| rows == PAGE);
        let last = rows.last().map_or(self.newest, |row| row.at.0);
        rows.retain(|row| self.sent.insert((row.session.clone(), row.seq), row.at.0).is_none());
        // A full page of what was sent before must not be read for ever: the next one starts at its end.
        self.newest = self.newest.max(if is_full { last + LATE } else { last });
        let oldest = self.newest - 2 * LATE;
        self.sent.retain(|_, at| *at >= oldest);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seq: i64, at: i64) -> EventRow {
        let [session, kind, actor, data] = ["s", "call", "", "{}"].map(str::to_owned);
        EventRow { session, seq, at: Moment(at), kind, actor, data }
    }

    #[test]
    fn an_event_is_sent_once_also_when_it_is_stored_late() {
        let mut seen = Seen::new(Moment(1_000));
        let numbers = |rows: Vec<EventRow>| rows.iter().map(|row| row.seq).collect::<Vec<_>>();
        assert_eq!(numbers(seen.fresh(vec![row(1, 1_000), row(3, 9_000)])), [1, 3]);
        assert_eq!(seen.from(), Moment(4_000));
        assert_eq!(numbers(seen.fresh(vec![row(2, 8_000), row(3, 9_000)])), [2]);
        assert_eq!(numbers(seen.fresh(vec![row(2, 8_000), row(3, 9_000)])), [0; 0]);
    }
}
