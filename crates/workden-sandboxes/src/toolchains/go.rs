//! Go: `GOROOT`, the `go` on the search path, or the default directory of its installer. Builds and downloads go to
//! the sandbox's home.

use std::path::Path;

use workden_core::Result;

use super::{Search, Toolchain, of_program, places::Places};
use crate::{HostEnvironment, host_environment::is_program};

/// The directory in Go's installation instructions.
const USUAL: &str = "/usr/local/go";

pub(super) fn find(looked: &mut Search<'_>) -> Result<Option<Toolchain>> {
    let host = looked.host;
    match host.place("GOROOT") {
        Some(root) if is_program(&root.join("bin/go")) => return at(&root, host).map(Some),
        Some(root) => looked.at(&root, "GOROOT, but no bin/go"),
        None => looked.unset("GOROOT"),
    }
    if let Some(program) = looked.program("go", |_| true) {
        return of_program(&program, "the Go", host).map(|found| Some(local(found)));
    }
    looked.on_path("go");
    let usual = Path::new(USUAL);
    if is_program(&usual.join("bin/go")) {
        return at(usual, host).map(Some);
    }
    looked.places.push(USUAL.to_owned());
    Ok(None)
}

fn at(root: &Path, host: &HostEnvironment) -> Result<Toolchain> {
    let mut places = Places::new(host);
    places.add(root)?;
    Ok(local(places.into_toolchain(format!("the Go {}", host.shown(root)), [root.join("bin")])))
}

/// Disables the download of another Go version.
fn local(mut found: Toolchain) -> Toolchain {
    found.environment.insert("GOTOOLCHAIN".to_owned(), "local".to_owned());
    found
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs};

    use super::*;

    #[test]
    fn a_root_that_is_named_or_on_the_search_path_is_found() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("sdk/go1.24/bin")).unwrap();
        fs::copy("/bin/true", home.join("sdk/go1.24/bin/go")).unwrap();
        let root = home.join("sdk/go1.24").display().to_string();
        for (name, value) in [("GOROOT", root.clone()), ("PATH", format!("{root}/bin"))] {
            let variables = BTreeMap::from([("HOME".to_owned(), home.display().to_string()), (name.to_owned(), value)]);
            let found = Toolchain::find("go", &HostEnvironment { variables, directory: home.clone() }, &[]).unwrap();
            assert_eq!(found.shown[0].at, home.join("sdk/go1.24"), "{name}");
            assert_eq!(found.programs, [home.join("sdk/go1.24/bin")]);
            assert_eq!(found.environment["GOTOOLCHAIN"], "local");
        }
    }
}
