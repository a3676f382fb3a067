//! Turns a command into what the kernel needs: files to try, arguments and environment, all allocated before the
//! fork.

use std::{collections::BTreeMap, ffi::CString};

use workden_core::{Error, ErrorKind, Result, sandbox::Command};

use super::shell;
use crate::sys::ExecProgram;

/// The search path when the environment has no `PATH`.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns the program of a command, with its arguments and its environment.
pub(crate) fn program(command: &Command, environment: &BTreeMap<&str, &str>) -> Result<ExecProgram> {
    let (files, words) = match command {
        Command::Shell(line) => {
            let (shell, file) = shell::shell();
            (vec![file.to_owned()], [&[shell.name()], shell.options(), &[line.as_str()]].concat())
        }
        Command::Program(words) => {
            let program = words.first().filter(|program| !program.is_empty()).ok_or_else(|| {
                Error::new(ErrorKind::InvalidArgument, "invalid command: the program is missing")
                    .hint("name the program first, then its arguments")
            })?;
            (files_to_try(program, environment), words.iter().map(String::as_str).collect())
        }
    };
    let files = files.iter().map(|file| c_string("program", file)).collect::<Result<_>>()?;
    let arguments = words.iter().map(|word| c_string("argument", word)).collect::<Result<_>>()?;
    let environment = environment.iter().map(|(name, value)| variable(name, value)).collect::<Result<_>>()?;
    Ok(ExecProgram { files, arguments, environment })
}

/// Returns the environment of the sandbox, overridden by that of a request.
pub(crate) fn merged<'a>(
    base: &'a BTreeMap<String, String>,
    added: &'a BTreeMap<String, String>,
) -> BTreeMap<&'a str, &'a str> {
    base.iter().chain(added).map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// Returns the files to try for a program. A name with a slash is a path.
fn files_to_try(program: &str, environment: &BTreeMap<&str, &str>) -> Vec<String> {
    if program.contains('/') {
        return vec![program.to_owned()];
    }
    let path = environment.get("PATH").copied().unwrap_or(USUAL_PATH);
    let in_directory = |directory: &str| match directory {
        "" => format!("./{program}"),
        directory => format!("{directory}/{program}"),
    };
    path.split(':').map(in_directory).collect()
}

fn variable(name: &str, value: &str) -> Result<CString> {
    if name.is_empty() || name.contains('=') {
        return Err(Error::new(ErrorKind::InvalidArgument, format!("invalid variable name `{name}`"))
            .hint("use a name that is not empty and has no `=`"));
    }
    c_string("environment variable", &format!("{name}={value}"))
}

fn c_string(what: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        Error::new(ErrorKind::InvalidArgument, format!("invalid {what}: it contains a NUL byte"))
            .hint("write binary data to a file instead")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_where_the_path_says() {
        let path = BTreeMap::from([("PATH", "/a:/b::/c")]);
        for (program, environment, files) in [
            ("x", &path, &["/a/x", "/b/x", "./x", "/c/x"][..]),
            ("./x", &path, &["./x"]),
            ("/usr/bin/x", &path, &["/usr/bin/x"]),
            ("x", &BTreeMap::new(), &["/usr/local/bin/x", "/usr/bin/x", "/bin/x"]),
        ] {
            assert_eq!(files_to_try(program, environment), files);
        }
    }

    #[test]
    fn what_the_kernel_could_not_be_told_is_refused() {
        let (none, odd) = (BTreeMap::new(), BTreeMap::from([("A=B", "c")]));
        for (command, environment) in [
            (Command::Program(vec![]), &none),
            (Command::Program(vec![String::new()]), &none),
            (Command::Shell("a\0b".to_owned()), &none),
            (Command::Shell("true".to_owned()), &odd),
        ] {
            let refused = program(&command, environment).err().unwrap();
            assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
        }
    }
}
