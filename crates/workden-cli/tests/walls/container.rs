//! A Linux sandbox inside a default Docker container: it must refuse with a reason, or hold. The
//! daemon is the test's own, in a directory of its own, without a network.

use std::{
    fs,
    io::Write,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// A Docker daemon that ends with the test.
struct Daemon {
    directory: TempDir,
    process: Child,
}

impl Daemon {
    fn start() -> Self {
        let directory = tempfile::Builder::new().prefix("workden-docker-").tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).display().to_string();
        let log = fs::File::create(at("log")).unwrap();
        // A daemon that is told to have no bridge removes the one of any other daemon, where it can see it.
        let process = Command::new("unshare")
            .args(["--net", "dockerd"])
            .args([
                "--host",
                &format!("unix://{}", at("socket")),
                "--data-root",
                &at("data"),
                "--exec-root",
                &at("exec"),
            ])
            .args(["--pidfile", &at("pid"), "--bridge=none", "--iptables=false", "--ip6tables=false"])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let daemon = Self { directory, process };
        let began = Instant::now();
        while !daemon.docker(&["version"]).output().unwrap().status.success() {
            let log = || fs::read_to_string(daemon.path("log")).unwrap_or_default();
            assert!(began.elapsed() < Duration::from_secs(60), "the daemon does not answer: {}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
        daemon
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn docker(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command.arg("--host").arg(format!("unix://{}", self.path("socket").display())).args(arguments);
        command
    }

    /// An image with nothing in it but the names that the host's programs expect.
    fn import_empty_image(&self) {
        let root = self.path("image");
        for directory in ["usr", "etc", "tmp", "proc", "dev", "sys", "root"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for (name, target) in [("bin", "usr/bin"), ("sbin", "usr/sbin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")] {
            symlink(target, root.join(name)).unwrap();
        }
        fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").unwrap();
        let tar = Command::new("tar").arg("-c").arg("-C").arg(&root).arg(".").output().unwrap();
        let mut import = self.docker(&["import", "-", "workden-test:empty"]);
        let mut import = import.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        import.stdin.take().unwrap().write_all(&tar.stdout).unwrap();
        assert!(import.wait().unwrap().success());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

#[test]
fn in_a_default_container_it_refuses_with_a_reason_or_holds() {
    let daemon = Daemon::start();
    daemon.import_empty_image();
    let share = daemon.path("share");
    fs::create_dir_all(share.join("workspace")).unwrap();
    fs::copy(Path::new(env!("CARGO_BIN_EXE_workden")), share.join("workden")).unwrap();
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

    // There is a level for such places, where the directory is not root's: commands never are.
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
