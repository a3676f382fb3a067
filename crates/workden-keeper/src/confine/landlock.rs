//! Landlock, the kernel's second opinion: reading and running everywhere in the sandbox's own root,
//! changing only where its mounts allow it, and no signal or abstract socket beyond it.

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use workden_core::{Error, ErrorKind};

/// The first Landlock that holds all that is asked of it.
const NEWEST: ABI = ABI::V6;
/// The same as a number.
pub(super) const NEWEST_VERSION: u32 = 6;

/// What Landlock does for a sandbox.
pub(super) enum Landlock {
    /// All that was asked of it.
    Full,
    /// Something less: an older kernel.
    Part,
    /// Nothing: the kernel does not have it.
    Nothing,
}

/// Restricts this process and all that come from it. `writable` are places in the finished root.
pub(super) fn restrict(writable: &[&str]) -> Result<Landlock, Error> {
    match try_restrict(writable) {
        Ok(RulesetStatus::FullyEnforced) => Ok(Landlock::Full),
        Ok(RulesetStatus::PartiallyEnforced) => Ok(Landlock::Part),
        Ok(RulesetStatus::NotEnforced) => Ok(Landlock::Nothing),
        Err(_) => Err(Error::new(ErrorKind::Io, "the sandbox cannot start: the kernel refuses its Landlock rules")),
    }
}

fn try_restrict(writable: &[&str]) -> Result<RulesetStatus, RulesetError> {
    let everything = AccessFs::from_all(NEWEST);
    // Device nodes cannot be made anyway; here they may not even be tried.
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

/// Allows something below a place. One that cannot be opened is one where nothing can be done.
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
