//! Who is asked, when, about what, and what comes of the answer.

use super::*;

#[test]
fn without_a_person_to_ask_the_call_is_refused_in_the_gates_words() {
    for name in CALLS {
        let (files, plain) = (state(), all(&state()));
        let guarded = Guarded::new(files.clone()).gate(says("/", Verdict::Ask));
        let error = block_on(call(&guarded, name)).unwrap_err();
        assert_eq!((error.kind(), error.sentence()), (ErrorKind::ApprovalNeeded, "the gate says so"), "{name}");
        assert_eq!(all(&files), plain, "{name}");
    }
}

#[test]
fn what_is_approved_is_done_and_what_is_refused_is_not() {
    for name in CALLS {
        let by_hand = state();
        block_on(call(&by_hand, name)).unwrap();
        let files = state();
        let yes = Answers::new(Approval::Granted);
        let guarded = Guarded::new(files.clone()).gate(says("/", Verdict::Ask)).approver(yes.clone());
        block_on(call(&guarded, name)).unwrap();
        assert_eq!((all(&files), yes.count()), (all(&by_hand), 1), "{name}");

        let files = state();
        let no = Answers::new(Approval::Refused(Error::new(ErrorKind::Denied, "not today")));
        let guarded = Guarded::new(files.clone()).gate(says("/", Verdict::Ask)).approver(no.clone());
        let error = block_on(call(&guarded, name)).unwrap_err();
        assert_eq!((error.sentence(), no.count()), ("not today", 1), "{name}");
        assert_eq!(all(&files), all(&state()), "{name}");
    }
}

#[test]
fn one_tool_call_that_looks_twice_is_asked_about_once() {
    let questions = |names: &[&str], on_behalf: bool| {
        let yes = Answers::new(Approval::Granted);
        let guarded = Guarded::new(state()).gate(says("/", Verdict::Ask)).approver(yes.clone());
        let caller = || Caller { tool: "read_file".into(), arguments: serde_json::Value::Null };
        let guarded = if on_behalf { guarded.on_behalf_of(caller()) } else { guarded };
        for name in names {
            block_on(call(&guarded, name)).unwrap();
        }
        let so_far = yes.count();
        // Another tool call is another question.
        block_on(call(&guarded.on_behalf_of(caller()), names[0])).unwrap();
        (so_far, yes.count() - so_far)
    };
    for look in ["read", "list", "glob", "grep"] {
        assert_eq!(questions(&[look, look, look], true), (1, 1), "{look}");
        assert_eq!(questions(&[look, look], false), (2, 1), "{look}");
    }
    // To read is to read, in whatever form; but to look is not to write, and to write once is not twice.
    assert_eq!(questions(&["read", "lines"], true), (1, 1));
    assert_eq!(questions(&["read", "write"], true), (2, 1));
    assert_eq!(questions(&["write", "write"], true), (2, 1));
}

#[test]
fn a_question_says_what_on_whose_behalf_and_why() {
    let yes = Answers::new(Approval::Granted);
    let guarded = Guarded::new(state()).gate(says("/", Verdict::Ask)).approver(yes.clone());
    let caller = Caller { tool: "edit_file".into(), arguments: serde_json::json!({ "path": "a.md" }) };
    block_on(call(&guarded.on_behalf_of(caller.clone()), "edit")).unwrap();
    let expected = ApprovalRequest::new("edit", "Edit `/a.md`: replace 3 characters with 1", "the gate says so")
        .operations(["read", "edit"])
        .paths(vec![Resolved::literal(path("/a.md"))])
        .caller(caller)
        .preview("@@ -1,2 +1,2 @@\n one\n-two\n+2\n".to_owned())
        .targets(vec![TargetState::Content(workden_core::Version::of(b"one\ntwo\n"))]);
    assert_eq!(yes.last(), expected);
    let sent = serde_json::to_string(&expected).unwrap();
    assert_eq!(serde_json::from_str::<ApprovalRequest>(&sent).unwrap(), expected);

    block_on(call(&guarded, "write")).unwrap();
    let asked = yes.last();
    assert_eq!((asked.description.as_str(), asked.caller), ("Write 3 bytes to `/a.md`", None));
    let preview = "@@ -1,2 +1 @@\n-one\n-2\n+new\n\\ No newline at end of file\n";
    assert_eq!(asked.preview.as_deref(), Some(preview));

    block_on(call(&guarded, "move a tree")).unwrap();
    let asked = yes.last();
    assert_eq!((asked.description.as_str(), asked.below), ("Move `/d` and the 3 things in it to `/e`", 3));
}

