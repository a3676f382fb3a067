//! The table `[setup]`: commands that prepare a project once.

use serde::{Deserialize, Serialize};
use workden_core::{Error, ErrorKind, Result};

use super::locate::{Step, position};

/// Commands that install what a project needs. `workden setup` runs them; nothing else does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SetupConfig {
    /// Commands of a shell, which run in this order in a sandbox. The first that fails ends the setup.
    pub commands: Vec<String>,
    /// Whether the commands have the network of this machine: `true` if absent.
    #[serde(default = "with_network")]
    pub network: bool,
    /// Files of the project. When the content of one has changed, the setup is no longer up to date.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache_key: Vec<String>,
}

fn with_network() -> bool {
    true
}

impl SetupConfig {
    pub(super) fn check(&self, text: &str) -> Result<()> {
        let place = |key: &'static str, nth: Option<usize>| {
            let steps = [Step::Key("setup"), Step::Key(key)].into_iter().chain(nth.map(Step::Nth));
            position(text, &steps.collect::<Vec<_>>())
        };
        let invalid = |sentence: String| Error::new(ErrorKind::InvalidArgument, sentence);
        let usage = "write it like `commands = [\"pip install -r requirements.txt\"]`";
        if self.commands.is_empty() {
            return Err(invalid(format!("{}`commands` is empty", place("commands", None))).hint(usage));
        }
        let is_blank = |text: &String| text.trim().is_empty() || text.contains('\0');
        if let Some(nth) = self.commands.iter().position(is_blank) {
            return Err(invalid(format!("{}invalid command", place("commands", Some(nth)))).hint(usage));
        }
        let leads_out =
            |name: &String| is_blank(name) || name.starts_with('/') || name.split('/').any(|part| matches!(part, ".."));
        if let Some(nth) = self.cache_key.iter().position(leads_out) {
            let name = &self.cache_key[nth];
            let sentence =
                format!("{}`{}` is not a file of the project", place("cache_key", Some(nth)), name.escape_debug());
            return Err(invalid(sentence).hint("use a relative path without `..`, like `requirements.txt`"));
        }
        Ok(())
    }
}
