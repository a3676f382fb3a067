//! Paths of a mounted directory that commands may not read, or not change.

use std::fs;

use workden_core::{
    ErrorKind, Sandbox, VirtualPath,
    sandbox::{ExecuteRequest, JobRequest, MountAccess},
};
use workden_sandboxes::GitFiles;

use crate::{
    counts::times,
    docker::places::{BUSYBOX, PYTHON, container},
};

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
        .mount("/workspace", place.path(), MountAccess::ReadWrite)
        .masked(path("/workspace/secrets"))
        .mask([path("/workspace/password: here"), path("/workspace/not-there")])
        .read_only(path("/workspace/given"))
        .build()
        .unwrap();
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
        .mount("/workspace", place.path(), MountAccess::ReadWrite)
        .masked(VirtualPath::parse("/workspace/key,rw").unwrap())
        .build()
        .unwrap();
    let error = sandbox.start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.sentence().contains("`/workspace/key,rw`"), "{error}");
}

/// Exchanges two names in a directory as fast as it can, until the file `stop` exists.
const EXCHANGING: &str = "import ctypes, os\n\
    libc = ctypes.CDLL(None)\n\
    while not os.path.exists('stop'):\n    \
    for n in range(12): libc.syscall(316, -100, f'd{n}'.encode(), -100, f'l{n}'.encode(), 2)\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_container_exchanges_for_a_link_is_never_mounted() {
    let host = tempfile::tempdir().unwrap();
    let (work, secret) = (host.path().join("work"), host.path().join("secret"));
    std::fs::create_dir_all(&secret).unwrap();
    std::fs::write(secret.join("s"), "workden-host-secret\n").unwrap();
    for n in 0..12 {
        std::fs::create_dir_all(work.join(format!("d{n}"))).unwrap();
        std::fs::write(work.join(format!("d{n}/.env")), "KEY=workden-env-secret\n").unwrap();
        std::os::unix::fs::symlink(&secret, work.join(format!("l{n}"))).unwrap();
    }
    std::fs::write(work.join("exchanging.py"), EXCHANGING).unwrap();
    let attacker = container(PYTHON).mount("/workspace", &work, MountAccess::ReadWrite).git_files(GitFiles::Writable);
    let attacker = attacker.build().unwrap();
    attacker.start_job(&JobRequest::shell("python3 exchanging.py")).await.unwrap();
    let (mut refused, mut started) = (0, 0);
    for _ in 0..times(5, 15) {
        let masked = (0..12).map(|n| VirtualPath::parse(&format!("/workspace/d{n}/.env")).unwrap());
        let victim =
            container(BUSYBOX).mount("/workspace", &work, MountAccess::ReadWrite).mask(masked).build().unwrap();
        match victim.start().await {
            Err(error) => {
                let kinds = [ErrorKind::Moved, ErrorKind::InvalidArgument, ErrorKind::Io];
                assert!(kinds.contains(&error.kind()), "{error}");
                refused += 1;
            }
            Ok(()) => {
                let line = "cat d*/s l*/s d*/.env l*/.env 2>/dev/null; cat /proc/mounts";
                let seen = victim.execute(&ExecuteRequest::shell(line)).await.unwrap();
                let seen = seen.output.text().to_string();
                assert!(!seen.contains("workden-host-secret"), "{seen}");
                victim.stop().await.unwrap();
                started += 1;
            }
        }
    }
    eprintln!("{refused} refused, {started} started");
    std::fs::write(work.join("stop"), "").unwrap();
    attacker.stop().await.unwrap();
    let left: Vec<_> = std::fs::read_dir(&secret).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "s" || name == ".env"), "{left:?}");
}
