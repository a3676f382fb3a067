//! What a session has changed since its start, as a list, by file and as a patch; the way back, and who may go it.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::served::{Caller, Served, text, until};

/// Returns the changes of a session as `+path`, `~path` and `-path`.
async fn changes(caller: &Caller<'_>, session: &str) -> Vec<String> {
    let (status, told) = caller.get(&format!("{session}/changes")).await;
    assert_eq!((status, &told["truncated"]), (StatusCode::OK, &json!(false)), "{told}");
    let sign = |kind: &str| match kind {
        "added" => "+",
        "changed" => "~",
        _ => "-",
    };
    let change = |change: &Value| {
        format!("{}{}", sign(&text(&change["kind"])), text(&change["path"]).trim_start_matches("/workspace/"))
    };
    told["changes"].as_array().unwrap().iter().map(change).collect()
}

async fn done(caller: &Caller<'_>, session: &str, line: &str) {
    let (code, output) = caller.run(session, line).await;
    assert_eq!(code, 0, "{line}: {output}");
}

#[tokio::test]
async fn changes_are_told_taken_back_and_accepted() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, token) = admin.session(json!({})).await;
    assert!(changes(&admin, &session).await.is_empty());
    let line = "mkdir -p src empty && printf 'one\\ntwo\\n' > src/a.txt && printf '\\0\\1' > image && echo '#!/bin/sh' > run \
                && chmod 755 run && ln -s src/a.txt link && ln run hard && echo ü > 'odd \"name\\'";
    done(&admin, &session, line).await;
    let all = ["+hard", "+image", "+link", "+odd \"name\\", "+run", "+src/a.txt"];
    assert_eq!(changes(&admin, &session).await, all);

    let accept = async |caller: &Caller<'_>| caller.post(&format!("{session}/changes/accept"), json!({})).await.0;
    assert_eq!(accept(&admin).await, StatusCode::NO_CONTENT);
    assert!(changes(&admin, &session).await.is_empty());
    let line = "printf 'one\\n2\\n' > src/a.txt && rm link run && printf '\\0\\2' > image && chmod 600 hard && echo new > new.txt";
    done(&admin, &session, line).await;
    let all = ["~hard", "~image", "-link", "+new.txt", "-run", "~src/a.txt"];
    assert_eq!(changes(&admin, &session).await, all);

    let file = async |path: &str| admin.get(&format!("{session}/changes/file?path={path}")).await.1;
    let versions = file("src/a.txt").await;
    assert_eq!((&versions["before"], &versions["after"]), (&json!("one\ntwo\n"), &json!("one\n2\n")), "{versions}");
    let path = format!("{session}/files?path=src/a.txt");
    let etag = admin.request(Method::GET, &path).send().await.unwrap().headers()["etag"].to_str().unwrap().to_owned();
    assert_eq!(text(&versions["etag"]), etag);
    assert_eq!(
        file("image").await,
        json!({ "before": null, "after": null, "binary": true, "etag": file("image").await["etag"] })
    );
    assert_eq!((&file("run").await["after"], &file("new.txt").await["before"]), (&json!(null), &json!(null)));

    // The token of the session is the agent's.
    let agent = served.with_key(&token);
    assert_eq!(changes(&agent, &session).await, all);
    let revert = async |caller: &Caller<'_>, path: &str| {
        caller.post(&format!("{session}/changes/revert"), json!({ "path": path })).await.0
    };
    assert_eq!(revert(&agent, "run").await, StatusCode::FORBIDDEN);
    assert_eq!(accept(&agent).await, StatusCode::FORBIDDEN);
    for path in ["src/a.txt", "link", "run", "image", "hard", "new.txt"] {
        assert_eq!(revert(&admin, path).await, StatusCode::NO_CONTENT, "{path}");
    }
    assert!(changes(&admin, &session).await.is_empty());
    done(
        &admin,
        &session,
        "[ -x run ] && [ \"$(readlink link)\" = src/a.txt ] && [ ! -e new.txt ] && grep -q two src/a.txt",
    )
    .await;
    assert_eq!(revert(&admin, "missing").await, StatusCode::NOT_FOUND);
    assert_eq!(revert(&admin, "/etc/passwd").await, StatusCode::BAD_REQUEST);
    assert_eq!(revert(&admin, "../../etc/passwd").await, StatusCode::BAD_REQUEST);
    assert_eq!(admin.call(Method::DELETE, &session, None).await.0, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_patch_makes_the_start_the_present() {
    let (state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let line = "seq 30 > long && printf 'no end' > end && ln -s long link && echo x > gone && echo run > 'od\\d\tname' && mkdir d";
    done(&admin, &session, line).await;
    let copied = |name: &str| {
        let to = state.path().join(name);
        std::fs::create_dir(&to).unwrap();
        to
    };
    let archive = async |to: &std::path::Path| {
        // With links, which an archive of the API does not have.
        let made = admin.run(&session, "tar -cf /tmp/all.tar . && mv /tmp/all.tar . && ls all.tar").await;
        assert_eq!(made.0, 0, "{}", made.1);
        let bytes = admin.request(Method::GET, &format!("{session}/files?path=all.tar")).send().await.unwrap();
        std::fs::write(to.join("all.tar"), bytes.bytes().await.unwrap()).unwrap();
        let line = "tar -xf all.tar && rm all.tar";
        assert!(std::process::Command::new("sh").args(["-c", line]).current_dir(to).status().unwrap().success());
        done(&admin, &session, "rm all.tar").await;
    };
    let (before, after) = (copied("before"), copied("after"));
    archive(&before).await;
    assert_eq!(admin.post(&format!("{session}/changes/accept"), json!({})).await.0, StatusCode::NO_CONTENT);
    let line = "sed -i 's/^15$/fifteen/' long && printf 'an end\\n' > end && ln -sfn end link && rm gone && chmod 755 od* \
                && printf 'new' > d/new && head -c 3000 /dev/urandom > bytes && seq 400000 > large";
    done(&admin, &session, line).await;
    archive(&after).await;
    let patch = admin.request(Method::GET, &format!("{session}/changes/patch")).send().await.unwrap();
    let patch = patch.text().await.unwrap();
    assert!(patch.starts_with("# not in this patch, because it is not text or too large: bytes\n"), "{patch}");
    assert!(patch.lines().nth(1).unwrap().ends_with(": large"), "{patch}");
    std::fs::write(state.path().join("all.patch"), &patch).unwrap();
    for name in ["bytes", "large"] {
        std::fs::remove_file(after.join(name)).unwrap();
    }
    let line = "git init -q before && cd before && git apply ../all.patch && rm -r .git && diff -r --no-dereference . ../after \
                && [ -x od* ]";
    let applied = std::process::Command::new("sh").args(["-c", line]).current_dir(state.path()).output().unwrap();
    assert!(applied.status.success(), "{applied:?}\n{patch}");
    assert_eq!(admin.call(Method::DELETE, &session, None).await.0, StatusCode::NO_CONTENT);
}

/// Runs a line that the policy asks about, and approves it.
async fn approved(caller: &Caller<'_>, session: &str, line: &str) {
    let pending = || async { caller.get("/v1/approvals").await.1.as_array().unwrap().clone() };
    let approve = async {
        until("a question", || async { !pending().await.is_empty() }).await;
        let path = format!("/v1/approvals/{}", text(&pending().await[0]["id"]));
        assert_eq!(caller.post(&path, json!({ "decision": "approve", "scope": "once" })).await.0, StatusCode::OK);
    };
    tokio::join!(done(caller, session, line), approve);
}

#[tokio::test]
async fn a_policy_holds_for_changes() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let rules = json!({ "read": { "rules": [{ "pattern": "**/secret*", "action": "deny" }] },
                        "write": { "rules": [{ "pattern": "**/fixed*", "action": "deny" }] } });
    let (session, _) = admin.session(json!({ "policy": { "rules": rules } })).await;
    approved(
        &admin,
        &session,
        r#"python3 -c "[open(name + '.txt', 'w').write('1') for name in ['secret', 'fixed', 'open']]""#,
    )
    .await;
    assert_eq!(changes(&admin, &session).await, ["+fixed.txt", "+open.txt"]);
    let (status, refused) = admin.get(&format!("{session}/changes/file?path=secret.txt")).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{refused}");
    let patch =
        admin.request(Method::GET, &format!("{session}/changes/patch")).send().await.unwrap().text().await.unwrap();
    assert!(patch.contains("open.txt") && !patch.contains("secret"), "{patch}");
    assert_eq!(admin.post(&format!("{session}/changes/accept"), json!({})).await.0, StatusCode::NO_CONTENT);
    approved(&admin, &session, r#"python3 -c "open('fix' + 'ed.txt', 'w').write('2')""#).await;
    let (status, refused) = admin.post(&format!("{session}/changes/revert"), json!({ "path": "fixed.txt" })).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{refused}");
    assert_eq!(admin.call(Method::DELETE, &session, None).await.0, StatusCode::NO_CONTENT);
}
