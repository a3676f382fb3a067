//! Places that file calls may read and not change, as a gate: what a sandbox holds for commands, held for
//! calls that go past it.
//!
//! Invariant: neither the place nor anything in it comes to be another file. So what leads to it cannot be
//! removed, moved, or put in place by a move either.

use async_trait::async_trait;
use workden_core::{Access, Error, ErrorKind, Execution, Gate, Op, Resolved, Verdict, VirtualPath, Visibility};

/// Places that file calls may not change.
#[derive(Clone, Debug)]
pub(crate) struct ReadOnlyPlaces(pub(crate) Vec<VirtualPath>);

impl ReadOnlyPlaces {
    fn holds(&self, at: &Resolved, leading: Leading) -> bool {
        [&at.typed, &at.real].into_iter().any(|path| {
            self.0.iter().any(|place| {
                path.is_within(place) || (leading == Leading::Counts && !path.is_root() && place.is_within(path))
            })
        })
    }

    fn held<'a>(&self, op: Op<'a>) -> Option<&'a Resolved> {
        let changed: [Option<(&Resolved, Leading)>; 2] = match op {
            Op::Stat(_) | Op::List(_) | Op::Read(_) | Op::Glob(_) | Op::Grep(_) => return None,
            // What commands may change, their sandbox knows.
            Op::Execute(_) => return None,
            Op::MakeDir(at) => [Some((at, Leading::Passes)), None],
            Op::Write(at) | Op::Change(at) | Op::Remove(at) => [Some((at, Leading::Counts)), None],
            Op::Rename { from, to } => [Some((from, Leading::Counts)), Some((to, Leading::Counts))],
            Op::Copy { to, .. } => [Some((to, Leading::Counts)), None],
        };
        changed.into_iter().flatten().find(|(at, leading)| self.holds(at, *leading)).map(|(at, _)| at)
    }
}

/// What becomes of a path that leads to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leading {
    /// It is like the place.
    Counts,
    /// A directory may come to be there.
    Passes,
}

#[async_trait]
impl Gate for ReadOnlyPlaces {
    async fn judge(&self, op: Op<'_>) -> Verdict {
        match self.held(op) {
            Some(at) => Verdict::Deny(
                Error::new(ErrorKind::ReadOnly, format!("cannot write `{}`: it may only be read", at.typed))
                    .hint("this place stays as it is, whoever approves; work elsewhere in the workspace"),
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
        let places = ReadOnlyPlaces(vec![VirtualPath::parse("/w/.git/hooks").unwrap()]);
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
}
