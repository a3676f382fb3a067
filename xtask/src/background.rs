//! Runs another `cargo xtask` beside the current one: downloads wait for the network and compilers for the processor,
//! so both at once take as long as the slower one.
//!
//! Its output goes to a file, which is shown if it fails. It ends with the run that started it.

use std::{
    env, fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::{Outcome, workspace::target_directory};

/// A command of this program that runs in the background.
pub(crate) struct Background {
    child: Child,
    name: String,
    log: PathBuf,
}

/// Starts this program again with these arguments.
pub(crate) fn start(arguments: &[&str]) -> Outcome<Background> {
    let name = format!("cargo xtask {}", arguments.join(" "));
    let log = target_directory().join(format!("xtask-{}.log", arguments.join("-")));
    let cannot = |error: std::io::Error| format!("cannot start `{name}`: {error}");
    let file = fs::File::create(&log).map_err(cannot)?;
    let child = Command::new(env::current_exe().map_err(cannot)?)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(file.try_clone().map_err(cannot)?)
        .stderr(file)
        .spawn()
        .map_err(cannot)?;
    println!("=== `{name}` runs beside the next steps; its output is in {}", log.display());
    Ok(Background { child, name, log })
}

impl Background {
    /// Waits for it, and prints its output if it failed.
    pub(crate) fn finish(mut self) -> Outcome {
        let status = self.child.wait().map_err(|error| format!("cannot wait for `{}`: {error}", self.name))?;
        if status.success() {
            return Ok(());
        }
        print!("{}", fs::read_to_string(&self.log).unwrap_or_default());
        Err(format!("`{}` failed ({status})", self.name))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // No effect if it has ended, since `finish` waited for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
