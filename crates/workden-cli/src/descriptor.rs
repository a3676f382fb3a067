//! Asynchronous reads and writes of standard streams: a slow reader holds up the command's output, but not its
//! timeout and not a signal to this process. No thread is used, because one costs more than `true`.
//!
//! Descriptors stay blocking: a non-blocking one would be so for every process that shares it.

use std::{io, os::fd::BorrowedFd};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use tokio::io::{Interest, unix::AsyncFd};

/// A pipe that polls as writable takes this many bytes (`PIPE_BUF`) without blocking.
const WRITTEN_AT_ONCE: usize = 4096;
/// Bytes of one read.
const READ_AT_ONCE: usize = 64 * 1024;

/// One of the standard streams.
pub(crate) struct Descriptor<'fd> {
    fd: BorrowedFd<'fd>,
    /// Created on the first wait; most output never waits.
    waiting: Option<AsyncFd<BorrowedFd<'fd>>>,
}

impl<'fd> Descriptor<'fd> {
    pub(crate) fn new(fd: BorrowedFd<'fd>) -> Self {
        Self { fd, waiting: None }
    }

    /// Writes all bytes.
    pub(crate) async fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.ready(PollFlags::OUT, Interest::WRITABLE).await?;
            match rustix::io::write(self.fd, &bytes[..bytes.len().min(WRITTEN_AT_ONCE)]) {
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Reads what is available; returns no bytes at the end.
    pub(crate) async fn read(&mut self) -> io::Result<Vec<u8>> {
        loop {
            self.ready(PollFlags::IN, Interest::READABLE).await?;
            let mut buffer = vec![0; READ_AT_ONCE];
            match rustix::io::read(self.fd, &mut buffer[..]) {
                Ok(read) => {
                    buffer.truncate(read);
                    return Ok(buffer);
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Waits until the descriptor can be used without blocking.
    async fn ready(&mut self, wanted: PollFlags, interest: Interest) -> io::Result<()> {
        if self.is_ready(wanted)? {
            return Ok(());
        }
        #[expect(
            deprecated,
            reason = "the replacement is unsafe because a descriptor could change; a borrowed one cannot"
        )]
        let waiting = match self.waiting.take() {
            Some(waiting) => waiting,
            None => AsyncFd::with_interest(self.fd, interest)?,
        };
        self.waiting = Some(waiting);
        while let Some(waiting) = &self.waiting {
            let mut guard = waiting.ready(interest).await?;
            if self.is_ready(wanted)? {
                break;
            }
            guard.clear_ready();
        }
        Ok(())
    }

    /// Returns whether a read or write would not block. A broken descriptor is ready: its use reports the error.
    fn is_ready(&self, wanted: PollFlags) -> io::Result<bool> {
        let mut asked = [PollFd::new(&self.fd, wanted)];
        match poll(&mut asked, Some(&Timespec::default())) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::fd::AsFd, time::Duration};

    use super::*;

    fn in_runtime<T>(task: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(task)
    }

    #[test]
    fn a_reader_that_is_slow_holds_up_nothing_else_and_loses_nothing() {
        in_runtime(async {
            let (reader, writer) = rustix::pipe::pipe().unwrap();
            let sent: Vec<u8> = (0..400_000_u32).map(|n| n.to_le_bytes()[0]).collect();
            let mut output = Descriptor::new(writer.as_fd());
            let mut input = Descriptor::new(reader.as_fd());
            let all = output.write(&sent);
            tokio::pin!(all);
            let early = tokio::time::timeout(Duration::from_millis(20), &mut all).await;
            assert!(early.is_err(), "written before the first read");
            let mut received = Vec::new();
            let reading = async {
                while received.len() < sent.len() {
                    received.extend(input.read().await.unwrap());
                }
            };
            let (written, ()) = tokio::join!(all, reading);
            written.unwrap();
            assert!(received == sent);
        });
    }

    #[test]
    fn the_end_and_a_closed_pipe_are_told() {
        in_runtime(async {
            let (reader, writer) = rustix::pipe::pipe().unwrap();
            std::fs::File::from(writer).write_all(b"last").unwrap();
            let mut input = Descriptor::new(reader.as_fd());
            assert_eq!(input.read().await.unwrap(), b"last");
            assert_eq!(input.read().await.unwrap(), b"");
            let (reader, writer) = rustix::pipe::pipe().unwrap();
            drop(reader);
            let error = Descriptor::new(writer.as_fd()).write(b"x").await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        });
    }

    #[test]
    fn regular_files_are_read_to_their_end() {
        in_runtime(async {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&[7; 100_000]).unwrap();
            std::io::Seek::rewind(&mut file).unwrap();
            let mut input = Descriptor::new(file.as_fd());
            let mut read = 0;
            loop {
                match input.read().await.unwrap().len() {
                    0 => break,
                    more => read += more,
                }
            }
            assert_eq!(read, 100_000);
        });
    }
}
