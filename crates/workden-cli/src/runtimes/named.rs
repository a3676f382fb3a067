//! A runtime by what somebody typed: the name of one that comes with workden, or a file.

use std::path::Path;

use workden_sandboxes::runtimes::{RuntimeConfig, builtin};

use crate::{failure::Failure, place::request};

/// The runtime of this name, or the one in this file, if it ends in `.toml`. It makes sense.
pub(crate) fn named(typed: &str) -> Result<RuntimeConfig, Failure> {
    let is_file = Path::new(typed).extension().is_some_and(|ending| ending == "toml");
    if !is_file {
        return builtin(typed).map_err(request);
    }
    let text =
        std::fs::read_to_string(typed).map_err(|error| Failure::Request(format!("cannot read {typed}: {error}")))?;
    let runtime = parse(&text).map_err(|sentence| Failure::Request(format!("{typed}: {sentence}")))?;
    runtime.check().map_err(|error| Failure::Request(format!("{typed}: {error}")))?;
    Ok(runtime)
}

fn parse(text: &str) -> Result<RuntimeConfig, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {line}, column {column}: {}", error.message().trim_end())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_a_name_or_a_file() {
        assert_eq!(named("python-web").unwrap().name, "python-web");
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("mine.toml");
        let typed = file.to_str().unwrap();
        std::fs::write(&file, "name = \"mine\"\nbase_image = \"debian:12\"\npackage_manager = \"apt\"\n").unwrap();
        assert_eq!(named(typed).unwrap().name, "mine");
        for (text, expected) in [
            ("name = \"mine\"\npackage = []\n", "line 2, column 1: unknown field `package`"),
            (
                "name = \"mine\"\nbase_image = \"x\"\npackage_manager = \"dnf\"\n",
                "line 3, column 19: unknown variant `dnf`",
            ),
            ("name = \"mine\"\n", "the runtime `mine` makes no sense: it has neither"),
            ("image = \"x\"\n", "a runtime has no name"),
        ] {
            std::fs::write(&file, text).unwrap();
            let failure = named(typed).unwrap_err().to_string();
            assert!(failure.starts_with(&format!("{typed}: {expected}")), "{failure}");
        }
        assert!(named("no-such-file.toml").unwrap_err().to_string().starts_with("cannot read no-such-file.toml: "));
        assert!(named("ruby").unwrap_err().to_string().starts_with("Unknown runtime 'ruby'. Available: "));
    }
}
