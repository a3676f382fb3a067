//! Paths that file calls may read and not change, as a gate. A sandbox enforces this for commands; file calls bypass
//! the sandbox.
//!
//! Invariant: neither a protected path nor anything below it becomes another file. So the directories that lead to it
//! cannot be removed, moved, or replaced by a move either.

use async_trait::async_trait;
use workden_core::{
    Access, Error, ErrorKind, Gate, Judgement, Op, Resolved, Result, Verdict, VirtualPath, Visibility,
    sandbox::{Mount, MountAccess},
};
use workden_sandboxes::GitFiles;

use crate::{
    directories::{Mounts, git_paths},
    protected_names::{ProtectedNames, Standing},
    sandbox::SandboxKind,
};

/// Paths that file calls may not change.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadOnlyPaths {
    /// Protected by path.
    pub(crate) paths: Vec<VirtualPath>,
    /// Protected by name, each below a directory.
    pub(crate) names: Vec<(VirtualPath, ProtectedNames)>,
}

impl ReadOnlyPaths {
    /// Returns what file calls may not change: the named paths and names, read-only mounts, the keeper, and in every
    /// writable directory of the host what programs outside execute.
    pub(crate) fn of(
        (paths, names): (&[String], &[(String, ProtectedNames)]),
        mounts: &Mounts,
        sandbox: Option<&SandboxKind>,
        git_files: GitFiles,
    ) -> Result<Self> {
        let named = paths.iter().map(|at| VirtualPath::parse(at)).collect::<Result<Vec<_>>>()?;
        let mut paths: Vec<VirtualPath> = mounts.read_only().chain(named).collect();
        let more = names.iter().map(|(below, names)| Ok((VirtualPath::parse(below)?, names.clone())));
        let mut names = more.collect::<Result<Vec<_>>>()?;
        if let Some(sandbox) = sandbox {
            paths.extend(sandbox.keeper_inside(&mounts.directories));
        }
        if git_files == GitFiles::Protected {
            let is_writable = |mount: &&Mount| mount.access == MountAccess::ReadWrite;
            let shown = sandbox.map(SandboxKind::shown_files).unwrap_or_default();
            for mount in mounts.directories.iter().filter(is_writable) {
                paths.extend(git_paths(mount));
            }
            for mount in mounts.directories.iter().chain(&shown).filter(is_writable) {
                names.push((mount.at.clone(), ProtectedNames::host_executed()));
            }
        }
        Ok(Self { paths, names })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.names.is_empty()
    }

    fn standing(&self, path: &VirtualPath) -> impl Iterator<Item = Standing> {
        let by_path = self.paths.iter().map(move |place| match path {
            path if path.is_within(place) => Standing::Within,
            path if !path.is_root() && place.is_within(path) => Standing::Leads,
            _ => Standing::Apart,
        });
        let names = self.names.iter().filter(move |(below, _)| path.is_within(below));
        by_path.chain(names.map(move |(_, names)| names.standing(path)))
    }

    fn holds(&self, at: &Resolved, comes: Comes) -> bool {
        [&at.typed, &at.real].into_iter().flat_map(|path| self.standing(path)).any(|standing| match standing {
            Standing::Apart => false,
            Standing::Leads | Standing::IsFile => comes == Comes::Anything,
            Standing::Within => true,
        })
    }

    fn why(&self, at: &Resolved) -> &'static str {
        let is_named = |(_, names): &(VirtualPath, ProtectedNames)| names.standing(&at.typed) != Standing::Apart;
        match self.names.iter().any(is_named) {
            true => {
                "programs outside the workspace execute files of this name, so that approval cannot unlock them; \
                 tell the user what should be in it"
            }
            false => "this path is read-only, and approval cannot unlock it; work elsewhere in the workspace",
        }
    }

    fn held<'a>(&self, op: Op<'a>) -> Option<&'a Resolved> {
        let changed: [Option<(&Resolved, Comes)>; 2] = match op {
            Op::Stat(_) | Op::List(_) | Op::Read(_) | Op::Glob(_) | Op::Grep(_) => return None,
            // The sandbox protects these paths from commands.
            Op::Execute(_) => return None,
            Op::MakeDir(at) => [Some((at, Comes::Directory)), None],
            Op::Write(at) | Op::Change(at) | Op::Remove(at) => [Some((at, Comes::Anything)), None],
            Op::Rename { from, to } => [Some((from, Comes::Anything)), Some((to, Comes::Anything))],
            Op::Copy { to, .. } => [Some((to, Comes::Anything)), None],
        };
        changed.into_iter().flatten().find(|(at, comes)| self.holds(at, *comes)).map(|(at, _)| at)
    }
}

