//! `workden runtimes show`: prints a runtime, as a template for the user's own.

use std::io::Write;

use serde::Serialize;
use workden::sandboxes::runtimes::RuntimeConfig;

use crate::failure::{Failure, request};

/// A runtime, the name of its image, and its Dockerfile.
#[derive(Serialize)]
struct Shown {
    runtime: RuntimeConfig,
    image: Option<String>,
    dockerfile: Option<String>,
}

pub(super) fn run(which: &str, json: bool) -> Result<(), Failure> {
    let runtime = workden::runtime_named(which).map_err(request)?;
    let dockerfile = runtime.dockerfile().map_err(request)?;
    let tag = runtime.tag().map_err(request)?.map(|tag| tag.to_string());
    let image = tag.or_else(|| runtime.image.clone());
    let shown = Shown { runtime, image, dockerfile };
    let text = match json {
        true => serde_json::to_string_pretty(&shown).map_err(|error| Failure::Request(error.to_string()))? + "\n",
        false => as_toml(&shown)?,
    };
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}

/// Formats it as TOML that can be read back, with the Dockerfile in comments.
fn as_toml(shown: &Shown) -> Result<String, Failure> {
    let mut text = toml::to_string(&shown.runtime).map_err(|error| Failure::Request(error.to_string()))?;
    let image = shown.image.as_deref().unwrap_or_default();
    match &shown.dockerfile {
        Some(dockerfile) => {
            text += &format!("\n# The image is {image}, built from:\n#\n");
            dockerfile.lines().for_each(|line| text += &format!("#   {line}\n"));
        }
        None => text += &format!("\n# The image is {image}, unchanged.\n"),
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use workden::sandboxes::runtimes::BUILTIN_RUNTIMES;

    use super::*;

    #[test]
    fn what_is_shown_can_be_read_back() {
        for builtin in BUILTIN_RUNTIMES {
            let mut runtime = builtin.config();
            runtime.env_vars.insert("A".into(), "b \"c\"".into());
            let dockerfile = runtime.dockerfile().unwrap();
            let text = as_toml(&Shown { runtime: runtime.clone(), image: None, dockerfile }).unwrap();
            assert_eq!(toml::from_str::<RuntimeConfig>(&text).unwrap(), runtime, "{text}");
        }
    }
}
