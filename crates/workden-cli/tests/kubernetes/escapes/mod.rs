//! What commands of a pod try against the keeper, the node and the cluster. A break becomes a fix, or a limit that
//! docs/kubernetes.md names, and a test here.

mod connections;
mod inside;
mod keeper_files;
mod limits;
mod network;

use workden_core::{Sandbox, sandbox::ExecuteRequest};

/// Returns what a command prints.
async fn said(sandbox: &dyn Sandbox, command: &str) -> String {
    sandbox.execute(&ExecuteRequest::shell(command)).await.unwrap().output.text().to_string()
}

/// Runs Python in a pod, and returns what it prints.
async fn python(sandbox: &dyn Sandbox, program: &str) -> String {
    said(sandbox, &format!("python3 - <<'EOF'\n{program}\nEOF")).await
}
