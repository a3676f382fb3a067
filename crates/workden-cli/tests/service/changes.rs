//! What a session has changed since its start, as a list, by file and as a patch; the way back, and who may go it.

use std::{path::Path, process::Command};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::served::{Caller, Served, text};

/// Returns the changes of a session as `+path`, `~path` and `-path`, and how many names were not compared.
async fn compared(caller: &Caller<'_>, session: &str) -> (Vec<String>, u64) {
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
    let changes = told["changes"].as_array().unwrap().iter().map(change).collect();
    (changes, told["not_compared"].as_u64().unwrap())
}

async fn changes(caller: &Caller<'_>, session: &str) -> Vec<String> {
    compared(caller, session).await.0
}

async fn done(caller: &Caller<'_>, session: &str, line: &str) {
    let (code, output) = caller.run(session, line).await;
    assert_eq!(code, 0, "{line}: {output}");
}

async fn accept(caller: &Caller<'_>, session: &str) -> StatusCode {
    caller.post(&format!("{session}/changes/accept"), json!({})).await.0
}

async fn revert(caller: &Caller<'_>, session: &str, path: &str) -> StatusCode {
    caller.post(&format!("{session}/changes/revert"), json!({ "path": path })).await.0
}

async fn patch(caller: &Caller<'_>, session: &str) -> String {
    let answer = caller.request(Method::GET, &format!("{session}/changes/patch")).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    answer.text().await.unwrap()
}

#[tokio::test]
async fn changes_are_told_taken_back_and_accepted() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, token) = admin.session(json!({})).await;
    assert_eq!(compared(&admin, &session).await, (vec![], 0));
    let line = "mkdir -p src empty && printf 'one\\ntwo\\n' > src/a.txt && printf '\\0\\1' > image && echo run > run \
                && ln -s src/a.txt link && ln run hard && echo ü > 'odd \"name\\'";
    done(&admin, &session, line).await;
    let all = ["+hard", "+image", "+odd \"name\\", "+run", "+src/a.txt"].map(str::to_owned);
    assert_eq!(compared(&admin, &session).await, (all.into(), 1));

    assert_eq!(accept(&admin, &session).await, StatusCode::NO_CONTENT);
    assert!(changes(&admin, &session).await.is_empty());
    let line = "printf 'one\\n2\\n' > src/a.txt && rm run && printf '\\0\\2' > image && echo new > new.txt";
    done(&admin, &session, line).await;
    let all = ["~image", "+new.txt", "-run", "~src/a.txt"];
    assert_eq!(changes(&admin, &session).await, all);

    let file = async |path: &str| admin.get(&format!("{session}/changes/file?path={path}")).await.1;
    let versions = file("src/a.txt").await;
    assert_eq!((&versions["before"], &versions["after"]), (&json!("one\ntwo\n"), &json!("one\n2\n")), "{versions}");
    let path = format!("{session}/files?path=src/a.txt");
    let etag = admin.request(Method::GET, &path).send().await.unwrap().headers()["etag"].to_str().unwrap().to_owned();
    assert_eq!(text(&versions["etag"]), etag);
    let image = file("image").await;
    assert_eq!((&image["before"], &image["after"], &image["binary"]), (&json!(null), &json!(null), &json!(true)));
    assert_eq!((&file("run").await["after"], &file("new.txt").await["before"]), (&json!(null), &json!(null)));

    // The token of the session is the agent's.
    let agent = served.with_key(&token);
    assert_eq!(changes(&agent, &session).await, all);
    assert_eq!(revert(&agent, &session, "run").await, StatusCode::FORBIDDEN);
    assert_eq!(accept(&agent, &session).await, StatusCode::FORBIDDEN);
    for path in ["src/a.txt", "run", "image", "new.txt"] {
        assert_eq!(revert(&admin, &session, path).await, StatusCode::NO_CONTENT, "{path}");
    }
    assert!(changes(&admin, &session).await.is_empty());
    done(&admin, &session, "[ ! -e new.txt ] && grep -q two src/a.txt && grep -q run run").await;
    assert_eq!(revert(&admin, &session, "missing").await, StatusCode::NOT_FOUND);
    assert_eq!(revert(&admin, &session, "empty").await, StatusCode::CONFLICT);
    assert_eq!(revert(&admin, &session, "/etc/passwd").await, StatusCode::BAD_REQUEST);
    assert_eq!(revert(&admin, &session, "../../etc/passwd").await, StatusCode::BAD_REQUEST);
    assert_eq!(admin.delete(&session).await, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_hostile_session_hides_nothing_and_turns_no_way_back() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    done(&admin, &session, "mkdir d other && echo kept > other/f && echo mine > d/f").await;
    assert_eq!(accept(&admin, &session).await, StatusCode::NO_CONTENT);
    let line = "rm -r d && ln -s other d && mkfifo pipe && truncate -s 9G large && mkdir x && echo evil > x/evil.py \
                && printf evil > \"$(printf 'odd\\377')\" && ln odd* second.py && chmod 111 x";
    done(&admin, &session, line).await;
    // What is too large to compare is said.
    let (status, told) = admin.get(&format!("{session}/changes")).await;
    assert_eq!((status, &told["truncated"]), (StatusCode::OK, &json!(true)), "{told}");
    done(&admin, &session, "rm large").await;
    let (changes, not_compared) = compared(&admin, &session).await;
    assert!(changes.contains(&"+second.py".to_owned()) && changes.contains(&"-d/f".to_owned()), "{changes:?}");
    // The link, the pipe and the odd name; and, if it may not be read, the directory.
    let is_told = changes.contains(&"+x/evil.py".to_owned());
    assert_eq!(not_compared, if is_told { 3 } else { 4 }, "{changes:?}");
    assert_eq!(revert(&admin, &session, "d/f").await, StatusCode::CONFLICT);
    done(&admin, &session, "[ \"$(cat other/f)\" = kept ]").await;
    assert_eq!(admin.delete(&session).await, StatusCode::NO_CONTENT);
}

