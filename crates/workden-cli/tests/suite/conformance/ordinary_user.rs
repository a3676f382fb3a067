//! A Linux sandbox of an ordinary user conforms too. If the tests run as root, they start themselves again as a user
//! without an account.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    process::Command,
};

use workden::{PathScope, Policy, Preset, masks};
use workden_conformance::sandbox_checks;
use workden_core::{
    Sandbox,
    sandbox::{ExecuteRequest, Network},
};

use crate::{
    checks::{self, hold},
    conformance::{
        commands::without_proc,
        places::{ORDINARY, PROGRAM, Places, linux, program},
    },
    own_process::{name_of, passes},
    project,
};

/// Runs a test of this program again as an ordinary user.
fn again_as_ordinary_user(test: &str) {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // The ordinary user may not be able to reach cargo's target directory.
    let (own, workden, home) = (place.path().join("test"), place.path().join("workden"), place.path().join("home"));
    project::place(&std::env::current_exe().unwrap(), &own);
    project::place(&program(), &workden);
    fs::create_dir(&home).unwrap();
    chown(&home, Some(ORDINARY), Some(ORDINARY)).unwrap();
    let id = ORDINARY.to_string();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(&own);
    command.env(PROGRAM, &workden).env("HOME", &home).env("TMPDIR", &home).current_dir(&home);
    passes(&mut command, test);
}

fn as_ordinary_user(body: impl Future<Output = ()>) {
    if rustix::process::getuid().is_root() {
        return again_as_ordinary_user(name_of(&body));
    }
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(body);
}

#[test]
fn commands_conform() {
    as_ordinary_user(async {
        let places = Places::new();
        hold(sandbox_checks(), async || places.linux().await).await;
    });
}

#[test]
fn a_full_log_is_a_file_that_is_read_and_not_changed() {
    as_ordinary_user(async {
        let places = Places::new();
        let sandbox = places.linux().await;
        let long = ExecuteRequest::shell("seq 1 5000").most_chars(100);
        let log = sandbox.execute(&long).await.unwrap().output.left_out.unwrap().log.unwrap().path.unwrap();
        let line =
            format!("echo forged >> {log}; rm -f {log}; touch /run/workden/x; ls /run/workden/; tail -n 1 {log}");
        let after = sandbox.execute(&ExecuteRequest::shell(format!("({line}) 2>/dev/null"))).await.unwrap();
        assert_eq!(after.output.text(), "5000\n");
    });
}

#[test]
fn what_a_policy_denies_is_masked_and_so_is_a_directory_that_cannot_be_looked_into() {
    as_ordinary_user(async {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("closed")).unwrap();
        for file in [".env", "closed/.env", "notes.md"] {
            fs::write(at(file), "content").unwrap();
        }
        fs::hard_link(at(".env"), at("other")).unwrap();
        fs::set_permissions(at("closed"), fs::Permissions::from_mode(0o300)).unwrap();
        let rules = Preset::Permissive.ruleset_in(PathScope::Machine);
        let plan = linux().root(directory.path());
        let masks = masks(&plan.shown_files(), &Policy::new().with_rules(&rules).unwrap()).await.unwrap();
        let sandbox = plan.mask(masks).start().await.unwrap();
        let printed = async |line: &str| sandbox.execute(&ExecuteRequest::shell(line)).await.unwrap().output.text();
        assert_eq!(printed("cat notes.md").await, "content");
        let denied = "(chmod 700 closed; cat .env other closed/.env; mv closed c; cat c/.env) 2>/dev/null";
        assert_eq!(printed(denied).await, "");
        fs::set_permissions(at("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    });
}

#[test]
fn files_conform() {
    as_ordinary_user(async {
        let places = Places::new();
        checks::files_conform(places.linux().await).await;
    });
}

#[test]
fn commands_without_namespaces_conform() {
    as_ordinary_user(async {
        let places = Places::new();
        hold(without_proc(), async || places.landlock(Network::None).await).await;
    });
}

#[test]
fn files_without_namespaces_conform() {
    as_ordinary_user(async {
        let places = Places::new();
        checks::files_conform(places.landlock(Network::None).await).await;
    });
}
