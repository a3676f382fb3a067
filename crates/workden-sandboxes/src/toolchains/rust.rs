//! Rust: rustup's toolchains and cargo's programs, read-only. The sandbox has a new cargo home, because the host's
//! holds credentials.

use workden_core::Result;

use super::{Search, Toolchain, of_program, places::Places};
pub(super) fn find(looked: &mut Search<'_>) -> Result<Option<Toolchain>> {
    let host = looked.host;
    let rustup = host.place_or_home("RUSTUP_HOME", ".rustup");
    let cargo = host.place_or_home("CARGO_HOME", ".cargo");
    if let (Some(rustup), Some(cargo)) = (rustup, cargo) {
        if rustup.join("toolchains").is_dir() && cargo.join("bin").is_dir() {
            let mut places = Places::new(host);
            places.add(&rustup)?;
            places.add(&cargo.join("bin"))?;
            let what = format!("the Rust {}", host.shown(&rustup));
            let mut found = places.into_toolchain(what, [cargo.join("bin")]);
            found.environment.insert("RUSTUP_HOME".to_owned(), rustup.display().to_string());
            found.environment.insert("CARGO_HOME".to_owned(), "~/.cargo".to_owned());
            if let Some(toolchain) = host.variable("RUSTUP_TOOLCHAIN") {
                found.environment.insert("RUSTUP_TOOLCHAIN".to_owned(), toolchain.to_owned());
            }
            return Ok(Some(found));
        }
        looked.at(&rustup, "no toolchains");
    }
    if let Some(program) = looked.program("rustc", |_| true) {
        return of_program(&program, "the Rust", host).map(Some);
    }
    looked.on_path("rustc");
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, path::PathBuf};

    use super::*;
    use crate::HostEnvironment;

    #[test]
    fn rustup_and_cargos_programs_are_shown_but_not_its_credentials() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap();
        for directory in [".rustup/toolchains/stable", ".cargo/bin", ".cargo/registry"] {
            fs::create_dir_all(home.join(directory)).unwrap();
        }
        let variables = BTreeMap::from([("HOME".to_owned(), home.display().to_string())]);
        let host = HostEnvironment { variables, directory: home.clone() };
        let found = Toolchain::find("rust", &host, &[]).unwrap();
        let shown: Vec<PathBuf> = found.shown.iter().map(|shown| shown.at.clone()).collect();
        assert_eq!(shown, [home.join(".cargo/bin"), home.join(".rustup")]);
        assert_eq!(found.programs, [home.join(".cargo/bin")]);
        assert_eq!(found.environment["CARGO_HOME"], "~/.cargo");
        assert_eq!(found.environment["RUSTUP_HOME"], home.join(".rustup").display().to_string());
    }
}
