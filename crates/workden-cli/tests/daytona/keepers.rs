//! Keepers that are missing, dead or hung are replaced; where none can run, the toolbox serves.

use std::time::Duration;

use workden_core::{ErrorKind, Sandbox, VirtualPath, sandbox::ExecuteRequest};
use workden_daytona_stub::{Fault, FaultKind};
use workden_sandboxes::{
    ContainerKeepers,
    daytona::{DaytonaMode, DaytonaStatus},
};

use crate::{
    places::{builder, kept, printed, stub},
    processes::soon,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_keeper_is_replaced() {
    let stub = stub().await;
    let sandbox = kept(&stub);
    assert_eq!(printed(&sandbox, "echo one").await, "one\n");
    let killed = sandbox.execute(&ExecuteRequest::shell("pkill -KILL -f 'keeper-.* serve'")).await.unwrap_err();
    assert_eq!(killed.kind(), ErrorKind::Unreachable, "{killed}");
    assert_eq!(printed(&sandbox, "echo two").await, "two\n");
    sandbox.stop().await.unwrap();
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keeper_that_hangs_is_replaced_for_all_its_clients() {
    let stub = stub().await;
    let first = kept(&stub);
    assert_eq!(printed(&first, "echo one").await, "one\n");
    let stopped = "(setsid sh -c 'sleep 0.5; pkill -STOP -f \"keeper-.* serve\"' >/dev/null 2>&1 &)";
    first.execute(&ExecuteRequest::shell(stopped)).await.unwrap();
    let hangs = ExecuteRequest::shell("true").timeout(Duration::from_secs(1));
    soon("the keeper is not stopped", async || {
        tokio::time::timeout(Duration::from_secs(2), first.execute(&hangs)).await.is_err()
    })
    .await;
    let second = builder(&stub).attach(first.id().unwrap()).mode(DaytonaMode::Keeper).build().unwrap();
    assert_eq!(printed(&second, "echo two").await, "two\n");
    soon("the first client has no keeper", async || {
        first.execute(&ExecuteRequest::shell("true")).await.is_ok_and(|done| done.exit_code() == 0)
    })
    .await;
    first.stop().await.unwrap();
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_one_keeper_have_directories_and_variables_of_their_own() {
    let stub = stub().await;
    let of = |mode: DaytonaMode, name: &str| {
        let one = builder(&stub).name("shared").mode(mode).work_dir(format!("/home/daytona/{name}")).env("WHO", name);
        one.build().unwrap()
    };
    let first = of(DaytonaMode::Keeper, "one");
    first.start().await.unwrap();
    let (second, third) = (of(DaytonaMode::Keeper, "two"), of(DaytonaMode::Toolbox, "three"));
    for (sandbox, name) in [(&first, "one"), (&second, "two"), (&third, "three")] {
        let directory = format!("/home/daytona/{name}");
        assert_eq!(printed(sandbox, "echo $WHO; pwd").await, format!("{name}\n{directory}\n"));
        assert_eq!(sandbox.directory().await.unwrap().as_str(), directory);
        let own = ExecuteRequest::shell("echo $WHO; pwd").environment([("WHO", "me")]);
        let own = own.directory(VirtualPath::parse("/tmp").unwrap());
        assert_eq!(sandbox.execute(&own).await.unwrap().output.text(), "me\n/tmp\n");
    }
    first.stop().await.unwrap();
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_keeper_is_uploaded_once() {
    let stub = stub().await;
    let sandbox = kept(&stub);
    sandbox.start().await.unwrap();
    let uploads = || stub.requests().iter().filter(|request| request.path.ends_with("/bulk-upload")).count();
    assert_eq!(uploads(), 1);
    let _ = sandbox.execute(&ExecuteRequest::shell("pkill -KILL -f 'keeper-.* serve'")).await;
    assert_eq!(printed(&sandbox, "echo two").await, "two\n");
    assert_eq!(uploads(), 1, "the keeper is there already");
    sandbox.stop().await.unwrap();
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_toolbox_serves_where_no_keeper_can_run() {
    let stub = stub().await;
    let none = || builder(&stub).keepers(ContainerKeepers::at("/nowhere"));
    let status = DaytonaStatus::default();
    let sandbox = none().status(&status).build().unwrap();
    assert_eq!((status.id(), status.name(), status.mode()), (None, None, None));
    assert_eq!(printed(&sandbox, "echo hi").await, "hi\n");
    let isolation = sandbox.isolation().await.unwrap();
    assert_eq!(isolation.reached_by.as_deref(), Some("Daytona's toolbox"));
    assert_eq!((status.id(), status.mode()), (sandbox.id(), Some(DaytonaMode::Toolbox)));
    let (first, second) = (sandbox.usage().await.unwrap(), sandbox.usage().await.unwrap());
    assert!(first.idle < second.idle && second.idle < second.age, "{first:?} {second:?}");
    assert!(isolation.lacking[0].contains("not found: none is installed"), "{isolation:?}");
    sandbox.stop().await.unwrap();
    // A key that may not create sessions, or reach ports, is as good a reason.
    for route in ["GET /sandbox/*/ports/*/preview-url", "POST /toolbox/*/process/session"] {
        stub.clear_faults();
        stub.add_fault(Fault::always(route, FaultKind::status(403)));
        let sandbox = builder(&stub).build().unwrap();
        assert_eq!(printed(&sandbox, "echo hi").await, "hi\n");
        assert!(sandbox.isolation().await.unwrap().lacking[0].contains("HTTP 403"), "{route}");
        sandbox.stop().await.unwrap();
    }
    // A mode that was named is kept, and nothing is left.
    let refused = builder(&stub).mode(DaytonaMode::Keeper).build().unwrap().start().await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
    soon("a sandbox is left", async || stub.counters().known == 0).await;
    stub.stop().await;
}
