//! Variables that decide which programs run, or run code themselves.
//!
//! Invariant: setting one of these to anything but a value that is known to be harmless is a doubt; the list is
//! deliberately long.

use workden_core::VirtualPath;

use crate::{
    analysis::{Doubt, DoubtKind, WorkingDirectories},
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
    "DOCKER_HOST",
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
    "GOFLAGS",
    "GUILE_LOAD_PATH",
    "HISTFILE",
    "HOME",
    "IFS",
    "INPUTRC",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LESSCLOSE",
    "LESSEDIT",
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
    "CARGO_BUILD_",
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

/// Directories of tools that a project brings or the machine has.
const TOOLS: &[&str] = &["node_modules/.bin", ".venv/bin", "venv/bin", "env/bin", ".cargo/bin", ".local/bin", "go/bin"];
/// Variables that name directories with libraries.
const LIBRARIES: &[&str] = &["PYTHONPATH", "NODE_PATH", "RUBYLIB", "CLASSPATH", "PYTHONPYCACHEPREFIX"];
/// Variables, and the only values with which they change nothing that matters.
const VALUES: &[(&[&str], &[&str])] = &[
    (&["PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER"], &["cat", "less", ""]),
    (&["EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"], &["true", ":", "cat", "/bin/true"]),
    (&["CC", "CXX"], &["gcc", "g++", "clang", "clang++", "cc", "c++"]),
    (&["SHELL"], &["/bin/sh", "/bin/bash"]),
    (&["PYTHONBREAKPOINT", "GIT_TRACE", "GIT_CONFIG_NOSYSTEM"], &["0", "1"]),
    (&["HISTFILE", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"], &["/dev/null"]),
];
/// Variables with options, and how harmless ones start.
const OPTIONS: &[(&[&str], &[&str])] = &[
    (
        &["NODE_OPTIONS"],
        &[
            "--max-old-space-size=",
            "--max_old_space_size=",
            "--experimental-vm-modules",
            "--no-warnings",
            "--no-deprecation",
            "--enable-source-maps",
            "--trace-warnings",
            "--unhandled-rejections=",
            "--openssl-legacy-provider",
            "--expose-gc",
        ],
    ),
    (&["RUSTFLAGS", "RUSTDOCFLAGS"], &["-D", "-A", "-W", "warnings", "-Cdebuginfo=", "-Copt-level=", "-Ctarget-cpu="]),
    (&["MAKEFLAGS"], &["-j"]),
    (&["GOFLAGS"], &["-count=", "-mod=", "-race", "-v", "-tags=", "-short", "-run="]),
    (&["MAVEN_OPTS", "JAVA_TOOL_OPTIONS"], &["-Xmx", "-Xms", "-Xss", "-Dfile.encoding="]),
    (&["PYTHONWARNINGS"], &["ignore", "error", "default", "always", "once", "module"]),
];

/// Whether this value of such a variable changes nothing that matters. The value is written as in a script.
pub(super) fn is_harmless(name: &str, value: &str, directories: &WorkingDirectories) -> bool {
    let value = value.replace(['"', '\''], "");
    if value.contains(['\\', '`', ';', '&', '|', '<', '>', '\n']) {
        return false;
    }
    if let Some((_, values)) = VALUES.iter().find(|(names, _)| names.contains(&name)) {
        return values.contains(&value.as_str());
    }
    if let Some((_, options)) = OPTIONS.iter().find(|(names, _)| names.contains(&name)) {
        let is_plain = |word: &str| {
            let word = word.replace("$(nproc)", "4");
            let fits = |option: &&str| match option.ends_with(['=', 'D', 'A', 'W', 'j', 'x', 's']) {
                true => word.starts_with(option),
                false => word == **option,
            };
            !word.contains(['$', '/', '@']) && options.iter().any(fits)
        };
        return value.split_whitespace().all(is_plain);
    }
    if name == "CARGO_TARGET_DIR" {
        return is_in_project(&value, directories) || value.starts_with("/tmp/");
    }
    let extended = [format!("${name}"), format!("${{{name}}}"), format!("${{{name}:-}}")];
    let mut entries = value.split(':').filter(|entry| !extended.iter().any(|own| own == entry));
    match name {
        "PATH" => entries.all(|entry| {
            let is_tool = TOOLS.iter().any(|tools| entry.strip_suffix(tools).is_some_and(start_is_known));
            (is_tool || entry.starts_with("/usr/") || entry.starts_with("/opt/") || entry == "/bin" || entry == "/sbin")
                && !entry.split('/').any(|name| name == "..")
        }),
        name if LIBRARIES.contains(&name) => entries.all(|entry| is_in_project(entry, directories)),
        _ => false,
    }
}

/// Whether a directory starts in the project or at home.
fn start_is_known(start: &str) -> bool {
    let start = start.strip_suffix('/').unwrap_or(start);
    matches!(start, "" | "." | "$PWD" | "$(pwd)" | "$HOME" | "~" | "${HOME}" | "${PWD}")
        || start.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte)) && !start.starts_with('/')
}

/// Whether a path is in the working directory, as far as its text tells.
fn is_in_project(path: &str, directories: &WorkingDirectories) -> bool {
    let rest = ["$PWD", "${PWD}", "$(pwd)"].iter().find_map(|here| path.strip_prefix(here));
    let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let text = rest.map_or(path, |rest| rest.trim_start_matches('/'));
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.+@".contains(&byte));
    if !is_plain || text.split('/').any(|name| name == "..") {
        return false;
    }
    match directories {
        _ if !text.starts_with('/') => true,
        WorkingDirectories::AnyOf(all) => {
            VirtualPath::parse(text).is_ok_and(|path| all.iter().any(|directory| path.is_within(directory)))
        }
        WorkingDirectories::Unknown => false,
    }
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
