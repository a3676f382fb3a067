//! `execute`: runs a command to its end, with one pipe for its output and its errors.

use std::{future::pending, os::fd::AsFd, pin::pin, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{join_all, select},
};
use tokio::time::{Instant, sleep_until};
use workden_core::{
    Result,
    sandbox::{Ended, ExecuteRequest, Executed, Hint, LimitHit},
};

use super::{
    capture::Capture,
    engine::{CommandSpec, Engine},
    failure::{self, StartFailure},
    limits_hit,
    log::OutputLog,
    pipes::{self, AtEnd, READ_BYTES, Watched},
    records::{JobRecord, drain_into},
    tree::{EndMode, ProcessTree, TreeState},
};
use crate::reaper::Terminal;

/// The longest timeout: a month, so that clocks do not overflow.
const MOST_TIME: Duration = Duration::from_secs(31 * 24 * 60 * 60);

impl Engine {
    /// Runs a command to its end. Dropping the future ends its tree.
    pub(crate) async fn execute(&self, request: &ExecuteRequest, spec: CommandSpec<'_>) -> Result<Executed> {
        let began = Instant::now();
        let deadline = request.timeout.map(|timeout| began + timeout.min(MOST_TIME));
        let hits = self.limits_hit_from_now();
        let (pipe, theirs) = pipes::from_command()?;
        let streams = [self.null.as_fd(), theirs.as_fd(), theirs.as_fd()];
        let tree = self.start(&spec, streams, Terminal::None).await?;
        drop(theirs);
        let pipe = Arc::new(pipe);
        let mut waiting = EndOnDrop::new(Arc::clone(&tree), [Arc::clone(&pipe)]);
        let mut listed = Listed::new(self, spec.command.as_line(), &tree);
        let mut capture = Capture::new(request.most_chars, Arc::clone(&listed.record), &self.config.logs);
        let (state, timed_out) = run(&tree, &pipe, &mut capture, deadline).await;
        let at_end = pipe.drain(|bytes| capture.push(bytes));
        waiting.release();
        let mut ended = if timed_out { Ended::TimedOut } else { state.ended.unwrap_or(Ended::Exited(127)) };
        match failure::of(&state, spec.command) {
            Some(StartFailure::Refused(error)) => return Err(error),
            Some(StartFailure::Unrunnable(sentence, end)) => {
                capture.push(sentence.as_bytes());
                ended = end;
            }
            None => {}
        }
        let duration = began.elapsed();
        let output = capture.finish();
        // What was left out, and what a background process will print, is read later.
        listed.stays = output.left_out.is_some() || at_end == AtEnd::No;
        let record = Arc::clone(&listed.record);
        record.end(ended);
        match at_end {
            AtEnd::Yes => record.set_closed(true),
            AtEnd::No => drop(tokio::spawn(async move { drain_into(&record, &pipe).await })),
        }
        let hints = match ended {
            Ended::Exited(0) => Vec::new(),
            Ended::Exited(_) | Ended::Signalled(_) | Ended::TimedOut => Hint::of(&output, self.config.network),
        };
        Ok(Executed::new(output, ended, duration).limits_hit(hits(ended)).hints(hints))
    }

    /// Reads the counters of hit limits now. The returned function compares them with those at the end.
    pub(super) fn limits_hit_from_now(&self) -> impl FnOnce(Ended) -> Vec<LimitHit> + Send + 'static {
        let watch = self.config.watch.clone();
        let limits = self.config.limits.clone();
        let counts = move || watch.as_ref().map(|watch| watch.hits()).unwrap_or_default();
        let before = counts();
        move |ended| limits_hit::between(before, counts(), ended, &limits)
    }
}

/// A command in the list of the keeper. Dropped, it leaves the list, unless its log is to be read later.
struct Listed<'a> {
    engine: &'a Engine,
    record: Arc<JobRecord>,
    stays: bool,
}

impl<'a> Listed<'a> {
    fn new(engine: &'a Engine, line: String, tree: &Arc<ProcessTree>) -> Self {
        let mut records = engine.records();
        let log = OutputLog::unseen(&engine.config.logs);
        let record = JobRecord::started(records.next_execution(), line, log, tree);
        records.add(Arc::clone(&record));
        drop(records);
        Self { engine, record, stays: false }
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        if !self.record.has_ended() {
            // The call was dropped, or the command could not start: what waits for its output waits no longer.
            self.record.end(Ended::Signalled(15));
            self.record.set_closed(true);
        }
        let mut records = self.engine.records();
        if !self.stays {
            records.remove(&self.record.id);
        }
        records.drop_old();
    }
}

/// Captures output until the command has ended, or timed out and its tree is gone. Returns the state of the tree, and
/// whether the command timed out.
async fn run(
    tree: &ProcessTree,
    pipe: &Watched,
    capture: &mut Capture<'_>,
    deadline: Option<Instant>,
) -> (TreeState, bool) {
    let take = async |capture: &mut Capture<'_>| {
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            if pipe.read(&mut buffer, READ_BYTES).await == 0 {
                // A command closed its output and still runs.
                pending::<()>().await;
            }
            capture.push(&buffer);
        }
    };
    let in_time = async {
        match deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => pending().await,
        }
    };
    tokio::select! {
        biased;
        state = tree.ended() => return (state, false),
        () = in_time => {}
        () = take(capture) => {}
    }
    tokio::select! {
        () = tree.end(EndMode::Graceful) => {}
        () = take(capture) => {}
    }
    (tree.state(), true)
}

/// Ends a tree when its caller stops waiting. Its output is read until then: a process that prints its last words to
/// a closed pipe would die before it has cleaned up.
pub(crate) struct EndOnDrop {
    pub(crate) tree: Arc<ProcessTree>,
    outputs: Vec<Arc<Watched>>,
    wait: WaitState,
}

#[derive(PartialEq, Eq)]
enum WaitState {
    Waiting,
    Over,
}

impl EndOnDrop {
    pub(crate) fn new(tree: Arc<ProcessTree>, outputs: impl IntoIterator<Item = Arc<Watched>>) -> Self {
        Self { tree, outputs: outputs.into_iter().collect(), wait: WaitState::Waiting }
    }

    /// Lets the tree live on.
    pub(crate) fn release(&mut self) {
        self.wait = WaitState::Over;
        self.outputs.clear();
    }
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        if self.wait == WaitState::Over || self.tree.state().gone {
            return;
        }
        let tree = Arc::clone(&self.tree);
        let outputs = std::mem::take(&mut self.outputs);
        tree.start_end(EndMode::Graceful);
        // Without a runtime the link closes soon, and the reaper kills.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let unread = join_all(outputs.iter().map(|output| output.discard()));
                // The tree ends even if a process of another tree holds an output open.
                select(pin!(tree.finish_end(EndMode::Graceful)), pin!(unread.then(|_| pending::<()>()))).await;
            });
        }
    }
}
