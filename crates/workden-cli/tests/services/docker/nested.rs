//! A Linux sandbox inside a default Docker container must refuse to start with a reason, or hold.

use std::{
    fs,
    io::Write,
    os::unix::fs::symlink,
    process::{Command, Stdio},
};

use crate::docker::own_daemon::OwnDaemon;

/// Imports an image that has only the paths that the host's programs expect.
fn import_empty_image(daemon: &OwnDaemon) {
    let root = daemon.path("image");
    for directory in ["usr", "etc", "tmp", "proc", "dev", "sys", "root"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    for (name, target) in [("bin", "usr/bin"), ("sbin", "usr/sbin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")] {
        symlink(target, root.join(name)).unwrap();
    }
    fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").unwrap();
    let tar = Command::new("tar").arg("-c").arg("-C").arg(&root).arg(".").output().unwrap();
    let mut import = daemon.docker(&["import", "-", "workden-test:empty"]);
    let mut import = import.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    import.stdin.take().unwrap().write_all(&tar.stdout).unwrap();
    assert!(import.wait().unwrap().success());
}

#[test]
fn in_a_default_container_it_refuses_with_a_reason_or_holds() {
    let daemon = OwnDaemon::start(&[]);
    import_empty_image(&daemon);
    let share = daemon.path("share");
    fs::create_dir_all(share.join("workspace")).unwrap();
    // `cp`, not this process: a file that this process, or a child of another thread, has open for writing cannot be
    // started.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_workden")).arg(share.join("workden")).status();
    assert!(copied.unwrap().success());
    let volume = format!("{}:/share", share.display());
    let options = ["run", "--rm", "--network", "none", "-v", "/usr:/usr:ro", "-v", &volume, "workden-test:empty"];
    let inside = |words: &[&str]| daemon.docker(&options).args(words).output().unwrap();

    let script = "touch /usr/workden-probe 2>/dev/null; ls /share /root 2>/dev/null; kill -0 1 && echo ran";
    let output = inside(&["/share/workden", "run", "--root", "/share/workspace", "--", "sh", "-c", script]);
    let (out, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        assert!(!out.contains("workden"), "the container's files are seen from inside:\n{out}");
    } else {
        assert!(out.is_empty(), "it refused, but ran something:\n{out}");
        assert!(told.contains("hint:") && told.contains("--sandbox host"), "{told}");
    }

    // The level `landlock` works there, if the directory does not belong to root: commands never run as root.
    std::os::unix::fs::chown(share.join("workspace"), Some(48_231), Some(48_231)).unwrap();
    let script = "touch here && id -u; cat /share/secret; touch /share/probe; touch /tmp/probe; ls /root";
    fs::write(share.join("secret"), "workden-container-secret\n").unwrap();
    let named =
        ["/share/workden", "run", "--level", "landlock", "--root", "/share/workspace", "--", "sh", "-c", script];
    let landlock = inside(&named);
    let (out, told) = (String::from_utf8_lossy(&landlock.stdout), String::from_utf8_lossy(&landlock.stderr));
    assert_eq!(out, "48231\n", "{told}");
    assert_eq!(told.matches("ermission denied").count(), 4, "{told}");
    assert!(share.join("workspace/here").exists());

    let doctor = inside(&["/share/workden", "doctor"]);
    let report = String::from_utf8_lossy(&doctor.stdout);
    assert_eq!(doctor.status.success(), output.status.success(), "{report}");
    assert!(report.contains("works    a whole sandbox of that level"), "{report}");
}
