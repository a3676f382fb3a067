//! Whether this machine has the level `landlock`: a whole sandbox of it is made, and a program runs under
//! its rules.

use std::os::fd::AsFd;

use workden_core::{
    Error, ErrorKind,
    sandbox::{Confinement, Finding, Level, Need, Outcome, WorkFiles},
};

use super::dry_run::{dry_run_of, finding, lacking, minimal, run_true};
use crate::{
    config::KeeperConfig,
    confine::{
        landlock::check_version,
        landlock_level::{privileges::CommandUser, scratch::Scratch},
    },
    sys::confine::{landlock_restrict, landlock_version},
};

/// Somebody who owns nothing, for a sandbox that root starts.
const NOBODY: u32 = 65534;

/// Looks, from beginning to end.
pub(super) fn probe() -> Finding {
    let outcome = match dry_run() {
        Ok(()) => {
            let version = landlock_version().unwrap_or_default();
            Outcome::Works(format!("Landlock of version {version}; a sandbox was made, and a program ran in it"))
        }
        Err(error) => lacking(error.sentence(), error.hint_text().map(str::to_owned)),
    };
    finding("landlock_level", "a whole sandbox of that level", Need::LandlockLevel, outcome)
}

fn dry_run() -> Result<(), Error> {
    check_version(landlock_version())?;
    // Commands never are the machine's user 0; any other works on what is its own.
    let place = Scratch::make(CommandUser::for_directory((NOBODY, NOBODY))?.ids())?;
    let ran = minimal().and_then(|minimal| {
        let work = WorkFiles::Directory(place.home());
        dry_run_of(&Confinement { level: Level::Landlock, work, ..minimal }, run_under_rules)
    });
    place.remove();
    ran
}

fn run_under_rules(config: KeeperConfig) -> Result<(), Error> {
    let refused = || Error::new(ErrorKind::Io, "the sandbox starts, but no command can be put under its rules");
    let domain = config.domain.ok_or_else(refused)?;
    landlock_restrict(domain.as_fd()).map_err(|_| refused())?;
    seccompiler::apply_filter(&config.last_filter).map_err(|_| refused())?;
    run_true()
}
