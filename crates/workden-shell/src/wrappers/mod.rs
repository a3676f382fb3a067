//! Programs that run other programs, and the programs that they would run.
//!
//! Invariant: a wrapper is removed only if all of its options are known; otherwise the whole command stays unchanged,
//! with a doubt. Wrappers that change the user are reported beside the command that they run.

mod builtins;
mod env;
mod find;
mod git;
mod interpreters;
mod options;
mod script_runners;
mod shells;
mod table;
mod unwrapped;
mod xargs;

use workden_core::VirtualPath;

use crate::analysis::{DoubtKind, Invocation, Word};
pub(crate) use find::{below, found};
pub(crate) use unwrapped::{ScriptScope, Unwrapped, WrappedRun};

/// Directories in which a program is the one that its name suggests.
const USUAL: &[&str] = &["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin"];

/// Returns the name of the program, if it is in a usual directory.
pub(crate) fn program(word: &Word) -> Option<&str> {
    let text = word.literal()?;
    let Some((_, name)) = text.rsplit_once('/') else { return Some(text) };
    let path = VirtualPath::parse(text).ok().filter(|_| text.starts_with('/'))?;
    let directory = path.parent()?;
    (USUAL.contains(&directory.as_str()) && path.name() == Some(name)).then_some(name)
}

/// Whether a program in an unusual directory has the name of a wrapper.
fn is_lookalike(word: &Word) -> bool {
    let name = word.literal().and_then(|text| text.rsplit_once('/')).map(|(_, name)| name);
    program(word).is_none() && name.is_some_and(means_something)
}

/// Unwraps an invocation, whose standard input consists of such words, if there are any.
pub(crate) fn unwrap(invocation: &Invocation, read: &[Word]) -> Unwrapped {
    let Some(name) = invocation.argv.first().and_then(program) else {
        return if invocation.argv.first().is_some_and(is_lookalike) {
            Unwrapped::doubted(DoubtKind::Construct, "a program with a well-known name outside the usual directories")
        } else {
            Unwrapped::ordinary()
        };
    };
    let argv = invocation.argv.as_slice();
    if let Some(wrapper) = table::find(name) {
        return table::unwrap(wrapper, argv, invocation.input);
    }
    match name {
        "env" => env::unwrap(argv),
        "xargs" => xargs::unwrap(argv, read),
        "find" => find::unwrap(argv),
        "git" => git::unwrap(argv),
        "eval" | "trap" | "alias" | "watch" | "su" | "ssh" | "script" | "flock" | "parallel" => {
            script_runners::unwrap(name, argv)
        }
        "busybox" | "toybox" => interpreters::applet(name, argv),
        _ if shells::is_shell(name) => shells::unwrap(name, argv, invocation.input, invocation.fed.as_deref()),
        _ => interpreters::unwrap(name, argv, invocation),
    }
}

/// Whether this builtin sets the variables in its arguments.
pub(crate) fn sets_variables(name: &str) -> bool {
    builtins::sets_variables(name)
}

/// Whether a function of this name would replace a known wrapper.
pub(crate) fn means_something(name: &str) -> bool {
    table::find(name).is_some()
        || shells::is_shell(name)
        || builtins::is_builtin(name)
        || matches!(
            name,
            "env"
                | "xargs"
                | "find"
                | "git"
                | "watch"
                | "su"
                | "ssh"
                | "script"
                | "flock"
                | "parallel"
                | "busybox"
                | "toybox"
        )
}
