//! Python: the active virtual or conda environment, the project's `.venv`, then the versions of pyenv or uv, then the
//! system's. For a virtual environment its base interpreter is shown, too.

use std::path::{Path, PathBuf};

use workden_core::Result;

use super::{Looked, Toolchain, of_program, places::Places, versions};
use crate::{HostEnvironment, host_environment::is_program};

/// Longest chain of virtual environments.
const MOST_BASES: usize = 8;

pub(super) fn find(host: &HostEnvironment, looked: &mut Looked<'_>) -> Result<Option<Toolchain>> {
    match host.place("VIRTUAL_ENV") {
        Some(place) if has_python(&place) => return virtual_environment(&place, host).map(Some),
        Some(place) => looked.at(&place, "VIRTUAL_ENV, but no bin/python"),
        None => looked.unset("VIRTUAL_ENV"),
    }
    match host.place("CONDA_PREFIX") {
        Some(place) if has_python(&place) => return conda(&place, host).map(Some),
        Some(place) => looked.at(&place, "CONDA_PREFIX, but no bin/python"),
        None => looked.unset("CONDA_PREFIX"),
    }
    let of_project = host.directory.join(".venv");
    match has_python(&of_project) {
        true => return virtual_environment(&of_project, host).map(Some),
        false => looked.at(&of_project, "no bin/python"),
    }
    if let Some(place) = pyenv(host, looked).or_else(|| uv(host, looked)) {
        return installed(&place, host).map(Some);
    }
    // The shims of pyenv choose a version when they run: with none chosen they fail.
    let is_no_shim = |program: &Path| !program.parent().is_some_and(|directory| directory.ends_with("shims"));
    if let Some(program) = host.program("python3", is_no_shim) {
        return of_program(&program, "the Python", host).map(Some);
    }
    looked.on_path("python3");
    Ok(None)
}

fn has_python(prefix: &Path) -> bool {
    is_program(&prefix.join("bin/python")) || is_program(&prefix.join("bin/python3"))
}

fn virtual_environment(place: &Path, host: &HostEnvironment) -> Result<Toolchain> {
    let mut places = Places::new(host);
    places.add(place)?;
    places.add_program(&place.join("bin/python"))?;
    let mut environment = place.to_path_buf();
    for _ in 0..MOST_BASES {
        let Some(programs) = base_programs(&environment) else { break };
        places.add_program(&programs.join("python3"))?;
        let Some(base) = programs.parent() else { break };
        environment = base.to_path_buf();
    }
    let what = format!("the virtual environment {}", host.shown(place));
    let mut found = places.into_toolchain(what, [place.join("bin")]);
    found.environment.insert("VIRTUAL_ENV".to_owned(), place.display().to_string());
    Ok(found)
}

/// Returns the directory of the base interpreter of a virtual environment: `home` in its `pyvenv.cfg`.
fn base_programs(environment: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(environment.join("pyvenv.cfg")).ok()?;
    let mut keys = text.lines().filter_map(|line| line.split_once('='));
    let home = keys.find(|(key, _)| key.trim() == "home")?.1.trim();
    Some(PathBuf::from(home)).filter(|home| home.is_absolute())
}

fn conda(place: &Path, host: &HostEnvironment) -> Result<Toolchain> {
    let mut places = Places::new(host);
    places.add(place)?;
    let mut found = places.into_toolchain(format!("the conda environment {}", host.shown(place)), [place.join("bin")]);
    found.environment.insert("CONDA_PREFIX".to_owned(), place.display().to_string());
    Ok(found)
}

/// Returns the version that pyenv would choose here.
fn pyenv(host: &HostEnvironment, looked: &mut Looked<'_>) -> Option<PathBuf> {
    let root = host.place_or_home("PYENV_ROOT", ".pyenv")?;
    let versions = root.join("versions");
    if !versions.is_dir() {
        looked.at(&root, "not there");
        return None;
    }
    let chosen = host
        .variable("PYENV_VERSION")
        .map(str::to_owned)
        .or_else(|| versions::nearest_line(&host.directory, ".python-version"))
        .or_else(|| versions::first_line(&root.join("version")));
    let Some(chosen) = chosen else {
        looked.at(&root, "no version is chosen");
        return None;
    };
    let chosen = chosen.split([':', ' ']).next().unwrap_or_default().to_owned();
    // A plain name, which cannot lead elsewhere.
    let exact = Some(versions.join(&chosen)).filter(|_| !chosen.contains('/') && !chosen.starts_with('.'));
    let place = exact
        .filter(|place| has_python(place))
        .or_else(|| versions::newest(&versions, "", &chosen).filter(|place| has_python(place)));
    if place.is_none() {
        looked.at(&versions, &format!("`{chosen}` is chosen"));
    }
    place
}

/// Returns the newest Python that uv has installed.
fn uv(host: &HostEnvironment, looked: &mut Looked<'_>) -> Option<PathBuf> {
    let data = host.place_or_home("XDG_DATA_HOME", ".local/share").map(|data| data.join("uv/python"));
    let place = host.place("UV_PYTHON_INSTALL_DIR").or(data)?;
    let found = versions::newest(&place, "cpython-", "").filter(|found| has_python(found));
    if found.is_none() {
        looked.at(&place, "no cpython-*");
    }
    found
}

