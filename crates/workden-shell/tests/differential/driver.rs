//! Inside the sandbox: takes scripts from standard input, runs each with both shells, and tells what
//! ran and which files appeared.
//!
//! One at a time, and nothing of one is left when the next starts, so that what was written down
//! belongs to the script.

use std::{
    fs,
    io::{self, Read, Write},
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};

use super::stand_in::LOG;

/// The argument that makes this program the driver.
pub(crate) const ROLE: &str = "--inside-the-sandbox";
/// Where scripts run.
pub(crate) const WORK: &str = "/tmp/work/d";
/// Directories that are there when a script starts.
pub(crate) const DIRECTORIES: &[&str] = &["sub", "sub/deep"];
/// How long a script may take; loops are made to be endless at times.
const MOST_TIME: Duration = Duration::from_millis(1_000);
/// How long what it left in the background may take.
const STRAGGLERS: Duration = Duration::from_millis(200);

pub(crate) fn run() -> ExitCode {
    // What a script leaves in the background becomes a child of this process, which can wait for it. A list of
    // processes misses one whose parent ends while it is read, and its calls would count for the next script.
    if set_child_subreaper(Some(getpid())).is_err() {
        return ExitCode::FAILURE;
    }
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    while let Some(script) = frame(&mut input) {
        let script = String::from_utf8_lossy(&script).into_owned();
        let accepted = shell("/bin/bash", &["-n", "-c", &script]).is_some_and(|mut child| finished(&mut child));
        let mut answer = vec![u8::from(accepted)];
        for shell in ["/bin/bash", "/bin/sh"] {
            let (log, files) = if accepted { traced(shell, &script) } else { Default::default() };
            for part in [log, files] {
                answer.extend((part.len() as u32).to_le_bytes());
                answer.extend(part);
            }
        }
        if output.write_all(&answer).and_then(|()| output.flush()).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Reads a length and that many bytes.
pub(crate) fn frame(input: &mut impl Read) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    input.read_exact(&mut length).ok()?;
    let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
    input.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// Runs a script; returns the log of stand-ins and the names of new files.
fn traced(program: &str, script: &str) -> (Vec<u8>, Vec<u8>) {
    _ = fs::remove_dir_all("/tmp/work");
    for directory in DIRECTORIES {
        _ = fs::create_dir_all(Path::new(WORK).join(directory));
    }
    _ = fs::write(LOG, "");
    if let Some(mut child) = shell(program, &["-c", script]) {
        finished(&mut child);
    }
    end_stragglers();
    let mut files = Vec::new();
    list(Path::new(WORK), &mut files);
    (fs::read(LOG).unwrap_or_default(), files)
}

fn shell(program: &str, arguments: &[&str]) -> Option<Child> {
    Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", super::sandbox::STAND_INS)
        .current_dir(if Path::new(WORK).is_dir() { WORK } else { "/tmp" })
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

fn finished(child: &mut Child) -> bool {
    let until = Instant::now() + MOST_TIME;
    while Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => thread::sleep(Duration::from_micros(200)),
            Err(_) => return false,
        }
    }
    _ = child.kill();
    _ = child.wait();
    false
}

/// Waits for what runs in the background, then ends it.
fn end_stragglers() {
    let until = Instant::now() + STRAGGLERS;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => continue,
            Ok(None) if Instant::now() > until => {
                _ = Command::new("/bin/kill").arg("-9").args(others()).stderr(Stdio::null()).status();
            }
            Ok(None) => {}
            // There is no child.
            Err(_) => return,
        }
        thread::sleep(Duration::from_micros(500));
    }
}

/// The processes that are neither the sandbox's first nor this one.
fn others() -> Vec<String> {
    let own = std::process::id().to_string();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != "1" && *name != own)
        .filter(|name| {
            // One that has ended and waits to be collected does nothing any more.
            fs::read_to_string(format!("/proc/{name}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
        })
        .collect()
}

fn list(directory: &Path, files: &mut Vec<u8>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if entry.path().is_dir() {
            list(&entry.path(), files);
        } else {
            files.extend(entry.path().to_string_lossy().as_bytes());
            files.push(super::stand_in::AFTER);
        }
    }
}
