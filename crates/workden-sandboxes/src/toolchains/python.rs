//! Python: the active virtual or conda environment, the project's `.venv`, then the versions of pyenv or uv, then the
//! system's. For a virtual environment its base interpreter is shown, too.

use std::path::{Path, PathBuf};

use workden_core::{Error, ErrorKind, Result};

use super::{
    Search, Toolchain,
    declared::{DeclaredPythons, uv_directory},
    places::Places,
    versions,
};
use crate::{HostEnvironment, host_environment::is_program, small_file};

/// Longest chain of links inside a virtual environment.
const MOST_LINKS: usize = 8;
/// Most bytes of a `pyvenv.cfg`.
const LONGEST_CONFIGURATION: u64 = 64 * 1024;

pub(super) fn find(looked: &mut Search<'_>) -> Result<Option<Toolchain>> {
    let host = looked.host;
    match host.place("VIRTUAL_ENV") {
        Some(place) if has_python(&place) => return virtual_environment(&place, looked).map(Some),
        Some(place) => looked.at(&place, "VIRTUAL_ENV, but no bin/python"),
        None => looked.unset("VIRTUAL_ENV"),
    }
    match host.place("CONDA_PREFIX") {
        Some(place) if has_python(&place) => return conda(&place, host).map(Some),
        Some(place) => looked.at(&place, "CONDA_PREFIX, but no bin/python"),
        None => looked.unset("CONDA_PREFIX"),
    }
    let of_project = host.directory.join(".venv");
    match (of_project.is_symlink(), has_python(&of_project)) {
        (true, _) => looked.at(&of_project, "a link, which is not followed"),
        (false, true) => return virtual_environment(&of_project, looked).map(Some),
        (false, false) => looked.at(&of_project, "no bin/python"),
    }
    if let Some(place) = pyenv(looked).or_else(|| uv(looked)) {
        return installed(&place, host).map(Some);
    }
    // The shims of pyenv choose a version when they run: with none chosen they fail.
    let is_no_shim = |program: &Path| !program.parent().is_some_and(|directory| directory.ends_with("shims"));
    if let Some(program) = looked.program("python3", is_no_shim) {
        return on_path(&program, looked).map(Some);
    }
    looked.on_path("python3");
    Ok(None)
}

fn has_python(prefix: &Path) -> bool {
    is_program(&prefix.join("bin/python")) || is_program(&prefix.join("bin/python3"))
}

fn virtual_environment(place: &Path, search: &Search<'_>) -> Result<Toolchain> {
    let host = search.host;
    let mut places = Places::new(host);
    match search.is_writable(place) {
        // By its given name alone: commands could exchange it for a link before its real name is looked up.
        true => places.add_given(place)?,
        false => places.add(place)?,
    }
    let declared = DeclaredPythons::of(search);
    // Commands may have written both, so that they select and do not name.
    for programs in base_programs(place).into_iter().chain(linked_programs(place)) {
        let Some(shown) = declared.select(&programs, search) else { return Err(undeclared(place, &programs, host)) };
        shown.iter().try_for_each(|directory| places.add(directory))?;
    }
    let what = format!("the virtual environment {}", host.shown(place));
    let mut found = places.into_toolchain(what, [place.join("bin")]);
    found.environment.insert("VIRTUAL_ENV".to_owned(), place.display().to_string());
    Ok(found)
}

/// Returns the Python of a program on the search path.
fn on_path(program: &Path, search: &Search<'_>) -> Result<Toolchain> {
    let host = search.host;
    let programs = program.parent().unwrap_or(program);
    let Some(shown) = DeclaredPythons::of(search).select(programs, search) else {
        let sentence = format!("`{}` is not in the directory of an installed Python", host.shown(program));
        return Err(Error::new(ErrorKind::Denied, sentence)
            .hint("put the `bin` directory of an installed Python on PATH, or use one of pyenv, uv or conda"));
    };
    let mut places = Places::new(host);
    shown.iter().try_for_each(|directory| places.add(directory))?;
    Ok(places.into_toolchain(format!("the Python of {}", host.shown(program)), [programs.to_path_buf()]))
}

