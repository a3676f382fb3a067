//! Calls of launchers and sandboxes, each in a separate task: a panic or a hang becomes an error within a time limit,
//! and a caller that goes away does not interrupt the call halfway.

use std::{future::Future, time::Duration};

use tokio::{task::JoinHandle, time::timeout};
use workden_core::{Error, ErrorKind, Result};

/// How long an aborted call has to end.
const LAST_WORD: Duration = Duration::from_secs(1);

/// A call in a separate task.
pub(super) struct Isolated<T> {
    task: JoinHandle<Result<T>>,
    what: &'static str,
}

impl<T: Send + 'static> Isolated<T> {
    /// Starts a call; `what` names it in errors.
    pub(super) fn begin(what: &'static str, call: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        Self { task: tokio::spawn(call), what }
    }

    /// Returns the answer, or an error when the time is over. The call is aborted then; one that does not end is handed
    /// to `late`, which may still get its answer.
    pub(super) async fn within(mut self, most: Duration, late: impl FnOnce(Late<T>)) -> Result<T> {
        if let Ok(ended) = timeout(most, &mut self.task).await {
            return ended.unwrap_or_else(|_| Err(broken_off(self.what)));
        }
        self.task.abort();
        match timeout(LAST_WORD, &mut self.task).await {
            // It answered just before it was aborted.
            Ok(Ok(answer)) => return answer,
            Ok(Err(_)) => {}
            Err(_) => late(Late(self.task)),
        }
        let seconds = most.as_secs_f64();
        Err(Error::new(ErrorKind::TimedOut, format!("{} timed out after {seconds} s", self.what)))
    }
}

/// A call that has timed out and still runs.
pub(super) struct Late<T>(JoinHandle<Result<T>>);

impl<T> Late<T> {
    /// Waits for the answer after all.
    pub(super) async fn answer(self) -> Option<T> {
        self.0.await.ok()?.ok()
    }
}

/// Runs a call, and discards an answer that comes too late.
pub(super) async fn isolated<T: Send + 'static>(
    what: &'static str,
    most: Duration,
    call: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    Isolated::begin(what, call).within(most, drop).await
}

fn broken_off(what: &str) -> Error {
    Error::new(ErrorKind::Io, format!("{what} panicked; this is a bug"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(2);

    #[tokio::test(start_paused = true)]
    async fn what_panics_or_hangs_is_an_error_in_time() {
        let panics = async { if true { panic!("on purpose") } else { Ok(()) } };
        let error = isolated("the call", SOON, panics).await.unwrap_err();
        assert_eq!((error.kind(), error.sentence()), (ErrorKind::Io, "the call panicked; this is a bug"));
        let error = isolated::<()>("the call", SOON, std::future::pending()).await.unwrap_err();
        assert_eq!(error.sentence(), "the call timed out after 2 s");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_cannot_be_ended_is_handed_on_with_what_it_brings() {
        let (tell, told) = tokio::sync::oneshot::channel();
        let stubborn = async {
            std::thread::sleep(Duration::from_millis(1500));
            Ok(7)
        };
        let call = Isolated::begin("the call", stubborn).within(Duration::from_millis(10), |late| {
            tokio::spawn(async move { tell.send(late.answer().await) });
        });
        assert_eq!(call.await.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(told.await.unwrap(), Some(7));
    }
}
