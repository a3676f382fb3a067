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
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("[possible values: python, node, rust, go, none]"), "{unknown:?}");
}

#[test]
fn a_program_whose_interpreter_is_not_inside_names_the_toolchain() {
    let (project, home) = (Project::new(), Project::new());
    let python = home.at(".local/share/uv/python/cpython-3.99.0-linux");
    std::fs::create_dir_all(python.join("bin")).unwrap();
    std::fs::create_dir_all(python.join("lib/python3.99")).unwrap();
    std::fs::copy("/bin/true", python.join("bin/python3")).unwrap();
    std::fs::create_dir_all(project.at(".venv/bin")).unwrap();
    std::os::unix::fs::symlink(python.join("bin/python3"), project.at(".venv/bin/python")).unwrap();
    std::fs::write(project.at(".venv/pyvenv.cfg"), format!("home = {}\n", python.join("bin").display())).unwrap();
    let run = |words: &[&str]| {
        let mut command = project.run_command(words);
        let output = command.env_remove("VIRTUAL_ENV").env_remove("CONDA_PREFIX").env("HOME", home.path()).output();
        crate::project::Ran::of(output.unwrap())
    };
    // The project shows that it needs one.
    assert_eq!(run(&["--", ".venv/bin/python"]).printed(), "");
    let ran = run(&["--toolchain", "none", "--", ".venv/bin/python"]);
    let expected = "cannot run `.venv/bin/python`: no such program\n\
                    hint: `.venv/bin/python` exists, but the interpreter that it needs is not in the sandbox; add \
                    `--toolchain python`\n";
    assert_eq!((ran.code, ran.err.as_str()), (Some(127), expected));
    assert_eq!(run(&["--toolchain", "python", "--", ".venv/bin/python"]).printed(), "");
    // One that this machine does not declare says why it is not there.
    std::fs::write(project.at(".venv/pyvenv.cfg"), format!("home = {}\n", home.at("elsewhere").display())).unwrap();
    let undeclared = run(&["--", ".venv/bin/python"]);
    assert_eq!(undeclared.code, Some(127));
    assert!(undeclared.err.contains("which is not one of this machine's toolchains; put that"), "{undeclared:?}");
    let other = run(&["--", "no-such-program"]);
    assert_eq!((other.code, other.err.as_str()), (Some(127), "cannot run `no-such-program`: no such program\n"));
    // The command itself ended with this code.
    assert_eq!(run(&["--", "sh", "-c", "exit 127"]).err, "");
}