fn undeclared(place: &Path, programs: &Path, host: &HostEnvironment) -> Error {
    let sentence = format!(
        "the virtual environment `{}` is of a Python in `{}`, which is not one of this machine's toolchains",
        host.shown(place),
        host.shown(programs).escape_debug()
    );
    Error::new(ErrorKind::Denied, sentence).hint(
        "put that directory on PATH if you trust it, or create the environment with a Python of pyenv, uv or conda",
    )
}

/// Returns the directories to which the interpreter of a virtual environment links, outside of it.
fn linked_programs(environment: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in ["python", "python3"] {
        let mut program = environment.join("bin").join(name);
        for _ in 0..MOST_LINKS {
            let Ok(target) = std::fs::read_link(&program) else { break };
            let is_relative = target.is_relative();
            program.set_file_name("");
            program.push(target);
            match program.parent() {
                Some(directory) if directory == environment.join("bin") => continue,
                // A path with `..` in it is no mount point.
                Some(directory) if is_relative => found.extend(directory.canonicalize()),
                Some(directory) => found.push(directory.to_path_buf()),
                None => {}
            }
            // Links of the host's own Python are not the environment's.
            break;
        }
    }
    found
}

/// Returns the directory of the base interpreter of a virtual environment: `home` in its `pyvenv.cfg`.
fn base_programs(environment: &Path) -> Option<PathBuf> {
    let text = small_file::read(&environment.join("pyvenv.cfg"), LONGEST_CONFIGURATION).ok()?;
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
fn pyenv(looked: &mut Search<'_>) -> Option<PathBuf> {
    let host = looked.host;
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
fn uv(looked: &mut Search<'_>) -> Option<PathBuf> {
    let place = uv_directory(looked)?;
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
                for directory in [&programs, &home.at(prefix).join("lib/python3.12")] {
                    fs::create_dir_all(directory).unwrap();
                }
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
            let host = HostEnvironment { variables: all, directory: self.at("project") };
            Toolchain::find("python", &host, &[self.at("project")])
        }

        /// Returns the shown directories, relative to the home directory.
        fn shown(&self, found: &Toolchain) -> Vec<String> {
            let home = self.at("");
            let below = |path: &Path| path.strip_prefix(&home).unwrap_or(path).display().to_string();
            found.shown.iter().map(|shown| below(&shown.at)).collect()
        }
    }

    /// Creates a virtual environment, with a link to an interpreter.
    fn virtual_environment(home: &Home, at: &str, programs: &Path, link: &Path) {
        home.write(&format!("{at}/pyvenv.cfg"), &format!("include-system = false\nhome = {}\n", programs.display()));
        fs::create_dir_all(home.at(at).join("bin")).unwrap();
        fs::copy("/bin/true", home.at(at).join("bin/python3")).unwrap();
        symlink(link, home.at(at).join("bin/python")).unwrap();
    }

    #[test]
    fn an_active_virtual_environment_comes_with_what_it_stands_on() {
        for base in [".pyenv/versions/3.11.7", ".local/share/uv/python/cpython-3.12.1", "miniconda3", "opt/py"] {
            let home = Home::with(&[base]);
            let programs = home.at(base).join("bin");
            virtual_environment(&home, "env", &programs, &programs.join("python3"));
            let path = ("PATH", home.at("opt/py/bin"));
            let found = home.find(&[("VIRTUAL_ENV", home.at("env")), path]).unwrap();
            let mut expected = [base, "env"];
            expected.sort_unstable();
            assert_eq!(home.shown(&found), expected);
            assert_eq!(found.programs, [home.at("env/bin")]);
            assert_eq!(found.environment["VIRTUAL_ENV"], home.at("env").display().to_string());
            assert_eq!(found.what, "the virtual environment ~/env");
        }
    }

    #[test]
    fn a_virtual_environment_names_no_directory_that_the_host_does_not_declare() {
        let base = ".pyenv/versions/3.11.7";
        for (named, linked) in [
            // Not a Python, and one that the host does not declare.
            (".ssh", base),
            (base, ".ssh/none"),
            ("elsewhere/bin", base),
            (base, "elsewhere/bin/python3"),
            // In what commands can write to, and on the search path because the environment is active.
            ("project/py/bin", base),
        ] {
            let home = Home::with(&[base, "elsewhere", "project/py"]);
            home.write(".ssh/id_rsa", "secret");
            let at = |place: &str| if place == base { home.at(base).join("bin") } else { home.at(place) };
            let link = if linked == base { at(base).join("python3") } else { at(linked) };
            virtual_environment(&home, "project/.venv", &at(named), &link);
            let path = format!("{}:{}", home.at("project/.venv/bin").display(), home.at("project/py/bin").display());
            for variables in [vec![], vec![("VIRTUAL_ENV", home.at("project/.venv")), ("PATH", path.into())]] {
                let error = home.find(&variables).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Denied, "{named} {linked}: {error}");
            }
        }
    }

    #[test]
    fn a_directory_with_a_link_to_a_python_is_not_shown() {
        let base = ".pyenv/versions/3.11.7";
        let home = Home::with(&[base]);
        home.write("private/secret.txt", "secret");
        symlink(home.at(base).join("bin"), home.at("private/bin")).unwrap();
        virtual_environment(&home, "project/.venv", &home.at("private/bin"), &home.at("private/bin/python3"));
        assert_eq!(home.shown(&home.find(&[]).unwrap()), [base, "project/.venv"]);
    }

    #[test]
    fn a_link_in_the_place_of_the_projects_environment_is_not_followed() {
        let home = Home::with(&["elsewhere"]);
        fs::create_dir(home.at("project")).unwrap();
        symlink(home.at("elsewhere"), home.at("project/.venv")).unwrap();
        let error = home.find(&[]).unwrap_err();
        assert!(error.hint_text().unwrap().contains("~/project/.venv (a link, which is not followed)"), "{error}");
    }

    #[test]
    fn files_that_never_end_are_not_waited_for() {
        let home = Home::with(&[".pyenv/versions/3.11.7", "project/.venv"]);
        let fifo = |below: &str| {
            let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
            rustix::fs::mknodat(rustix::fs::CWD, home.at(below), kind, mode, 0).unwrap();
        };
        fifo("project/.venv/pyvenv.cfg");
        assert_eq!(home.shown(&home.find(&[]).unwrap()), ["project/.venv"]);
        fs::remove_file(home.at("project/.venv/pyvenv.cfg")).unwrap();
        symlink("/dev/zero", home.at("project/.venv/pyvenv.cfg")).unwrap();
        assert_eq!(home.shown(&home.find(&[]).unwrap()), ["project/.venv"]);
        fs::remove_dir_all(home.at("project/.venv")).unwrap();
        fifo("project/.python-version");
        home.write(".pyenv/version", "3.11.7\n");
        assert_eq!(home.shown(&home.find(&[]).unwrap()), [".pyenv/versions/3.11.7"]);
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
        for path in ["bin", "env/bin"] {
            let error = home.find(&[("VIRTUAL_ENV", home.at("env")), ("PATH", home.at(path))]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        }
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
        let home = Home::with(&["opt/py"]);
        fs::create_dir(home.at("shims")).unwrap();
        fs::copy("/bin/true", home.at("shims/python3")).unwrap();
        let path = format!("{}:{}", home.at("shims").display(), home.at("opt/py/bin").display());
        let found = home.find(&[("PATH", path.into())]).unwrap();
        assert_eq!(home.shown(&found), ["opt/py"]);
        assert_eq!(found.programs, [home.at("opt/py/bin")]);
    }

    #[test]
    fn of_a_directory_of_programs_nothing_else_is_shown() {
        let base = "opt/python-3.12";
        let home = Home::with(&[base]);
        fs::create_dir_all(home.at(".local/bin")).unwrap();
        symlink(home.at(base).join("bin/python3"), home.at(".local/bin/python3")).unwrap();
        let found = home.find(&[("PATH", home.at(".local/bin"))]).unwrap();
        assert_eq!(home.shown(&found), [".local/bin", base]);
        assert_eq!(found.programs, [home.at(".local/bin")]);
    }
}
