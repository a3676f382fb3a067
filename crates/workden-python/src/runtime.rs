//! Where calls run: one runtime per process, blocking without the interpreter lock, and the bridge to asyncio.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use pyo3::prelude::*;
use pyo3_async_runtimes::{
    TaskLocals,
    generic::{self, ContextExt, JoinError},
};
use tokio::task;
use workden_core::{Error, ErrorKind, Result};
use workden_files::may_block;

use crate::{crossing, failure, per_process::PerProcess};

/// How often a blocked caller checks for Ctrl-C.
const LOOKS_FOR_SIGNALS: Duration = Duration::from_millis(50);
/// Maximum number of threads that wait for Python. Such a thread may wait for a call that needs another one: with too
/// few, all would wait for each other. They are started on demand.
const MOST_WAITING: usize = 16_384;

static RUNTIME: PerProcess<tokio::runtime::Runtime> = PerProcess::new();

tokio::task_local! {
    /// The event loop and the context of the coroutine that awaits this call.
    static AWAITED_BY: TaskLocals;
    /// A thread blocks on this call.
    static WAITED_FOR: ();
}

/// Runs a short call on the thread that waits for it, which saves two wake-ups. Ctrl-C is handled after it.
pub(crate) async fn short<T>(call: impl Future<Output = T>) -> T {
    let mut call = pin!(call);
    poll_fn(|context| match is_waited_for() {
        true => may_block(|| call.as_mut().poll(context)),
        false => call.as_mut().poll(context),
    })
    .await
}

/// Whether a thread blocks on this call.
pub(crate) fn is_waited_for() -> bool {
    WAITED_FOR.try_with(|()| ()).is_ok()
}

/// Returns the runtime of this process.
fn runtime() -> Result<&'static tokio::runtime::Runtime> {
    RUNTIME.get_or_make(|| {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let made = runtime.enable_all().thread_name("workden").max_blocking_threads(MOST_WAITING).build();
        made.map_err(|_| Error::new(ErrorKind::Busy, "cannot start a thread: the system has none left"))
    })
}

/// Whether a call releases the interpreter lock while it works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lock {
    /// Releases it, so that other threads can run Python.
    #[default]
    LetGo,
    /// Keeps it until the call blocks or releases it itself: it works on Python objects, and taking the lock for each
    /// access takes longer than the work.
    Kept,
}

/// Waits for a call. Ctrl-C ends the wait and cancels the call.
pub(crate) fn wait<T: Send>(py: Python<'_>, lock: Lock, call: impl Future<Output = Result<T>> + Send) -> PyResult<T> {
    let runtime = runtime().map_err(failure::raised)?;
    // A dropped call may start tasks, for example to kill a command.
    let _entered = runtime.enter();
    let mut call = pin!(call);
    // Most calls about files complete at once, and need no waker.
    let poll = |call: Pin<&mut _>| {
        let _entered = runtime.enter();
        Future::poll(call, &mut Context::from_waker(Waker::noop()))
    };
    if lock == Lock::Kept
        && let Poll::Ready(answer) = poll(call.as_mut())
    {
        return answer.map_err(failure::raised);
    }
    py.detach(|| {
        if let Poll::Ready(answer) = WAITED_FOR.sync_scope((), || poll(call.as_mut())) {
            return answer.map_err(failure::raised);
        }
        // Runtime threads read the answers of foreign backends, whose code may call this module in turn.
        task::block_in_place(|| {
            loop {
                match runtime.block_on(async { tokio::time::timeout(LOOKS_FOR_SIGNALS, call.as_mut()).await }) {
                    Ok(answer) => return answer.map_err(failure::raised),
                    Err(_) => Python::attach(|py| py.check_signals())?,
                }
            }
        })
    })
}

/// Returns a call as an awaitable in the running event loop. Cancelling it drops the call.
pub(crate) fn awaitable<T>(
    py: Python<'_>,
    call: impl Future<Output = Result<T>> + Send + 'static,
) -> PyResult<Bound<'_, PyAny>>
where
    T: for<'py> IntoPyObject<'py> + Send + 'static,
{
    // Raised here, where the traceback is useful, instead of in a background thread.
    runtime().map_err(failure::raised)?;
    let locals = TaskLocals::with_running_loop(py)?.copy_context(py)?;
    generic::future_into_py_with_locals::<Calls, _, T>(py, locals, async { call.await.map_err(failure::raised) })
}

