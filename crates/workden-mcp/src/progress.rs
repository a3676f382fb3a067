//! Progress of a call, for clients that asked for it.

use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
};
use tokio::sync::mpsc;
use workden_tools::{Progress, ProgressSink};

use crate::limits::PROGRESS_QUEUE;

/// The sink that a tool reports to; never blocks it.
#[derive(Debug)]
pub(crate) struct ProgressSender(mpsc::Sender<Progress>);

impl ProgressSink for ProgressSender {
    fn report(&self, progress: Progress) {
        // A client that does not keep up misses reports; each says how long the call has been running.
        let _ = self.0.try_send(progress);
    }
}

/// Reports on their way to a client.
#[derive(Debug)]
pub(crate) struct ProgressQueue {
    token: ProgressToken,
    reports: mpsc::Receiver<Progress>,
}

/// Returns both ends of a queue of reports.
pub(crate) fn channel(token: ProgressToken) -> (ProgressSender, ProgressQueue) {
    let (sender, reports) = mpsc::channel(PROGRESS_QUEUE);
    (ProgressSender(sender), ProgressQueue { token, reports })
}

impl ProgressQueue {
    /// Sends the reports until the tool is done.
    pub(crate) async fn forward_to(mut self, peer: Peer<RoleServer>) {
        while let Some(progress) = self.reports.recv().await {
            let Some(notification) = notification(&self.token, &progress) else { continue };
            if peer.notify_progress(notification).await.is_err() {
                return;
            }
        }
    }
}

fn notification(token: &ProgressToken, progress: &Progress) -> Option<ProgressNotificationParam> {
    match progress {
        Progress::Running { elapsed, timeout } => {
            let message = format!("running for {} s of at most {} s", elapsed.as_secs(), timeout.as_secs());
            Some(
                ProgressNotificationParam::new(token.clone(), elapsed.as_secs_f64())
                    .with_total(timeout.as_secs_f64())
                    .with_message(message),
            )
        }
        _ => None,
    }
}
