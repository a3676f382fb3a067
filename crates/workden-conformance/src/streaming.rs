//! Content as a stream: in pieces, slow, or broken off.

use std::{pin::Pin, sync::Arc, task::Poll};

use bytes::Bytes;
use futures_util::{StreamExt, future::join, lock::Mutex, stream};
use workden_core::{Backend, Content, ContentStream, Error, ErrorKind, Expect, Result, Version};

use crate::{
    Outcome,
    check::list_checks,
    reading::noise,
    typed::{at, holds, is_absent, is_unchanged, put, tree},
    verdict::{equal, refused},
};

list_checks! { streaming:
    a_stream_is_written_whole,
    a_stream_that_keeps_one_waiting_is_written_whole,
    no_caller_waits_for_a_stream_that_keeps_its_writer_waiting,
    a_stream_is_held_to_what_the_writer_expects,
    an_error_in_the_middle_of_a_stream_changes_nothing,
}

fn pieces(pieces: Vec<Result<Bytes>>) -> Content {
    Content::Stream(Box::pin(stream::iter(pieces)))
}

/// Pieces may have any size, including zero; a stream without pieces makes an empty file.
pub async fn a_stream_is_written_whole(files: &dyn Backend) -> Outcome {
    let here = at(files, "/d/f").await?;
    let small = ["", "one\r\n", "", "t", "wo", ""].map(|piece| Ok(Bytes::from(piece)));
    let written = files.write(&here, pieces(small.to_vec()), Expect::Absent).await?;
    holds(files, "/d/f", "one\r\ntwo").await?;
    equal("the version of a stream", written.version, Version::of(b"one\r\ntwo"))?;

    let large = noise().chunks(70_001).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    let written = files.write(&here, pieces(large), Expect::Anything).await?;
    holds(files, "/d/f", noise()).await?;
    equal("the version of a long stream", written.version, Version::of(&noise()))?;

    files.write(&here, pieces(Vec::new()), Expect::Anything).await?;
    holds(files, "/d/f", "").await
}

/// The write waits for pieces that are not ready.
pub async fn a_stream_that_keeps_one_waiting_is_written_whole(files: &dyn Backend) -> Outcome {
    let slow: ContentStream = Box::pin(
        stream::iter(["one ", "two ", "three"])
            .then(|piece| async move {
                Later::default().await;
                Ok(Bytes::from(piece))
            })
            .boxed(),
    );
    files.write(&at(files, "/f").await?, Content::Stream(slow), Expect::Absent).await?;
    holds(files, "/f", "one two three").await
}

/// A future that is ready at the second poll.
#[derive(Default)]
struct Later {
    looked: bool,
}

impl Future for Later {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<()> {
        if self.looked {
            return Poll::Ready(());
        }
        self.looked = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Other calls write the same directory and the same file before the last piece arrives.
pub async fn no_caller_waits_for_a_stream_that_keeps_its_writer_waiting(files: &dyn Backend) -> Outcome {
    let (here, beside) = (at(files, "/d/f").await?, at(files, "/d/g").await?);
    let done = Arc::new(Mutex::new(()));
    let pending = Arc::clone(&done).lock_owned().await;
    let last = stream::once(async move {
        drop(done.lock().await);
        Ok(Bytes::from("last"))
    });
    let waits = Content::Stream(Box::pin(stream::iter([Ok(Bytes::from(noise()))]).chain(last)));
    let others = async {
        let beside = files.write(&beside, "beside".into(), Expect::Absent).await;
        let before = files.write(&here, "before".into(), Expect::Absent).await;
        drop(pending);
        (beside, before)
    };
    let (late, (beside, before)) = join(files.write(&here, waits, Expect::Anything), others).await;
    beside?;
    before?;
    late?;
    holds(files, "/d/g", "beside").await?;
    holds(files, "/d/f", [&noise()[..], b"last"].concat()).await
}

/// `Absent` and a version mean the same as for content in memory.
pub async fn a_stream_is_held_to_what_the_writer_expects(files: &dyn Backend) -> Outcome {
    put(files, "/f", "one").await?;
    let here = at(files, "/f").await?;
    let two = || pieces(vec![Ok(Bytes::from("tw")), Ok(Bytes::from("o"))]);
    refused("absent", files.write(&here, two(), Expect::Absent).await, ErrorKind::AlreadyExists)?;
    let stale = Expect::Version(Version::of(b"two"));
    refused("a stale version", files.write(&here, two(), stale).await, ErrorKind::Conflict)?;
    holds(files, "/f", "one").await?;
    files.write(&here, two(), Expect::Version(Version::of(b"one"))).await?;
    holds(files, "/f", "two").await
}

/// The write returns the kind of the stream's error; an old file stays whole, and no new file is made.
pub async fn an_error_in_the_middle_of_a_stream_changes_nothing(files: &dyn Backend) -> Outcome {
    put(files, "/d/f", "one").await?;
    let before = tree(files).await?;
    for typed in ["/d/f", "/d/new"] {
        let broken = vec![
            Ok(Bytes::from(noise())),
            Err(Error::new(ErrorKind::TimedOut, "the sender went away")),
            Ok(Bytes::from("more")),
        ];
        let answer = files.write(&at(files, typed).await?, pieces(broken), Expect::Anything).await;
        refused("write a stream that breaks", answer, ErrorKind::TimedOut)?;
    }
    is_absent(files, "/d/new").await?;
    is_unchanged(files, &before).await
}
