//! A workspace in a container: a command cannot read what the policy denies, and neither commands nor file calls change
//! what programs outside run by themselves. `workden/tests/sandboxed.rs` checks the same of every other sandbox.

use std::fs;

use workden::{ErrorKind, MountAccess, Preset, Workspace};

use crate::docker::places::BUSYBOX;

const SECRET: &str = "hunter2";

/// A directory with a secret, a script that reads it without naming it, and a repository.
fn project() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join(".git/hooks")).unwrap();
    let script = "for name in .e*; do cat \"$name\"; done\n";
    for (file, content) in [(".env", SECRET), ("read.sh", script), (".git/config", "")] {
        fs::write(place.path().join(file), content).unwrap();
    }
    place
}

#[tokio::test]
async fn a_workspace_in_a_container_protects_every_directory_it_is_given() {
    let (root, data) = (project(), project());
    let workspace = Workspace::builder()
        .preset(Preset::Permissive)
        .root(root.path())
        .mount("/data", data.path(), MountAccess::ReadWrite)
        .docker(|container| container.image(BUSYBOX))
        .build()
        .unwrap();
    for (at, host) in [("/workspace", root.path()), ("/data", data.path())] {
        let read = workspace.execute(&format!("cd {at} && echo here && sh read.sh"), None).await.unwrap();
        assert!(read.output.text().starts_with("here\n") && !read.output.text().contains(SECRET), "{at}: {read:?}");
        let hook = workspace.execute(&format!("echo evil > {at}/.git/config"), None).await.unwrap();
        assert_ne!(hook.exit_code(), 0, "{at}: {hook:?}");
        for name in [".git/hooks/pre-commit", ".git/config", "sub/.git/config", ".mcp.json"] {
            let refused = workspace.write(&format!("{at}/{name}"), "evil").await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ReadOnly, "{at}/{name}: {refused}");
            assert!(fs::read_to_string(host.join(name)).unwrap_or_default().is_empty());
        }
        assert_eq!(workspace.read_bytes(&format!("{at}/.env")).await.unwrap_err().kind(), ErrorKind::Denied);
        assert_eq!(fs::read_to_string(host.join(".env")).unwrap(), SECRET);
    }
    workspace.stop().await.unwrap();
}
