//! Determines what a shell command line would do, as data, without running it.
//!
//! [`analyse`] parses a script as bash does and returns every command that could run, every file that a redirection
//! opens, and everything that it did not understand. Wrappers such as `env`, `xargs` or `sh -c` are unwrapped.
//!
//! Invariant: a construct that is not understood, or that bash and sh read differently, is a [`Doubt`]; a command with
//! a doubt must not be allowed without approval. The analysis is bounded for any input. It protects an honest agent
//! from mistakes; isolation is the job of a sandbox.
//!
//! ```
//! use workden_core::VirtualPath;
//! use workden_shell::{StandardInput, analyse};
//!
//! let script = "cd src && env -i rm -rf ./build > /dev/null";
//! let analysis = analyse(script, &VirtualPath::root(), StandardInput::Inherited);
//! assert!(analysis.doubts.is_empty());
//! let removal = &analysis.invocations[1];
//! let argv: Vec<&str> = removal.argv.iter().map(|word| word.shown()).collect();
//! assert_eq!(argv, ["rm", "-rf", "./build"]);
//! assert_eq!(removal.through, ["env"]);
//! assert_eq!(analysis.redirections[0].target.shown(), "/dev/null");
//! ```

mod analysis;
mod braces;
mod budget;
mod directories;
mod environment;
mod expansion;
mod printed;
mod syntax;
#[cfg(test)]
mod tests;
mod values;
mod walker;
mod wrappers;

use workden_core::VirtualPath;

pub use analysis::{
    Analysis, Assignment, Doubt, DoubtKind, Invocation, OpenMode, Redirection, StandardInput, Word, WorkingDirectories,
};
use budget::Rejection;
pub use environment::doubt_of_variable;
use walker::{DeferredCode, Walker};

/// Returns what a script would do if a shell ran it in `directory` with this standard input.
#[must_use]
pub fn analyse(script: impl AsRef<[u8]>, directory: &VirtualPath, input: StandardInput) -> Analysis {
    let text = match budget::admit(script.as_ref()) {
        Ok(text) => text,
        Err(Rejection { kind, about }) => {
            return Analysis { doubts: vec![Doubt::new(kind, about)], ..Analysis::default() };
        }
    };
    let walked = |deferred| {
        let mut walker = Walker::new(WorkingDirectories::AnyOf(vec![directory.clone()]), deferred, input);
        walker.text(text);
        walker.finish()
    };
    let walker = walked(DeferredCode::Here);
    // Functions and traps run in the directory that the script has reached by then.
    let again = walker.moved && walker.defers;
    if again { walked(DeferredCode::Anywhere).analysis } else { walker.analysis }
}
