//! The record of a kept session: a JSON document beside its lock.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use workden_core::{Error, ErrorKind, Result, VirtualPath, parse_size, type_size};

use crate::SessionId;

/// The record of a kept session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// The kind of its sandbox: `linux`, `docker`, `kubernetes`. An id belongs to one.
    pub kind: String,
    /// Its options when it was created, by name. Asking for another value is a conflict.
    pub options: BTreeMap<String, String>,
    /// The directory of the host that holds its files; empty if they are in the sandbox.
    pub workspace: PathBuf,
    /// The path of that directory for commands.
    pub directory: VirtualPath,
    /// Paths in it that commands may not read.
    #[serde(default)]
    pub masked: Vec<VirtualPath>,
    /// Paths in it that commands may not change.
    #[serde(default)]
    pub read_only: Vec<VirtualPath>,
    /// How long it lives while no process is connected.
    pub idle: Duration,
}

impl SessionRecord {
    /// Returns the record of a session without options that works in this directory of the host.
    ///
    /// # Errors
    ///
    /// None that a caller can cause.
    pub fn new(workspace: PathBuf, idle: Duration) -> Result<Self> {
        let directory = VirtualPath::parse("/workspace")?;
        let (kind, options) = (String::new(), BTreeMap::new());
        let (masked, read_only) = (Vec::new(), Vec::new());
        Ok(Self { kind, options, workspace, directory, masked, read_only, idle })
    }

    /// Whether a directory of the host holds its files.
    #[must_use]
    pub fn has_directory(&self) -> bool {
        !self.workspace.as_os_str().is_empty()
    }

    /// Checks that the session is what the caller wants: of the same kind, in the same directory, with all the named
    /// options, and with everything held that must be held.
    ///
    /// # Errors
    ///
    /// `Conflict`, with the difference.
    pub fn fits(&self, id: &SessionId, wanted: &Self) -> Result<()> {
        let conflict = |sentence: String| Err(Error::new(ErrorKind::Conflict, sentence).hint(let_go(id)));
        if self.kind != wanted.kind {
            return conflict(format!("the session `{id}` is of the kind `{}`, not `{}`", self.kind, wanted.kind));
        }
        if (&self.workspace, &self.directory) != (&wanted.workspace, &wanted.directory) {
            let (workspace, directory) = (self.workspace.display(), &self.directory);
            return conflict(format!("the session `{id}` works in another directory: {workspace} at `{directory}`"));
        }
        for (name, value) in &wanted.options {
            match self.options.get(name) {
                Some(there) if spelled(name, there) == spelled(name, value) => {}
                // The value of a variable may be a secret.
                Some(_) if name.starts_with(ENV) => {
                    return conflict(format!("the session `{id}` has another value for `{name}`"));
                }
                Some(there) => {
                    let (there, value) = (spelled(name, there), spelled(name, value));
                    return conflict(format!("the session `{id}` has `{name} {there}`, not `{value}`"));
                }
                None if name.starts_with(ENV) => {
                    return conflict(format!("the session `{id}` was made without `{name}`"));
                }
                None => {
                    let value = spelled(name, value);
                    return conflict(format!("the session `{id}` was made without `{name} {value}`"));
                }
            }
        }
        let is_below = |place: &VirtualPath, held: &[VirtualPath]| held.iter().any(|held| place.is_within(held));
        if let Some(place) = wanted.masked.iter().find(|place| !is_below(place, &self.masked)) {
            return conflict(format!("commands of the session `{id}` can read `{place}`, which is denied"));
        }
        let is_open = |place: &&VirtualPath| !is_below(place, &self.read_only) && !is_below(place, &self.masked);
        match wanted.read_only.iter().find(is_open) {
            Some(place) => conflict(format!("commands of the session `{id}` can change `{place}`, which is denied")),
            None => Ok(()),
        }
    }
}

/// The beginning of the name of an option that is a variable: `--env A`.
const ENV: &str = "--env ";

/// Returns the value of an option as a user types it: a size with its unit.
fn spelled(name: &str, value: &str) -> String {
    match parse_size(value) {
        Ok(bytes) if name == "--memory" => type_size(bytes),
        _ => value.to_owned(),
    }
}

/// Returns the hint for a session that does not fit.
pub(super) fn let_go(id: &SessionId) -> String {
    format!("use another id, or end it with `workden sessions release {id}`, which keeps its files")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: &str, options: &[(&str, &str)], masked: &[&str]) -> SessionRecord {
        SessionRecord {
            kind: kind.to_owned(),
            options: options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            workspace: "/srv/x".into(),
            directory: VirtualPath::parse("/workspace").unwrap(),
            masked: masked.iter().map(|place| VirtualPath::parse(place).unwrap()).collect(),
            read_only: Vec::new(),
            idle: Duration::from_secs(1),
        }
    }

    #[test]
    fn a_session_is_what_it_was_made_as() {
        let id: SessionId = "one".parse().unwrap();
        let options = [("--image", "a"), ("--net", "host"), ("--memory", "268435456"), ("--env A", "secret")];
        let there = record("docker", &options, &["/workspace/secrets"]);
        for fits in [
            record("docker", &[], &[]),
            record("docker", &[("--image", "a")], &["/workspace/secrets/key"]),
            record("docker", &[("--memory", "256M"), ("--env A", "secret")], &[]),
        ] {
            there.fits(&id, &fits).unwrap();
        }
        for (wanted, says) in [
            (record("linux", &[], &[]), "is of the kind `docker`, not `linux`"),
            (SessionRecord { workspace: "/srv/y".into(), ..record("docker", &[], &[]) }, "works in another directory"),
            (record("docker", &[("--image", "b")], &[]), "has `--image a`, not `b`"),
            (record("docker", &[("--memory", "536870912")], &[]), "has `--memory 256M`, not `512M`"),
            (record("docker", &[("--pids", "1")], &[]), "was made without `--pids 1`"),
            (record("docker", &[("--env A", "b")], &[]), "has another value for `--env A`"),
            (record("docker", &[("--env B", "b")], &[]), "was made without `--env B`"),
            (record("docker", &[], &["/workspace/.env"]), "can read `/workspace/.env`"),
        ] {
            let error = there.fits(&id, &wanted).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict);
            assert!(error.sentence().contains(says) && !error.sentence().contains("secret"), "{error}");
        }
    }
}
