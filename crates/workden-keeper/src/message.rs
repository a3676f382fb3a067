//! Messages between the processes of a sandbox, over sockets that preserve message boundaries. Buffers have the size
//! of the message: most are a few bytes, and touching a page takes time.

use std::{
    io::{IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    io::{Errno, retry_on_intr},
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
        recv, recvmsg, sendmsg,
    },
};

/// The most descriptors of one message: the limit of the kernel.
const DESCRIPTORS: usize = 253;

/// Waits for the next message. An empty one marks the end.
pub(crate) fn receive(line: impl AsFd) -> Result<Vec<u8>, Errno> {
    let mut message = vec![0; length_of_next(&line)?];
    let (length, _) = retry_on_intr(|| recv(&line, &mut message, RecvFlags::empty()))?;
    message.truncate(length);
    Ok(message)
}

/// Waits for the next message, and returns its length.
pub(crate) fn length_of_next(line: impl AsFd) -> Result<usize, Errno> {
    let mut nothing = [0_u8; 0];
    retry_on_intr(|| recv(&line, &mut nothing, RecvFlags::PEEK | RecvFlags::TRUNC)).map(|(_, length)| length)
}

/// Sends a message with these descriptors, whole or not at all.
pub(crate) fn send_with(line: impl AsFd, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let enclosed = SendAncillaryMessage::ScmRights(descriptors);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut enclosures = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !enclosures.push(enclosed) {
        return Err(Errno::TOOBIG);
    }
    match retry_on_intr(|| sendmsg(&line, &[IoSlice::new(message)], &mut enclosures, SendFlags::NOSIGNAL))? {
        sent if sent == message.len() => Ok(()),
        _ => Err(Errno::MSGSIZE),
    }
}

/// Waits for the next message, and returns up to `length` bytes of it with its descriptors. An empty one marks the
/// end. A process at its limit of open files receives fewer descriptors than were sent.
pub(crate) fn receive_with(line: impl AsFd, length: usize) -> Result<(Vec<u8>, Vec<OwnedFd>), Errno> {
    let mut message = vec![0; length];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut enclosures = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [IoSliceMut::new(&mut message)];
    let received = retry_on_intr(|| recvmsg(&line, &mut slices, &mut enclosures, RecvFlags::CMSG_CLOEXEC))?;
    let descriptors = enclosures.drain().flat_map(|enclosed| match enclosed {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
        _ => Vec::new(),
    });
    let descriptors = descriptors.collect();
    message.truncate(received.bytes);
    Ok((message, descriptors))
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, send, socketpair};

    use super::*;

    #[test]
    fn messages_come_whole_and_one_by_one_up_to_the_end() {
        let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        let (ours, theirs) = pair.unwrap();
        let long = vec![7; 60_000];
        for message in [b"short".as_slice(), &long, b"x"] {
            assert_eq!(send(&theirs, message, SendFlags::NOSIGNAL), Ok(message.len()));
        }
        drop(theirs);
        let received: Vec<_> = (0..4).map(|_| receive(&ours).unwrap()).collect();
        assert_eq!(received, [b"short".to_vec(), long, b"x".to_vec(), Vec::new()]);
    }
}
