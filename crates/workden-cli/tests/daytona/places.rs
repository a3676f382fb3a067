//! A stub of Daytona, and sandboxes of it.

use std::path::PathBuf;

use workden_core::{Sandbox, sandbox::ExecuteRequest};
use workden_daytona_stub::{Stub, StubOptions};
use workden_sandboxes::{
    ContainerKeepers, KeeperProgram,
    daytona::{DaytonaMode, DaytonaSandbox, DaytonaSandboxBuilder},
};

/// Starts a stub, whose sandboxes are those of `workden`.
pub(crate) async fn stub() -> Stub {
    Stub::start(StubOptions::new(KeeperProgram::at(env!("CARGO_BIN_EXE_workden")))).await.unwrap()
}

/// Returns the static keepers that are brought into sandboxes.
pub(crate) fn keepers() -> ContainerKeepers {
    let named = std::env::var_os("WORKDEN_KEEPER");
    let run = "set WORKDEN_KEEPER to a static keeper, which `cargo xtask keeper` builds";
    ContainerKeepers::at(PathBuf::from(named.unwrap_or_else(|| panic!("{run}"))))
}

/// Returns the builder of a sandbox at a stub.
pub(crate) fn builder(stub: &Stub) -> DaytonaSandboxBuilder {
    DaytonaSandbox::builder().api_key(stub.api_key()).api_url(stub.url()).keepers(keepers())
}

/// Returns a sandbox that a keeper serves.
pub(crate) fn kept(stub: &Stub) -> DaytonaSandbox {
    builder(stub).mode(DaytonaMode::Keeper).build().unwrap()
}

/// Returns a sandbox that the toolbox serves.
pub(crate) fn served(stub: &Stub) -> DaytonaSandbox {
    builder(stub).mode(DaytonaMode::Toolbox).build().unwrap()
}

/// Returns what a command prints.
pub(crate) async fn printed(sandbox: &impl Sandbox, line: &str) -> String {
    sandbox.execute(&ExecuteRequest::shell(line)).await.unwrap().output.text().to_string()
}
