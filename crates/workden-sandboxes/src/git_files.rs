//! `GitFiles`: files that git and clients of the Model Context Protocol run by themselves, and which of them exist in
//! a directory that a sandbox shows.

use workden_core::{
    VirtualPath,
    host_executed::{IN_GIT_DIRECTORY, OF_CLIENTS},
    sandbox::Mount,
};

use crate::repositories::Repositories;

/// Of the names in a git directory, those of directories with further ones, which are found by themselves.
const HOLD_REPOSITORIES: [&str; 2] = ["modules", "worktrees"];

/// Whether commands may change what git, and clients of the Model Context Protocol, run outside by
/// themselves: the names of [`workden_core::host_executed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GitFiles {
    /// Where they exist when the sandbox starts they are read-only, and stay where they are:
    ///
    /// - `hooks`, `config`, `config.worktree`, `commondir` and `gitdir` of git directories that
    ///   [`Repositories`] finds in the workspace and in writable mounts, nested ones and those of submodules
    ///   and linked worktrees included;
    /// - a `.git` that is a file, and a `.git` that is a link, which commands see as a file that says the same;
    /// - the files of clients, at the top of the workspace and of writable mounts.
    ///
    /// This keeps honest tools from leaving something behind that runs outside. It is no wall: what does not
    /// exist cannot be held without keeping git itself from working, so that a command can still name another
    /// directory in a new `.git/commondir`, or make a repository where there is none. Against one that means
    /// harm make `/workspace/.git` read-only as a whole: `read_only`, or a mount of it.
    #[default]
    Protected,
    /// They are like all others.
    Writable,
}

/// What is there of the names by which programs run outside.
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
