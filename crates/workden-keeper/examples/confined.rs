//! Enters a confinement, given as JSON, and runs a program in it: `confined JSON PROGRAM ARG...`. Without arguments
//! it prints which isolation this machine supports. The process engine is not involved, so that tests can try the
//! walls alone.

use std::{
    error::Error,
    io::{Write, stderr, stdout},
    process::{Command, ExitCode},
};

use rustix::process::{Rlimit, setrlimit};
use workden_keeper::{CgroupJoin, confine};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(confinement), Some(program)) = (arguments.next(), arguments.next()) else {
        for finding in confine::probe() {
            writeln!(stdout(), "{}", serde_json::to_string(&finding)?)?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let confinement = serde_json::from_str(&confinement)?;
    let config = match confine::enter(&confinement, rustix::process::getppid()) {
        Ok(config) => config,
        Err(error) => {
            writeln!(stderr(), "{error}")?;
            return Ok(ExitCode::from(125));
        }
    };
    if config.domain.is_some() {
        return Err("the level `landlock` needs the process engine".into());
    }
    if std::env::var_os("WORKDEN_TELL").is_some() {
        writeln!(stderr(), "{}", serde_json::to_string(&config.isolation)?)?;
    }
    for (resource, value) in config.rlimits {
        setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })?;
    }
    match config.join {
        CgroupJoin::None => {}
        CgroupJoin::Tasks(files) => {
            for file in files {
                rustix::io::write(file, b"0")?;
            }
        }
        CgroupJoin::CloneInto(_) => return Err("version 2 of control groups needs the process engine".into()),
    }
    seccompiler::apply_filter(&config.last_filter)?;
    let status = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(&config.environment)
        .current_dir(&config.directory)
        .status();
    Ok(match status {
        Ok(status) => ExitCode::from(u8::try_from(status.code().unwrap_or(255)).unwrap_or(255)),
        Err(_) => ExitCode::from(127),
    })
}