fn installed(place: &Path, host: &HostEnvironment) -> Result<Toolchain> {
    let mut places = Places::new(host);
    places.add(place)?;
    places.add_program(&place.join("bin/python3"))?;
    Ok(places.into_toolchain(format!("the Python {}", host.shown(place)), [place.join("bin")]))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, os::unix::fs::symlink};

    use super::*;

    /// A home directory with Pythons in these directories.
    struct Home(tempfile::TempDir);

    impl Home {
        fn with(prefixes: &[&str]) -> Self {
            let home = Self(tempfile::tempdir().unwrap());
            for prefix in prefixes {
                let programs = home.at(prefix).join("bin");
                fs::create_dir_all(&programs).unwrap();
                fs::copy("/bin/true", programs.join("python3")).unwrap();
            }
            home
        }

        fn at(&self, below: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(below)
        }

        fn write(&self, below: &str, text: &str) {
            fs::create_dir_all(self.at(below).parent().unwrap()).unwrap();
            fs::write(self.at(below), text).unwrap();
        }

        fn find(&self, variables: &[(&str, PathBuf)]) -> Result<Toolchain> {
            let mut all = BTreeMap::from([("HOME".to_owned(), self.at("").display().to_string())]);
            all.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), value.display().to_string())));
            fs::create_dir_all(self.at("project")).unwrap();
            Toolchain::find("python", &HostEnvironment { variables: all, directory: self.at("project") })
        }

        /// Returns the shown directories, relative to the home directory.
        fn shown(&self, found: &Toolchain) -> Vec<String> {
            let home = self.at("");
            let below = |path: &Path| path.strip_prefix(&home).unwrap_or(path).display().to_string();
            found.shown.iter().map(|shown| below(&shown.at)).collect()
        }
    }

    #[test]
    fn an_active_virtual_environment_comes_with_what_it_stands_on() {
        let home = Home::with(&["base", "elsewhere/.pyenv/versions/3.11.7"]);
        home.write("env/pyvenv.cfg", &format!("include-system = false\nhome = {}\n", home.at("base/bin").display()));
        fs::create_dir(home.at("env/bin")).unwrap();
        symlink(home.at("base/bin/python3"), home.at("env/bin/python")).unwrap();
        let found = home.find(&[("VIRTUAL_ENV", home.at("env"))]).unwrap();
        assert_eq!(home.shown(&found), ["base", "env"]);
        assert_eq!(found.programs, [home.at("env/bin")]);
        assert_eq!(found.environment["VIRTUAL_ENV"], home.at("env").display().to_string());
        assert_eq!(found.what, "the virtual environment ~/env");
    }

    #[test]
    fn a_virtual_environment_of_the_system_needs_the_system() {
        let home = Home::with(&[]);
        home.write("project/.venv/pyvenv.cfg", "home = /usr/bin\n");
        fs::create_dir(home.at("project/.venv/bin")).unwrap();
        symlink("/bin/sh", home.at("project/.venv/bin/python")).unwrap();
        let found = home.find(&[]).unwrap();
        assert_eq!(home.shown(&found), ["project/.venv"]);
        assert_eq!(found.system, super::super::SystemParts::Needed);
    }

    #[test]
    fn a_configuration_that_claims_the_home_directory_is_refused() {
        let home = Home::with(&["env", "."]);
        home.write("env/pyvenv.cfg", &format!("home = {}\n", home.at("bin").display()));
        let error = home.find(&[("VIRTUAL_ENV", home.at("env"))]).unwrap_err();
        assert!(error.sentence().contains("right in `~`"), "{error}");
    }

    #[test]
    fn pyenv_takes_the_version_that_it_would_choose() {
        let home = Home::with(&[".pyenv/versions/3.10.13", ".pyenv/versions/3.11.7", ".pyenv/versions/3.12.1"]);
        home.write(".pyenv/version", "3.11.7\n");
        assert_eq!(home.shown(&home.find(&[]).unwrap()), [".pyenv/versions/3.11.7"]);
        home.write("project/.python-version", "3.10\n");
        assert_eq!(home.shown(&home.find(&[]).unwrap()), [".pyenv/versions/3.10.13"]);
        let chosen = home.find(&[("PYENV_VERSION", "3.12.1:3.11.7".into())]).unwrap();
        assert_eq!(home.shown(&chosen), [".pyenv/versions/3.12.1"]);
        assert_eq!(chosen.programs, [home.at(".pyenv/versions/3.12.1/bin")]);
        let error = home.find(&[("PYENV_VERSION", "../../x".into())]).unwrap_err();
        assert!(error.hint_text().unwrap().contains("~/.pyenv/versions (`../../x` is chosen)"), "{error}");
    }

    #[test]
    fn uv_and_conda_are_found() {
        let uv = ".local/share/uv/python/";
        let home = Home::with(&[
            &format!("{uv}cpython-3.9.1-linux-x86_64-gnu"),
            &format!("{uv}cpython-3.12.3-linux-x86_64-gnu"),
            "miniconda3/envs/a",
        ]);
        symlink("cpython-3.12.3-linux-x86_64-gnu", home.at(uv).join("cpython-3.12-linux-x86_64-gnu")).unwrap();
        assert_eq!(home.shown(&home.find(&[]).unwrap()), [format!("{uv}cpython-3.12.3-linux-x86_64-gnu")]);
        let conda = home.find(&[("CONDA_PREFIX", home.at("miniconda3/envs/a"))]).unwrap();
        assert_eq!(home.shown(&conda), ["miniconda3/envs/a"]);
        assert_eq!(conda.environment["CONDA_PREFIX"], home.at("miniconda3/envs/a").display().to_string());
    }

    #[test]
    fn the_systems_python_is_the_last_resort_and_a_shim_is_none() {
        let home = Home::with(&["opt/py", "pyenv-less"]);
        fs::create_dir(home.at("shims")).unwrap();
        fs::copy("/bin/true", home.at("shims/python3")).unwrap();
        let path = format!("{}:{}", home.at("shims").display(), home.at("opt/py/bin").display());
        let found = home.find(&[("PATH", path.into())]).unwrap();
        assert_eq!(home.shown(&found), ["opt/py"]);
        assert_eq!(found.programs, [home.at("opt/py/bin")]);
    }
}
