//! What a command line would do, found out without running it.
//!
//! Invariant: what is not understood is said ([`Analysis::doubts`]), and nobody may allow a command
//! of which something was not understood. The analysis is manners, not the wall: isolation holds
//! even when it is wrong.

mod analysis;
mod braces;
mod collect;
mod collect_compound;
mod directories;
mod environment;
mod guard;
mod syntax;
#[cfg(test)]
mod tests;
mod words;
mod wrappers;

use workden_core::VirtualPath;

pub use analysis::{Analysis, Assignment, Directories, Doubt, DoubtKind, Input, Invocation, Redirection, Use, Word};
use collect::{Collector, Deferred};
use guard::Refused;

/// What a script would do that a shell runs in this directory.
///
/// It is read as bash reads it. Where sh would read it differently there is a doubt.
///
/// ```
/// use workden_core::VirtualPath;
/// use workden_policy::shell::analyse;
///
/// let analysis = analyse("cd src && env -i rm -rf ./build > /dev/null", &VirtualPath::root());
/// assert!(analysis.doubts.is_empty());
/// let argv: Vec<&str> = analysis.invocations[1].argv.iter().map(|word| word.shown()).collect();
/// assert_eq!(argv, ["rm", "-rf", "./build"]);
/// assert_eq!(analysis.invocations[1].through, ["env"]);
/// ```
#[must_use]
pub fn analyse(script: &str, from: &VirtualPath) -> Analysis {
    analyse_bytes(script.as_bytes(), from)
}

/// The same for a script that may be any bytes.
#[must_use]
pub fn analyse_bytes(script: &[u8], from: &VirtualPath) -> Analysis {
    analysed(script, from, Input::Inherited)
}

/// The same for a script whose standard input is this.
pub(crate) fn analyse_fed(script: &str, from: &VirtualPath, input: Input) -> Analysis {
    analysed(script.as_bytes(), from, input)
}

/// The doubt about a variable that a command is given, if it may change what runs. A name that no shell
/// has is a shell's own business, like an exported function, or nobody's.
pub(crate) fn doubt_of_setting(name: &str) -> Option<Doubt> {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let is_plain = starts && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (!is_plain || environment::decides_what_runs(name))
        .then(|| Doubt { kind: DoubtKind::Environment, about: format!("`{name}` is set") })
}

fn analysed(script: &[u8], from: &VirtualPath, input: Input) -> Analysis {
    let text = match guard::admit(script) {
        Ok(text) => text,
        Err(Refused { kind, about }) => {
            return Analysis { doubts: vec![Doubt { kind, about }], ..Analysis::default() };
        }
    };
    let walked = |deferred| {
        let mut collector = Collector::new(Directories::AnyOf(vec![from.clone()]), deferred, input);
        collector.text(text);
        collector
    };
    let collector = walked(Deferred::Here);
    // Functions and traps run wherever the script has gone by then.
    let again = collector.moved && collector.defers;
    if again { walked(Deferred::Anywhere).analysis } else { collector.analysis }
}
