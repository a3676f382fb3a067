//! Enters a confinement, given as JSON, and runs a program in it: `confined JSON PROGRAM ARG...`.
//! Without arguments it says what this machine can isolate.
//! The process engine is not involved, so that walls can be tried by themselves.

use std::process::{Command, ExitCode};

use rustix::process::{Rlimit, setrlimit};
use workden_keeper::{Join, confine};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if std::env::args().len() == 1 {
        for finding in confine::probe() {
            println!("{}", serde_json::to_string(&finding).expect("a finding"));
        }
        return ExitCode::SUCCESS;
    }
    let (Some(confinement), Some(program)) = (arguments.next(), arguments.next()) else {
        return ExitCode::from(2);
    };
    let confinement = serde_json::from_str(&confinement).expect("a confinement as JSON");
    let setting = match confine::enter(&confinement, rustix::process::getppid()) {
        Ok(setting) => setting,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(125);
        }
    };
    if std::env::var_os("WORKDEN_TELL").is_some() {
        eprintln!("{}", serde_json::to_string(&setting.isolation).expect("a report"));
    }
    for (resource, value) in setting.rlimits {
        let limit = Rlimit { current: Some(value), maximum: Some(value) };
        setrlimit(resource, limit).expect("a limit");
    }
    match setting.join {
        Join::None => {}
        Join::Tasks(files) => files.iter().for_each(|file| {
            rustix::io::write(file, b"0").expect("to join a group");
        }),
        Join::CloneInto(_) => unreachable!("this is about walls, not about cloning"),
    }
    seccompiler::apply_filter(&setting.last_filter).expect("the filter of commands");
    let status = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(&setting.environment)
        .current_dir(&setting.directory)
        .status();
    match status {
        Ok(status) => ExitCode::from(u8::try_from(status.code().unwrap_or(255)).unwrap_or(255)),
        Err(_) => ExitCode::from(127),
    }
}
