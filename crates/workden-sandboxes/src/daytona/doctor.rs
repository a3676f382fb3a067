//! Checks an account of Daytona, finding by finding. With an image or a snapshot a sandbox is started and deleted.

use std::time::Instant;

use workden_core::{
    Error, ErrorKind, Result, Sandbox,
    sandbox::{Finding, Need, Outcome},
};

use super::{DaytonaMode, DaytonaSandbox, DaytonaSandboxBuilder, DaytonaStatus};

impl DaytonaSandboxBuilder {
    /// Checks what a sandbox with these options needs. When `unwanted` is ready, a sandbox that was started for that is
    /// deleted, and the rest is left out.
    pub async fn probe_until(&self, unwanted: impl Future<Output = ()>) -> Vec<Finding> {
        let account = self.account().await;
        let has_account = account.is_ok();
        let mut findings = vec![finding("account", "API and key", Need::Sandbox, account)];
        let keepers = self.found_keepers().read_all().await;
        let keepers = keepers.map(|all| {
            let all: Vec<&str> = all.iter().map(|keeper| keeper.architecture).collect();
            format!("for {}", all.join(", "))
        });
        findings.push(finding("keepers", "keepers to bring in", Need::Optional, keepers));
        if has_account && self.names_a_source() {
            findings.extend(self.trial(unwanted).await);
        }
        findings
    }

    /// Asks the API something that changes nothing.
    async fn account(&self) -> Result<String> {
        self.check()?;
        let api = self.api()?;
        api.check().await?;
        Ok(api.shown(api.url()))
    }

    /// Starts a sandbox and deletes it.
    async fn trial(&self, unwanted: impl Future<Output = ()>) -> Vec<Finding> {
        let (began, status) = (Instant::now(), DaytonaStatus::default());
        let sandbox = match self.clone().status(&status).build() {
            Ok(sandbox) => sandbox,
            Err(error) => return vec![finding("start", "start of a sandbox", Need::Sandbox, Err(error))],
        };
        let started = tokio::select! {
            started = sandbox.start() => started,
            () = unwanted => Err(Error::new(ErrorKind::Gone, "the check was interrupted")),
        };
        let has_started = started.is_ok();
        let took = started.map(|()| format!("in {:.1} s", began.elapsed().as_secs_f64()));
        let mut findings = vec![finding("start", "start of a sandbox", Need::Sandbox, took)];
        if has_started {
            findings.push(finding("keeper", "keeper in a sandbox", Need::Optional, way(&sandbox, &status).await));
        }
        let deleted = sandbox.stop().await.map(|()| "the sandbox of this check is gone".to_owned());
        findings.push(finding("deletion", "deletion of a sandbox", Need::Sandbox, deleted));
        findings
    }
}

/// Returns how a sandbox is reached; an error where it is the toolbox.
async fn way(sandbox: &DaytonaSandbox, status: &DaytonaStatus) -> Result<String> {
    let seen = sandbox.isolation().await?;
    match status.mode() {
        Some(DaytonaMode::Toolbox) => {
            let why = seen.lacking.into_iter().next().unwrap_or_default();
            Err(Error::new(ErrorKind::Unsupported, why).hint("sandboxes work, with the differences of docs/daytona.md"))
        }
        _ => Ok("a call takes one round trip".to_owned()),
    }
}

fn finding(name: &str, title: &str, need: Need, found: Result<String>) -> Finding {
    let outcome = match found {
        Ok(how) => Outcome::Works(how),
        Err(error) => Outcome::Lacking { why: error.sentence().to_owned(), fix: error.hint_text().map(str::to_owned) },
    };
    Finding::new(name, title, need, outcome)
}
