//! Landlock, the second wall: reading and executing everywhere in the sandbox's own root, writing only where its
//! mounts allow it, and no signal or abstract socket beyond it.

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::io::Errno;
use workden_core::{Error, ErrorKind};

use crate::sys::confine::landlock_version;

/// The first Landlock version with everything that is used here.
const NEWEST: ABI = ABI::V6;
/// The same as a number.
pub(super) const NEWEST_VERSION: u32 = 6;

/// The first Landlock version that blocks signals and abstract sockets, which the level `landlock` requires.
pub const LEVEL_VERSION: u32 = 6;

/// How much Landlock enforces for a sandbox.
pub(super) enum Landlock {
    /// Everything.
    Full,
    /// A part: the kernel is older.
    Part,
    /// Nothing: the kernel has no Landlock.
    Nothing,
}

/// Restricts this process and all its descendants. `writable` are paths in the finished root.
pub(super) fn restrict(writable: &[&str]) -> Result<Landlock, Error> {
    match try_restrict(writable) {
        Ok(RulesetStatus::FullyEnforced) => Ok(Landlock::Full),
        Ok(RulesetStatus::PartiallyEnforced) => Ok(Landlock::Part),
        Ok(RulesetStatus::NotEnforced) => Ok(Landlock::Nothing),
        Err(_) => Err(Error::new(ErrorKind::Io, "the sandbox cannot start: the kernel refuses the Landlock rules")),
    }
}

fn try_restrict(writable: &[&str]) -> Result<RulesetStatus, RulesetError> {
    let everything = AccessFs::from_all(NEWEST);
    // Device nodes cannot be created anyway; this refuses the attempt as well.
    let changing = everything & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev);
    let devices =
        AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir | AccessFs::IoctlDev | AccessFs::Truncate;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(everything)?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    rules = allow(rules, "/", AccessFs::from_read(NEWEST))?;
    rules = allow(rules, "/dev", devices)?;
    for place in writable {
        rules = allow(rules, place, changing)?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// Allows access below a path. A path that cannot be opened is skipped: nothing can be done there.
fn allow<R: RulesetCreatedAttr>(rules: R, place: &str, access: BitFlags<AccessFs>) -> Result<R, RulesetError> {
    match PathFd::new(place) {
        Ok(opened) => {
            let access =
                if std::path::Path::new(place).is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
            rules.add_rule(PathBeneath::new(opened, access))
        }
        Err(_) => Ok(rules),
    }
}

/// Checks whether the kernel's Landlock is sufficient for the level `landlock`.
pub(super) fn check_version(version: Result<u32, Errno>) -> Result<(), Error> {
    let why = match version {
        Ok(version) if version >= LEVEL_VERSION => return Ok(()),
        Ok(version) => format!("this kernel has Landlock version {version}"),
        Err(Errno::OPNOTSUPP) => "Landlock is disabled in this kernel".to_owned(),
        Err(_) => "this kernel has no Landlock".to_owned(),
    };
    let sentence = format!(
        "the sandbox cannot start: the level `landlock` requires Landlock version {LEVEL_VERSION} or newer: {why}"
    );
    let hint = match version {
        Err(Errno::OPNOTSUPP) => "start the kernel with `lsm=landlock,...`; see `workden doctor`",
        _ => "use Linux 6.12 or newer, or the level `namespaces`",
    };
    Err(Error::new(ErrorKind::Unsupported, sentence).hint(hint))
}

/// Extends the error of the level `namespaces` by a hint at the level `landlock`, where this machine supports it.
pub(super) fn or_landlock_level(error: Error) -> Error {
    let hint = error.hint_text().unwrap_or_default().to_owned();
    match check_version(landlock_version()) {
        Ok(()) => {
            error.hint(format!("{hint}; or choose the level `landlock`, which isolates less and needs no namespaces"))
        }
        Err(_) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_landlock_is_refused_with_its_version_and_a_newer_one_is_not() {
        for version in [Ok(6), Ok(7), Ok(20)] {
            check_version(version).unwrap();
        }
        for (version, end) in [
            (Ok(5), "has Landlock version 5"),
            (Ok(0), "has Landlock version 0"),
            (Err(Errno::NOSYS), "has no Landlock"),
            (Err(Errno::OPNOTSUPP), "is disabled in this kernel"),
        ] {
            let error = check_version(version).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.sentence().ends_with(end) && error.hint_text().is_some(), "{error}");
        }
    }
}
