//! Toolchains of this machine, used in a sandbox.

use std::process::Command;

use crate::project::Project;

#[test]
fn a_virtual_environment_works_inside_and_cannot_be_changed() {
    let project = Project::new();
    let home = Project::new();
    let venv = home.at("venv");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let script = "import sys, os; print(sys.prefix); open(os.path.join(sys.prefix, 'x'), 'w')";
    let run = |toolchain: &[&str]| {
        let mut command = project.run_command(&[toolchain, &["--", "python", "-c", script]].concat());
        let output = command.env("VIRTUAL_ENV", &venv).env("HOME", home.path()).output().unwrap();
        crate::project::Ran::of(output)
    };
    let ran = run(&["--toolchain", "python"]);
    assert_eq!(ran.out, format!("{}\n", venv.display()), "{ran:?}");
    assert!(ran.err.contains("Read-only file system"), "{ran:?}");
    assert!(!run(&[]).out.contains("venv"));
}

#[test]
fn a_toolchain_that_is_not_there_says_where_it_was_looked_for() {
    let project = Project::new();
    let mut command = project.run_command(&["--toolchain", "rust", "--", "true"]);
    let output = command.env_clear().env("HOME", project.path()).env("PATH", "").output().unwrap();
    let ran = crate::project::Ran::of(output);
    assert_eq!(ran.code, Some(125));
    assert_eq!(
        ran.err,
        "error: the toolchain `rust` is not on this machine\n\
         hint: looked for: ~/.rustup (no toolchains); `rustc` on the search path\n"
    );
    let unknown = project.run(&["--toolchain", "cobol", "--", "true"]);
    assert_eq!(unknown.err, "error: there is no toolchain `cobol`\nhint: toolchains: python, node, rust, go\n");
}
