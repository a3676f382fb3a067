//! Covered paths cannot be moved away, and neither can their parents, so that nothing else can take their place, now or
//! for the next sandbox.

use std::{fs, path::Path};

use tempfile::TempDir;
use workden_core::{Sandbox, VirtualPath, sandbox::ExecuteRequest};
use workden_sandboxes::{KeeperProgram, LinuxSandbox};

/// Returns what a script prints in a sandbox of this directory, with a masked file and a read-only directory, both in
/// subdirectories.
async fn printed(directory: &Path, script: &str) -> String {
    let path = |typed: &str| VirtualPath::parse(typed).unwrap();
    let sandbox = LinuxSandbox::builder()
        .keeper(KeeperProgram::at(env!("CARGO_BIN_EXE_workden")))
        .root(directory)
        .masked(path("/workspace/deep/down/secret"))
        .masked(path("/workspace/by-link/secret"))
        .read_only(path("/workspace/deep/fixed"))
        .start()
        .await
        .unwrap();
    let executed = sandbox.execute(&ExecuteRequest::shell(script)).await.unwrap();
    sandbox.close().await;
    executed.output.head
}

fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for below in ["deep/down", "deep/fixed", "real/place"] {
        fs::create_dir_all(path.join(below)).unwrap();
    }
    fs::write(path.join("deep/down/secret"), "hidden").unwrap();
    fs::write(path.join("real/place/secret"), "hidden").unwrap();
    std::os::unix::fs::symlink("real/place", path.join("by-link")).unwrap();
    directory
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_above_a_covered_place_can_be_neither_moved_nor_removed() {
    for script in [
        "mv deep/down/secret deep/down/other",
        "mv deep/down deep/other",
        "mv deep other",
        "mv deep/fixed deep/other",
        "rm -rf deep/fixed; ! test -e deep/fixed",
        "mv real/place real/other",
        "mv real other",
        "mkdir other; perl -e 'exit(syscall($ENV{RENAME}, -100, \"deep\", -100, \"other\", 2) != 0)'",
        "ln deep/down/secret name",
        "echo x > deep/fixed/new",
    ] {
        let directory = directory();
        let rename = libc::SYS_renameat2;
        let script = format!("export RENAME={rename}; ({script}) 2>/dev/null && echo escaped || echo held");
        assert_eq!(printed(directory.path(), &script).await, "held\n", "{script}");
        assert_eq!(fs::read_to_string(directory.path().join("deep/down/secret")).unwrap(), "hidden", "{script}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_and_below_what_is_held_everything_goes_on() {
    let directory = directory();
    let script = "set -e; echo a > deep/new; mv deep/new deep/down/new; mkdir deep/more; mv deep/more deep/less; \
                  mv deep/down/new .; rm new; rm -r deep/less; echo b > real/place/b; cat real/place/b";
    assert_eq!(printed(directory.path(), script).await, "b\n");
}

/// In a linked worktree `.git` is a file that names the real directory: a command that could write another name into it
/// could install hooks.
#[tokio::test(flavor = "multi_thread")]
async fn a_git_file_cannot_be_replaced() {
    let directory = directory();
    fs::write(directory.path().join(".git"), "gitdir: /elsewhere\n").unwrap();
    let script = "(echo gitdir: /workspace/mine > .git; mv .git other; rm -f .git; mkdir .git) 2>/dev/null; cat .git";
    assert_eq!(printed(directory.path(), script).await, "gitdir: /elsewhere\n");
    assert_eq!(fs::read_to_string(directory.path().join(".git")).unwrap(), "gitdir: /elsewhere\n");
}
