//! How many requests a guarded call costs: a person waits for each of them.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tempfile::TempDir;
use workden_core::{
    Access, BackendExt, Expect, Gate, Guarded, IfExists, Judgement, Op, Removal, Resolved, Sandbox, Verdict,
    Visibility, forward_backend, forward_sandbox, sandbox::ExecuteRequest, text::Replacement,
};
use workden_files::LocalBackend;
use workden_wire::RemoteSandbox;

use crate::{
    pipes::{connected, path},
    scripted::Scripted,
};

/// A sandbox that notes every call that reaches it; each is one request.
#[derive(Clone, Debug)]
struct Noted {
    inner: Scripted,
    calls: Arc<Mutex<Vec<&'static str>>>,
}

macro_rules! noted {
    ($this:ident, $method:ident($($argument:expr),*)) => {{
        $this.calls.lock().unwrap().push(stringify!($method));
        $this.inner.$method($($argument),*).await
    }};
}

forward_backend! {
    impl[] for Noted;
    looks: noted, changes: noted, host_files: own
}

forward_sandbox! {
    impl[] for Noted;
    looks: noted, changes: noted,
    forward: [execute spawn start_job jobs read_job kill_job connect_port watch usage isolation directory stop], {}
}

/// Allows everything, up to a size.
#[derive(Debug)]
struct Ceiling;

#[async_trait]
impl Gate for Ceiling {
    async fn judge(&self, _: Op<'_>) -> Judgement {
        Verdict::Allow.into()
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        Visibility::everything()
    }

    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        Some(1_000)
    }
}

struct Setup {
    directory: TempDir,
    guarded: Guarded<RemoteSandbox>,
    calls: Arc<Mutex<Vec<&'static str>>>,
}

impl Setup {
    async fn new() -> Self {
        let directory = TempDir::new().unwrap();
        std::fs::write(directory.path().join("a.md"), "one\ntwo\n").unwrap();
        let calls = Arc::default();
        let inner = Scripted::over(LocalBackend::open(directory.path()).unwrap());
        let remote = connected(Noted { inner, calls: Arc::clone(&calls) }).await;
        let setup = Self { directory, guarded: Guarded::new(remote).gate(Arc::new(Ceiling)), calls };
        setup.requests();
        setup
    }

    /// The requests since the last look.
    fn requests(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }
}

#[tokio::test]
async fn a_guarded_call_costs_two_requests_and_a_command_one() {
    let setup = Setup::new().await;
    let file = path("/a.md");
    setup.guarded.read_numbered(&file, 0, 10).await.unwrap();
    assert_eq!(setup.requests(), ["resolve", "read_text"]);
    setup.guarded.read_bytes(&file).await.unwrap();
    assert_eq!(setup.requests(), ["resolve", "read"]);
    setup.guarded.edit(&file, &[Replacement::once("one", "1")]).await.unwrap();
    assert_eq!(setup.requests(), ["resolve", "change"]);
    setup.guarded.write_path(&path("/new.md"), "x".into(), Expect::Absent).await.unwrap();
    assert_eq!(setup.requests(), ["resolve", "write"]);
    setup.guarded.entry(&file).await.unwrap();
    assert_eq!(setup.requests(), ["resolve", "stat"]);
    setup.guarded.copy_path(&file, &path("/copy.md"), IfExists::Refuse).await.unwrap();
    assert_eq!(setup.requests(), ["resolve", "resolve", "copy"]);
    setup.guarded.move_path(&path("/copy.md"), &path("/moved.md"), IfExists::Refuse).await.unwrap();
    assert_eq!(setup.requests(), ["resolve", "resolve", "rename"]);
    setup.guarded.remove_path(&path("/moved.md"), Removal::One).await.unwrap();
    assert_eq!(setup.requests(), ["resolve", "remove"]);
    setup.guarded.execute(&ExecuteRequest::shell("true")).await.unwrap();
    assert_eq!(setup.requests(), ["execute"]);
}

#[tokio::test]
async fn a_file_with_a_second_name_costs_one_more_for_its_names() {
    let setup = Setup::new().await;
    std::fs::hard_link(setup.directory.path().join("a.md"), setup.directory.path().join("b.md")).unwrap();
    setup.guarded.read_numbered(&path("/a.md"), 0, 10).await.unwrap();
    assert_eq!(setup.requests(), ["resolve", "other_names", "read_text"]);
}

#[tokio::test]
async fn unguarded_what_is_there_is_known_when_the_path_is_resolved() {
    let setup = Setup::new().await;
    let remote = connected(Noted {
        inner: Scripted::over(LocalBackend::open(setup.directory.path()).unwrap()),
        calls: Arc::clone(&setup.calls),
    })
    .await;
    setup.requests();
    assert_eq!(remote.entry(&path("/a.md")).await.unwrap().size, Some(8));
    assert!(!remote.exists(&path("/missing")).await);
    assert_eq!(setup.requests(), ["resolve", "resolve", "stat"]);
}
