//! The arguments of the keeper.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use workden_core::{Error, ErrorKind, Result, sandbox::GitIdentity};
use workden_wire::TokenHash;

const USAGE: &str = "usage: keeper serve --socket PATH --token-sha256 HEX --directory DIR [--ttl SECONDS] [--attached]\n             \
                     [--git-config PATH --git-name NAME --git-email ADDRESS]\n       \
                     keeper serve --port NUMBER [--port NUMBER]...\n       \
                     keeper pod --socket PATH [--wait SECONDS]\n       \
                     keeper connect --socket PATH\n       keeper file-ids PATH...\n       keeper checksum\n       \
                     keeper install PATH\n       keeper --version";

/// The task of the keeper.
#[derive(Debug)]
pub(super) enum KeeperTask {
    /// Print the version.
    Version,
    /// Serve as the launcher asks.
    Launched,
    /// Serve a socket in a container.
    Serve(ServeArguments),
    /// Serve the first of these ports of the loopback interface that is free, as the launch on standard input says.
    Ports(Vec<u16>),
    /// Serve a pod, after a launcher has connected to its socket.
    Pod(PodArguments),
    /// Relay to a socket.
    Connect {
        /// The socket.
        socket: PathBuf,
    },
    /// Print the checksum of this program.
    Checksum,
    /// Copy this program to a path.
    Install(PathBuf),
    /// Print the device and inode numbers of these paths.
    FileIds(Vec<PathBuf>),
}

/// How to serve a socket.
#[derive(Debug)]
pub(super) struct ServeArguments {
    pub(super) socket: PathBuf,
    pub(super) token: TokenHash,
    /// Whether a client is attached to the standard streams.
    pub(super) standard_streams: StandardStreams,
    /// How long to live without a connection; `None` for ever.
    pub(super) ttl: Option<Duration>,
    pub(super) directory: PathBuf,
    /// The configuration of git that the keeper writes for commands, if any.
    pub(super) git_config: Option<PathBuf>,
    /// Who commits.
    pub(super) git_identity: GitIdentity,
}

/// Where a pod is launched.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PodArguments {
    /// Where the launcher connects.
    pub(super) socket: PathBuf,
    /// How long to wait for the launcher; `None` for ever.
    pub(super) wait: Option<Duration>,
}

/// The use of the standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StandardStreams {
    /// None.
    Unused,
    /// A client, from the start.
    Attached,
}

/// Parses the arguments.
pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<KeeperTask> {
    let mut arguments = arguments.into_iter();
    let Some(task) = arguments.next() else { return Ok(KeeperTask::Launched) };
    if task == "--version" {
        return Ok(KeeperTask::Version);
    }
    if task == "checksum" {
        return Ok(KeeperTask::Checksum);
    }
    if task == "install" {
        let at = arguments.next().ok_or_else(|| wrong("`install` requires a path"))?;
        return Ok(KeeperTask::Install(at.into()));
    }
    if task == "file-ids" {
        return Ok(KeeperTask::FileIds(arguments.map(PathBuf::from).collect()));
    }
    let (mut socket, mut token, mut ttl, mut directory, mut git_config) = (None, None, None, None, None);
    let (mut wait, mut ports) = (None, Vec::new());
    let mut git_identity = GitIdentity::default();
    let mut standard_streams = StandardStreams::Unused;
    while let Some(name) = arguments.next() {
        if name == "--attached" {
            standard_streams = StandardStreams::Attached;
            continue;
        }
        let value = arguments.next().ok_or_else(|| wrong(&format!("`{}` requires a value", name.display())))?;
        let text = || value.to_str().ok_or_else(|| wrong("invalid argument: not UTF-8"));
        match name.to_str() {
            Some("--socket") => socket = Some(PathBuf::from(value)),
            Some("--directory") => directory = Some(PathBuf::from(value)),
            Some("--token-sha256") => token = Some(TokenHash::parse(text()?)?),
            Some("--git-config") => git_config = Some(PathBuf::from(value)),
            Some("--git-name") => git_identity.name = Some(text()?.to_owned()),
            Some("--git-email") => git_identity.email = Some(text()?.to_owned()),
            Some("--ttl") => ttl = Some(seconds("--ttl", text()?)?),
            Some("--port") => ports.push(port(text()?)?),
            Some("--wait") => wait = Some(seconds("--wait", text()?)?),
            _ => return Err(wrong(&format!("unknown option `{}`", name.display()))),
        }
    }
    if task == "serve" && !ports.is_empty() {
        return match socket {
            None => Ok(KeeperTask::Ports(ports)),
            Some(_) => Err(wrong("`--port` is not supported with `--socket`")),
        };
    }
    let socket = socket.ok_or_else(|| wrong("`--socket` is required"))?;
    match task.to_str() {
        Some("connect") => Ok(KeeperTask::Connect { socket }),
        Some("pod") => Ok(KeeperTask::Pod(PodArguments { socket, wait })),
        Some("serve") => Ok(KeeperTask::Serve(ServeArguments {
            socket,
            token: token.ok_or_else(|| wrong("`--token-sha256` is required"))?,
            standard_streams,
            ttl,
            directory: directory.ok_or_else(|| wrong("`--directory` is required"))?,
            git_config,
            git_identity,
        })),
        _ => Err(wrong(&format!("unknown command `{}`", task.display()))),
    }
}

fn seconds(option: &str, text: &str) -> Result<Duration> {
    let seconds = text.parse().map_err(|_| wrong(&format!("invalid `{option}`: use a number of seconds")))?;
    Ok(Duration::from_secs(seconds))
}

fn port(text: &str) -> Result<u16> {
    text.parse().map_err(|_| wrong("invalid `--port`: use a number from 0 to 65535"))
}

fn wrong(why: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, why.to_owned()).hint(USAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<KeeperTask> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn arguments_are_understood_or_refused() {
        let hash = TokenHash::of("x").to_string();
        assert!(matches!(parsed(""), Ok(KeeperTask::Launched)));
        assert!(matches!(parsed("--version"), Ok(KeeperTask::Version)));
        assert!(matches!(parsed("connect --socket /s"), Ok(KeeperTask::Connect { .. })));
        let KeeperTask::Ports(ports) = parsed("serve --port 7 --port 8").unwrap() else { panic!("not ports") };
        assert_eq!(ports, [7, 8]);
        let KeeperTask::Pod(pod) = parsed("pod --socket /s --wait 5").unwrap() else { panic!("not a pod") };
        assert_eq!(pod, PodArguments { socket: "/s".into(), wait: Some(Duration::from_secs(5)) });
        let serve =
            parsed(&format!("serve --socket /s --token-sha256 {hash} --directory /d --attached --ttl 60")).unwrap();
        let KeeperTask::Serve(place) = serve else { panic!("{serve:?}") };
        assert_eq!((place.ttl, place.standard_streams), (Some(Duration::from_secs(60)), StandardStreams::Attached));
        let git = format!("serve --socket /s --token-sha256 {hash} --directory /d --git-config /c --git-name Ada");
        let KeeperTask::Serve(place) = parsed(&git).unwrap() else { panic!("{git}") };
        assert_eq!(place.git_config, Some("/c".into()));
        assert_eq!(place.git_identity, GitIdentity { name: Some("Ada".into()), email: None });
        for line in [
            "serve",
            "serve --socket",
            "serve --socket /s",
            "serve --port 99999",
            "serve --port 7 --socket /s",
            "dance --socket /s",
            "pod --wait x",
            "install",
            "connect --sock /s",
        ] {
            assert_eq!(parsed(line).unwrap_err().kind(), ErrorKind::InvalidArgument, "{line}");
        }
    }
}
