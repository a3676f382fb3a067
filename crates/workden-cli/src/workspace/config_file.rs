//! A `workden.toml` by the name that somebody typed.

use std::path::Path;

use workden::Config;

use crate::failure::Failure;

/// Reads and checks it. Whoever typed the name may see it.
pub(crate) fn read(file: &Path) -> Result<Config, Failure> {
    let shown = file.display();
    let text =
        std::fs::read_to_string(file).map_err(|error| Failure::Request(format!("cannot read {shown}: {error}")))?;
    Config::parse(&text).map_err(|error| Failure::Request(format!("{shown}: {error}")))
}
