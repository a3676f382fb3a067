//! `cargo xtask wheel`: builds one wheel for all supported Pythons, and tests it in each.
//!
//! The wheel contains the program and the keeper for containers, so that `pip install workden` is enough.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use super::{
    home,
    interpreters::{self, Python},
    native, test_environment,
};
use crate::{
    Outcome, installed,
    keeper::{self, Form},
    workspace::succeed,
};

pub(crate) fn run(form: Form) -> Outcome {
    let carried = Carried::put(form)?;
    let built = build(form);
    // During development, the newly built program must be found, and not this one.
    carried.remove();
    let wheel = built?;
    #[expect(clippy::cast_precision_loss, reason = "a size for people")]
    let megabytes = fs::metadata(&wheel).map_or(0, |file| file.len()) as f64 / (1024.0 * 1024.0);
    println!("{}\n  {megabytes:.1} MB", wheel.display());
    let pythons = interpreters::all()?;
    // Each installs for seconds on one core.
    thread::scope(|scope| {
        let trials: Vec<_> = pythons.iter().map(|python| scope.spawn(|| try_in(python, &wheel))).collect();
        trials.into_iter().try_for_each(|trial| trial.join().unwrap_or_else(|_| Err("a trial panicked".to_owned())))
    })
}

/// The programs among the Python files, removed once the wheel is built.
pub(crate) struct Carried {
    directory: PathBuf,
}

impl Carried {
    fn put(form: Form) -> Outcome<Self> {
        let keeper = keeper::build(form)?;
        let program = match form {
            Form::Shipped => keeper::build_command_line()?,
            Form::Short => native::program()?,
        };
        Self::copies(&program, &[keeper])
    }

    /// Copies these programs there, without debug information.
    pub(crate) fn copies(program: &Path, keepers: &[PathBuf]) -> Outcome<Self> {
        let directory = native::source().join("workden/_bin");
        fs::create_dir_all(&directory).map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
        native::strip(program, &directory.join("workden"))?;
        for keeper in keepers {
            native::strip(keeper, &directory.join(keeper.file_name().unwrap_or_default()))?;
        }
        Ok(Self { directory })
    }

    pub(crate) fn remove(self) {
        let _ = fs::remove_dir_all(self.directory);
    }
}

/// Builds the wheel, and returns it.
fn build(form: Form) -> Outcome<PathBuf> {
    let place = home()?.join("wheels");
    let cannot = |error: std::io::Error| format!("cannot use {}: {error}", place.display());
    if place.exists() {
        fs::remove_dir_all(&place).map_err(cannot)?;
    }
    fs::create_dir_all(&place).map_err(cannot)?;
    match form {
        Form::Shipped => build_shipped(&place)?,
        Form::Short => pack_what_is_built(&place)?,
    }
    let made = fs::read_dir(&place).map_err(cannot)?.flatten().map(|entry| entry.path());
    let wheel = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "whl");
    made.into_iter().find(wheel).ok_or_else(|| "no wheel was built".to_owned())
}

fn build_shipped(place: &Path) -> Outcome {
    let python = test_environment()?;
    let mut maturin = Command::new(python.with_file_name("maturin"));
    maturin.args(["build", "--quiet", "--strip", "--release", "--interpreter"]).arg(&python).arg("--out").arg(place);
    succeed(maturin.current_dir(native::crate_directory()))
}

/// Packs the module that the tests use, with the metadata of maturin: a build of maturin's own selects other features,
/// and compiles every dependency again.
fn pack_what_is_built(place: &Path) -> Outcome {
    native::module(Form::Short)?;
    let python = test_environment()?;
    let content = place.join("content");
    let mut metadata = Command::new(python.with_file_name("maturin"));
    metadata.args(["pep517", "write-dist-info", "--metadata-directory"]).arg(&content);
    succeed(metadata.arg("--interpreter").arg(&python).current_dir(native::crate_directory()))?;
    succeed(Command::new("cp").arg("--recursive").arg(native::source().join("workden")).arg(&content))?;
    succeed(Command::new(&python).args(["-m", "wheel", "pack", "--dest-dir"]).arg(place).arg(&content))
}

/// Installs it into an empty environment, and uses it.
fn try_in(python: &Python, wheel: &Path) -> Outcome {
    let environment = home()?.join(format!("smoke-{}", python.version()));
    installed::environment(&python.program, &environment)?;
    installed::succeed(installed::pip_install(&environment).arg(wheel))?;
    let mut smoke = Command::new(environment.join("bin/python"));
    smoke
        // Only the installed package may be found: not this directory, nor what the user has set.
        .arg("-I")
        .arg(native::crate_directory().join("tests/smoke.py"))
        .env_remove("WORKDEN_PROGRAM")
        .env_remove("WORKDEN_KEEPERS")
        .current_dir(env::temp_dir());
    let tried = succeed(&mut smoke);
    let _ = fs::remove_dir_all(&environment);
    tried.map_err(|why| format!("the wheel does not work with Python {}: {why}", python.version()))
}
