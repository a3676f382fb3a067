//! Faults of the service on each call: a typed error in time, or success where the call may be repeated; no key in any
//! message; and nothing is left at the service.
//!
//! Each call gets six faults; with `WORKDEN_TEST_EVERY_FAULT=1` every status and every kind.

use std::time::Duration;

use futures_util::future::join_all;
use workden_core::{
    Backend, BackendExt, ByteRange, ErrorKind, Expect, IfExists, Resolved, Result, Sandbox, VirtualPath,
};
use workden_core::{sandbox::ExecuteRequest, search::ListRequest};
use workden_daytona_stub::{Fault, FaultKind};
use workden_sandboxes::daytona::DaytonaSandbox;

use crate::{
    places::{builder, served, stub},
    processes::soon,
};

/// How long a scenario may take: the longest time of a call, and several calls.
const DEADLINE: Duration = Duration::from_secs(400);

/// The calls with which a sandbox is created, served by a keeper and deleted.
const LIFE: [&str; 11] = [
    "POST /sandbox",
    "GET /sandbox/*",
    "DELETE /sandbox/*",
    "GET /sandbox/*/ports/*/preview-url",
    "POST /toolbox/*/process/execute",
    "POST /toolbox/*/files/bulk-upload",
    "GET /toolbox/*/process/session",
    "POST /toolbox/*/process/session",
    "POST /toolbox/*/process/session/*/exec",
    "POST /toolbox/*/process/session/*/command/*/input",
    "GET /preview/**",
];

/// The calls about files and commands.
const TOOLBOX: [&str; 6] = [
    "GET /toolbox/*/files/info",
    "GET /toolbox/*/files",
    "POST /toolbox/*/files/bulk-download",
    "POST /toolbox/*/files/bulk-upload",
    "POST /toolbox/*/files/move",
    "POST /toolbox/*/process/execute",
];

fn faults() -> Vec<FaultKind> {
    let oversized = FaultKind::OversizedBody { bytes: 100 << 20 };
    if std::env::var("WORKDEN_TEST_EVERY_FAULT").is_ok_and(|value| value == "1") {
        let statuses = [301, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 422, 429, 500, 501, 502, 503, 504, 599];
        let kinds = [FaultKind::Hang, FaultKind::LostAnswer, FaultKind::CloseBeforeAnswer, FaultKind::TruncatedBody];
        let kinds = kinds.into_iter().chain([oversized, FaultKind::NoEndBoundary]);
        return statuses.into_iter().map(FaultKind::status).chain(kinds).collect();
    }
    let statuses = [401, 429, 500].map(FaultKind::status).into_iter();
    statuses.chain([FaultKind::LostAnswer, FaultKind::CloseBeforeAnswer, FaultKind::TruncatedBody]).collect()
}

/// Returns the kind of error that a fault is told as, on a call that is not repeated.
fn kind_of(fault: &FaultKind) -> ErrorKind {
    match fault {
        FaultKind::Status { status, .. } => match status {
            401 | 403 => ErrorKind::PermissionDenied,
            402 => ErrorKind::LimitNotHeld,
            404 => ErrorKind::NotFound,
            408 | 504 => ErrorKind::TimedOut,
            409 => ErrorKind::Conflict,
            400 | 422 => ErrorKind::InvalidArgument,
            405 | 501 => ErrorKind::Unsupported,
            410 => ErrorKind::Gone,
            413 => ErrorKind::TooLarge,
            429 | 503 => ErrorKind::Busy,
            502 => ErrorKind::Unreachable,
            _ => ErrorKind::Io,
        },
        FaultKind::Hang => ErrorKind::TimedOut,
        FaultKind::OversizedBody { .. } => ErrorKind::TooLarge,
        FaultKind::NoEndBoundary => ErrorKind::Io,
        FaultKind::LostAnswer | FaultKind::CloseBeforeAnswer | FaultKind::TruncatedBody => ErrorKind::Unreachable,
        other => panic!("{other:?} is not a fault of a call"),
    }
}

/// Returns the kind of error that this fault of a toolbox call must have; `None` where the call must succeed, because it
/// is repeated, or because the fault does not touch it.
fn told_as(route: &str, fault: &FaultKind) -> Option<ErrorKind> {
    let is_repeated = !matches!(route, "POST /toolbox/*/process/execute" | "POST /toolbox/*/files/move");
    match fault {
        // It was refused before anything was done.
        FaultKind::Status { status: 429, .. } => None,
        FaultKind::Status { status: 500 | 502 | 503 | 504, .. } if is_repeated => None,
        FaultKind::LostAnswer | FaultKind::CloseBeforeAnswer | FaultKind::TruncatedBody if is_repeated => None,
        // The daemon says so when a command's time is over.
        FaultKind::Status { status: 408, .. } if route.ends_with("/execute") => None,
        FaultKind::NoEndBoundary if !route.ends_with("/bulk-download") => None,
        fault => Some(kind_of(fault)),
    }
}