/// Returns a call as an awaitable whose first step is done already: an order is given when the caller gives it, and not
/// when a thread comes to it.
pub(crate) fn begun<T>(
    py: Python<'_>,
    call: impl Future<Output = Result<T>> + Send + 'static,
) -> PyResult<Bound<'_, PyAny>>
where
    T: for<'py> IntoPyObject<'py> + Send + 'static,
{
    let runtime = runtime().map_err(failure::raised)?;
    let mut call = Box::pin(call);
    let first = py.detach(|| {
        let _entered = runtime.enter();
        call.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    });
    match first {
        Poll::Ready(answer) => awaitable(py, async { answer }),
        Poll::Pending => awaitable(py, call),
    }
}

/// Runs a function that may start tasks, on a thread outside the runtime.
pub(crate) fn entered(work: impl FnOnce()) {
    // Without a runtime no task was ever started.
    let _entered = runtime().ok().map(tokio::runtime::Runtime::enter);
    work();
}

/// Returns the event loop that awaits this call, if any.
pub(crate) fn awaited_by() -> Option<TaskLocals> {
    Calls::get_task_locals()
}

/// Runs a call on behalf of a coroutine: awaitables of Python are awaited in its event loop.
pub(crate) async fn on_behalf_of<T>(caller: TaskLocals, call: impl Future<Output = T>) -> T {
    AWAITED_BY.scope(caller, call).await
}

/// Runs a function that may block, or take the interpreter lock, outside the runtime's worker threads.
pub(crate) async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let done = task::spawn_blocking(|| crossing::cross(work)).await;
    let done = done.map_err(|_| Error::new(ErrorKind::Io, "a worker thread ended before its work was done"))?;
    done.ok_or_else(|| Error::new(ErrorKind::Gone, "the program is ending"))
}

/// Whether a task to release references is scheduled. Per process: a child has none of its parent's tasks.
static LETS_GO: PerProcess<AtomicBool> = PerProcess::new();
/// How long Python references of a finished call may be kept, so that many are released at once.
const LETS_GO_IN: Duration = Duration::from_millis(20);

/// Has Python release the references that calls held. A thread without the interpreter lock can only queue them for the
/// next thread that has it, which may take long.
fn let_go_soon() {
    let Ok(lets_go) = LETS_GO.get_or_make(|| Ok(AtomicBool::default())) else { return };
    if lets_go.swap(true, Ordering::AcqRel) {
        return;
    }
    task::spawn(async move {
        tokio::time::sleep(LETS_GO_IN).await;
        lets_go.store(false, Ordering::Release);
        let _ = beside(|| Python::attach(|_| ())).await;
    });
}

/// The runtime in the form that pyo3-async-runtimes expects.
struct Calls;

struct Ended(task::JoinError);

impl JoinError for Ended {
    fn is_panic(&self) -> bool {
        self.0.is_panic()
    }

    fn into_panic(self) -> Box<dyn std::any::Any + Send + 'static> {
        self.0.into_panic()
    }
}

type Handle = Pin<Box<dyn Future<Output = std::result::Result<(), Ended>> + Send>>;

impl generic::Runtime for Calls {
    type JoinError = Ended;
    type JoinHandle = Handle;

    fn spawn<F>(call: F) -> Handle
    where
        F: Future<Output = ()> + Send + 'static,
    {
        match runtime() {
            Ok(runtime) => {
                let running = runtime.spawn(async {
                    call.await;
                    let_go_soon();
                });
                Box::pin(async { running.await.map_err(Ended) })
            }
            // `awaitable` made sure that there is one.
            Err(_) => Box::pin(std::future::ready(Ok(()))),
        }
    }

    fn spawn_blocking<F>(work: F) -> Handle
    where
        F: FnOnce() + Send + 'static,
    {
        // `awaitable` made sure that there is one.
        let Ok(runtime) = runtime() else { return Box::pin(std::future::ready(Ok(()))) };
        let work = Arc::new(Mutex::new(Some(work)));
        let take = |work: &Mutex<Option<F>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
        let beside = Arc::clone(&work);
        // The runtime panics if the system has no thread. A caller awaits this, so it runs here.
        let running = catch_unwind(AssertUnwindSafe(|| {
            runtime.spawn_blocking(move || take(&beside).map(|work| crossing::cross(work).unwrap_or_default()))
        }));
        match running {
            Ok(running) => Box::pin(async { running.await.map(drop).map_err(Ended) }),
            Err(_) => {
                let _ = take(&work).map(|work| crossing::cross(work).unwrap_or_default());
                Box::pin(std::future::ready(Ok(())))
            }
        }
    }
}

impl ContextExt for Calls {
    fn scope<F, R>(locals: TaskLocals, call: F) -> Pin<Box<dyn Future<Output = R> + Send>>
    where
        F: Future<Output = R> + Send + 'static,
    {
        Box::pin(AWAITED_BY.scope(locals, call))
    }

    fn get_task_locals() -> Option<TaskLocals> {
        AWAITED_BY.try_with(TaskLocals::clone).ok()
    }
}
