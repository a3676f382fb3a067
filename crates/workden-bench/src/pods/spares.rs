//! Spare pods: from the claim of one to the first output of a command, beside the start of a new pod.

use std::time::{Duration, Instant};

use super::manager;
use crate::{
    Failure,
    lines::{Line, Target},
    samples::Samples,
};

/// How many spare pods there are.
const READY: usize = 10;
/// The limit of a claim.
const CLAIM_TIME: Duration = Duration::from_millis(100);
/// How long the pods may take until all are ready.
const MOST: Duration = Duration::from_secs(300);
/// How long a session takes at most that did not have to wait for the start of a pod.
const LOOK: Duration = Duration::from_millis(200);

/// Measures claims and starts in turn. All spare pods are ready before each.
pub(super) async fn claims(place: &super::Place, rounds: usize) -> Result<Line, Failure> {
    eprintln!("running: claims of {READY} spare pods");
    let keeping = manager::builder(&place.namespace, "spares")?.spares(READY).start().await?;
    let starting = manager::builder(&place.namespace, "starts")?.start().await?;
    let (mut claims, mut starts) = (Samples::default(), Samples::default());
    for round in 0..=rounds {
        let session = format!("user-{round}").parse()?;
        for (manager, samples) in [(&keeping, &mut claims), (&starting, &mut starts)] {
            all_ready(place).await?;
            let began = Instant::now();
            let opened = manager.get_or_create(&session, None).await?;
            manager::used(&*opened).await?;
            if round > 0 {
                samples.add(began.elapsed());
            }
            manager.release(&session).await?;
        }
    }
    Ok(Line::beside("claim of a spare pod to first output", "a new pod", &claims, &starts, Target::Within(CLAIM_TIME)))
}

/// Waits until there are enough spare pods, and no other pod runs or ends.
async fn all_ready(place: &super::Place) -> Result<(), Failure> {
    let began = Instant::now();
    loop {
        let (all, ready) = (place.pods("").await?, place.pods("workden.dev/spare=ready").await?);
        if all == READY && ready == READY {
            return Ok(());
        }
        if began.elapsed() > MOST {
            return Err(format!("{ready} of {READY} spare pods are ready after {} s", MOST.as_secs()).into());
        }
        tokio::time::sleep(LOOK).await;
    }
}
