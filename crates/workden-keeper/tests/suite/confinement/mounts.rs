//! Mounts, read-only paths, masked paths, and errors about them.

use workden_core::{
    VirtualPath,
    sandbox::{Confinement, Mount, MountAccess, Network, WorkFiles},
};

use super::run::{TestSandbox, starters};

fn at(path: &str) -> VirtualPath {
    VirtualPath::parse(path).unwrap()
}

#[test]
fn mounts_are_where_they_were_declared_and_only_the_writable_are_written() {
    for starter in starters() {
        let (sandbox, other) = (TestSandbox::new(starter), TestSandbox::new(starter));
        other.write("in/file", "content");
        let source = other.workspace.path().to_owned();
        let mount = |at_path: &str, source: &std::path::Path, access| Mount {
            source: source.to_owned(),
            at: at(at_path),
            access,
        };
        let mut confinement = sandbox.confinement();
        confinement.mounts = vec![
            mount("/data/read", &source, MountAccess::ReadOnly),
            mount("/data/write", &source, MountAccess::ReadWrite),
            mount("/workspace/below", &source, MountAccess::ReadOnly),
            mount("/one-file", &source.join("in/file"), MountAccess::ReadOnly),
        ];
        let line = "cat /data/read/in/file /workspace/below/in/file /one-file; touch /data/write/new; \
                    touch /data/read/x /workspace/below/x /one-file || echo ' refused'";
        let ran = sandbox.run(&confinement, line);
        assert_eq!(ran.output, "contentcontentcontent refused\n", "started by {starter:?}: {ran:?}");
        assert!(other.workspace.path().join("new").exists());
        assert!(!other.workspace.path().join("x").exists());
    }
}

#[test]
fn read_only_and_masked_places_hold_whatever_is_tried() {
    for starter in starters() {
        let sandbox = TestSandbox::new(starter);
        sandbox.write(".git/hooks/pre-commit", "kept");
        sandbox.write("secrets/key", "sesame");
        sandbox.write("private/key", "sesame");
        let mut confinement = sandbox.confinement();
        confinement.read_only = vec![at("/workspace/.git/hooks"), at("/workspace/not/there")];
        confinement.masked = vec![at("/workspace/secrets/key"), at("/workspace/private"), at("/nowhere")];
        let line = "cat .git/hooks/pre-commit; echo x > .git/hooks/pre-commit; touch .git/hooks/x; \
                    rm -rf .git/hooks; chmod 777 secrets/key private; cat secrets/key private/key; \
                    mv secrets s; cat s/key; mv s secrets; rm -f secrets/key; ls private; true";
        let ran = sandbox.run(&confinement, line);
        assert_eq!(ran.output, "kept", "started by {starter:?}: {ran:?}");
        let kept = std::fs::read_to_string(sandbox.workspace.path().join(".git/hooks/pre-commit")).unwrap();
        assert_eq!(kept, "kept");
    }
}

#[test]
fn a_link_to_a_git_directory_is_a_file_that_says_the_same_and_stays() {
    for starter in starters() {
        let sandbox = TestSandbox::new(starter);
        sandbox.write("deep/real/HEAD", "");
        std::os::unix::fs::symlink("real", sandbox.workspace.path().join("deep/.git")).unwrap();
        let mut confinement = sandbox.confinement();
        confinement.git_links = ["/workspace/deep/.git", "/workspace/deep/real", "/workspace/none"].map(at).to_vec();
        let line = "cat deep/.git; test $(stat -c %u deep/.git) = $(id -u) && echo mine; rm -f deep/.git; \
                    mv deep/.git x; mv deep d; ln -sfn x deep/.git; echo x > deep/.git; touch deep/real/new; true";
        let ran = sandbox.run(&confinement, line);
        assert_eq!(ran.output, "gitdir: real\nmine\n", "started by {starter:?}: {ran:?}");
        let link = std::fs::read_link(sandbox.workspace.path().join("deep/.git")).unwrap();
        assert_eq!(link.to_str(), Some("real"));
        assert!(sandbox.workspace.path().join("deep/real/new").exists(), "what it leads to is as it was");
    }
}

#[test]
fn a_place_that_cannot_be_shown_is_named_as_commands_would_see_it() {
    for starter in starters() {
        let sandbox = TestSandbox::new(starter);
        let missing = |source: &str, place: &str| {
            let mount = Mount { source: source.into(), at: at(place), access: MountAccess::ReadOnly };
            Confinement { mounts: vec![mount], ..sandbox.confinement() }
        };
        for (confinement, sentence) in [
            (missing("/no/such/thing", "/data"), "cannot mount `/data`: no such file or directory"),
            (missing("/usr", "/proc/x"), "cannot mount `/proc/x`: the sandbox provides this path itself"),
            (missing("/usr", "/workspace"), "cannot mount `/workspace`: two mounts have the same path"),
        ] {
            let ran = sandbox.run(&confinement, "true");
            assert_eq!(ran.code, 125, "{ran:?}");
            assert!(ran.errors.starts_with(sentence), "started by {starter:?}: {ran:?}");
            assert!(!ran.errors.contains("/no/such"), "{ran:?}");
        }
    }
}

#[test]
fn a_link_in_the_workspace_leads_no_mount_elsewhere() {
    for starter in starters() {
        let sandbox = TestSandbox::new(starter);
        std::os::unix::fs::symlink("/etc", sandbox.workspace.path().join("link")).unwrap();
        let mount = Mount { source: "/usr".into(), at: at("/workspace/link/x"), access: MountAccess::ReadOnly };
        let confinement = Confinement { mounts: vec![mount], ..sandbox.confinement() };
        let ran = sandbox.run(&confinement, "true");
        assert!(ran.errors.starts_with("cannot mount `/workspace/link/x`: a symbolic link is on the path"), "{ran:?}");
    }
}

#[test]
fn an_ephemeral_workspace_is_writable_and_bounded() {
    for starter in starters() {
        let sandbox = TestSandbox::new(starter);
        let work = WorkFiles::Ephemeral { most_bytes: 1 << 20 };
        let confinement = Confinement { work, ..sandbox.confinement() };
        let ran = sandbox.run(&confinement, "pwd; echo x > f && cat f; head -c 5000000 /dev/zero > big");
        assert_eq!((ran.output.as_str(), ran.code), ("/workspace\nx\n", 1), "started by {starter:?}: {ran:?}");
    }
}

#[test]
fn with_the_hosts_network_names_are_looked_up_its_way_and_abstract_sockets_stay_out_of_reach() {
    use std::os::linux::net::SocketAddrExt;
    let name = format!("workden-test-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    for starter in starters() {
        let sandbox = TestSandbox::new(starter);
        let confinement = Confinement { network: Network::Host, ..sandbox.confinement() };
        let line = format!(
            "/usr/bin/python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')\" 2>&1 | tail -1"
        );
        let ran = sandbox.run(&confinement, &line);
        assert_eq!(
            ran.output, "PermissionError: [Errno 1] Operation not permitted\n",
            "started by {starter:?}: {ran:?}"
        );
    }
}
