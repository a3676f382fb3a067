//! News of a call, for clients that asked for them.

use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
};
use tokio::sync::mpsc;
use workden_tools::{Progress, ProgressSink};

use crate::limits::NEWS;

/// Where a tool reports to; never blocks it.
#[derive(Debug)]
pub(crate) struct Reporter(mpsc::Sender<Progress>);

impl ProgressSink for Reporter {
    fn report(&self, progress: Progress) {
        // A client that does not keep up misses news, and the next say as much.
        let _ = self.0.try_send(progress);
    }
}

/// News on their way to a client.
#[derive(Debug)]
pub(crate) struct News {
    token: ProgressToken,
    reports: mpsc::Receiver<Progress>,
}

/// A reporter, and the news that come of it.
pub(crate) fn follow(token: ProgressToken) -> (Reporter, News) {
    let (sender, reports) = mpsc::channel(NEWS);
    (Reporter(sender), News { token, reports })
}

impl News {
    /// Sends news until nobody reports any more.
    pub(crate) async fn send_to(mut self, peer: Peer<RoleServer>) {
        while let Some(progress) = self.reports.recv().await {
            let Some(news) = told(&self.token, &progress) else { continue };
            if peer.notify_progress(news).await.is_err() {
                return;
            }
        }
    }
}

fn told(token: &ProgressToken, progress: &Progress) -> Option<ProgressNotificationParam> {
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
