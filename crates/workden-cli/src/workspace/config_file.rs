//! Reads the `workden.toml` that the user named.

use std::path::Path;

use workden::Config;

use crate::failure::{Failure, unreadable};

/// Reads and checks it. Errors show the path, because the user typed it.
pub(crate) fn read(file: &Path) -> Result<Config, Failure> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| unreadable("configuration", file, &error))?;
    Config::parse(&text).map_err(|error| Failure::Request(format!("{shown}: {error}")))
}
