//! The one list of names through which programs outside a workspace run its files without a user starting them. Calls
//! on files enforce the list (`workden::ProtectedNames`), and sandboxes protect the listed paths that exist when they
//! start.
//!
//! A listed file makes a program run although the user only looked (`git status`), committed, or opened the directory
//! in the client that talks to workden. Files that a user runs on purpose (a Makefile, a script of `package.json`, a
//! task of an editor) are not listed: agents are asked to write those.

/// The name of a git directory, or of a file that points to one.
pub const GIT_DIRECTORY: &str = ".git";

/// In a git directory: programs, settings that name programs, and files that redirect to another directory with those.
/// `modules` and `worktrees` contain git directories themselves. `info/attributes` is not listed: it only selects among
/// programs that a setting names, and so does any `.gitattributes`.
pub const IN_GIT_DIRECTORY: [&str; 7] =
    ["hooks", "config", "config.worktree", "commondir", "gitdir", "modules", "worktrees"];

/// The file that every git directory has, whatever its name: git treats a directory with a `HEAD`, `objects` and `refs`
/// as a git directory, and reads its `config`.
pub const GIT_HEAD: &str = "HEAD";

/// In any directory: files that name the programs that a client of the Model Context Protocol starts, and the programs
/// that it runs around its calls. Settings and tasks of editors are not listed: editors ask whether a directory is
/// trusted, and projects keep these files under version control and have agents edit them.
pub const OF_CLIENTS: [&str; 5] =
    [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".claude/settings.json", ".claude/settings.local.json"];
