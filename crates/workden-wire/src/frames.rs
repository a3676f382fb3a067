//! What comes out of a process, as frames in the body of one response.
//!
//! A frame is one byte that says what it is, four bytes that say how long it is (big endian), and
//! so many bytes of payload:
//!
//! | kind | payload |
//! |---|---|
//! | 0 | JSON: what calls name the process by, and its pid; the first frame, and only that |
//! | 1 | bytes of standard output, or of the terminal |
//! | 2 | bytes of standard error |
//! | 3 | JSON: how it ended; the last frame |
//! | 4 | JSON: the error that ended the stream; the last frame |
//!
//! Invariant: the reader holds no more than one control frame. Output is passed on in the pieces in
//! which it comes, however long a frame says it is.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use serde::{Serialize, de::DeserializeOwned};
use workden_core::{
    Error, ErrorKind, Result,
    sandbox::{Ended, ProcessEvent, Stream},
};

use crate::{calls::Started, limits::CONTROL_FRAME_BYTES};

const STARTED: u8 = 0;
const OUTPUT: u8 = 1;
const ERROR: u8 = 2;
const ENDED: u8 = 3;
const FAILED: u8 = 4;
const HEAD: usize = 5;
/// Output up to this size is copied behind its head, so that it travels as one piece.
const COPIED: usize = 16 * 1024;

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Started(Started),
    Event(ProcessEvent),
    Failed(Error),
}

/// A frame as one or two pieces to send.
pub(crate) fn encode(frame: Frame) -> Result<(Bytes, Option<Bytes>)> {
    match frame {
        Frame::Started(started) => Ok((control(STARTED, &started)?, None)),
        Frame::Event(ProcessEvent::Ended(ended)) => Ok((control(ENDED, &ended)?, None)),
        Frame::Failed(error) => Ok((control(FAILED, &error)?, None)),
        Frame::Event(ProcessEvent::Printed(stream, bytes)) => {
            let kind = match stream {
                Stream::Output => OUTPUT,
                Stream::Error => ERROR,
            };
            let copied = bytes.len() <= COPIED;
            let mut head = head(kind, bytes.len(), if copied { bytes.len() } else { 0 })?;
            if copied {
                head.extend_from_slice(&bytes);
                return Ok((head.freeze(), None));
            }
            Ok((head.freeze(), Some(bytes)))
        }
    }
}

fn head(kind: u8, length: usize, room: usize) -> Result<BytesMut> {
    let length = u32::try_from(length).map_err(|_| Error::new(ErrorKind::TooLarge, "a frame is too large"))?;
    let mut head = BytesMut::with_capacity(HEAD + room);
    head.put_u8(kind);
    head.put_u32(length);
    Ok(head)
}

fn control(kind: u8, value: &impl Serialize) -> Result<Bytes> {
    let text = serde_json::to_vec(value).map_err(|_| Error::new(ErrorKind::Io, "a frame cannot be written"))?;
    let mut frame = head(kind, text.len(), text.len())?;
    frame.extend_from_slice(&text);
    Ok(frame.freeze())
}

/// Reads frames from pieces that are cut anywhere.
#[derive(Debug, Default)]
pub(crate) struct FrameReader {
    /// The part of a head or of a control frame that has come.
    held: BytesMut,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    Output(Stream, usize),
    Control(u8, usize),
}

impl FrameReader {
    /// Takes the next frame out of a piece, or as much of it as there is; `None` when the piece is
    /// used up.
    pub(crate) fn next(&mut self, piece: &mut Bytes) -> Result<Option<Frame>> {
        loop {
            match self.state {
                State::Head => {
                    if !self.hold(piece, HEAD) {
                        return Ok(None);
                    }
                    let kind = self.held.get_u8();
                    let length = self.held.get_u32() as usize;
                    self.state = match kind {
                        OUTPUT => State::Output(Stream::Output, length),
                        ERROR => State::Output(Stream::Error, length),
                        STARTED | ENDED | FAILED if length <= CONTROL_FRAME_BYTES => State::Control(kind, length),
                        _ => return Err(nonsense()),
                    };
                }
                State::Output(_, 0) => self.state = State::Head,
                State::Output(stream, left) => {
                    if piece.is_empty() {
                        return Ok(None);
                    }
                    let bytes = piece.split_to(left.min(piece.len()));
                    self.state = State::Output(stream, left - bytes.len());
                    return Ok(Some(Frame::Event(ProcessEvent::Printed(stream, bytes))));
                }
                State::Control(kind, length) => {
                    if !self.hold(piece, length) {
                        return Ok(None);
                    }
                    let text = self.held.split_to(length);
                    self.state = State::Head;
                    return Ok(Some(match kind {
                        STARTED => Frame::Started(parse(&text)?),
                        ENDED => Frame::Event(ProcessEvent::Ended(parse::<Ended>(&text)?)),
                        _ => Frame::Failed(parse(&text)?),
                    }));
                }
            }
        }
    }

    /// Moves bytes over until so many are held.
    fn hold(&mut self, piece: &mut Bytes, wanted: usize) -> bool {
        let missing = wanted.saturating_sub(self.held.len()).min(piece.len());
        self.held.extend_from_slice(&piece.split_to(missing));
        self.held.len() >= wanted
    }
}

fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    serde_json::from_slice(text).map_err(|_| nonsense())
}

fn nonsense() -> Error {
    Error::new(ErrorKind::Io, "the sandbox sent something that is not the output of a process")
}
