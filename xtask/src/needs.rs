//! What the tests need from the machine, and how to install it.
//!
//! As root on Debian, missing packages are installed, since that is a test machine or a container. On any other machine
//! they are only listed.

use std::{
    env, fs,
    process::{Command, Stdio},
};

use crate::{Outcome, workspace::succeed};

/// Something that the tests require.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// How to check for it.
    probe: Probe,
    /// Where it comes from.
    source: Source,
    /// Its purpose, for the message that it is missing.
    purpose: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    /// A program of this name is on the path.
    Program(&'static str),
    /// This command succeeds.
    Succeeds(&'static [&'static str]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// A Debian package.
    Debian(&'static str),
    /// A component of the Rust toolchain.
    Rustup(&'static str),
}

/// Requirements of the steps that compile, beyond rustup and a C linker.
pub(crate) const TOOLCHAIN: &[Need] = &[
    need(Probe::Succeeds(&["cargo", "fmt", "--version"]), Source::Rustup("rustfmt"), "tidy"),
    need(Probe::Succeeds(&["cargo", "clippy", "--version"]), Source::Rustup("clippy"), "tidy"),
];

/// Requirements of the tests, beyond `TOOLCHAIN` and `DOCKER`.
pub(crate) const NEEDS: &[Need] = &[
    need(Probe::Program("git"), Source::Debian("git"), "tidy: which files are the project's"),
    need(Probe::Program("rg"), Source::Debian("ripgrep"), "search results are compared with ripgrep's"),
    need(Probe::Program("find"), Source::Debian("findutils"), "glob results are compared with find's"),
    need(Probe::Program("unshare"), Source::Debian("util-linux"), "tests that mount do so in a namespace of their own"),
    need(Probe::Program("chroot"), Source::Debian("coreutils"), "the static keeper is started in an empty root"),
    need(Probe::Program("mount"), Source::Debian("mount"), "tests of a full disk and of bind-mounted files"),
    need(Probe::Program("setfacl"), Source::Debian("acl"), "tests that a write keeps access lists"),
    need(Probe::Program("setfattr"), Source::Debian("attr"), "tests that a write keeps extended attributes"),
    need(Probe::Program("chromium"), Source::Debian("chromium"), "the dashboard is tried in a browser"),
    need(Probe::Program("bwrap"), Source::Debian("bubblewrap"), "scripts run only in a sandbox, to see what they run"),
    need(Probe::Program("setpriv"), Source::Debian("util-linux"), "sandboxes are tried as an ordinary user"),
    need(Probe::Program("pgrep"), Source::Debian("procps"), "the processes of a sandbox are looked for from outside"),
    need(Probe::Program("perl"), Source::Debian("perl-base"), "system calls are tried from inside a sandbox"),
    need(Probe::Program("curl"), Source::Debian("curl"), "a server in a sandbox is asked from a later command"),
    need(Probe::Program("bash"), Source::Debian("bash"), "the shell analysis is compared with bash"),
    need(Probe::Program("dash"), Source::Debian("dash"), "the shell analysis is compared with sh"),
    need(
        Probe::Succeeds(&["python3", "-c", "import venv, ensurepip"]),
        Source::Debian("python3-venv"),
        "comparisons with the Python package, and clients of MCP",
    ),
    need(Probe::Program("npm"), Source::Debian("npm"), "the MCP inspector is installed with it"),
    need(Probe::Succeeds(POSTGRES), Source::Debian("postgresql"), "services share a database"),
    need(Probe::Program("faketime"), Source::Debian("faketime"), "the clock of a service is set while it runs"),
    need(Probe::Program("systemd-analyze"), Source::Debian("systemd"), "the unit of the service is checked"),
];

/// Requirements of the container tests.
pub(crate) const DOCKER: &[Need] = &[
    need(Probe::Program("dockerd"), Source::Debian("docker.io"), "sandboxes are tried in containers of a real daemon"),
    need(Probe::Program("docker"), Source::Debian("docker.io"), "images are brought to that daemon"),
    need(Probe::Program("docker-compose"), Source::Debian("docker-compose"), "the Compose file is started"),
    need(Probe::Program("podman"), Source::Debian("podman"), "the other program that speaks Docker's API"),
    need(Probe::Succeeds(BUSYBOX), Source::Debian("busybox-static"), "the image with nothing but a shell"),
    need(Probe::Program("debootstrap"), Source::Debian("debootstrap"), "the image with Python and pip"),
    need(Probe::Program("runsc"), Source::Debian("runsc"), "sandboxes are tried in gVisor"),
    need(Probe::Program("tar"), Source::Debian("tar"), "images are brought as tar files"),
    need(Probe::Program("bindfs"), Source::Debian("bindfs"), "directories that a daemon numbers differently"),
    need(Probe::Program("ip"), Source::Debian("iproute2"), "the daemon has a bridge of its own"),
    need(Probe::Program("iptables"), Source::Debian("iptables"), "its bridge is forgotten afterwards"),
    need(Probe::Program("unshare"), Source::Debian("util-linux"), "its mounts stay invisible to other programs"),
];

/// Requirements of the tests in a cluster.
pub(crate) const KUBERNETES: &[Need] = &[
    need(Probe::Program("faketime"), Source::Debian("faketime"), "managers whose clocks differ share a cluster"),
    need(Probe::Program("runsc"), Source::Debian("runsc"), "pods are tried in gVisor"),
    need(Probe::Program("strip"), Source::Debian("binutils"), "the program `workden` is tried in a pod"),
];

/// Requirements of building the cluster.
pub(crate) const CLUSTER: &[Need] =
    &[need(Probe::Program("go"), Source::Debian("golang-go"), "Kubernetes is built from Go modules")];

/// Requirements of `cargo xtask emulated`.
pub(crate) const EMULATION: &[Need] =
    &[need(Probe::Program("qemu-aarch64-static"), Source::Debian("qemu-user-static"), "programs for aarch64 run here")];

/// Checks for the programs of a Postgres server, which Debian links from nowhere.
const POSTGRES: &[&str] = &["sh", "-c", "ls /usr/lib/postgresql/*/bin/initdb"];

/// Checks for a static busybox: ldd refuses a static program.
const BUSYBOX: &[&str] = &["sh", "-c", "test -x /bin/busybox && ! ldd /bin/busybox"];

const fn need(probe: Probe, source: Source, purpose: &'static str) -> Need {
    Need { probe, source, purpose }
}

/// Makes sure that everything is installed.
pub(crate) fn provide(needs: &[Need]) -> Outcome {
    let missing = missing(needs);
    if missing.is_empty() {
        return Ok(());
    }
    let os_release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    if !(is_debian(&os_release) && is_root()) {
        return Err(complaint(&missing));
    }
    for command in installation(&missing) {
        println!("=== {}", command.join(" "));
        succeed(Command::new(command[0]).args(&command[1..]).env("DEBIAN_FRONTEND", "noninteractive"))?;
    }
    let still = self::missing(&missing);
    if still.is_empty() { Ok(()) } else { Err(format!("installed, but still not usable.\n{}", complaint(&still))) }
}

fn missing(needs: &[Need]) -> Vec<Need> {
    needs.iter().filter(|need| !is_there(need.probe)).copied().collect()
}

fn is_there(probe: Probe) -> bool {
    match probe {
        Probe::Program(name) => {
            let path = env::var_os("PATH").unwrap_or_default();
            // A root shell may lack the directories of system programs.
            let usual = ["/usr/sbin", "/sbin"].map(Into::into);
            env::split_paths(&path).chain(usual).any(|directory| directory.join(name).is_file())
        }
        Probe::Succeeds(command) => Command::new(command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success()),
    }
}

/// Returns the commands that install what is missing, for a root shell on Debian.
fn installation(missing: &[Need]) -> Vec<Vec<&'static str>> {
    let mut packages = Vec::new();
    let mut components = Vec::new();
    for need in missing {
        let (list, name) = match need.source {
            Source::Debian(package) => (&mut packages, package),
            Source::Rustup(component) => (&mut components, component),
        };
        if !list.contains(&name) {
            list.push(name);
        }
    }
    let mut commands = Vec::new();
    if !packages.is_empty() {
        commands.push(vec!["apt-get", "update", "--quiet"]);
        commands.push([&["apt-get", "install", "--yes", "--quiet", "--no-install-recommends"], &packages[..]].concat());
    }
    if !components.is_empty() {
        commands.push([&["rustup", "component", "add"], &components[..]].concat());
    }
    commands
}

fn complaint(missing: &[Need]) -> String {
    let mut text = "missing on this machine (installed automatically only as root on Debian):".to_owned();
    for need in missing {
        let (what, from) = match need.source {
            Source::Debian(package) => (package, "package"),
            Source::Rustup(component) => (component, "rustup component"),
        };
        text.push_str(&format!("\n  {what} ({from}): {}", need.purpose));
    }
    text
}

fn is_debian(os_release: &str) -> bool {
    os_release.lines().filter_map(|line| line.split_once('=')).any(|(key, value)| {
        matches!(key, "ID" | "ID_LIKE") && value.trim_matches('"').split(' ').any(|name| name == "debian")
    })
}

/// Whether this process runs as root.
pub(crate) fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|answer| answer.stdout == b"0\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Need = need(Probe::Succeeds(&["cargo", "--version"]), Source::Debian("cargo"), "building");
    const GONE: Need = need(Probe::Program("no-such-program-anywhere"), Source::Debian("nothing"), "a test");
    const FAILS: Need = need(Probe::Succeeds(&["cargo", "no-such-command"]), Source::Rustup("none"), "a test");

    #[test]
    fn only_what_is_not_there_is_missing() {
        assert_eq!(missing(&[HERE, GONE, FAILS]), [GONE, FAILS]);
    }

    #[test]
    fn nothing_is_run_when_nothing_is_missing() {
        assert!(installation(&[]).is_empty());
    }

    #[test]
    fn a_package_that_serves_two_needs_is_installed_once() {
        let commands = installation(&[GONE, FAILS, GONE]);
        assert_eq!(commands.len(), 3);
        assert_eq!(commands[1].iter().filter(|word| **word == "nothing").count(), 1);
        assert_eq!(commands[2], ["rustup", "component", "add", "none"]);
    }

    #[test]
    fn the_complaint_names_package_and_purpose() {
        assert!(complaint(&[GONE]).ends_with("\n  nothing (package): a test"));
    }

    #[test]
    fn debian_and_what_descends_from_it_are_told_from_the_rest() {
        for (os_release, expected) in [
            ("PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\n", true),
            ("ID=ubuntu\nID_LIKE=debian\n", true),
            ("ID=neon\nID_LIKE=\"ubuntu debian\"\n", true),
            ("ID=fedora\n", false),
            ("NAME=debian\n", false),
            ("", false),
        ] {
            assert_eq!(is_debian(os_release), expected, "{os_release:?}");
        }
    }
}
