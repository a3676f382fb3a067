//! `GitFiles`: files through which git and clients of the Model Context Protocol execute programs on the host, and
//! which of them exist in a directory of a sandbox.

use workden_core::{
    VirtualPath,
    host_executed::{IN_GIT_DIRECTORY, OF_CLIENTS},
    sandbox::Mount,
};

use crate::repositories::Repositories;

/// Names in a git directory that hold further git directories, which are found separately.
const HOLD_REPOSITORIES: [&str; 2] = ["modules", "worktrees"];

/// Whether commands may change files through which git and clients of the Model Context Protocol execute programs on
/// the host: the names of [`workden_core::host_executed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GitFiles {
    /// Those that exist when the sandbox starts are read-only, and cannot be moved:
    ///
    /// - `hooks`, `config`, `config.worktree`, `commondir` and `gitdir` of git directories that
    ///   [`Repositories`] finds in the workspace and in writable mounts, including nested ones, submodules and
    ///   linked worktrees;
    /// - a `.git` that is a file, and a `.git` that is a link, which commands see as a file with the same target;
    /// - the files of clients, at the top of the workspace and of writable mounts.
    ///
    /// This keeps well-behaved tools from leaving something that runs on the host. It is not a security boundary:
    /// protecting names that do not exist would break git, so a command can still name another directory in a new
    /// `.git/commondir`, or create a repository. Against hostile commands make all of `/workspace/.git` read-only,
    /// with `read_only` or a mount.
    #[default]
    Protected,
    /// Commands may change them like other files.
    Writable,
}

/// Collects the existing files through which programs run on the host.
pub(crate) fn hold_what_runs_outside(
    shown: &Mount,
    read_only: &mut Vec<VirtualPath>,
    git_links: &mut Vec<VirtualPath>,
) {
    let found = Repositories::in_directory(&shown.source);
    let in_repositories = found.directories.iter().flat_map(|directory| {
        let names = IN_GIT_DIRECTORY.iter().filter(|name| !HOLD_REPOSITORIES.contains(name));
        names.map(|name| directory.child_unchecked(name))
    });
    let of_clients = OF_CLIENTS.iter().filter_map(|file| VirtualPath::parse(file).ok());
    let there = in_repositories
        .chain(of_clients)
        .filter(|path| shown.source.join(path.relative()).symlink_metadata().is_ok())
        .chain(found.files);
    read_only.extend(there.map(|path| path.below(&shown.at)));
    git_links.extend(found.links.iter().map(|path| path.below(&shown.at)));
}
