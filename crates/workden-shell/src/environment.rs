//! Variables that decide which programs run, or run code themselves.
//!
//! Invariant: setting one of these in any way is a doubt; the list is deliberately long.

use crate::{
    analysis::{Doubt, DoubtKind},
    syntax::is_name,
};

/// The full names of such variables.
const NAMES: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "BROWSER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CC",
    "CDPATH",
    "CLASSPATH",
    "COMPOSER_HOME",
    "CXX",
    "DYLD_INSERT_LIBRARIES",
    "EDITOR",
    "ENV",
    "EXECIGNORE",
    "FCEDIT",
    "FPATH",
    "FUNCNEST",
    "GCONV_PATH",
    "GLOBIGNORE",
    "GUILE_LOAD_PATH",
    "HISTFILE",
    "HOME",
    "IFS",
    "INPUTRC",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCPATH",
    "LUA_INIT",
    "LUA_PATH",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPAGER",
    "MAVEN_OPTS",
    "NLSPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OLDPWD",
    "OPENSSL_CONF",
    "PAGER",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PIP_CONFIG_FILE",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PWD",
    "PYTHONBREAKPOINT",
    "PYTHONEXECUTABLE",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONPLATLIBDIR",
    "PYTHONPYCACHEPREFIX",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONWARNINGS",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTFLAGS",
    "SHELL",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SYSTEMD_EDITOR",
    "TAR_OPTIONS",
    "RSYNC_RSH",
    "CVS_RSH",
    "VISUAL",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "ZDOTDIR",
    "ZENV",
];
/// The prefixes of such variables.
const BEGINNINGS: &[&str] = &[
    "BASH_",
    "CARGO_TARGET_",
    "DYLD_",
    "GIT_ALTERNATE",
    "GIT_ASKPASS",
    "GIT_CONFIG",
    "GIT_DIR",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_INDEX_FILE",
    "GIT_OBJECT",
    "GIT_PAGER",
    "GIT_PROXY",
    "GIT_SEQUENCE",
    "GIT_SSH",
    "GIT_TEMPLATE",
    "GIT_TRACE",
    "GIT_WORK_TREE",
    "LD_",
    "NPM_CONFIG_",
    "npm_config_",
];

/// Returns the doubt about a variable of a command, if the variable may change what runs. A name that shells do not
/// allow may be an exported function, and is a doubt as well.
#[must_use]
pub fn doubt_of_variable(name: &str) -> Option<Doubt> {
    (!is_name(name) || decides_what_runs(name)).then(|| Doubt::new(DoubtKind::Environment, format!("`{name}` is set")))
}

/// Whether setting this variable changes which programs run.
pub(super) fn decides_what_runs(name: &str) -> bool {
    NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::decides_what_runs;

    #[test]
    fn variables_that_run_things_are_told_from_the_rest() {
        for (name, expected) in [
            ("PATH", true),
            ("LD_PRELOAD", true),
            ("LD_AUDIT", true),
            ("GIT_SSH_COMMAND", true),
            ("GIT_CONFIG_COUNT", true),
            ("PYTHONSTARTUP", true),
            ("BASH_FUNC_ls%%", true),
            ("PS4", true),
            ("FOO", false),
            ("DEBUG", false),
            ("RUST_LOG", false),
            ("GIT_AUTHOR_NAME", false),
            ("path", false),
            ("CI", false),
            ("PYTHONUNBUFFERED", false),
        ] {
            assert_eq!(decides_what_runs(name), expected, "{name}");
        }
    }
}
