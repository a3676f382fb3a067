//! Places of a mounted directory that commands may not read, or not change.

use std::fs;

use workden_core::{
    ErrorKind, Sandbox, VirtualPath,
    sandbox::{ExecuteRequest, MountAccess},
};

use crate::places::{BUSYBOX, container};

#[tokio::test]
async fn masked_places_are_empty_and_read_only_ones_stay_as_they_are() {
    let place = tempfile::tempdir().unwrap();
    let at = |path: &str| place.path().join(path);
    for directory in ["secrets/deep", "given/in", "repo"] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    for file in ["secrets/deep/key", "given/in/x", "plain", "password: here"] {
        fs::write(at(file), "SECRET").unwrap();
    }
    std::os::unix::fs::symlink("../.git", at("repo/.git")).unwrap();
    fs::create_dir_all(at(".git/hooks")).unwrap();
    let path = |text: &str| VirtualPath::parse(text).unwrap();
    let sandbox = container(BUSYBOX)
        .volume(place.path(), "/workspace", MountAccess::ReadWrite)
        .masked(path("/workspace/secrets"))
        .mask([path("/workspace/password: here"), path("/workspace/not-there")])
        .read_only(path("/workspace/given"))
        .build();
    let script = "ls -A secrets; cat secrets/deep/key p*; touch secrets/new; touch given/in/new; rm given/in/x; \
                  mv given away; rm -rf secrets; cat given/in/x; echo; touch fine; touch .git/hooks/x";
    let told = sandbox.execute(&ExecuteRequest::shell(script)).await.unwrap().output.text().to_string();
    assert_eq!(told.matches("SECRET").count(), 2, "only what may be read: {told}");
    assert!(at("secrets/deep/key").exists() && at("given/in/x").exists() && at("fine").exists(), "{told}");
    for made in ["secrets/new", "given/in/new", "away", ".git/hooks/x"] {
        assert!(!at(made).exists(), "{made}: {told}");
    }
    let lacking = sandbox.isolation().await.unwrap().lacking;
    assert!(lacking.iter().any(|why| why.contains("/workspace/repo/.git")), "{lacking:?}");
    sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn a_name_that_a_daemon_would_misunderstand_is_refused_and_not_left_readable() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("key,rw"), "SECRET").unwrap();
    let sandbox = container(BUSYBOX)
        .volume(place.path(), "/workspace", MountAccess::ReadWrite)
        .masked(VirtualPath::parse("/workspace/key,rw").unwrap())
        .build();
    let error = sandbox.start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.sentence().contains("`/workspace/key,rw`"), "{error}");
}
