//! The events of a directory at the other end of a byte stream.

use std::io;

use futures_util::{StreamExt, TryStreamExt, stream};
use http_body_util::BodyDataStream;
use hyper::body::Incoming;
use tokio_util::{
    codec::{FramedRead, LinesCodec, LinesCodecError},
    io::StreamReader,
};
use workden_core::{
    Error, Result,
    sandbox::{FileEvent, FileEvents},
};

use super::connection::broken;
use crate::{
    calls::WatchLine,
    errors,
    limits::{CONTROL_FRAME_BYTES, ERROR_CHARACTERS},
};

/// Returns the events in a body. They always end with an error.
pub(super) fn events(body: Incoming) -> FileEvents {
    let pieces = BodyDataStream::new(body).map_err(|error| io::Error::other(broken(error)));
    let codec = LinesCodec::new_with_max_length(CONTROL_FRAME_BYTES);
    let lines = FramedRead::new(StreamReader::new(pieces), codec);
    let events = lines.map(event).chain(stream::once(async { Err(errors::gone()) }));
    // Nothing comes after an error.
    let events = stream::unfold(Some(Box::pin(events)), |events| async {
        let mut events = events?;
        let event = events.next().await?;
        let rest = event.is_ok().then_some(events);
        Some((event, rest))
    });
    Box::pin(events)
}

fn event(line: Result<String, LinesCodecError>) -> Result<FileEvent> {
    let line = line.map_err(|error| match error {
        LinesCodecError::MaxLineLengthExceeded => errors::not_understood("with an event that is too long"),
        LinesCodecError::Io(error) => {
            let lost = error.into_inner().and_then(|cause| cause.downcast::<Error>().ok());
            lost.map_or_else(errors::gone, |error| *error)
        }
    })?;
    match serde_json::from_str(&line) {
        Ok(WatchLine::Event(event)) => Ok(event),
        Ok(WatchLine::Error(error)) => Err(error.escaped(ERROR_CHARACTERS)),
        Err(error) => Err(errors::not_understood("with an invalid event").with_source(error)),
    }
}
