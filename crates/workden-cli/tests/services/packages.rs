//! Package managers with their real registries: what is installed on the host, or downloaded by a command with the
//! network, works in a sandbox without it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

/// A project of these files, and a state directory beside it.
struct Registered(TempDir);

impl Registered {
    fn new(files: &[(&str, &str)]) -> Self {
        let this = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            let file = this.project().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        this
    }

    fn project(&self) -> PathBuf {
        self.0.path().join("project")
    }

    /// Runs a command in the project, and returns what it printed.
    fn run(&self, program: &Path, words: &[&str]) -> String {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.project()).env("XDG_STATE_HOME", self.0.path().join("state"));
        let output = command.env_remove("VIRTUAL_ENV").env_remove("CARGO_TARGET_DIR").output().unwrap();
        let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{words:?}: {printed}");
        printed
    }

    fn workden(&self, words: &[&str]) -> String {
        self.run(Path::new(env!("CARGO_BIN_EXE_workden")), words)
    }
}

/// A certificate of this machine's network, which pip knows by a variable.
const CERTIFICATE: [&str; 2] = ["--env", "PIP_CERT"];

const PYTHON: [(&str, &str); 3] = [
    (
        "pyproject.toml",
        "[build-system]\nrequires = ['setuptools>=64']\nbuild-backend = 'setuptools.build_meta'\n\
         [project]\nname = 'tiny'\nversion = '0.1'\n[tool.setuptools.packages.find]\nwhere = ['src']\n",
    ),
    ("src/tiny/__init__.py", "def answer():\n    return 42\n"),
    ("tests/test_tiny.py", "import tiny\n\n\ndef test_answer():\n    assert tiny.answer() == 42\n"),
];

#[test]
fn pytest_in_an_environment_of_the_host_tests_an_editable_install() {
    let project = Registered::new(&PYTHON);
    project.run(Path::new("python3"), &["-m", "venv", ".venv"]);
    let pip = project.project().join(".venv/bin/pip");
    project.run(&pip, &["install", "--quiet", "-e", ".", "pytest"]);
    for words in [&["run", "--", ".venv/bin/pytest", "-q"][..], &["run", "--", "pytest", "-q"]] {
        assert!(project.workden(words).contains("1 passed"));
    }
    let called = ["tool", "execute", r#"{"command": "pytest -q"}"#, "--policy", "permissive"];
    assert!(project.workden(&called).contains("1 passed"));
}

#[test]
fn a_setup_makes_an_environment_that_works_inside_and_outside() {
    let project = Registered::new(&PYTHON);
    let setup = "[setup]\ncommands = ['python3 -m venv .venv', '.venv/bin/pip install --quiet -e . pytest']\n";
    fs::write(project.project().join("workden.toml"), setup).unwrap();
    project.workden(&[&["setup"], &CERTIFICATE[..]].concat());
    assert!(project.workden(&["run", "--", ".venv/bin/pytest", "-q"]).contains("1 passed"));
    assert!(project.run(&project.project().join(".venv/bin/pytest"), &["-q"]).contains("1 passed"));
}

#[test]
fn what_cargo_has_fetched_builds_offline() {
    let project = Registered::new(&[
        ("Cargo.toml", "[package]\nname = 'tiny'\nversion = '0.1.0'\nedition = '2021'\n[dependencies]\ncfg-if = '1'\n"),
        ("src/main.rs", "fn main() {\n    cfg_if::cfg_if! { if #[cfg(unix)] { println!(\"built\") } }\n}\n"),
    ]);
    project.workden(&["run", "--net", "host", "--", "cargo", "fetch"]);
    assert!(project.workden(&["run", "--", "cargo", "run", "--offline", "--quiet"]).contains("built"));
}

#[test]
fn what_npm_has_downloaded_installs_offline() {
    let project = Registered::new(&[("package.json", r#"{"name": "tiny", "version": "1.0.0"}"#)]);
    project.workden(&["run", "--net", "host", "--", "npm", "install", "--silent", "is-number@7.0.0"]);
    fs::remove_dir_all(project.project().join("node_modules")).unwrap();
    project.workden(&["run", "--", "npm", "ci", "--offline", "--silent"]);
    let script = "console.log('odd', require('is-number')(3))";
    assert_eq!(project.workden(&["run", "--", "node", "-e", script]), "odd true\n");
}
