//! Packages in a directory below `target`, installed when their list is new or has changed.
//!
//! A copy of the list is written last, so that an interrupted or outdated installation is repeated.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::{Outcome, workspace};

/// The name of the copy, which tests also read.
const INSTALLED: &str = "installed";

/// Installs `list` into `home`, unless it is already installed and `program` in it starts.
pub(crate) fn provide(list: &Path, home: &Path, program: &str, install: impl FnOnce() -> Outcome) -> Outcome {
    let wanted = fs::read_to_string(list).map_err(|error| format!("cannot read {}: {error}", list.display()))?;
    let installed = home.join(INSTALLED);
    if fs::read_to_string(&installed).is_ok_and(|text| text == wanted) && starts(&home.join(program)) {
        return Ok(());
    }
    println!("=== installing {} into {}", list.display(), home.display());
    let cannot = |error: std::io::Error| format!("cannot fill {}: {error}", home.display());
    if home.exists() {
        fs::remove_dir_all(home).map_err(cannot)?;
    }
    fs::create_dir_all(home).map_err(cannot)?;
    install()?;
    fs::write(installed, wanted).map_err(cannot)
}

/// Whether a program starts: a library that it was linked to may have been removed.
fn starts(program: &Path) -> bool {
    let status = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Creates a virtual environment of this Python in `home`, with the packages of `list`.
pub(crate) fn by_pip(python: &Path, list: &Path, home: &Path) -> Outcome {
    environment(python, home)?;
    let mut pip = pip_install(home);
    succeed(pip.arg("--requirement").arg(list))
}

/// Creates a virtual environment with only pip.
pub(crate) fn environment(python: &Path, home: &Path) -> Outcome {
    succeed(Command::new(python).args(["-m", "venv", "--clear"]).arg(home))
}

/// Returns a `pip install` of an environment, to which the caller adds the packages.
pub(crate) fn pip_install(home: &Path) -> Command {
    let mut pip = Command::new(home.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip
}

/// Runs a command that installs something.
pub(crate) fn succeed(command: &mut Command) -> Outcome {
    let hint = "hint: it needs python3 with venv, npm, and what they install from: PyPI and the npm registry";
    workspace::succeed(command.env_remove("PYTHONPATH").stdin(Stdio::null())).map_err(|why| format!("{why}\n{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_installed_once_and_again_when_it_changes() {
        let place = std::env::temp_dir().join(format!("workden-installed-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        let (list, home) = (place.join("list"), place.join("home"));
        let mut times = 0;
        let mut provide = || {
            provide(&list, &home, "program", || {
                times += 1;
                std::os::unix::fs::symlink("/bin/true", home.join("program")).map_err(|error| error.to_string())
            })
            .unwrap();
            times
        };
        for (text, expected) in [("one", 1), ("one", 1), ("two", 2)] {
            fs::write(&list, text).unwrap();
            assert_eq!(provide(), expected, "{text}");
        }
        fs::remove_file(home.join("program")).unwrap();
        assert_eq!(provide(), 3, "a program that does not start is installed again");
        fs::remove_dir_all(place).unwrap();
    }
}
