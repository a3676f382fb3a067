//! The limits and variables in the record of a session.

use workden_core::{Error, ErrorKind, Result, parse_size};
use workden_sandboxes::SandboxOptions;
use workden_sessions::SessionRecord;

use super::ENV;

/// Returns a change of the options of a sandbox to the limits and variables of a record.
pub(super) fn set_options(record: &SessionRecord) -> Result<impl FnOnce(&mut SandboxOptions) + use<>> {
    let limits = Limits::of(record)?;
    let variable = |(name, value): (&String, &String)| Some((name.strip_prefix(ENV)?.to_owned(), value.clone()));
    let variables: Vec<(String, String)> = record.options.iter().filter_map(variable).collect();
    Ok(move |options: &mut SandboxOptions| {
        limits.set(options);
        variables.into_iter().for_each(|(name, value)| options.set_env(name, value));
    })
}

/// The limits of a record.
struct Limits {
    memory: Option<u64>,
    cpus: Option<f64>,
    pids: Option<u64>,
}

impl Limits {
    /// Reads them. A sandbox does not start without a limit that its record names.
    fn of(record: &SessionRecord) -> Result<Self> {
        let said = |name: &str| record.options.get(name).map(String::as_str);
        let invalid = |name: &'static str| {
            let text = said(name).unwrap_or_default();
            Error::new(
                ErrorKind::InvalidArgument,
                format!("invalid limit `{name} {text}` in the record of the session"),
            )
            .hint("end the session with `workden sessions release`, which keeps its files")
        };
        Ok(Self {
            memory: said("--memory").map(parse_size).transpose().map_err(|_| invalid("--memory"))?,
            cpus: said("--cpus").map(str::parse).transpose().map_err(|_| invalid("--cpus"))?,
            pids: said("--pids").map(str::parse).transpose().map_err(|_| invalid("--pids"))?,
        })
    }

    fn set(&self, options: &mut SandboxOptions) {
        (options.memory, options.cpus, options.pids) = (self.memory, self.cpus, self.pids);
    }
}
