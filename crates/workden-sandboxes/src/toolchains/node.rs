//! Node: the version that nvm has activated or its default, then volta's default, then the system's.

use std::path::{Path, PathBuf};

use workden_core::Result;

use super::{Search, Toolchain, of_program, places::Places, versions};
use crate::{HostEnvironment, host_environment::is_program};

/// Longest chain of nvm aliases.
const MOST_ALIASES: usize = 8;

pub(super) fn find(looked: &mut Search<'_>) -> Result<Option<Toolchain>> {
    let host = looked.host;
    match host.place("NVM_BIN").as_deref().and_then(Path::parent) {
        Some(prefix) if has_node(prefix) => return installed(prefix, host).map(Some),
        Some(prefix) => looked.at(prefix, "NVM_BIN, but no bin/node"),
        None => looked.unset("NVM_BIN"),
    }
    if let Some(prefix) = nvm(looked).or_else(|| volta(looked)) {
        return installed(&prefix, host).map(Some);
    }
    // The shims of volta choose a version when they run, from files that are not shown.
    let is_no_shim = |program: &Path| !program.parent().is_some_and(|directory| directory.ends_with(".volta/bin"));
    if let Some(program) = looked.program("node", is_no_shim) {
        return of_program(&program, "the Node", host).map(Some);
    }
    looked.on_path("node");
    Ok(None)
}

fn has_node(prefix: &Path) -> bool {
    is_program(&prefix.join("bin/node"))
}

/// Returns the version that nvm calls `default`, or the newest.
fn nvm(looked: &mut Search<'_>) -> Option<PathBuf> {
    let host = looked.host;
    let root = host.place_or_home("NVM_DIR", ".nvm")?;
    let installed = root.join("versions/node");
    if !installed.is_dir() {
        looked.at(&root, "not there");
        return None;
    }
    let wanted = versions::nearest_line(&host.directory, ".nvmrc").unwrap_or_else(|| "default".to_owned());
    let found = versions::newest(&installed, "", &numbered(&root, wanted)).filter(|found| has_node(found));
    if found.is_none() {
        looked.at(&installed, "no fitting version");
    }
    found
}

/// Resolves an alias with the files in `alias`: a version, or empty for the newest.
fn numbered(root: &Path, mut wanted: String) -> String {
    for _ in 0..MOST_ALIASES {
        // `lts/*` is a file of that name; dots could lead elsewhere.
        if wanted.contains("..") || wanted.starts_with('/') {
            break;
        }
        match versions::first_line(&root.join("alias").join(&wanted)) {
            Some(next) => wanted = next,
            None => break,
        }
    }
    let is_version = wanted.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    if is_version { wanted } else { String::new() }
}

/// Returns the version that volta uses outside of projects.
fn volta(looked: &mut Search<'_>) -> Option<PathBuf> {
    let host = looked.host;
    let root = host.place_or_home("VOLTA_HOME", ".volta")?;
    let images = root.join("tools/image/node");
    if !images.is_dir() {
        looked.at(&root, "not there");
        return None;
    }
    let platform = std::fs::read_to_string(root.join("tools/user/platform.json")).unwrap_or_default();
    let platform: serde_json::Value = serde_json::from_str(&platform).unwrap_or_default();
    let wanted = platform["node"]["runtime"].as_str().unwrap_or_default();
    let found = versions::newest(&images, "", wanted).filter(|found| has_node(found));
    if found.is_none() {
        looked.at(&images, "no fitting version");
    }
    found
}

fn installed(prefix: &Path, host: &HostEnvironment) -> Result<Toolchain> {
    let mut places = Places::new(host);
    places.add(prefix)?;
    Ok(places.into_toolchain(format!("the Node {}", host.shown(prefix)), [prefix.join("bin")]))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs};

    use super::*;

    fn found(tree: &[(&str, &str)], variables: &[(&str, &str)]) -> String {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap();
        for (path, text) in tree {
            fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
            match path.ends_with("/node") {
                true => drop(fs::copy("/bin/true", home.join(path)).unwrap()),
                false => fs::write(home.join(path), text).unwrap(),
            }
        }
        let mut all = BTreeMap::from([("HOME".to_owned(), home.display().to_string())]);
        all.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), format!("{}/{value}", home.display()))));
        match Toolchain::find("node", &HostEnvironment { variables: all, directory: home.clone() }, &[]) {
            Ok(found) => found.shown[0].at.strip_prefix(&home).unwrap().display().to_string(),
            Err(error) => error.to_string(),
        }
    }

    const NVM_20: (&str, &str) = (".nvm/versions/node/v20.11.1/bin/node", "");
    const NVM_22: (&str, &str) = (".nvm/versions/node/v22.3.0/bin/node", "");
    const VOLTA: (&str, &str) = (".volta/tools/image/node/18.2.0/bin/node", "");

    #[test]
    fn nvm_takes_the_active_the_projects_or_the_default_version() {
        let trees = [NVM_20, NVM_22];
        assert_eq!(found(&trees, &[("NVM_BIN", ".nvm/versions/node/v20.11.1/bin")]), ".nvm/versions/node/v20.11.1");
        assert_eq!(found(&trees, &[]), ".nvm/versions/node/v22.3.0");
        assert_eq!(found(&[NVM_20, NVM_22, (".nvmrc", "20\n")], &[]), ".nvm/versions/node/v20.11.1");
        let aliases = [NVM_20, NVM_22, (".nvm/alias/default", "lts/iron\n"), (".nvm/alias/lts/iron", "v20.11.1\n")];
        assert_eq!(found(&aliases, &[]), ".nvm/versions/node/v20.11.1");
        let round = [NVM_22, (".nvm/alias/default", "a\n"), (".nvm/alias/a", "default\n")];
        assert_eq!(found(&round, &[]), ".nvm/versions/node/v22.3.0");
    }

    #[test]
    fn a_project_names_a_version_and_no_file() {
        let outside = tempfile::tempdir().unwrap();
        let fifo = outside.path().join("fifo");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, kind, mode, 0).unwrap();
        for named in [fifo.to_str().unwrap(), "../../../../etc/hostname"] {
            assert_eq!(found(&[NVM_22, (".nvmrc", named)], &[]), ".nvm/versions/node/v22.3.0");
        }
    }

    #[test]
    fn volta_takes_its_default() {
        let newer = (".volta/tools/image/node/21.0.0/bin/node", "");
        let platform = (".volta/tools/user/platform.json", r#"{"node": {"runtime": "18.2.0", "npm": null}}"#);
        assert_eq!(found(&[VOLTA, newer, platform], &[]), ".volta/tools/image/node/18.2.0");
        assert_eq!(found(&[VOLTA, newer], &[]), ".volta/tools/image/node/21.0.0");
    }

    #[test]
    fn a_version_that_is_not_installed_is_told() {
        let told = found(&[NVM_20, (".nvmrc", "18\n")], &[]);
        assert!(told.contains("~/.nvm/versions/node (no fitting version)"), "{told}");
    }
}
