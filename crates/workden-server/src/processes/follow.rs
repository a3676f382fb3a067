//! Following the output of a process, as any number of clients can at a time.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream as Pieces;
use workden::Result;
use workden_core::sandbox::{Ended, Stream};

use super::{ServedProcess, output_log::Read};

/// A piece of what a client sees of a process.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Output.
    Output(Stream, Bytes),
    /// This many bytes are no longer there.
    Lost(u64),
    /// Limits that it hit, in words.
    Limits(Vec<String>),
    /// It ended. This is the last piece.
    Ended(Result<Ended>),
}

/// A client that follows; dropped, it no longer slows the process down.
struct Follower {
    process: Arc<ServedProcess>,
    number: u64,
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.process.change(|log| log.remove_follower(self.number));
    }
}

impl ServedProcess {
    /// Follows the output that comes from now on.
    pub(crate) fn follow_news(self: &Arc<Self>) -> impl Pieces<Item = Piece> + Send + use<> {
        let end = self.log().next;
        self.follow(end)
    }

    /// Follows its output from an offset until it has ended; 0 is the start, or what is kept of it.
    pub(crate) fn follow(self: &Arc<Self>, mut offset: u64) -> impl Pieces<Item = Piece> + Send + use<> {
        let process = Arc::clone(self);
        // Counted from now on, so that nothing is lost before the first piece is read.
        let follower = Follower { number: self.log().add_follower(offset), process: Arc::clone(self) };
        async_stream::stream! {
            let mut changes = process.changed.subscribe();
            loop {
                changes.mark_unchanged();
                let (read, ended) = {
                    let log = process.log();
                    (log.read(offset), log.ended.clone())
                };
                match (read, ended) {
                    (Read::Output(stream, bytes, next), _) => {
                        offset = next;
                        yield Piece::Output(stream, bytes);
                        process.change(|log| log.has_read(follower.number, next));
                    }
                    (Read::Lost(bytes, next), _) => {
                        offset = next;
                        yield Piece::Lost(bytes);
                    }
                    (Read::Nothing, Some(ended)) => {
                        let limits = process.log().limits.clone();
                        if !limits.is_empty() {
                            yield Piece::Limits(limits);
                        }
                        yield Piece::Ended(ended);
                        return;
                    }
                    // The process holds the sender.
                    (Read::Nothing, None) => drop(changes.changed().await),
                }
            }
        }
    }
}
