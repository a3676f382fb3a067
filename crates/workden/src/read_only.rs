//! Places that file calls may read and not change, as a gate: what a sandbox holds for commands, held for
//! calls that go past it.
//!
//! Invariant: neither the place nor anything in it comes to be another file. So what leads to it cannot be
//! removed, moved, or put in place by a move either.

use async_trait::async_trait;
use workden_core::{Access, Error, ErrorKind, Execution, Gate, Op, Resolved, Verdict, VirtualPath, Visibility};

use crate::protected_names::{ProtectedNames, Standing};

/// Places that file calls may not change.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadOnlyPaths {
    /// Those that are known by their paths.
    pub(crate) paths: Vec<VirtualPath>,
    /// Those that are known by their names, and below which directory that is so.
    pub(crate) names: Vec<(VirtualPath, ProtectedNames)>,
}

impl ReadOnlyPaths {
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
                "files of such a name make programs run outside, so that they stay as they are, whoever approves; \
                 tell the user what should be in it"
            }
            false => "this place stays as it is, whoever approves; work elsewhere in the workspace",
        }
    }

    fn held<'a>(&self, op: Op<'a>) -> Option<&'a Resolved> {
        let changed: [Option<(&Resolved, Comes)>; 2] = match op {
            Op::Stat(_) | Op::List(_) | Op::Read(_) | Op::Glob(_) | Op::Grep(_) => return None,
            // What commands may change, their sandbox knows.
            Op::Execute(_) => return None,
            Op::MakeDir(at) => [Some((at, Comes::Directory)), None],
            Op::Write(at) | Op::Change(at) | Op::Remove(at) => [Some((at, Comes::Anything)), None],
            Op::Rename { from, to } => [Some((from, Comes::Anything)), Some((to, Comes::Anything))],
            Op::Copy { to, .. } => [Some((to, Comes::Anything)), None],
        };
        changed.into_iter().flatten().find(|(at, comes)| self.holds(at, *comes)).map(|(at, _)| at)
    }
}

/// What comes to be at a path, or is taken from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comes {
    /// A new and empty directory, which may lead to a place.
    Directory,
    /// A file, a directory with something in it, a link, or nothing.
    Anything,
}

#[async_trait]
impl Gate for ReadOnlyPaths {
    async fn judge(&self, op: Op<'_>) -> Verdict {
        match self.held(op) {
            Some(at) => Verdict::Deny(
                Error::new(ErrorKind::ReadOnly, format!("cannot write `{}`: it may only be read", at.typed))
                    .hint(self.why(at)),
            ),
            None => Verdict::Allow,
        }
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        Visibility::everything()
    }

    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }

    async fn understood(&self, _: &Execution) -> Option<Vec<Vec<String>>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(typed: &str, real: &str) -> Resolved {
        Resolved { typed: VirtualPath::parse(typed).unwrap(), real: VirtualPath::parse(real).unwrap() }
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
            // A file there would name another directory; so would one that is moved there.
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
