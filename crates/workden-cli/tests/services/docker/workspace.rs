//! A workspace in a container: a command cannot read what the policy denies, and neither commands nor file calls change
//! what programs outside run by themselves. `workden/tests/sandboxed.rs` checks the same of every other sandbox.

use std::fs;

use workden::{ErrorKind, MountAccess, Preset, Workspace};

use crate::docker::places::{BUSYBOX, docker, unique};

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
        // In a script, where no rule sees it.
        workspace.write(&format!("{at}/hook.sh"), format!("echo evil > {at}/.git/config\n")).await.unwrap();
        let hook = workspace.execute(&format!("sh {at}/hook.sh"), None).await.unwrap();
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

#[tokio::test]
async fn a_named_container_without_the_masks_is_not_used_again() {
    let (root, name) = (project(), unique("masks"));
    let builder =
        || Workspace::builder().root(root.path()).docker(|container| container.image(BUSYBOX).container_name(&name));
    let open = builder().build().unwrap();
    assert_eq!(open.execute("cat .env", None).await.unwrap().output.text(), SECRET);
    let strict = builder().preset(Preset::Permissive).build().unwrap();
    let refused = strict.execute("sh read.sh", None).await.unwrap_err();
    assert!(refused.kind() == ErrorKind::Conflict && refused.sentence().contains("/workspace/.env"), "{refused}");
    docker(&["pause", &name]);
    let refused = strict.execute("sh read.sh", None).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
    assert_eq!(docker(&["inspect", "--format", "{{.State.Status}}", &name]), "paused", "left as it was found");
    docker(&["unpause", &name]);
    open.stop().await.unwrap();
    let refused = strict.execute("sh read.sh", None).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
    assert!(!is_running(&name), "a container that is refused does not stay up");
    docker(&["rm", "--force", &name]);
}

#[tokio::test]
async fn a_link_in_a_stopped_container_does_not_lead_outside_when_it_starts_again() {
    let (root, outside, name) = (project(), tempfile::tempdir().unwrap(), unique("links"));
    fs::write(outside.path().join("private"), SECRET).unwrap();
    fs::create_dir(root.path().join("a")).unwrap();
    fs::write(root.path().join("a/.env"), SECRET).unwrap();
    let workspace = Workspace::builder().preset(Preset::Permissive).root(root.path());
    let workspace = workspace.docker(|container| container.image(BUSYBOX).container_name(&name)).build().unwrap();
    assert_eq!(workspace.execute("ls a", None).await.unwrap().exit_code(), 0);
    workspace.stop().await.unwrap();
    // The directory is a mount of the container, which the daemon looks up again by its name.
    fs::rename(root.path().join("a"), root.path().join("b")).unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("a")).unwrap();
    let refused = workspace.execute("cat a/private", None).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
    assert!(!is_running(&name));
    docker(&["rm", "--force", &name]);
}

fn is_running(name: &str) -> bool {
    !docker(&["ps", "--quiet", "--filter", &format!("name={name}")]).is_empty()
}
