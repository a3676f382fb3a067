//! A Linux sandbox that an ordinary user starts conforms as well. Root becomes one: the test starts itself
//! again as a user that nobody is.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    process::Command,
};

use workden_conformance::{below, sandbox_checks};
use workden_core::{VirtualPath, sandbox::Network};

use crate::{
    commands::without_proc,
    places::{ORDINARY, PROGRAM, Places, hold, program},
};

/// Runs a test of this program again as an ordinary user.
fn again_as_ordinary_user(test: &str) {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // The ordinary user may not be able to reach where cargo has put them.
    let (own, workden, home) = (place.path().join("test"), place.path().join("workden"), place.path().join("home"));
    fs::copy(std::env::current_exe().unwrap(), &own).unwrap();
    fs::copy(program(), &workden).unwrap();
    fs::create_dir(&home).unwrap();
    chown(&home, Some(ORDINARY), Some(ORDINARY)).unwrap();
    let id = ORDINARY.to_string();
    let ran = Command::new("setpriv")
        .args(["--reuid", &id, "--regid", &id, "--clear-groups"])
        .arg(&own)
        .args(["--exact", test, "--nocapture"])
        .env(PROGRAM, &workden)
        .env("HOME", &home)
        .env("TMPDIR", &home)
        .current_dir(&home)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{printed}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(printed.contains("test result: ok. 1 passed"), "{printed}");
}

fn as_ordinary_user(test: &str, body: impl Future<Output = ()>) {
    if rustix::process::getuid().is_root() {
        return again_as_ordinary_user(test);
    }
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(body);
}

#[test]
fn commands_conform() {
    as_ordinary_user("ordinary_user::commands_conform", async {
        let places = Places::new();
        hold(sandbox_checks(), async || places.linux().await).await;
    });
}

#[test]
fn files_conform() {
    as_ordinary_user("ordinary_user::files_conform", async {
        let places = Places::new();
        let work = VirtualPath::parse("/workspace").unwrap();
        workden_conformance::all(async || below(places.linux().await, work.clone())).await;
    });
}

#[test]
fn commands_without_namespaces_conform() {
    as_ordinary_user("ordinary_user::commands_without_namespaces_conform", async {
        let places = Places::new();
        hold(without_proc(), async || places.landlock(Network::None).await).await;
    });
}

#[test]
fn files_without_namespaces_conform() {
    as_ordinary_user("ordinary_user::files_without_namespaces_conform", async {
        let places = Places::new();
        workden_conformance::all(async || places.landlock(Network::None).await).await;
    });
}
