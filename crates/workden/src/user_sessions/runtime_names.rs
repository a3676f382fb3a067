//! Runtimes as a user names them: by the name of a built-in one, or by the path of a `.toml` file.

use std::path::Path;

use workden_core::{Error, ErrorKind, Result};

pub(super) fn is_file(typed: &str) -> bool {
    Path::new(typed).extension().is_some_and(|ending| ending == "toml")
}

/// Returns the runtime of this name, or the one in this `.toml` file.
///
/// # Errors
///
/// When there is no runtime of this name, or the file cannot be read or is invalid.
pub fn runtime_named(typed: &str) -> Result<workden_sandboxes::runtimes::RuntimeConfig> {
    use workden_sandboxes::runtimes::{RuntimeConfig, builtin};

    if !is_file(typed) {
        return builtin(typed);
    }
    let invalid = |sentence: String| Error::new(ErrorKind::InvalidArgument, sentence);
    let text = std::fs::read_to_string(typed).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, format!("runtime file `{typed}` not found")),
        kind => invalid(format!("cannot read the runtime file `{typed}`: {kind}")),
    })?;
    let runtime: RuntimeConfig = toml::from_str(&text).map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        invalid(format!("{typed}: line {line}, column {column}: {}", error.message().trim_end()))
    })?;
    runtime.check().map_err(|error| invalid(format!("{typed}: {error}")))?;
    Ok(runtime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_a_name_or_a_file() {
        assert_eq!(runtime_named("python-web").unwrap().name, "python-web");
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("mine.toml");
        let typed = file.to_str().unwrap();
        std::fs::write(&file, "name = \"mine\"\nbase_image = \"debian:12\"\npackage_manager = \"apt\"\n").unwrap();
        assert_eq!(runtime_named(typed).unwrap().name, "mine");
        for (text, expected) in [
            ("name = \"mine\"\npackage = []\n", "line 2, column 1: unknown field `package`"),
            (
                "name = \"mine\"\nbase_image = \"x\"\npackage_manager = \"dnf\"\n",
                "line 3, column 19: unknown variant `dnf`",
            ),
            ("name = \"mine\"\n", "invalid runtime `mine`: it has neither"),
            ("image = \"x\"\n", "a runtime has no name"),
        ] {
            std::fs::write(&file, text).unwrap();
            let failure = runtime_named(typed).unwrap_err().to_string();
            assert!(failure.starts_with(&format!("{typed}: {expected}")), "{failure}");
        }
        let missing = runtime_named("no-such-file.toml").unwrap_err().to_string();
        assert_eq!(missing, "runtime file `no-such-file.toml` not found");
        assert!(runtime_named("ruby").unwrap_err().to_string().starts_with("Unknown runtime 'ruby'. Available: "));
    }
}
