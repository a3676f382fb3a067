//! Names by which programs outside of a workspace run what was written in it, without anybody starting it:
//! the one list of them. Calls on files hold it (`workden::ProtectedNames`), and sandboxes hold what of it is
//! there when they start.
//!
//! What is here makes a program run although its user only looked (`git status`), committed, or opened the
//! directory in the client that talks to workden. What a user starts on purpose (a Makefile, a script of
//! `package.json`, a task of an editor) is not here: it is what an agent is asked to write.

/// The name of a git directory, or of what leads to one.
pub const GIT_DIRECTORY: &str = ".git";

/// In a git directory: programs, settings that name programs, and what names another place for those. In
/// `modules` and `worktrees` are git directories again. `info/attributes` is not among them: it chooses
/// among programs that a setting names, and so does any `.gitattributes`.
pub const IN_GIT_DIRECTORY: [&str; 7] =
    ["hooks", "config", "config.worktree", "commondir", "gitdir", "modules", "worktrees"];

/// The file without which no directory is a git directory, whatever its name: git takes a directory with a
/// `HEAD`, `objects` and `refs` for one, and reads its `config`.
pub const GIT_HEAD: &str = "HEAD";

/// In any directory: what names the programs that a client of the Model Context Protocol starts, and those
/// that it runs around its own calls. Settings and tasks of editors are not among them: editors ask whether
/// a directory is trusted, and projects keep these files under version control and have agents edit them.
pub const OF_CLIENTS: [&str; 5] =
    [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".claude/settings.json", ".claude/settings.local.json"];
