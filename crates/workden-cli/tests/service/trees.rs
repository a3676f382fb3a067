//! Many files at once: trees, and archives both ways.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::served::{Served, text};

#[tokio::test]
async fn a_tree_is_listed_level_by_level() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let made = "mkdir -p a/b/c/d && touch a/b/c/d/deep a/1 z && ln -s /etc link";
    assert_eq!(admin.run(&session, made).await.0, 0);
    let paths = async |query: &str| {
        let (status, tree) = admin.get(&format!("{session}/files/tree?{query}")).await;
        assert_eq!(status, StatusCode::OK, "{tree}");
        let home = format!("{}/", text(&tree["path"]));
        let paths = tree["entries"].as_array().unwrap().iter().map(|entry| text(&entry["path"]).replace(&home, ""));
        (paths.collect::<Vec<_>>(), tree["is_cut"].as_bool().unwrap())
    };
    assert_eq!(paths("depth=1").await.0, ["a", "link", "z"]);
    let (three, is_cut) = paths("").await;
    assert!(three.contains(&"a/b/c".to_owned()) && !three.contains(&"a/b/c/d".to_owned()) && !is_cut, "{three:?}");
    let (all, _) = paths("depth=50").await;
    assert!(all.contains(&"a/b/c/d/deep".to_owned()) && !all.iter().any(|path| path.starts_with("link/")), "{all:?}");
    let (few, is_cut) = paths("depth=50&limit=3").await;
    assert_eq!((few.len(), is_cut), (3, true));
    assert_eq!(admin.get(&format!("{session}/files/tree?path=missing")).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_archive_brings_files_out_and_in_again() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let made = "mkdir -p from/empty from/sub && echo one > from/1 && head -c 3000000 /dev/urandom > from/sub/large";
    assert_eq!(admin.run(&session, made).await.0, 0);
    let path = |path: &str| format!("{session}/files/archive?path={path}");
    let answer = admin.request(Method::GET, &path("from")).send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/x-tar");
    let archive = answer.bytes().await.unwrap();
    let upload = async |to: &str, bytes: Vec<u8>| {
        let answer = admin.request(Method::PUT, &path(to)).body(bytes).send().await.unwrap();
        (answer.status(), serde_json::from_str::<serde_json::Value>(&answer.text().await.unwrap()).unwrap())
    };
    let (status, report) = upload("to", archive.to_vec()).await;
    assert_eq!((status, &report["files"], &report["directories"]), (StatusCode::OK, &json!(2), &json!(2)), "{report}");
    assert_eq!(admin.run(&session, "diff -r from to && [ -d to/empty ] && echo same").await.1, "same\n");
    // Half an archive is refused, and so is one that leads out of the directory.
    let (status, cut) = upload("half", archive[..archive.len() / 2].to_vec()).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{cut}");
    assert_eq!(upload("not", b"no archive at all, but some text".repeat(40)).await.0, StatusCode::BAD_REQUEST);
    let line = "mkdir out && cd out && echo x > ../evil && tar -P -cf ../evil.tar ../evil && rm ../evil";
    assert_eq!(admin.run(&session, line).await.0, 0);
    let evil = admin.request(Method::GET, &format!("{session}/files?path=evil.tar")).send().await.unwrap();
    let (status, refused) = upload("out", evil.bytes().await.unwrap().to_vec()).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{refused}");
    assert_eq!(admin.run(&session, "ls evil 2>&1 | grep -c 'No such'").await.1, "1\n");
    assert_eq!(admin.get(&path("missing")).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_policy_holds_for_every_file_of_an_archive() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let rules = json!({ "write": { "default": "allow", "rules": [{ "pattern": "**/locked", "action": "deny" }] },
        "read": { "default": "allow" }, "ls": { "default": "allow" }, "execute": { "default": "allow" } });
    let (session, _) = admin.session(json!({ "policy": { "rules": rules } })).await;
    let (other, _) = admin.session(json!({})).await;
    assert_eq!(admin.run(&other, "mkdir from && touch from/a from/locked").await.0, 0);
    let archive = admin.request(Method::GET, &format!("{other}/files/archive?path=from")).send().await.unwrap();
    let archive = archive.bytes().await.unwrap();
    let upload = admin.request(Method::PUT, &format!("{session}/files/archive?path=to")).body(archive);
    assert_eq!(upload.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(admin.run(&session, "ls to/locked 2>/dev/null | wc -l").await.1.trim(), "0");
}
