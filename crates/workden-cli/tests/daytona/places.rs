//! A stub of Daytona, or the service itself, and sandboxes of them.

use std::{path::PathBuf, time::Duration};

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

/// Where the conformance suite runs: at Daytona, if `DAYTONA_API_KEY` is set, and otherwise at a stub.
pub(crate) enum DaytonaService {
    Real(String),
    Stub(Box<Stub>),
}

impl DaytonaService {
    pub(crate) async fn open() -> Self {
        match std::env::var("DAYTONA_API_KEY").ok().filter(|key| !key.is_empty()) {
            Some(key) => Self::Real(key),
            None => Self::Stub(Box::new(stub().await)),
        }
    }

    /// Returns a sandbox that a keeper serves.
    pub(crate) fn kept(&self) -> DaytonaSandbox {
        match self {
            Self::Stub(stub) => kept(stub),
            Self::Real(key) => real(key).mode(DaytonaMode::Keeper).build().unwrap(),
        }
    }

    /// Returns a sandbox that the toolbox serves.
    pub(crate) fn served(&self) -> DaytonaSandbox {
        match self {
            Self::Stub(stub) => served(stub),
            Self::Real(key) => real(key).mode(DaytonaMode::Toolbox).build().unwrap(),
        }
    }

    pub(crate) async fn stop(self) {
        if let Self::Stub(stub) = self {
            stub.stop().await;
        }
    }
}

/// Returns the builder of a sandbox at Daytona, which deletes it if the test cannot.
fn real(key: &str) -> DaytonaSandboxBuilder {
    let mut builder = DaytonaSandbox::builder().api_key(key).keepers(keepers());
    if let Ok(url) = std::env::var("DAYTONA_API_URL") {
        builder = builder.api_url(url);
    }
    if let Ok(target) = std::env::var("DAYTONA_TARGET") {
        builder = builder.target(target);
    }
    let minutes = |count: u64| Duration::from_secs(60 * count);
    builder.auto_stop(minutes(15)).auto_delete(minutes(15))
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
