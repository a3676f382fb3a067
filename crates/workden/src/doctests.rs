//! The examples of README.md, CONTRIBUTING.md and docs/, compiled and run as doctests. Empty in any other build.

#[doc = include_str!("../../../README.md")]
mod readme {}

#[doc = include_str!("../../../CONTRIBUTING.md")]
mod contributing {}

#[doc = include_str!("../../../docs/files.md")]
mod files {}

#[doc = include_str!("../../../docs/policy.md")]
mod policy {}

// Each example program is also the keeper of its sandbox, so that commands really run.
#[doc = include_str!("../../../docs/sandboxes.md")]
mod sandboxes {}

#[cfg(feature = "daytona")]
#[doc = include_str!("../../../docs/daytona.md")]
mod daytona {}

#[doc = include_str!("../../../docs/tools.md")]
mod tools {}

/// The `workden.toml` of the guide loads, and means what its comments say.
///
/// ```
/// use workden::{Action, Config, Operation, PathScope, VirtualPath};
///
/// let guide = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.md"));
/// let (_, after) = guide.split_once("<!-- workden.toml -->\n```toml\n").unwrap();
/// let (text, _) = after.split_once("```").unwrap();
/// let config = Config::parse(text)?;
/// assert_eq!(config.mounts.len(), 2);
/// let rules = config.ruleset(PathScope::FilesOnly, &VirtualPath::root()).unwrap().compile()?;
/// let on = |operation, path| Ok::<_, workden::Error>(rules.decide_path(operation, &VirtualPath::parse(path)?).action);
/// assert_eq!(on(Operation::Read, "/project/b.draft.md")?, Action::Ask);
/// assert_eq!(on(Operation::Edit, "/project/src/a.rs")?, Action::Allow);
/// assert_eq!(on(Operation::Delete, "/project/src/a.rs")?, Action::Deny);
/// assert_eq!(on(Operation::Read, "/project/.env")?, Action::Deny); // the preset's
/// # Ok::<(), workden::Error>(())
/// ```
mod config_of_the_guide {}
