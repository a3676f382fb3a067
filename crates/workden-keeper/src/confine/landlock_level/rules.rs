//! The Landlock rulesets without namespaces: one for all processes of a sandbox, which blocks signals and abstract
//! sockets to the outside, and one for commands, which lists the files they may open and blocks ports.

use std::{os::fd::OwnedFd, path::Path};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use workden_core::{
    Error, ErrorKind,
    sandbox::{MountAccess, Network},
};

use super::{paths::LandlockPaths, scratch::Scratch};
use crate::confine::{errors::ASK_DOCTOR, etc::shown_of_host};

/// The Landlock version whose features are used.
const ASKED: ABI = ABI::V6;

/// Programs and libraries.
const PROGRAMS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Files of /etc in addition: users and names, which are not synthetic here.
const NAMES: [&str; 5] = ["passwd", "group", "hosts", "hostname", "nsswitch.conf"];
/// Files of /proc about the machine, not about its processes.
const MACHINE: [&str; 9] =
    ["cpuinfo", "meminfo", "stat", "loadavg", "uptime", "version", "filesystems", "devices", "sys"];
/// Devices for all commands. No terminals: those in /dev/pts belong to other programs.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// An error of the kernel, or of the library that talks to it.
type Refused = Box<dyn std::error::Error>;

/// Confines signals and abstract sockets to this process and its descendants. All commands share one domain: one
/// command can end processes of another.
pub(super) fn keep_signals_in() -> Result<(), Error> {
    let restrict = || -> Result<bool, Refused> {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let status = rules.scope(Scope::from_all(ASKED))?.create()?.restrict_self()?;
        Ok(status.ruleset == RulesetStatus::FullyEnforced)
    };
    match restrict() {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => Err(not_taken()),
    }
}

/// Creates the ruleset of commands, as a descriptor. Must be called with the rights of commands: paths that they
/// cannot reach are left out.
pub(super) fn domain(places: &LandlockPaths, scratch: &Scratch, network: Network) -> Result<OwnedFd, Error> {
    let made = rules(places, scratch, network).map(Option::<OwnedFd>::from);
    made.ok().flatten().ok_or_else(not_taken)
}

fn not_taken() -> Error {
    Error::new(ErrorKind::Io, "the sandbox cannot start: the kernel refuses the Landlock rules").hint(ASK_DOCTOR)
}

fn rules(places: &LandlockPaths, scratch: &Scratch, network: Network) -> Result<RulesetCreated, Refused> {
    let everything = AccessFs::from_all(ASKED);
    let reading = AccessFs::from_read(ASKED);
    let changing = everything & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    // Never best effort: no other wall enforces these rules.
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(everything)?;
    let ruleset = match network {
        Network::None => ruleset.handle_access(AccessNet::from_all(ASKED))?,
        Network::Host => ruleset,
    };
    let mut rules = ruleset.create()?;
    for place in PROGRAMS {
        rules = allow_if_there(rules, Path::new(place), reading)?;
    }
    let etc = Path::new("/etc");
    let resolver = (network == Network::Host).then(|| etc.join("resolv.conf"));
    for file in shown_of_host(etc).into_iter().chain(NAMES.map(|name| etc.join(name))).chain(resolver) {
        rules = allow_if_there(rules, &file, AccessFs::ReadFile | AccessFs::ReadDir)?;
    }
    for file in MACHINE {
        rules = allow_if_there(rules, &Path::new("/proc").join(file), AccessFs::ReadFile | AccessFs::ReadDir)?;
    }
    for name in DEVICES {
        rules = allow_if_there(rules, &Path::new("/dev").join(name), device)?;
    }
    for source in &places.opened {
        let access = if source.access() == MountAccess::ReadWrite { changing } else { reading };
        let access = if source.is_directory() { access } else { access & AccessFs::from_file(ASKED) };
        rules = rules.add_rule(PathBeneath::new(source, access))?;
    }
    for path in [&scratch.home(), &scratch.tmp()] {
        rules = allow(rules, path, changing)?;
    }
    Ok(rules)
}

/// Allows access at a path, and below it.
fn allow(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, Refused> {
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(ASKED) };
    Ok(rules.add_rule(PathBeneath::new(PathFd::new(path)?, access))?)
}

/// Like [`allow`], for paths that not every machine has.
fn allow_if_there(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, Refused> {
    if path.exists() { allow(rules, path, access) } else { Ok(rules) }
}
