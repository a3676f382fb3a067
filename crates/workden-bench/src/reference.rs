//! pydantic-ai-backend, installed from PyPI into its own environment and started as a
//! contender.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Failure, contender::Contender, task::Task};

const PACKAGE: &str = "pydantic-ai-backend";
/// The packages that it needs for containers.
const EXTRA: &str = "docker";
pub(crate) const VERSION: &str = "0.2.15";
const SCRIPT: &str = include_str!("reference.py");

/// Whether the reference finds rg on its path and searches with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rg {
    Found,
    Hidden,
}

/// An installed reference.
#[derive(Debug)]
pub(crate) struct Reference {
    python: PathBuf,
    script: PathBuf,
}

impl Reference {
    /// Installs it below `target` if it is missing.
    pub(crate) fn install(target: &Path) -> Result<Self, Failure> {
        let home = target.join("bench-reference");
        let python = home.join("bin/python");
        if installed_version(&python).as_deref() != Some(VERSION) {
            eprintln!("installing {PACKAGE} {VERSION} into {}", home.display());
            run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
            let package = format!("{PACKAGE}[{EXTRA}]=={VERSION}");
            run(Command::new(&python).args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                &package,
            ]))?;
        }
        let script = home.join("reference.py");
        std::fs::write(&script, SCRIPT)?;
        Ok(Self { python, script })
    }

    /// Starts it on a task.
    pub(crate) fn start(&self, label: &str, task: &Task, rg: Rg) -> Result<Contender, Failure> {
        let mut task = serde_json::to_value(task)?;
        task["with_rg"] = (rg == Rg::Found).into();
        let mut command = Command::new(&self.python);
        command.arg(&self.script).arg(task.to_string());
        if rg == Rg::Hidden {
            command.env("PATH", "/nonexistent");
        }
        Contender::start(label, &mut command)
    }

    /// Its Python interpreter, for another script.
    pub(crate) fn python(&self) -> &Path {
        &self.python
    }
}

/// Returns nothing if its packages for containers are missing.
fn installed_version(python: &Path) -> Option<String> {
    let ask = format!("import importlib.metadata as m; m.version('{EXTRA}'); print(m.version('{PACKAGE}'))");
    let answer = Command::new(python).args(["-c", &ask]).output().ok()?;
    answer.status.success().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}

fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.env_remove("PYTHONPATH").status().map_err(|error| format!("cannot start python3: {error}"))?;
    if status.success() {
        return Ok(());
    }
    let hint = "hint: needs python3 with venv, and PyPI";
    Err(format!("{:?} failed ({status})\n{hint}", command.get_program()).into())
}

/// Where cargo builds: this program is in `target/<profile>/`.
pub(crate) fn target_directory() -> Result<PathBuf, Failure> {
    let program = env::current_exe()?;
    let target = program.parent().and_then(Path::parent).ok_or("the program has no parent directory")?;
    Ok(target.to_path_buf())
}
