//! The streams of a program in a container, as one bidirectional byte stream.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use bollard::{container::LogOutput, errors::Error as DaemonError};
use bytes::{Buf, Bytes};
use futures_util::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes of standard error that are kept.
const COMPLAINT_BYTES: usize = 2000;

type Output = Pin<Box<dyn Stream<Item = Result<LogOutput, DaemonError>> + Send>>;
type Input = Pin<Box<dyn AsyncWrite + Send>>;

/// The streams of a program in a container: reads from its standard output, writes to its standard input.
pub(super) struct ProgramStream {
    output: Output,
    input: Input,
    piece: Bytes,
    complaint: Complaint,
}

/// The kept part of a program's standard error.
#[derive(Clone, Default)]
pub(super) struct Complaint(Arc<Mutex<Vec<u8>>>);

impl Complaint {
    /// Returns it as text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).trim().to_owned()
    }

    fn hear(&self, message: &[u8]) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = COMPLAINT_BYTES.saturating_sub(heard.len()).min(message.len());
        heard.extend_from_slice(&message[..room]);
    }
}

impl ProgramStream {
    pub(super) fn new(output: Output, input: Input) -> Self {
        Self { output, input, piece: Bytes::new(), complaint: Complaint::default() }
    }

    /// Returns a handle to the program's standard error.
    pub(super) fn complaint(&self) -> Complaint {
        self.complaint.clone()
    }
}

impl AsyncRead for ProgramStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.piece.is_empty() {
            match ready!(this.output.as_mut().poll_next(context)) {
                Some(Ok(LogOutput::StdOut { message } | LogOutput::Console { message })) => this.piece = message,
                Some(Ok(LogOutput::StdErr { message })) => this.complaint.hear(&message),
                Some(Ok(LogOutput::StdIn { .. })) => {}
                Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                None => return Poll::Ready(Ok(())),
            }
        }
        let length = into.remaining().min(this.piece.len());
        into.put_slice(&this.piece[..length]);
        this.piece.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ProgramStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.input.as_mut().poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.input.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.input.as_mut().poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn output_is_read_in_order_and_complaints_are_kept_apart_and_bounded() {
        let message = |text: &'static str| Bytes::from_static(text.as_bytes());
        let said = vec![
            Ok(LogOutput::StdOut { message: message("ab") }),
            Ok(LogOutput::StdErr { message: Bytes::from(vec![b'x'; 5000]) }),
            Ok(LogOutput::StdOut { message: message("") }),
            Ok(LogOutput::StdOut { message: message("cd") }),
        ];
        let mut program = ProgramStream::new(Box::pin(stream::iter(said)), Box::pin(tokio::io::sink()));
        let complaint = program.complaint();
        let mut heard = String::new();
        program.read_to_string(&mut heard).await.unwrap();
        assert_eq!((heard.as_str(), complaint.text().len()), ("abcd", COMPLAINT_BYTES));
    }
}
