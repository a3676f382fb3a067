//! The identity of the user in git, as git itself reads it from the user's own configuration.
//!
//! Invariant: no file of a workspace is executed for it, or read by its name: git is one of the machine's, it starts in
//! `/`, and it reads the global configuration only.

use std::{
    io::Read,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use workden_core::sandbox::GitIdentity;

use crate::{HostEnvironment, host_environment::is_program};

/// Where git is looked for. The search path may have directories that commands can write to.
const PROGRAMS: [&str; 4] = ["/usr/bin/git", "/usr/local/bin/git", "/bin/git", "/opt/homebrew/bin/git"];
/// The variables that say where the configuration is.
const VARIABLES: [&str; 3] = ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"];
/// How long git may take.
const MOST_TIME: Duration = Duration::from_secs(2);
/// How much of its answer is read.
const MOST_BYTES: usize = 4096;

/// Returns the identity in the global configuration of this user. Without a configuration nothing is started.
pub(crate) fn of(host: &HostEnvironment) -> Option<GitIdentity> {
    // As in git, a named file replaces the usual ones.
    let files = match host.place("GIT_CONFIG_GLOBAL") {
        Some(named) => vec![named],
        None => {
            let below = host.place_or_home("XDG_CONFIG_HOME", ".config").map(|above| above.join("git/config"));
            [below, host.home().map(|home| home.join(".gitconfig"))].into_iter().flatten().collect()
        }
    };
    if !files.iter().any(|file| file.is_file()) {
        return None;
    }
    let git = PROGRAMS.into_iter().find(|program| is_program(Path::new(program)))?;
    let variables = VARIABLES.iter().filter_map(|name| Some((name, host.variable(name)?)));
    let mut child = Command::new(git)
        .args(["config", "--global", "--includes", "-z", "--get-regexp", r"^user\.(name|email)$"])
        .env_clear()
        .envs(variables)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let answer = read_in_time(&mut child, MOST_TIME);
    // Nothing of it is needed any more, whether it has ended or not.
    let _ = child.kill();
    let _ = child.wait();
    parse(&answer?)
}

/// Reads what a program prints until it closes its output; nothing if that takes too long.
fn read_in_time(child: &mut Child, most: Duration) -> Option<Vec<u8>> {
    let mut output = child.stdout.take()?;
    let deadline = Instant::now() + most;
    let (mut answer, mut part) = (Vec::new(), [0; MOST_BYTES]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&output, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return None,
            Err(Errno::INTR) => {}
            Err(_) => return None,
            Ok(_) => match output.read(&mut part).ok()? {
                0 => return Some(answer),
                length => answer.extend(part.get(..length)?),
            },
        }
        if answer.len() > MOST_BYTES {
            return None;
        }
    }
}

/// Parses `key`, a line end, the value and a NUL, repeated. The last value of a key counts.
fn parse(answer: &[u8]) -> Option<GitIdentity> {
    let mut identity = GitIdentity::default();
    for entry in std::str::from_utf8(answer).ok()?.split('\0') {
        match entry.split_once('\n') {
            Some(("user.name", name)) => identity.name = Some(name.to_owned()),
            Some(("user.email", email)) => identity.email = Some(email.to_owned()),
            _ => {}
        }
    }
    (identity != GitIdentity::default()).then_some(identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(home: &Path) -> HostEnvironment {
        let variables = [("HOME".to_owned(), home.display().to_string())].into();
        HostEnvironment { variables, directory: home.to_owned() }
    }

    #[test]
    fn the_identity_is_that_of_the_user_and_not_of_a_repository() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path();
        std::fs::create_dir(home.join(".git")).unwrap();
        std::fs::write(home.join(".git/config"), "[user]\n\tname = Repository\n").unwrap();
        assert_eq!(of(&host(home)), None);
        std::fs::write(home.join(".gitconfig"), "[core]\n\tabbrev = 7\n").unwrap();
        assert_eq!(of(&host(home)), None);
        std::fs::write(home.join("more"), "[user]\n\temail = a@b.c\n").unwrap();
        let text = "[user]\n\tname = first\n\tname = \"A \\\"B\\\"\"\n[include]\n\tpath = more\n";
        std::fs::write(home.join(".gitconfig"), text).unwrap();
        let identity = GitIdentity { name: Some("A \"B\"".into()), email: Some("a@b.c".into()) };
        assert_eq!(of(&host(home)), Some(identity));
        assert_eq!(of(&host(home).without_git_identity()), None);
    }

    #[test]
    fn a_program_that_does_not_answer_is_not_waited_for() {
        let start = |line: &str| Command::new("sh").args(["-c", line]).stdout(Stdio::piped()).spawn().unwrap();
        let mut slow = start("exec sleep 300");
        assert_eq!(read_in_time(&mut slow, Duration::from_millis(10)), None);
        slow.kill().unwrap();
        slow.wait().unwrap();
        let mut quick = start("printf 'a\\nb'");
        assert_eq!(read_in_time(&mut quick, Duration::from_secs(300)).unwrap(), b"a\nb");
        quick.wait().unwrap();
        let mut long = start("exec head -c 100000 /dev/zero");
        assert_eq!(read_in_time(&mut long, Duration::from_secs(300)), None);
        let _ = long.kill();
        long.wait().unwrap();
    }
}