#[test]
fn what_changes_while_the_question_is_open_is_a_conflict() {
    for (name, typed) in [
        ("write", "/a.md"),
        ("make", "/new"),
        ("edit", "/a.md"),
        ("remove", "/a.md"),
        ("remove a tree", "/d/deep/y"),
        ("remove a tree", "/d/deep/new"),
        ("move", "/a.md"),
        ("move", "/b.md"),
        ("move a tree", "/d/new"),
        ("copy", "/a.md"),
    ] {
        let files = state();
        let answers = Answers {
            meanwhile: Some((files.clone(), typed)),
            ..Arc::into_inner(Answers::new(Approval::Granted)).unwrap()
        };
        let answers = Arc::new(answers);
        let guarded = Guarded::new(files.clone()).gate(says("/", Verdict::Ask)).approver(answers.clone());
        let error = block_on(call(&guarded, name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{name} {typed}: {error}");
        assert!(error.sentence().ends_with("it changed while approval was pending"), "{error}");
        assert_eq!(block_on(files.read_bytes(&path(typed))).unwrap(), "meanwhile", "{name}");
        assert_eq!(answers.count(), 1);
    }
}

#[test]
fn a_question_about_another_content_is_another_question() {
    // A diff shows so many lines, and no bytes of files that go elsewhere.
    let long = |end: &str| "line\n".repeat(1_000) + end;
    let asked = |name: &str, typed: &str, content: String| {
        let files = state();
        block_on(files.write_path(&path(typed), content.into(), Expect::Anything)).unwrap();
        let no = Answers::new(Approval::Refused(Error::new(ErrorKind::Denied, "not today")));
        let guarded = Guarded::new(files).gate(says("/", Verdict::Ask)).approver(no.clone());
        block_on(call(&guarded, name)).unwrap_err();
        no.last()
    };
    for (name, typed) in [
        ("write", "/a.md"),
        ("remove", "/a.md"),
        ("remove a tree", "/d/deep/y"),
        ("move", "/a.md"),
        ("move a tree", "/d/x"),
        ("copy", "/a.md"),
    ] {
        let (one, same, other) = (long("a"), long("a"), long("bc"));
        let [one, same, other] = [one, same, other].map(|content| asked(name, typed, content));
        assert_eq!(one, same, "{name}");
        assert_ne!(one.targets, other.targets, "{name}");
    }
    // Looks are for whatever is there.
    assert!(asked("read", "/a.md", long("a")).targets.is_empty());
}

#[test]
fn cheap_denials_come_before_the_question() {
    let too_small: Arc<dyn Gate> = Arc::new(Most { read: 100, write: 2 });
    let unreadable: Arc<dyn Gate> = Arc::new(Most { read: 2, write: 100 });
    let denied = || says("/", Verdict::Deny);
    for (name, gate) in [
        ("write", &too_small),
        ("make", &too_small),
        ("edit", &too_small),
        ("move", &too_small),
        ("move a tree", &too_small),
        ("copy", &too_small),
        ("read", &unreadable),
        ("lines", &unreadable),
        ("edit", &unreadable),
        ("copy", &unreadable),
    ]
    .into_iter()
    .map(|(name, gate)| (name, Arc::clone(gate)))
    .chain(CALLS.iter().map(|name| (*name, denied())))
    .chain([("remove a tree", says("/d/deep", Verdict::Deny)), ("move a tree", says("/e/deep/y", Verdict::Deny))])
    {
        let files = state();
        let yes = Answers::new(Approval::Granted);
        let asks = Guarded::new(files.clone()).gate(says("/", Verdict::Ask)).approver(yes.clone());
        let told = block_on(call(&asks.clone().gate(gate.clone()), name));
        assert!(told.is_err(), "{name} {gate:?}");
        let told = block_on(call(
            &Guarded::new(files.clone()).gate(gate.clone()).gate(says("/", Verdict::Ask)).approver(yes.clone()),
            name,
        ));
        assert!(told.is_err(), "{name} {gate:?}");
        assert_eq!(yes.count(), 0, "{name} {gate:?}");
        assert_eq!(all(&files), all(&state()), "{name} {gate:?}");
    }
}

#[test]
fn no_question_is_asked_about_what_could_not_be_done() {
    let yes = Answers::new(Approval::Granted);
    let files = Guarded::new(state()).gate(says("/", Verdict::Ask)).approver(yes.clone());
    block_on(async {
        let missing = path("/missing");
        let kinds = [
            files.read_bytes(&missing).await.map(drop),
            files.remove_path(&missing, Removal::One).await,
            files.move_path(&missing, &path("/b"), IfExists::Refuse).await,
            files.edit(&missing, &[Replacement::once("a", "b")]).await.map(drop),
            files.edit(&path("/a.md"), &[Replacement::once("no such text", "b")]).await.map(drop),
            files
                .change_path(&path("/a.md"), &Change::Replace(vec![]), Expect::Version(workden_core::Version::of(b"x")))
                .await
                .map(drop),
            files.write_path(&path("/a.md"), "x".into(), Expect::Absent).await.map(drop),
            files
                .write_path(&path("/a.md"), "x".into(), Expect::Version(workden_core::Version::of(b"x")))
                .await
                .map(drop),
            files.write_path(&missing, "x".into(), Expect::Version(workden_core::Version::of(b"x"))).await.map(drop),
            files.move_path(&path("/a.md"), &path("/d/x"), IfExists::Refuse).await,
            files.copy_path(&path("/a.md"), &path("/d/x"), IfExists::Refuse).await.map(drop),
        ]
        .map(|told| told.unwrap_err().kind());
        use ErrorKind::{AlreadyExists, Conflict, NoMatch, NotFound};
        let expected = [
            NotFound,
            NotFound,
            NotFound,
            NotFound,
            NoMatch,
            Conflict,
            AlreadyExists,
            Conflict,
            NotFound,
            AlreadyExists,
            AlreadyExists,
        ];
        assert_eq!(kinds, expected);
    });
    assert_eq!(yes.count(), 0);
}

#[test]
fn one_question_is_asked_for_a_whole_tree() {
    let yes = Answers::new(Approval::Granted);
    let files = Guarded::new(state()).gate(says("/d/deep", Verdict::Ask)).approver(yes.clone());
    block_on(call(&files, "move a tree")).unwrap();
    assert_eq!((yes.count(), yes.last().below), (1, 3));
    let unasked = Guarded::new(state()).gate(says("/d/deep", Verdict::Ask));
    assert_eq!(block_on(call(&unasked, "remove a tree")).unwrap_err().kind(), ErrorKind::ApprovalNeeded);
}
