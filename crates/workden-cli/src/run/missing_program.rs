//! The hint for a program that is not in the sandbox, but in a toolchain of this machine.

use std::path::Path;

use workden::{
    HostEnvironment,
    sandboxes::toolchains::{Toolchain, needed_by},
};
use workden_core::sandbox::Ended;

use super::{
    Ending,
    arguments::{Kind, RunArguments},
};

/// The exit code of a program that is not found.
const NOT_FOUND: i32 = 127;
/// Where a sandbox has the programs of this machine.
const SYSTEM: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// Programs, and the toolchain that has them.
const PROGRAMS: [(&str, &[&str]); 4] = [
    ("python", &["python", "python3", "pip", "pip3"]),
    ("node", &["node", "npm", "npx"]),
    ("rust", &["cargo", "rustc", "rustfmt"]),
    ("go", &["go", "gofmt"]),
];

/// Returns what to type instead, if the program of the command was not found and a toolchain has it.
pub(super) fn hint(arguments: &RunArguments, ending: &Ending) -> Option<String> {
    let not_found = matches!(ending, Ending::Command(Ended::Exited(NOT_FOUND), ..));
    if !not_found || arguments.sandbox != Kind::Linux || arguments.session.is_some() || arguments.remote.is_named() {
        return None;
    }
    let host = HostEnvironment::from_process();
    let root = host.directory.join(arguments.root.as_deref().unwrap_or(Path::new("")));
    let program = arguments.command.first()?;
    let (toolchain, why) = missing(program, &root)?;
    if arguments.options.toolchain.iter().any(|named| named == toolchain) {
        return None;
    }
    let is_looked_for = !arguments.options.leaves_out_toolchains() && needed_by(&root).contains(&toolchain);
    match (Toolchain::of_project(toolchain, &host, &root, std::slice::from_ref(&root)), is_looked_for) {
        // It is in the sandbox, and the command itself ended with this code.
        (Ok(_), true) => None,
        (Ok(_), false) => Some(format!("hint: {why}; add `--toolchain {toolchain}`")),
        (Err(error), true) => {
            let advice = error.hint_text().map_or(String::new(), |hint| format!("; {hint}"));
            Some(format!("hint: {why}: {}{advice}", error.sentence()))
        }
        // A toolchain that this machine lacks is no advice.
        (Err(_), false) => None,
    }
}

/// Returns the toolchain of a program that a sandbox does not have, and why it does not.
fn missing(program: &str, root: &Path) -> Option<(&'static str, String)> {
    let path = Path::new(program);
    if !program.contains('/') {
        // The command itself may have ended with this code.
        let is_there = SYSTEM.iter().any(|directory| Path::new(directory).join(program).exists());
        let (toolchain, _) = PROGRAMS.iter().find(|(_, names)| names.contains(&program) && !is_there)?;
        return Some((toolchain, format!("`{program}` is not among the programs in /usr")));
    }
    let relative = path.strip_prefix("/workspace").unwrap_or(path);
    let file = root.join(relative);
    if relative.is_absolute() || file.symlink_metadata().is_err() {
        return None;
    }
    let in_environment = file.parent()?.parent()?.join("pyvenv.cfg").is_file();
    let name = path.file_name()?.to_str()?;
    let of_program = PROGRAMS.iter().find(|(_, names)| names.contains(&name)).map(|(toolchain, _)| *toolchain);
    let toolchain = if in_environment { Some("python") } else { of_program }?;
    Some((toolchain, format!("`{program}` exists, but the interpreter that it needs is not in the sandbox")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_a_toolchain_is_known_by_its_name_or_its_environment() {
        let root = tempfile::tempdir().unwrap();
        let bin = root.path().join(".venv/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(root.path().join(".venv/pyvenv.cfg"), "").unwrap();
        std::os::unix::fs::symlink("/nowhere/python3", bin.join("python")).unwrap();
        std::fs::write(bin.join("pytest"), "#!/nowhere/python3\n").unwrap();
        std::fs::write(root.path().join("tool"), "").unwrap();
        for (program, toolchain) in [
            (".venv/bin/python", Some("python")),
            ("./.venv/bin/pytest", Some("python")),
            ("/workspace/.venv/bin/python", Some("python")),
            (".venv/bin/absent", None),
            ("./tool", None),
            ("/etc/passwd", None),
            ("no-such-program", None),
            ("sh", None),
        ] {
            assert_eq!(missing(program, root.path()).map(|(name, _)| name), toolchain, "{program}");
        }
    }
}
