//! Every call leaves a record, and a record leaves every call alone.

use super::*;

/// Keeps records, or fails to.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) events: Mutex<Vec<AuditEvent>>,
    fails: bool,
}

impl Audit for Records {
    fn record(&self, event: &AuditEvent) {
        assert!(!self.fails, "the disk is full");
        self.events.lock().unwrap().push(event.clone());
    }
}

#[test]
fn every_call_is_recorded_with_what_became_of_it() {
    let records = Arc::new(Records::default());
    let broken = Arc::new(Records { fails: true, ..Records::default() });
    let yes = Answers::new(Approval::Granted);
    let files = Guarded::new(state())
        .gate(says("/a.md", Verdict::Ask))
        .gate(says("/d", Verdict::Deny))
        .approver(yes)
        .audit(broken)
        .audit(records.clone())
        .on_behalf_of(Caller { tool: "t".into(), arguments: serde_json::Value::Null });
    block_on(async {
        files.read_bytes(&path("/tiny/z")).await.unwrap();
        files.edit(&path("/a.md"), &[Replacement::once("one", "1")]).await.unwrap();
        files.remove_path(&path("/d/x"), Removal::One).await.unwrap_err();
        files.read_bytes(&path("/missing")).await.unwrap_err();
        files.move_path(&path("/a.md"), &path("/b"), IfExists::Refuse).await.unwrap();
    });
    let events = records.events.lock().unwrap().clone();
    let seen: Vec<_> = events.iter().map(|event| (event.call.as_str(), event.outcome)).collect();
    use AuditOutcome::{Allowed, Approved, Failed, Refused};
    let expected = [
        ("read", Allowed),
        ("edit", Approved),
        ("delete", Refused(ErrorKind::ApprovalNeeded)),
        ("read", Failed(ErrorKind::NotFound)),
        ("move", Approved),
    ];
    assert_eq!(seen, expected);
    assert!(events.iter().all(|event| event.tool.as_deref() == Some("t")));
    assert_eq!(events[4].paths, ["/a.md", "/b"].map(|typed| Resolved::literal(path(typed))));
}

/// Never answers.
#[derive(Debug)]
struct Silent;

#[async_trait]
impl Approver for Silent {
    async fn approve(&self, _: ApprovalRequest) -> Approval {
        std::future::pending().await
    }
}

#[test]
fn a_call_that_is_given_up_is_recorded_as_that() {
    let records = Arc::new(Records::default());
    let files = Guarded::new(state()).gate(says("/", Verdict::Ask)).approver(Arc::new(Silent)).audit(records.clone());
    let at = Resolved::literal(path("/a.md"));
    let mut call = files.remove(&at, Removal::One);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(call.as_mut().poll(&mut context).is_pending());
    drop(call);
    assert_eq!(records.events.lock().unwrap()[0].outcome, AuditOutcome::Abandoned);
    assert!(block_on(files.exists(&path("/a.md"))));
}