/// Checks an outcome: an error has a sentence without the key.
fn check(what: &str, key: &str, outcome: &Result<()>) {
    if let Err(error) = outcome {
        let told = format!("{error:?} {error}");
        assert!(!told.contains(key) && !error.sentence().is_empty(), "{what}: {told}");
    }
}

async fn life(sandbox: &DaytonaSandbox) -> Result<()> {
    sandbox.start().await?;
    sandbox.execute(&ExecuteRequest::shell("echo hi")).await?;
    sandbox.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_in_the_life_of_a_sandbox_leave_nothing_behind() {
    join_all(LIFE.map(async |route| {
        let stub = stub().await;
        for fault in faults() {
            let what = format!("{route} {fault:?}");
            stub.add_fault(Fault::once(route, fault.clone()));
            let sandbox = builder(&stub).start_timeout(Duration::from_secs(60)).build().unwrap();
            let lived = tokio::time::timeout(DEADLINE, life(&sandbox)).await;
            let lived = lived.unwrap_or_else(|_| panic!("{what}: no answer in time"));
            println!("{what}: {:?}", lived.as_ref().map_err(|error| error.to_string()));
            check(&what, stub.api_key(), &lived);
            // Where a keeper is impossible, the toolbox serves.
            let kind = lived.err().map(|error| error.kind());
            let is_gone = |kind| kind == ErrorKind::Gone && fault == FaultKind::status(404);
            assert!(kind.is_none_or(|kind| kind == kind_of(&fault) || is_gone(kind)), "{what}: {kind:?}");
            stub.clear_faults();
            sandbox.stop().await.unwrap();
            soon(&format!("{what}: a sandbox is left"), async || stub.counters().known == 0).await;
        }
        stub.stop().await;
    }))
    .await;
}

async fn each_call(sandbox: &DaytonaSandbox) -> Vec<Result<()>> {
    let path = |name: &str| Resolved::literal(VirtualPath::parse(&format!("/home/daytona/{name}")).unwrap());
    let (file, to) = (path("a"), path("b"));
    vec![
        sandbox.stat(&file).await.map(drop),
        sandbox.list(&path(""), &ListRequest::default()).await.map(drop),
        sandbox.read(&file, ByteRange::whole()).await.map(drop),
        sandbox.write(&file, "text".into(), Expect::Anything).await.map(drop),
        sandbox.rename(&file, &to, IfExists::Replace).await,
        sandbox.rename(&to, &file, IfExists::Replace).await,
        sandbox.execute(&ExecuteRequest::shell("true").timeout(Duration::from_secs(5))).await.map(drop),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_of_the_toolbox_are_typed_errors_and_the_next_call_works() {
    join_all(TOOLBOX.map(async |route| {
        let stub = stub().await;
        let sandbox = served(&stub);
        let files = ["/home/daytona/a", "/home/daytona/b"].map(|path| VirtualPath::parse(path).unwrap());
        for fault in faults() {
            for file in &files {
                sandbox.write_path(file, "text".into(), Expect::Anything).await.unwrap();
            }
            let what = format!("{route} {fault:?}");
            stub.add_fault(Fault::once(route, fault.clone()));
            let done = tokio::time::timeout(DEADLINE, each_call(&sandbox)).await;
            let done = done.unwrap_or_else(|_| panic!("{what}: no answer in time"));
            done.iter().for_each(|outcome| check(&what, stub.api_key(), outcome));
            let mut kinds: Vec<_> = done.iter().filter_map(|done| Some(done.as_ref().err()?.kind())).collect();
            kinds.dedup();
            assert_eq!(kinds, Vec::from_iter(told_as(route, &fault)), "{what}: {done:?}");
            stub.clear_faults();
        }
        sandbox.stop().await.unwrap();
        soon("a sandbox is left", async || stub.counters().known == 0).await;
        stub.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_that_is_cut_or_too_large_is_refused() {
    let stub = stub().await;
    let sandbox = served(&stub);
    let file = VirtualPath::parse("/home/daytona/a").unwrap();
    sandbox.write_path(&file, "text".into(), Expect::Anything).await.unwrap();
    for (fault, kind) in [
        (FaultKind::NoEndBoundary, ErrorKind::Io),
        (FaultKind::OversizedBody { bytes: 100 << 20 }, ErrorKind::TooLarge),
    ] {
        stub.add_fault(Fault::once("POST /toolbox/*/files/bulk-download", fault));
        let error = sandbox.read_bytes(&file).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    assert_eq!(sandbox.read_bytes(&file).await.unwrap(), "text");
    sandbox.stop().await.unwrap();
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_stays_down_or_hangs_is_an_error_within_the_deadline() {
    for (fault, kind) in [(FaultKind::status(503), ErrorKind::Busy), (FaultKind::Hang, ErrorKind::TimedOut)] {
        let stub = stub().await;
        let sandbox = served(&stub);
        sandbox.start().await.unwrap();
        stub.add_fault(Fault::always("GET /toolbox/*/files/info", fault));
        let file = VirtualPath::parse("/home/daytona/a").unwrap();
        let error = tokio::time::timeout(DEADLINE, sandbox.entry(&file)).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        sandbox.stop().await.unwrap();
        stub.stop().await;
    }
}
