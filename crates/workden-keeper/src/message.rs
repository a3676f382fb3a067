//! Messages between the processes of a sandbox, over sockets that keep them apart: room is made for the
//! one that comes, since most are a few bytes and every page that is touched takes its time.

use std::os::fd::AsFd;

use rustix::{
    io::{Errno, retry_on_intr},
    net::{RecvFlags, recv},
};

/// Waits for the next message, and takes it; an empty one is the end.
pub(crate) fn receive(line: impl AsFd) -> Result<Vec<u8>, Errno> {
    let mut message = vec![0; length_of_next(&line)?];
    let (length, _) = retry_on_intr(|| recv(&line, &mut message, RecvFlags::empty()))?;
    message.truncate(length);
    Ok(message)
}

/// Waits for the next message, and says how long it is.
pub(crate) fn length_of_next(line: impl AsFd) -> Result<usize, Errno> {
    let mut nothing = [0_u8; 0];
    retry_on_intr(|| recv(&line, &mut nothing, RecvFlags::PEEK | RecvFlags::TRUNC)).map(|(_, length)| length)
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};

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
