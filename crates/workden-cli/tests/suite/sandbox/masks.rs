//! Commands cannot read files that a policy denies: the files are masked when the sandbox starts.

use std::{os::unix::fs::symlink, path::Path, sync::Arc};

use workden::{Action, PathScope, Policy, Preset, Ruleset, Workspace, masks};
use workden_core::{
    ErrorKind, Sandbox,
    sandbox::{ExecuteRequest, MountAccess},
};
use workden_sandboxes::{KeeperProgram, LinuxSandbox, LinuxSandboxBuilder};

use crate::project::Project;

const SECRET: &str = "hunter2";

fn policy() -> Policy {
    Policy::new().with_rules(&Preset::Permissive.ruleset_in(PathScope::Machine)).unwrap()
}

fn plan(directory: &Path) -> LinuxSandboxBuilder {
    LinuxSandbox::builder().keeper(KeeperProgram::at(env!("CARGO_BIN_EXE_workden"))).root(directory)
}

async fn masked(plan: LinuxSandboxBuilder, policy: &Policy) -> LinuxSandbox {
    let denied = masks(&plan.shown_files(), policy).await.unwrap();
    plan.mask(denied).start().await.unwrap()
}

/// Returns the output and exit code of a command. No policy judges it, so only the sandbox can refuse.
async fn ran(sandbox: &LinuxSandbox, line: &str) -> (String, i32) {
    let done = sandbox.execute(&ExecuteRequest::shell(line)).await.unwrap();
    (done.output.text(), done.exit_code())
}

#[tokio::test]
async fn a_denied_file_is_read_under_none_of_its_names() {
    let project = Project::new();
    std::fs::create_dir_all(project.at("app/deep")).unwrap();
    for file in [".env", "app/deep/server.key"] {
        std::fs::write(project.at(file), SECRET).unwrap();
    }
    std::fs::hard_link(project.at(".env"), project.at("app/harmless.txt")).unwrap();
    symlink(".env", project.at("link")).unwrap();
    symlink("/workspace/app/deep", project.at("way")).unwrap();

    // Control: without masks the secret can be read.
    let open = plan(project.path()).start().await.unwrap();
    assert_eq!(ran(&open, "cat .env").await, (SECRET.to_owned(), 0));
    open.close().await;

    let sandbox = masked(plan(project.path()), &policy()).await;
    assert_eq!(ran(&sandbox, "cat notes.md").await, ("remember\n".to_owned(), 0));
    for line in [
        "cat .env",
        "cat app/deep/server.key",
        "cat app/harmless.txt",
        "cat link",
        "cat way/server.key",
        "cd app/deep && cat ../../.env",
        "chmod 600 .env; cat .env",
        "ln .env other && cat other",
        "cp --reflink=auto .env copy && cat copy",
        "mv .env moved && cat moved",
        "rm -f .env && cat .env",
        "mv app gone && cat gone/harmless.txt",
        "echo new > .env && cat .env",
        "perl -e 'open(F, q{<}, q{.env}) or exit 1; print <F>'",
        "cat /proc/self/root/workspace/.env",
        "grep -r hunter2 .",
    ] {
        let (printed, code) = ran(&sandbox, line).await;
        assert!(!printed.contains(SECRET) && code != 0, "{line}: {code} {printed}");
    }
    sandbox.close().await;
    for file in [".env", "app/harmless.txt", "app/deep/server.key"] {
        assert_eq!(std::fs::read_to_string(project.at(file)).unwrap(), SECRET, "{file} is as it was");
    }
}

#[tokio::test]
async fn what_is_mounted_is_masked_as_well_and_read_under_no_name_in_another_mount() {
    let project = Project::new();
    let data = Project::new();
    std::fs::create_dir(project.at("inner")).unwrap();
    std::fs::write(data.at("id_rsa"), SECRET).unwrap();
    std::fs::write(data.at("table.csv"), "1,2\n").unwrap();
    std::fs::hard_link(data.at("id_rsa"), project.at("notes.bak")).unwrap();
    let plan = plan(project.path())
        .mount("/data", data.path(), MountAccess::ReadOnly)
        .mount("/workspace/inner", data.path(), MountAccess::ReadWrite)
        .mount("/keys/id_rsa", data.at("id_rsa"), MountAccess::ReadOnly);
    let sandbox = masked(plan, &policy()).await;
    assert_eq!(ran(&sandbox, "cat /data/table.csv inner/table.csv").await, ("1,2\n1,2\n".to_owned(), 0));
    for file in ["/data/id_rsa", "inner/id_rsa", "/keys/id_rsa", "notes.bak"] {
        let (printed, code) = ran(&sandbox, &format!("cat {file}")).await;
        assert!(!printed.contains(SECRET) && code != 0, "{file}: {code} {printed}");
    }
}

