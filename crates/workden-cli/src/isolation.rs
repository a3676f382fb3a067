//! Which isolation this machine supports: the keeper's answer on Linux, and none elsewhere.

#[cfg(target_os = "linux")]
pub(crate) use workden_keeper::confine::{
    LANDLOCK_LEVEL_LACKS, LANDLOCK_LEVEL_VERSION, in_sandbox, landlock_version, probe,
};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{LANDLOCK_LEVEL_LACKS, LANDLOCK_LEVEL_VERSION, in_sandbox, landlock_version, probe};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use workden_core::sandbox::{Finding, Need, Outcome};

    pub(crate) const LANDLOCK_LEVEL_VERSION: u32 = u32::MAX;
    pub(crate) const LANDLOCK_LEVEL_LACKS: [&str; 0] = [];

    pub(crate) fn landlock_version() -> Option<u32> {
        None
    }

    pub(crate) fn in_sandbox() -> bool {
        false
    }

    pub(crate) fn probe() -> Vec<Finding> {
        let outcome = Outcome::Lacking {
            why: "this machine is not Linux".to_owned(),
            fix: Some("run commands in a container: `workden run --sandbox docker`".to_owned()),
        };
        vec![Finding::new("sandbox", "sandbox", Need::Sandbox, outcome)]
    }
}
