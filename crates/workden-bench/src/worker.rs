//! The inside of a contender: runs its task for each line of input, answers a line of JSON, and
//! reports its memory at the end.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use nix::sys::resource::{UsageWho, getrusage};

use crate::{
    Failure, subject,
    task::{Farewell, Round, Task},
};

/// Serves one task until its input ends. `kind` is `ours`, `command` or `floor`.
pub(crate) fn run(kind: &str, task: &str) -> Result<(), Failure> {
    let task: Task = serde_json::from_str(task)?;
    match (kind, task) {
        ("command", Task::Command { program, arguments, dir, output }) => {
            serve(|| command(&program, &arguments, &dir, &output), peak_of_children)
        }
        ("floor", Task::SaveAlone { dir, file }) => {
            let content = fs::read(dir.join(&file))?;
            let mut work = move || save(&dir, &content);
            serve(move || timed(&mut work), own_peak)
        }
        ("ours", task) => {
            let mut work = subject::prepare(&task)?;
            serve(move || timed(&mut work), own_peak)
        }
        (kind, task) => Err(format!("no worker of kind {kind} does {task:?}").into()),
    }
}

fn serve(mut once: impl FnMut() -> Result<Round, Failure>, peak: fn() -> Result<u64, Failure>) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready")?;
    out.flush()?;
    for order in std::io::stdin().lock().lines() {
        order?;
        writeln!(out, "{}", serde_json::to_string(&once()?)?)?;
        out.flush()?;
    }
    writeln!(out, "{}", serde_json::to_string(&Farewell { peak_kib: peak()? })?)?;
    Ok(())
}

fn timed(work: &mut dyn FnMut() -> Result<u64, Failure>) -> Result<Round, Failure> {
    let started = Instant::now();
    let count = work()?;
    Ok(Round { seconds: started.elapsed().as_secs_f64(), count })
}

/// The steps of every durable save.
fn save(dir: &Path, content: &[u8]) -> Result<u64, Failure> {
    let (temporary, saved) = (dir.join("saved.new"), dir.join("saved"));
    let mut file = File::create(&temporary)?;
    file.write_all(content)?;
    file.sync_data()?;
    fs::rename(temporary, saved)?;
    Ok(1)
}

/// Runs a program from start to end. Its output goes to a file: with `/dev/null`, rg would stop at
/// the first match, and draining a pipe would take processor time from it.
fn command(program: &str, arguments: &[String], dir: &Path, output: &Path) -> Result<Round, Failure> {
    let sink = File::create(output)?;
    let started = Instant::now();
    let status = Command::new(program)
        .args(arguments)
        .current_dir(dir)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(sink)
        .status()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    let seconds = started.elapsed().as_secs_f64();
    if !status.success() {
        return Err(format!("{program} failed ({status})").into());
    }
    Ok(Round { seconds, count: lines_in(output)? })
}

fn lines_in(path: &Path) -> Result<u64, Failure> {
    let mut reader = BufReader::new(File::open(path)?);
    let mut piece = [0; 64 * 1024];
    let mut lines = 0;
    loop {
        match reader.read(&mut piece)? {
            0 => return Ok(lines),
            length => lines += piece[..length].iter().filter(|byte| **byte == b'\n').count() as u64,
        }
    }
}

/// The peak of this process since its start. Not `getrusage`, which includes the process
/// before it executed this program.
fn own_peak() -> Result<u64, Failure> {
    peak_in(&fs::read_to_string("/proc/self/status")?)
}

fn peak_in(status: &str) -> Result<u64, Failure> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no peak in /proc/self/status")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// The largest peak among the child processes, all of which ran the measured program.
fn peak_of_children() -> Result<u64, Failure> {
    Ok(u64::try_from(getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_from_the_status() {
        assert_eq!(peak_in("Name:\tx\nVmPeak:\t  99 kB\nVmHWM:\t    1234 kB\n").unwrap(), 1234);
        assert!(peak_in("Name:\tx\n").is_err());
        assert!(own_peak().unwrap() > 0);
    }

    #[test]
    fn lines_are_counted_by_their_ends() {
        let path = std::env::temp_dir().join(format!("workden-bench-{}", std::process::id()));
        fs::write(&path, "a\nb\nc").unwrap();
        assert_eq!(lines_in(&path).unwrap(), 2);
        fs::remove_file(&path).unwrap();
    }
}
