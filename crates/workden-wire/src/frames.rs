//! The output of a process, as frames in the body of one response.
//!
//! A frame is one byte for its kind, four bytes for its length (big endian), and the payload:
//!
//! | kind | payload |
//! |---|---|
//! | 0 | JSON: the number for calls on the process, and its pid; always and only the first frame |
//! | 1 | bytes of standard output, or of the terminal |
//! | 2 | bytes of standard error |
//! | 3 | JSON: how the process ended; the last frame |
//! | 4 | JSON: the error that ended the stream; the last frame |
//! | 5 | JSON: a limit that the process hit |
//!
//! Invariant: the reader holds at most one control frame. Output is passed on in the pieces in which it arrives,
//! however long its frame is.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use serde::{Serialize, de::DeserializeOwned};
use workden_core::{
    Error, ErrorKind, Result,
    sandbox::{Ended, LimitHit, ProcessEvent, Stream},
};

use crate::{calls::Started, limits::CONTROL_FRAME_BYTES};

const STARTED: u8 = 0;
const OUTPUT: u8 = 1;
const ERROR: u8 = 2;
const ENDED: u8 = 3;
const FAILED: u8 = 4;
const LIMIT_HIT: u8 = 5;
const HEAD: usize = 5;
/// Output up to this size is copied behind its head, so that both are sent as one piece.
const COPIED: usize = 16 * 1024;

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Started(Started),
    Event(ProcessEvent),
    Failed(Error),
}

/// Encodes a frame as one or two pieces to send.
pub(crate) fn encode(frame: Frame) -> Result<(Bytes, Option<Bytes>)> {
    match frame {
        Frame::Started(started) => Ok((control(STARTED, &started)?, None)),
        Frame::Event(ProcessEvent::Ended(ended)) => Ok((control(ENDED, &ended)?, None)),
        Frame::Event(ProcessEvent::LimitHit(hit)) => Ok((control(LIMIT_HIT, &hit)?, None)),
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
    let text = serde_json::to_vec(value)
        .map_err(|error| Error::new(ErrorKind::Io, "cannot serialise a frame").with_source(error))?;
    let mut frame = head(kind, text.len(), text.len())?;
    frame.extend_from_slice(&text);
    Ok(frame.freeze())
}

/// Reads frames from pieces that may be split anywhere.
#[derive(Debug, Default)]
pub(crate) struct FrameReader {
    /// The part of a head or of a control frame that has arrived.
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
    /// Takes the next frame, or the available part of it, from a piece; `None` if the piece is used up.
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
                        STARTED | ENDED | FAILED | LIMIT_HIT if length <= CONTROL_FRAME_BYTES => {
                            State::Control(kind, length)
                        }
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
                        LIMIT_HIT => Frame::Event(ProcessEvent::LimitHit(parse::<LimitHit>(&text)?)),
                        _ => Frame::Failed(parse(&text)?),
                    }));
                }
            }
        }
    }

    /// Moves bytes from the piece until `wanted` bytes are held.
    fn hold(&mut self, piece: &mut Bytes, wanted: usize) -> bool {
        let missing = wanted.saturating_sub(self.held.len()).min(piece.len());
        self.held.extend_from_slice(&piece.split_to(missing));
        self.held.len() >= wanted
    }
}

fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    serde_json::from_slice(text).map_err(|error| nonsense().with_source(error))
}

fn nonsense() -> Error {
    Error::new(ErrorKind::Io, "the sandbox sent something that is not the output of a process")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use workden_core::sandbox::LimitName;

    use super::*;

    /// Returns all frames in bytes that arrive in pieces of these sizes, repeated.
    fn read(bytes: &[u8], sizes: &[usize]) -> Result<Vec<Frame>> {
        let mut reader = FrameReader::default();
        let (mut frames, mut rest, mut sizes) = (Vec::new(), bytes, sizes.iter().cycle());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
            let mut piece = Bytes::copy_from_slice(piece);
            while let Some(frame) = reader.next(&mut piece)? {
                frames.push(frame);
            }
            assert!(piece.is_empty() && reader.held.len() <= HEAD + CONTROL_FRAME_BYTES);
            rest = after;
        }
        Ok(frames)
    }

    /// Returns the output of both streams, and all other frames in order.
    fn content(frames: Vec<Frame>) -> (Vec<u8>, Vec<u8>, Vec<Frame>) {
        let (mut output, mut errors, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for frame in frames {
            match frame {
                Frame::Event(ProcessEvent::Printed(Stream::Output, bytes)) => output.extend_from_slice(&bytes),
                Frame::Event(ProcessEvent::Printed(Stream::Error, bytes)) => errors.extend_from_slice(&bytes),
                other => others.push(other),
            }
        }
        (output, errors, others)
    }

    fn frame() -> impl Strategy<Value = Frame> {
        let printed = |stream| {
            let bytes = prop_oneof![proptest::collection::vec(any::<u8>(), 0..50), Just(vec![7; COPIED + 1])];
            bytes.prop_map(move |bytes| Frame::Event(ProcessEvent::Printed(stream, bytes.into())))
        };
        prop_oneof![
            printed(Stream::Output),
            printed(Stream::Error),
            any::<(u64, u32)>().prop_map(|(process, pid)| Frame::Started(Started { process, pid })),
            any::<i32>().prop_map(|code| Frame::Event(ProcessEvent::Ended(Ended::Exited(code)))),
            any::<String>().prop_map(|sentence| {
                Frame::Event(ProcessEvent::LimitHit(LimitHit::new(LimitName::Memory, sentence)))
            }),
            any::<String>().prop_map(|text| Frame::Failed(Error::new(ErrorKind::Io, text.clone()).hint(text))),
        ]
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in_however_they_are_cut(
            frames in proptest::collection::vec(frame(), 0..12), sizes in proptest::collection::vec(1..40usize, 1..5),
        ) {
            let mut sent = Vec::new();
            for frame in frames.clone() {
                let (first, second) = encode(frame).unwrap();
                sent.extend_from_slice(&first);
                sent.extend_from_slice(&second.unwrap_or_default());
            }
            prop_assert_eq!(content(read(&sent, &sizes).unwrap()), content(frames));
        }

        #[test]
        fn no_bytes_make_the_reader_panic_or_hold_much(
            bytes in proptest::collection::vec(prop_oneof![0..6u8, any::<u8>()], 0..300), size in 1..40usize,
        ) {
            drop(read(&bytes, &[size]));
        }
    }

    #[test]
    fn what_is_no_frame_is_an_error() {
        for bytes in [
            &[5, 0, 0, 0, 0][..],
            &[255, 0, 0, 0, 0],
            &[STARTED, 0, 0, 0, 1, b'x'],
            &[ENDED, 0, 0, 0, 0],
            &[FAILED, 0, 0, 0, 2, b'{', b'}'],
            &[STARTED, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert!(read(bytes, &[2]).is_err(), "{bytes:?}");
        }
    }
}
