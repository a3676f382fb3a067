//! `cargo xtask emulated`: the tests of files, search and the keeper on aarch64, compiled here and run under qemu-user.
//!
//! qemu-user emulates neither seccomp nor namespaces, so the tests of sandboxes stay on real machines.

use std::{fs, path::Path, process::Command};

use crate::{
    Outcome,
    dist::Zig,
    needs,
    workspace::{self, succeed},
};

const TARGET: &str = "aarch64-unknown-linux-musl";

/// Packages, and the tests of each that run: all without a name.
const TESTS: [(&str, &[&str]); 3] = [
    ("workden-files", &[]),
    ("workden-wire", &[]),
    (
        "workden-keeper",
        &[
            "program::a_keeper_serves_files_and_commands_on_its_standard_input",
            "program::on_the_host_files_are_below_the_root_and_commands_start_below_it",
            "program::a_leased_keeper_outlives_its_connections",
            "program::in_a_container_a_relay_leads_to_the_socket",
        ],
    ),
];

pub(crate) fn run() -> Outcome {
    needs::provide(needs::EMULATION)?;
    let _handler = Handler::register()?;
    let zig = Zig::installed()?;
    for (package, tests) in TESTS {
        println!("=== {package} on {TARGET}");
        let mut cargo = zig.command("cargo-zigbuild");
        cargo.args(["test", "--quiet", "--target", TARGET, "--package", package, "--test", "suite", "--"]);
        // An emulated test takes several times as long, and some of them wait for others.
        succeed(cargo.args(tests).args(["--test-threads", "2"]).current_dir(workspace::root()))?;
    }
    Ok(())
}

/// The kernel's table of interpreters for foreign programs.
const TABLE: &str = "/proc/sys/fs/binfmt_misc";
const NAME: &str = "workden-aarch64";

/// The entry by which the kernel starts aarch64 programs in qemu: tests start programs, which start programs. Removed
/// when dropped.
struct Handler {
    is_ours: bool,
}

impl Handler {
    fn register() -> Outcome<Self> {
        if !Path::new(TABLE).join("register").exists() {
            succeed(Command::new("mount").args(["-t", "binfmt_misc", "binfmt_misc", TABLE]))?;
        }
        if Path::new(TABLE).join("qemu-aarch64").exists() {
            return Ok(Self { is_ours: false });
        }
        // An earlier run that was killed has left its entry.
        let ours = Path::new(TABLE).join(NAME);
        if ours.exists() {
            fs::write(&ours, "-1").map_err(|error| format!("cannot remove {}: {error}", ours.display()))?;
        }
        let magic = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00";
        let mask = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff";
        // `F` opens qemu now, so that it is found in other roots as well.
        let entry = format!(":{NAME}:M::{magic}:{mask}:/usr/bin/qemu-aarch64-static:F");
        fs::write(Path::new(TABLE).join("register"), entry)
            .map_err(|error| format!("cannot register qemu for aarch64 programs: {error}"))?;
        Ok(Self { is_ours: true })
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        if self.is_ours {
            let _ = fs::write(Path::new(TABLE).join(NAME), "-1");
        }
    }
}