#[tokio::test]
async fn a_workspace_with_the_same_policy_has_masked_files_and_all_others() {
    let project = Project::new();
    std::fs::write(project.at(".env"), SECRET).unwrap();
    let policy = policy();
    let sandbox = masked(plan(project.path()), &policy).await;
    let den = Workspace::builder().remote(Arc::new(sandbox)).policy(policy).build().unwrap();
    let refused = den.execute("cat .env", None).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Denied);
    assert_eq!(den.read_bytes(".env").await.unwrap_err().kind(), ErrorKind::Denied);
    // A program that the policy cannot analyse meets the mask.
    den.write("read.sh", "for name in .e*; do cat \"$name\"; done\n").await.unwrap();
    let done = den.execute("sh read.sh", None).await.unwrap();
    assert!(done.exit_code() != 0 && !done.output.text().contains(SECRET), "{done:?}");
    assert_eq!(den.execute("cat notes.md", None).await.unwrap().output.text(), "remember\n");
}

#[tokio::test]
async fn what_is_made_later_is_not_masked_and_what_is_asked_about_is_not_either() {
    let project = Project::new();
    std::fs::write(project.at("draft.md"), "draft\n").unwrap();
    let policy = policy().with_rules(&Ruleset::all(Action::Ask)).unwrap();
    let sandbox = masked(plan(project.path()), &policy).await;
    assert_eq!(ran(&sandbox, "cat draft.md; echo made > .env; cat .env").await, ("draft\nmade\n".to_owned(), 0));
}

#[tokio::test]
async fn a_sandbox_without_files_of_the_host_has_nothing_to_mask() {
    let plan = LinuxSandbox::builder();
    assert_eq!(plan.shown_files(), Vec::new());
    assert_eq!(masks(&plan.shown_files(), &policy()).await.unwrap(), Vec::new());
}

#[tokio::test]
async fn more_than_can_be_masked_is_refused_and_not_masked_in_part() {
    let project = Project::new();
    for number in 0..=workden::MOST_MASKS {
        std::fs::File::create(project.at(&format!("{number}.key"))).unwrap();
    }
    let plan = plan(project.path());
    let refused = masks(&plan.shown_files(), &policy()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TooLarge, "{refused}");
    std::fs::remove_file(project.at("0.key")).unwrap();
    let denied = masks(&plan.shown_files(), &policy()).await.unwrap();
    assert_eq!(denied.len(), workden::MOST_MASKS);
    let sandbox = plan.mask(denied).start().await.unwrap();
    assert_ne!(ran(&sandbox, "cat 7.key").await.1, 0);
}

/// A command can nest directories by the ten thousand. Later commands run all the same, and see nothing of the tree
/// that could not be searched.
#[tokio::test]
async fn a_tree_that_is_too_deep_to_be_searched_is_masked_and_stops_nothing_else() {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

    let project = Project::new();
    std::fs::write(project.at(".env"), SECRET).unwrap();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = openat(CWD, project.path(), flags, Mode::empty()).unwrap();
    for _ in 0..10_000 {
        mkdirat(&at, "d", Mode::RWXU).unwrap();
        at = openat(&at, "d", flags, Mode::empty()).unwrap();
    }
    let secret = openat(&at, ".env", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap();
    rustix::io::write(&secret, SECRET.as_bytes()).unwrap();
    let sandbox = masked(plan(project.path()), &policy()).await;
    assert_eq!(ran(&sandbox, "echo fine").await, ("fine\n".to_owned(), 0));
    let (found, _) = ran(&sandbox, "grep -rs . .env d | head -c 100; find d 2>/dev/null | wc -l").await;
    assert!(!found.contains(SECRET) && found.trim().parse::<u32>().unwrap() < 100, "{found}");
    drop(sandbox);
    // By steps, as deep as it is.
    std::fs::remove_dir_all(project.at("d")).unwrap();
}
