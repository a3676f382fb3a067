//! Runs work once for several concurrent callers: building an image, pulling one.
//!
//! Invariant: no single caller owns the work. It continues while at least one caller waits, whichever came first, and
//! is aborted when none does. Work of one key never delays another. This holds for the whole process, across all
//! clients of a daemon.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, LazyLock, Mutex, PoisonError, Weak},
};

use tokio::{
    sync::{broadcast, watch},
    task::AbortHandle,
};
use workden_core::{Error, ErrorKind, Result};

use super::progress::{BuildProgress, OnProgress};

/// Progress messages that a caller may lag behind before it misses some.
const NEWS: usize = 512;
/// Attempts when the runtime of the work shuts down.
const ATTEMPTS: usize = 3;

static RUNNING: LazyLock<Mutex<HashMap<String, Weak<Running>>>> = LazyLock::new(Mutex::default);

/// Sends progress to all callers that wait.
#[derive(Clone)]
pub(super) struct News(broadcast::Sender<BuildProgress>);

impl News {
    pub(super) fn tell(&self, progress: BuildProgress) {
        // There may be no receiver at the moment.
        let _ = self.0.send(progress);
    }
}

/// Running work. The callers that wait share it, and the last one to drop it aborts it.
struct Running {
    news: broadcast::Sender<BuildProgress>,
    outcome: watch::Receiver<Option<Result<()>>>,
    task: AbortHandle,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Does the work of this key, or waits until a concurrent caller has done it. `work` creates the future, which
/// reports its progress to the given `News`.
pub(super) async fn single_flight<F>(key: &str, progress: OnProgress<'_>, work: impl Fn(News) -> F) -> Result<()>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    for _ in 0..ATTEMPTS {
        let (running, mut news) = joined(key, &work);
        let mut outcome = running.outcome.clone();
        let ended = loop {
            tokio::select! {
                biased;
                // An error means missed messages. The channel never closes: this side holds a sender.
                told = news.recv() => told.into_iter().for_each(progress),
                ended = outcome.wait_for(Option::is_some) => break ended.ok().and_then(|ended| ended.clone()),
            }
        };
        if let Some(ended) = ended {
            return ended;
        }
        // The runtime of the caller that started the work has shut down: try again here.
    }
    Err(Error::new(ErrorKind::Io, format!("cannot finish `{key}`: interrupted {ATTEMPTS} times")))
}

/// Joins the work of this key, and starts it if it does not run.
fn joined<F>(key: &str, work: &impl Fn(News) -> F) -> (Arc<Running>, broadcast::Receiver<BuildProgress>)
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let mut all = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|_, running| running.strong_count() > 0);
    // Finished work is not joined: its result may have been removed since. Neither is work whose runtime has shut
    // down.
    let under_way =
        |running: &Arc<Running>| running.outcome.borrow().is_none() && running.outcome.has_changed().is_ok();
    if let Some(running) = all.get(key).and_then(Weak::upgrade).filter(under_way) {
        let news = running.news.subscribe();
        return (running, news);
    }
    let (news, receiver) = broadcast::channel(NEWS);
    let (ended, outcome) = watch::channel(None);
    let work = work(News(news.clone()));
    let task = tokio::spawn(async move {
        let result = work.await;
        let _ = ended.send(Some(result));
    });
    let running = Arc::new(Running { news, outcome, task: task.abort_handle() });
    all.insert(key.to_owned(), Arc::downgrade(&running));
    (running, receiver)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering::SeqCst},
        time::Duration,
    };

    use tokio::{sync::Notify, time::timeout};

    use super::*;

    fn silent(_: BuildProgress) {}

    #[derive(Clone, Default)]
    struct Work {
        begun: Arc<AtomicUsize>,
        finished: Arc<AtomicUsize>,
        go: Arc<Notify>,
    }

    impl Work {
        async fn run(self, news: News) -> Result<()> {
            self.begun.fetch_add(1, SeqCst);
            self.go.notified().await;
            news.tell(BuildProgress::Output("done".into()));
            self.finished.fetch_add(1, SeqCst);
            Ok(())
        }

        fn caller(&self, key: &'static str) -> tokio::task::JoinHandle<Result<()>> {
            let work = self.clone();
            tokio::spawn(async move { single_flight(key, &silent, |news| work.clone().run(news)).await })
        }

        async fn begun(&self, times: usize) {
            let wait = async {
                while self.begun.load(SeqCst) < times {
                    tokio::task::yield_now().await;
                }
            };
            timeout(Duration::from_secs(10), wait).await.unwrap();
        }
    }

    #[tokio::test]
    async fn many_callers_share_one_piece_of_work_also_when_the_first_goes() {
        let work = Work::default();
        let first = work.caller("shared");
        work.begun(1).await;
        let others: Vec<_> = (0..8).map(|_| work.caller("shared")).collect();
        tokio::time::sleep(Duration::from_millis(20)).await;
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        work.go.notify_one();
        for other in others {
            assert_eq!(timeout(Duration::from_secs(10), other).await.unwrap().unwrap(), Ok(()));
        }
        assert_eq!((work.begun.load(SeqCst), work.finished.load(SeqCst)), (1, 1));
    }

    #[tokio::test]
    async fn work_without_a_caller_ends_and_is_begun_anew_by_the_next() {
        let work = Work::default();
        let first = work.caller("left");
        work.begun(1).await;
        first.abort();
        let _ = first.await;
        let second = work.caller("left");
        work.begun(2).await;
        work.go.notify_one();
        assert_eq!(timeout(Duration::from_secs(10), second).await.unwrap().unwrap(), Ok(()));
        assert_eq!(work.finished.load(SeqCst), 1);
    }

    #[tokio::test]
    async fn one_key_does_not_hold_up_another_and_what_has_ended_is_done_again() {
        let (slow, quick) = (Work::default(), Work::default());
        let waiting = slow.caller("slow");
        slow.begun(1).await;
        for times in 1..3 {
            let caller = quick.caller("quick");
            quick.begun(times).await;
            quick.go.notify_one();
            assert_eq!(timeout(Duration::from_secs(10), caller).await.unwrap().unwrap(), Ok(()));
        }
        assert!(!waiting.is_finished());
        waiting.abort();
    }

    #[tokio::test]
    async fn all_callers_hear_the_news_and_share_an_error() {
        let heard = AtomicUsize::new(0);
        let hear = |_: BuildProgress| {
            heard.fetch_add(1, SeqCst);
        };
        let failing = |news: News| async move {
            tokio::task::yield_now().await;
            news.tell(BuildProgress::Output("x".into()));
            tokio::task::yield_now().await;
            Err(Error::new(ErrorKind::Io, "no"))
        };
        let all = tokio::join!(single_flight("failing", &hear, failing), single_flight("failing", &hear, failing));
        assert_eq!((all.0.unwrap_err().sentence(), all.1.unwrap_err().sentence()), ("no", "no"));
        assert_eq!(heard.load(SeqCst), 2);
    }

    #[test]
    fn a_runtime_that_goes_leaves_no_caller_hanging() {
        let work = Work::default();
        let theirs = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let ours = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (first, second) = (work.clone(), work.clone());
        theirs.spawn(async move { first.caller("moving").await });
        ours.block_on(work.begun(1));
        let waiting = ours.spawn(async move { second.caller("moving").await.unwrap() });
        ours.block_on(async { tokio::time::sleep(Duration::from_millis(50)).await });
        theirs.shutdown_timeout(Duration::from_secs(5));
        ours.block_on(work.begun(2));
        work.go.notify_one();
        assert_eq!(ours.block_on(waiting).unwrap(), Ok(()));
    }
}
