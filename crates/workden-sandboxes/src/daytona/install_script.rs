//! The scripts that look for the keeper in a sandbox and install it. They run in any POSIX shell.
//!
//! Both outputs come in one, so that the lines that count have a mark.

use crate::container_keepers::KeeperFile;

/// The mark of the lines that count.
const MARK: &str = "workden:";

/// Prints the SHA-256 of a file. The keeper can do it where no program can.
const CHECKSUM: &str = r#"sum() { { sha256sum "$1" 2>/dev/null || "$1" checksum; } | cut -d' ' -f1; }"#;

/// Returns the script that looks for a keeper, and for places to put one, and makes the work directory. It removes
/// uploads that were not finished.
pub(super) fn look(keepers: &[KeeperFile], directory: &str) -> String {
    let cases: String =
        keepers.iter().map(|keeper| format!("{}) hash={} ;; ", keeper.machine(), keeper.hash)).collect();
    let directory = quoted(directory);
    format!(
        r#"{CHECKSUM}
mkdir -p -- {directory} 2>/dev/null
if ! [ -d {directory} ]; then echo {MARK}no-directory; exit 0; fi
machine=$(uname -m); hash=none
case $machine in {cases}esac
echo "{MARK}machine $machine"
for place in "${{HOME:-/nowhere}}/.workden" "/tmp/.workden-$(id -u)" "/var/tmp/.workden-$(id -u)" "/dev/shm/.workden-$(id -u)"; do
  mkdir -p -m 700 -- "$place" 2>/dev/null
  find "$place" -name 'part-*' -mmin +60 -exec rm -f -- {{}} + 2>/dev/null
  if [ -x "$place/keeper-$hash" ] && [ "$(sum "$place/keeper-$hash")" = "$hash" ]; then
    echo "{MARK}keeper $place/keeper-$hash"; exit 0
  fi
  if [ -d "$place" ] && [ -w "$place" ]; then echo "{MARK}place $place"; fi
done
"#
    )
}

/// Returns the script that checks an uploaded keeper and puts it into its place.
pub(super) fn install(part: &str, at: &str, hash: &str) -> String {
    let (part, at) = (quoted(part), quoted(at));
    format!(
        r#"{CHECKSUM}
chmod 700 {part} || {{ rm -f {part}; echo {MARK}failed; exit 0; }}
if [ "$(sum {part})" != {hash} ]; then rm -f {part}; echo "{MARK}failed: another checksum"; exit 0; fi
mv -f {part} {at} && {at} --version && echo {MARK}installed && exit 0
rm -f {part} {at}; echo {MARK}failed
"#
    )
}

/// Returns what the installation ended with, or all that was printed.
pub(super) fn outcome(said: &str) -> Result<(), String> {
    match said.lines().any(|line| line == format!("{MARK}installed")) {
        true => Ok(()),
        false => Err(said.replace(MARK, "")),
    }
}

/// What the first script has found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) machine: String,
    pub(super) keeper: Option<String>,
    pub(super) places: Vec<String>,
}

impl Found {
    pub(super) fn parse(said: &str) -> Result<Self, String> {
        let mut found = Self::default();
        for line in said.lines().filter_map(|line| line.strip_prefix(MARK)) {
            match line.split_once(' ') {
                Some(("machine", machine)) => machine.clone_into(&mut found.machine),
                Some(("keeper", path)) => found.keeper = Some(path.to_owned()),
                Some(("place", path)) => found.places.push(path.to_owned()),
                _ if line == "no-directory" => return Err("the work directory cannot be created".to_owned()),
                _ => {}
            }
        }
        if found.machine.is_empty() {
            return Err("its shell does not run scripts".to_owned());
        }
        Ok(found)
    }
}

/// Quotes a word so that a shell reads it literally.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn keeper(content: &str) -> KeeperFile {
        use sha2::{Digest, Sha256};
        let hash = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
        KeeperFile { architecture, content: content.to_owned().into(), hash }
    }

    fn said(home: &std::path::Path, script: &str) -> String {
        let done = Command::new("sh").args(["-c", script]).env("HOME", home).output().unwrap();
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    #[test]
    fn a_keeper_is_looked_for_checked_and_installed() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let work = home.join("it's work");
        let keeper = keeper("#!/bin/sh\necho keeper 1\n");
        let look = look(std::slice::from_ref(&keeper), work.to_str().unwrap());
        let found = Found::parse(&said(home, &look)).unwrap();
        assert!(work.is_dir());
        assert_eq!((found.machine.as_str(), found.keeper), (keeper.machine(), None));
        let place = home.join(".workden");
        assert_eq!(found.places[0], place.to_str().unwrap());
        let (part, at) = (place.join("part"), place.join(format!("keeper-{}", keeper.hash)));
        std::fs::write(&part, "truncated").unwrap();
        let install = install(part.to_str().unwrap(), at.to_str().unwrap(), &keeper.hash);
        assert!(outcome(&said(home, &install)).unwrap_err().contains("another checksum"));
        assert!(!part.exists() && !at.exists());
        std::fs::write(&part, &keeper.content).unwrap();
        assert_eq!(outcome(&said(home, &install)), Ok(()));
        let found = Found::parse(&said(home, &look)).unwrap();
        assert_eq!(found.keeper, Some(at.to_str().unwrap().to_owned()));
        // An upload that another process has just begun stays, and an old one goes.
        let (old, new) = (place.join("part-old"), place.join("part-new"));
        let hours_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 3600);
        std::fs::File::create(&old).unwrap().set_modified(hours_ago).unwrap();
        std::fs::write(&new, "").unwrap();
        said(home, &look);
        assert!(new.exists() && !old.exists());
        // A file that was changed is not used.
        std::fs::write(&at, "#!/bin/sh\n").unwrap();
        assert_eq!(Found::parse(&said(home, &look)).unwrap().keeper, None);
    }

    #[test]
    fn what_is_not_a_shell_or_has_no_directory_is_told() {
        assert!(Found::parse("exec format error").is_err());
        assert!(Found::parse("workden:no-directory\n").unwrap_err().contains("work directory"));
    }
}
