//! `Shell`: what runs the lines of commands, and where it is looked for.

/// The shell in which a sandbox runs command lines: bash where the sandbox has it, and otherwise `sh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shell {
    /// bash, without the files that configure it: no profile, no `.bashrc`, no `BASH_ENV`, and no functions from
    /// variables.
    Bash,
    /// The `sh` of the sandbox, such as dash or busybox.
    Sh,
}

impl Shell {
    /// Returns the shell of a place, and its file. `is_program` says whether the place has this executable file.
    pub fn find(is_program: impl Fn(&str) -> bool) -> (Self, &'static str) {
        // Not along `PATH`, which can name directories that commands write to.
        let bash = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].into_iter().find(|file| is_program(file));
        bash.map_or((Self::Sh, "/bin/sh"), |file| (Self::Bash, file))
    }

    /// Returns the name, which is also the first argument.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Sh => "sh",
        }
    }

    /// Returns the options before the line.
    #[must_use]
    pub fn options(self) -> &'static [&'static str] {
        match self {
            // `-p` ignores `BASH_ENV`, `SHELLOPTS` and functions in the environment. `--norc` is for `SSH_CLIENT`,
            // which makes the bash of some systems read `.bashrc`.
            Self::Bash => &["--norc", "-p", "-c"],
            Self::Sh => &["-c"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_is_preferred_wherever_it_is() {
        for (there, found) in [
            (&["/bin/bash", "/usr/bin/bash", "/bin/sh"][..], (Shell::Bash, "/bin/bash")),
            (&["/usr/local/bin/bash", "/bin/sh"], (Shell::Bash, "/usr/local/bin/bash")),
            (&["/bin/sh", "/workspace/bash"], (Shell::Sh, "/bin/sh")),
            (&[], (Shell::Sh, "/bin/sh")),
        ] {
            assert_eq!(Shell::find(|file| there.contains(&file)), found);
        }
    }
}
