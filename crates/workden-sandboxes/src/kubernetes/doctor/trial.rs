//! Starts a pod, tries each way to its keeper, and deletes it.

use tokio::time::Instant;
use workden_core::{
    Result, Sandbox,
    sandbox::{Finding, Need, Outcome},
};

use super::super::{KubernetesSandbox, KubernetesSandboxBuilder, Reach, WhenStopped, reach};

/// Starts a pod with these options.
pub(super) async fn run(builder: &KubernetesSandboxBuilder, unwanted: impl Future<Output = ()>) -> Vec<Finding> {
    let finding = |outcome| Finding::new("sandbox", "sandbox", Need::Sandbox, outcome);
    let failed = |error: workden_core::Error| {
        let fix = error.hint_text().map(str::to_owned);
        vec![finding(Outcome::Lacking { why: error.sentence().to_owned(), fix })]
    };
    // A name would attach to an existing pod.
    let mut builder = builder.clone().when_stopped(WhenStopped::Delete);
    builder.name = None;
    let sandbox = match builder.build() {
        Ok(sandbox) => sandbox,
        Err(error) => return failed(error),
    };
    let tried = async {
        let began = Instant::now();
        let way = started(&sandbox).await?;
        let seconds = began.elapsed().as_secs_f64();
        let mut findings = vec![finding(Outcome::Works(format!("a pod started in {seconds:.1} s, reached by {way}")))];
        for way in Reach::ALL {
            findings.push(tried(&sandbox, way).await);
        }
        Ok(findings)
    };
    let mut findings = tokio::select! {
        tried = tried => tried.unwrap_or_else(failed),
        () = unwanted => Vec::new(),
    };
    if let Err(error) = sandbox.stop().await {
        let outcome = Outcome::Lacking { why: error.sentence().to_owned(), fix: error.hint_text().map(str::to_owned) };
        findings.push(Finding::new("sandbox_removal", "removal of the pod", Need::Sandbox, outcome));
    }
    findings
}

/// Starts the pod, and returns the way by which it was reached.
async fn started(sandbox: &KubernetesSandbox) -> Result<String> {
    sandbox.start().await?;
    Ok(sandbox.isolation().await?.reached_by.unwrap_or_else(|| "an unknown way".to_owned()))
}

/// Tries one way to the keeper of a pod that runs.
async fn tried(sandbox: &KubernetesSandbox, way: Reach) -> Finding {
    let name = match way {
        Reach::Direct => "reach_direct",
        Reach::PortForward => "reach_port_forward",
        Reach::Exec => "reach_exec",
    };
    let began = Instant::now();
    let kept = sandbox.kept().and_then(|pod| Some((pod, pod.made()?)));
    let connected = match kept {
        Some((pod, made)) => reach::connect(&pod.cluster, made, Some(way)).await.map(drop),
        None => Ok(()),
    };
    let outcome = match connected {
        Ok(()) => Outcome::Works(format!("connected in {} ms", began.elapsed().as_millis())),
        Err(error) => Outcome::Lacking { why: error.sentence().to_owned(), fix: Some(fix(way).to_owned()) },
    };
    Finding::new(name, way.to_string(), Need::Optional, outcome)
}

/// Returns what makes a way work.
fn fix(way: Reach) -> &'static str {
    match way {
        Reach::Direct => {
            "for faster calls, run workden where pods are routable, in a namespace that the network policies let in: \
             kubectl label namespace NAME workden.dev/clients=true"
        }
        Reach::PortForward => "grant `pods/portforward`, which is faster than a relay",
        Reach::Exec => "grant `pods/exec`, which works wherever the API server is reachable",
    }
}
