//! Checks the level `landlock`: a whole sandbox of that level is set up, and a program runs under its rules.

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

/// A user without files, for a sandbox that root starts.
const UNASSIGNED: u32 = 65534;

/// Checks a whole sandbox of the level.
pub(super) fn probe() -> Finding {
    let outcome = match dry_run() {
        Ok(()) => {
            let version = landlock_version().unwrap_or_default();
            Outcome::Works(format!("a program ran in a sandbox, with Landlock version {version}"))
        }
        Err(error) => lacking(error.sentence(), error.hint_text().map(str::to_owned)),
    };
    finding("landlock_level", "a whole sandbox of that level", Need::LandlockLevel, outcome)
}

fn dry_run() -> Result<(), Error> {
    check_version(landlock_version())?;
    // Commands never run as the machine's user 0; any other user works on its own files.
    let place = Scratch::make(CommandUser::for_directory((UNASSIGNED, UNASSIGNED))?.ids())?;
    let ran = minimal().and_then(|minimal| {
        let work = WorkFiles::Directory(place.home());
        dry_run_of(&Confinement { level: Level::Landlock, work, ..minimal }, run_under_rules)
    });
    place.remove();
    ran
}

fn run_under_rules(config: KeeperConfig) -> Result<(), Error> {
    let refused = || Error::new(ErrorKind::Io, "the sandbox starts, but cannot restrict a command");
    let domain = config.domain.ok_or_else(refused)?;
    landlock_restrict(domain.as_fd()).map_err(|_| refused())?;
    seccompiler::apply_filter(&config.last_filter).map_err(|_| refused())?;
    run_true()
}
