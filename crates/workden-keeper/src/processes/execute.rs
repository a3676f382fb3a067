//! `execute`: a command run to its end, with one pipe for all that it prints.

use std::{future::pending, pin::pin, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{join_all, select},
};
use tokio::time::{Instant, sleep_until};
use workden_core::sandbox::{Ended, ExecuteRequest};
use workden_files::may_block_here;

use super::{
    AsFd, End, Engine, Executed, LimitHit, Result, Tells, Terminal, Wanted,
    capture::{Capture, More},
    failure::{self, Failure},
    follow, limits_hit,
    pipes::{self, AtEnd, READ_BYTES, Watched},
    records::{Record, drain_into},
    tree::Tree,
};

/// How long a thread that waits for nothing else watches a command by itself. It hears nothing meanwhile, not even
/// that nobody wants the command any more.
const PATIENCE: Duration = Duration::from_millis(20);
/// The most that a timeout can be: a month, so that clocks do not overflow.
const MOST_TIME: Duration = Duration::from_secs(31 * 24 * 60 * 60);

impl Engine {
    /// Runs a command to its end. Dropping the future ends its tree.
    pub(crate) async fn execute(&self, request: &ExecuteRequest, wanted: Wanted<'_>) -> Result<Executed> {
        let began = Instant::now();
        let deadline = request.timeout.map(|timeout| began + timeout.min(MOST_TIME));
        let hits = self.limits_hit_from_now();
        let (pipe, theirs) = pipes::unwatched()?;
        let streams = [self.null.as_fd(), theirs.as_fd(), theirs.as_fd()];
        let tree = self.begin(&wanted, streams, Terminal::None, Tells::End)?;
        drop(theirs);
        let mut waiting = EndedWhenDropped::new(Arc::clone(&tree), []);
        let mut capture = Capture::new(request.most_chars, &self.setting.logs);
        if may_block_here() {
            // Most commands are short, and whoever waits for one can as well watch it: nobody else is woken.
            let most = request.timeout.map_or(PATIENCE, |timeout| timeout.min(PATIENCE));
            tree.attend(&pipe, most, |bytes| capture.push(bytes));
        }
        let (mut timed_out, mut left) = (false, None);
        if !tree.is_over() || pipes::drain(&pipe, |bytes| capture.push(bytes)) == AtEnd::No {
            follow(&tree)?;
            let pipe = Arc::new(Watched::register(pipe)?);
            waiting.outputs.push(Arc::clone(&pipe));
            timed_out = run(&tree, &pipe, &mut capture, deadline).await;
            left = match pipe.drain(|bytes| capture.push(bytes)) {
                AtEnd::Yes => None,
                AtEnd::No => Some(pipe),
            };
        }
        waiting.release();
        let state = tree.state();
        let mut ended = if timed_out { Ended::TimedOut } else { state.ended.unwrap_or(Ended::Exited(127)) };
        match failure::of(&state, wanted.command) {
            Some(Failure::Refused(error)) => return Err(error),
            Some(Failure::Unrunnable(sentence, end)) => {
                capture.push(sentence.as_bytes());
                ended = end;
            }
            None => {}
        }
        let duration = began.elapsed();
        let more = if left.is_some() { More::MayCome } else { More::No };
        let id = self.records().next_execution();
        let (output, log) = capture.finish(&id, more);
        if let Some(log) = log {
            let line = wanted.command.as_line();
            let record = Record::finished(id, line, &state, ended, duration, log, &tree);
            self.records().add(Arc::clone(&record));
            if let Some(pipe) = left {
                tokio::spawn(async move { drain_into(&record, &pipe).await });
            }
        }
        Ok(Executed { output, ended, duration, limits_hit: hits(ended) })
    }

    /// Counts from here on; what it is asked at the end says which limits were hit since.
    pub(super) fn limits_hit_from_now(&self) -> impl FnOnce(Ended) -> Vec<LimitHit> + Send + 'static {
        let watch = self.setting.watch.clone();
        let limits = self.setting.limits.clone();
        let counts = move || watch.as_ref().map(|watch| watch.hits()).unwrap_or_default();
        let before = counts();
        move |ended| limits_hit::between(before, counts(), ended, &limits)
    }
}

/// Takes what is printed until the command has ended, or its time is over and its tree is no more: whether that.
async fn run(tree: &Tree, pipe: &Watched, capture: &mut Capture<'_>, deadline: Option<Instant>) -> bool {
    let take = async |capture: &mut Capture<'_>| {
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            if pipe.read(&mut buffer, READ_BYTES).await == 0 {
                // Closed by a command that goes on.
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
        _ = tree.ended() => return false,
        () = in_time => {}
        () = take(capture) => {}
    }
    tokio::select! {
        () = tree.end(End::Softly) => {}
        () = take(capture) => {}
    }
    true
}

/// Ends a tree for which nobody waits any more. Until its end somebody reads what it prints: who says
/// goodbye to a pipe that nobody reads dies of that before it has done what it wanted to.
pub(crate) struct EndedWhenDropped {
    pub(crate) tree: Arc<Tree>,
    outputs: Vec<Arc<Watched>>,
    wait: Wait,
}

#[derive(PartialEq, Eq)]
enum Wait {
    Goes,
    Over,
}

impl EndedWhenDropped {
    pub(crate) fn new(tree: Arc<Tree>, outputs: impl IntoIterator<Item = Arc<Watched>>) -> Self {
        Self { tree, outputs: outputs.into_iter().collect(), wait: Wait::Goes }
    }

    /// The tree may live on from now on.
    pub(crate) fn release(&mut self) {
        self.wait = Wait::Over;
        self.outputs.clear();
    }
}

impl Drop for EndedWhenDropped {
    fn drop(&mut self) {
        if self.wait == Wait::Over || self.tree.state().gone {
            return;
        }
        let tree = Arc::clone(&self.tree);
        let outputs = std::mem::take(&mut self.outputs);
        tree.begin_end(End::Softly);
        // Without a runtime the link closes soon, and the minder kills.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let unread = join_all(outputs.iter().map(|output| output.discard()));
                // The end comes also when somebody of another tree holds an output.
                select(pin!(tree.finish_end(End::Softly)), pin!(unread.then(|_| pending::<()>()))).await;
            });
        }
    }
}