/// What a call puts at a path, or removes from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comes {
    /// A new and empty directory, which may lead to a protected path.
    Directory,
    /// A file, a directory with content, a link, or nothing.
    Anything,
}

#[async_trait]
impl Gate for ReadOnlyPaths {
    async fn judge(&self, op: Op<'_>) -> Judgement {
        let verdict = match self.held(op) {
            Some(at) => Verdict::Deny(
                Error::new(ErrorKind::ReadOnly, format!("cannot write `{}`: it may only be read", at.typed))
                    .hint(self.why(at)),
            ),
            None => Verdict::Allow,
        };
        verdict.into()
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        Visibility::everything()
    }

    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(typed: &str, real: &str) -> Resolved {
        Resolved::new(VirtualPath::parse(typed).unwrap(), VirtualPath::parse(real).unwrap())
    }

    #[test]
    fn the_place_what_is_in_it_and_what_leads_to_it_stay_as_they_are() {
        let places = ReadOnlyPaths { paths: vec![VirtualPath::parse("/w/.git/hooks").unwrap()], names: Vec::new() };
        let [hook, hooks, git, other, linked] = [
            at("/w/.git/hooks/pre-commit", "/w/.git/hooks/pre-commit"),
            at("/w/.git/hooks", "/w/.git/hooks"),
            at("/w/.git", "/w/.git"),
            at("/w/.git/HEAD", "/w/.git/HEAD"),
            at("/w/link", "/w/.git/hooks/pre-commit"),
        ];
        for held in [
            Op::Write(&hook),
            Op::Change(&hook),
            Op::Remove(&hooks),
            Op::MakeDir(&hooks),
            Op::Write(&linked),
            // A file or a directory moved there would redirect git to another directory.
            Op::Write(&git),
            Op::Remove(&git),
            Op::Rename { from: &git, to: &other },
            Op::Rename { from: &other, to: &git },
            Op::Copy { from: &other, to: &hook },
        ] {
            assert!(places.held(held).is_some(), "{held:?}");
        }
        for free in [
            Op::Read(&hook),
            Op::List(&hooks),
            Op::Write(&other),
            Op::MakeDir(&git),
            Op::Copy { from: &hook, to: &other },
            Op::Rename { from: &other, to: &at("/w/x", "/w/x") },
        ] {
            assert!(places.held(free).is_none(), "{free:?}");
        }
    }

    #[test]
    fn names_are_held_below_their_directory_whether_or_not_they_exist() {
        let names = vec![(VirtualPath::parse("/w").unwrap(), ProtectedNames::host_executed())];
        let places = ReadOnlyPaths { paths: Vec::new(), names };
        let same = |path: &str| at(path, path);
        let [hook, git, head, head_of_another, other, elsewhere] =
            ["/w/a/.git/hooks/x", "/w/a/.git", "/w/a/HEAD", "/w/b/Head", "/w/b/x", "/tmp/a/.git/config"].map(same);
        for held in [
            Op::Write(&hook),
            Op::MakeDir(&hook),
            Op::Write(&git),
            Op::Remove(&git),
            Op::Rename { from: &other, to: &git },
            Op::Rename { from: &git, to: &other },
            Op::Write(&head),
            Op::Copy { from: &other, to: &head_of_another },
        ] {
            assert!(places.held(held).is_some(), "{held:?}");
        }
        for free in [Op::Read(&hook), Op::MakeDir(&git), Op::MakeDir(&head), Op::Write(&other), Op::Write(&elsewhere)] {
            assert!(places.held(free).is_none(), "{free:?}");
        }
    }
}
