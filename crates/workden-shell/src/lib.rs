//! What a shell command line would do, as data, without running it.
//!
//! [`analyse`] reads a script as bash reads it and returns every command that could run, every file
//! that a redirection opens, and everything that it did not understand. Wrappers such as `env`,
//! `xargs` or `sh -c` are looked through.
//!
//! Invariant: a construct that is not understood, or that bash and sh read differently, is a
//! [`Doubt`]; a command with a doubt must not be allowed unasked. The analysis is bounded for any
//! input. It keeps an honest agent from mistakes; isolation is the job of a sandbox.
//!
//! ```
//! use workden_core::VirtualPath;
//! use workden_shell::{Input, analyse};
//!
//! let script = "cd src && env -i rm -rf ./build > /dev/null";
//! let analysis = analyse(script, &VirtualPath::root(), Input::Inherited);
//! assert!(analysis.doubts.is_empty());
//! let removal = &analysis.invocations[1];
//! let argv: Vec<&str> = removal.argv.iter().map(|word| word.shown()).collect();
//! assert_eq!(argv, ["rm", "-rf", "./build"]);
//! assert_eq!(removal.through, ["env"]);
//! assert_eq!(analysis.redirections[0].target.shown(), "/dev/null");
//! ```

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
pub use environment::doubt_of_variable;
use guard::Refused;

/// Returns what a script would do that a shell runs in `directory` with this standard input.
#[must_use]
pub fn analyse(script: impl AsRef<[u8]>, directory: &VirtualPath, input: Input) -> Analysis {
    let text = match guard::admit(script.as_ref()) {
        Ok(text) => text,
        Err(Refused { kind, about }) => {
            return Analysis { doubts: vec![Doubt { kind, about }], ..Analysis::default() };
        }
    };
    let walked = |deferred| {
        let mut collector = Collector::new(Directories::AnyOf(vec![directory.clone()]), deferred, input);
        collector.text(text);
        collector
    };
    let collector = walked(Deferred::Here);
    // Functions and traps run wherever the script has gone by then.
    let again = collector.moved && collector.defers;
    if again { walked(Deferred::Anywhere).analysis } else { collector.analysis }
}
