//! The fixed facts of a sandbox: the user, host name and paths that commands see, and the purpose it is made for.

/// The purpose of a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A keeper that serves it.
    Keeper,
    /// One command whose output is carried elsewhere: no logs.
    OneCommand,
}

/// The user and group that commands see themselves as.
pub(super) const INSIDE: u32 = 1000;
/// The host name that commands see.
pub(super) const HOST_NAME: &str = "workden";
/// The home directory of commands.
pub(super) const HOME: &str = "/home/agent";
/// The user name of commands.
pub(super) const USER: &str = "agent";
/// The directory in which commands see their logs.
pub(super) const LOGS: &str = "/run/workden";

/// Returns whether this process seems to run inside a workden sandbox. A command can fake that, so the answer
/// is only good for choosing the words of a message.
#[must_use]
pub fn in_sandbox() -> bool {
    rustix::system::uname().nodename().to_bytes() == HOST_NAME.as_bytes() && std::path::Path::new(LOGS).is_dir()
}