/// Downloads the files of a session into a new directory.
async fn downloaded(caller: &Caller<'_>, session: &str, to: &Path) {
    std::fs::create_dir(to).unwrap();
    let archive = caller.request(Method::GET, &format!("{session}/files/archive?path=.")).send().await.unwrap();
    std::fs::write(to.join("all.tar"), archive.bytes().await.unwrap()).unwrap();
    sh(to, "tar -xf all.tar && rm all.tar");
}

fn sh(directory: &Path, line: &str) {
    let done = Command::new("sh").args(["-c", line]).current_dir(directory).output().unwrap();
    assert!(done.status.success(), "{line}: {done:?}");
}

#[tokio::test]
async fn a_patch_makes_the_start_the_present() {
    let (state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let line = "seq 30 > long && printf 'no end' > end && ln -s long link && echo x > gone && echo run > 'od\\d\tname' \
                && mkdir d && printf 'b\\r' > 'setup.py 2019' && echo old > 'setup.py 2020-01-01 00:00:00.000000000 +0000' \
                && echo py > setup.py && printf 'one\\rtwo\\r\\n' > log && echo e > '-n' && git init -q . && echo u > ü";
    done(&admin, &session, line).await;
    assert_eq!(accept(&admin, &session).await, StatusCode::NO_CONTENT);
    let (before, after) = (state.path().join("before"), state.path().join("after"));
    downloaded(&admin, &session, &before).await;
    let line = "sed -i 's/^15$/fifteen/' long && printf 'an end\\n' > end && ln -sfn end link && rm gone && echo 2 >> od* \
                && printf 'new' > d/new && head -c 3000 /dev/urandom > bytes && seq 400000 > large && printf 'c\\r' > 'setup.py 2019' \
                && echo evil > 'setup.py 2020-01-01 00:00:00.000000000 +0000' && printf 'one\\r2\\r\\n' > log && echo f > '-n' \
                && echo new > 'a b/ b/c' 2>/dev/null || mkdir 'a b' && echo new > 'a b/c' && echo true > .git/hooks/pre-commit \
                && : > empty && echo v > ü";
    done(&admin, &session, line).await;
    downloaded(&admin, &session, &after).await;
    let patch = patch(&admin, &session).await;
    let left_out: Vec<&str> = patch.lines().map_while(|line| line.strip_prefix("# not in this patch: ")).collect();
    assert_eq!(left_out, [".git/hooks/pre-commit", "bytes", "large"], "{patch}");
    std::fs::write(state.path().join("all.patch"), &patch).unwrap();
    sh(&after, "rm -r bytes large .git");
    let same = "rm -rf .git && diff -r . ../after";
    sh(state.path(), "rm -r before/.git && cp -r before patched");
    sh(&before, &format!("git init -q . && git apply ../all.patch && {same}"));
    // Which does not know quoted names of all kinds, but must not write elsewhere.
    sh(&state.path().join("patched"), "patch -s -p1 < ../all.patch >/dev/null; grep -qx py setup.py && [ ! -e .git ]");
    assert_eq!(admin.delete(&session).await, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_policy_holds_for_changes() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let rules = json!({
        "ls": { "default": "allow" },
        "read": { "default": "allow", "rules": [{ "pattern": "**/secret*", "action": "deny" },
                                                { "pattern": "**/asked*", "action": "ask" }] },
        "write": { "default": "allow", "rules": [{ "pattern": "**/fixed*", "action": "deny" }] },
        "execute": { "default": "allow" }
    });
    let (session, _) = admin.session(json!({ "policy": { "rules": rules } })).await;
    let write = r#"python3 -c "import os
[open(name + '.txt', 'w').write('1') for name in ['secret', 'fixed', 'open', 'asked']]; os.link('secret.txt', 'aa')""#;
    assert_eq!(admin.run_approved(&session, write).await.0, 0);
    // The denied file, its other name, and the one that needs a question, which is not asked.
    let expected = ["+fixed.txt", "+open.txt"].map(str::to_owned);
    assert_eq!(compared(&admin, &session).await, (expected.into(), 3));
    for path in ["secret.txt", "aa", "asked.txt"] {
        let (status, refused) = admin.get(&format!("{session}/changes/file?path={path}")).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}: {refused}");
    }
    let patch = patch(&admin, &session).await;
    assert!(patch.contains("open.txt") && !patch.contains("secret") && !patch.contains("b/aa"), "{patch}");
    assert_eq!(accept(&admin, &session).await, StatusCode::NO_CONTENT);
    admin
        .run_approved(&session, r#"python3 -c "import os; open('fix' + 'ed.txt', 'w').write('2'); os.remove('aa')""#)
        .await;
    assert_eq!(changes(&admin, &session).await, ["~fixed.txt"]);
    assert_eq!(revert(&admin, &session, "fixed.txt").await, StatusCode::FORBIDDEN);
    assert_eq!(admin.delete(&session).await, StatusCode::NO_CONTENT);
}
