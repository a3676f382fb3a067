//! Exec. Everything is allocated before the fork, so that the child only makes the call.

use std::{
    ffi::{CStr, CString, c_char},
    ptr,
};

use rustix::io::Errno;

/// The shell that runs an executable file without a format known to the kernel.
const SHELL: &CStr = c"/bin/sh";

/// A program: the files to try in order, its arguments and its environment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExecProgram {
    pub(crate) files: Vec<CString>,
    pub(crate) arguments: Vec<CString>,
    pub(crate) environment: Vec<CString>,
}

/// A program, ready for exec.
pub(crate) struct ExecImage {
    files: Vec<CString>,
    arguments: Vec<*const c_char>,
    /// `sh`, a slot for the file, and the arguments after the first.
    shell_arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    /// The strings that the pointers refer to.
    _strings: [Vec<CString>; 2],
}

impl ExecImage {
    /// Prepares a program.
    pub(crate) fn new(program: ExecProgram) -> Self {
        let ExecProgram { files, arguments, environment } = program;
        let end = [ptr::null()];
        let pointers = |strings: &[CString]| strings.iter().map(|string| string.as_ptr()).collect::<Vec<_>>();
        let argument_pointers = pointers(&arguments);
        let mut shell_arguments = vec![SHELL.as_ptr(), ptr::null()];
        shell_arguments.extend(argument_pointers.iter().skip(1).chain(&end));
        Self {
            files,
            shell_arguments,
            arguments: [&argument_pointers[..], &end].concat(),
            environment: [&pointers(&environment)[..], &end].concat(),
            // Moving the vectors keeps the pointers valid.
            _strings: [arguments, environment],
        }
    }

    /// Executes the program. Returns only on failure, with the error that `execvp` would return: "permission denied"
    /// takes precedence over "not found".
    pub(crate) fn exec(&mut self) -> Errno {
        let mut refused = None;
        for file in &self.files {
            let why = execve(file, &self.arguments, &self.environment);
            match why {
                Errno::NOENT | Errno::NOTDIR => {}
                Errno::ACCESS => refused = Some(why),
                Errno::NOEXEC => {
                    if let Some(place) = self.shell_arguments.get_mut(1) {
                        *place = file.as_ptr();
                    }
                    return execve(SHELL, &self.shell_arguments, &self.environment);
                }
                _ => return why,
            }
        }
        refused.unwrap_or(Errno::NOENT)
    }
}

fn execve(file: &CStr, arguments: &[*const c_char], environment: &[*const c_char]) -> Errno {
    // SAFETY: both arrays end with a null pointer, and the others point to strings that `ExecImage`
    // owns and does not change.
    unsafe { libc::execve(file.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
