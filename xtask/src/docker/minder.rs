//! The process that starts a service and ends it: the service goes when whoever asked for it is gone, by whatever
//! way (its end, ctrl-c, a kill), because then the minder's input ends.
//!
//! It is this program again, in a process group of its own, which ctrl-c does not reach. It ends only what it
//! started and removes only directories that were made for it.

use std::{
    env, fs,
    io::Read,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{RecvTimeoutError, channel},
    thread::sleep,
    time::{Duration, Instant},
};

use super::{answers, leftovers, network};
use crate::Outcome;

/// How long a service has to answer for the first time.
const START: Duration = Duration::from_secs(60);
/// How long it has to end by itself.
const END: Duration = Duration::from_secs(20);
const MOMENT: Duration = Duration::from_millis(100);

/// The name of the file that says that a service ended by itself.
const ENDED: &str = "ended";
const LOG: &str = "log";
const NONE: &str = "-";

/// A service, and what goes with it.
pub(super) struct Task {
    /// Where it speaks Docker's API.
    pub(super) host: String,
    /// Its directory; the log is in it.
    pub(super) home: PathBuf,
    /// Another one, for what is large.
    pub(super) data: Option<PathBuf>,
    /// A bridge that was made for it.
    pub(super) bridge: Option<String>,
    /// What is started.
    pub(super) command: Vec<String>,
}

/// A service under a minder. It ends when this is dropped.
pub(super) struct Minded {
    minder: Child,
    host: String,
    home: PathBuf,
}

impl Minded {
    pub(super) fn start(task: &Task) -> Outcome<Self> {
        let own = env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let minder = Command::new(own)
            .arg("minder")
            .args(task.words())
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("cannot start a minder: {error}"))?;
        Ok(Self { minder, host: task.host.clone(), home: task.home.clone() })
    }

    /// Waits until the service answers; if it does not, the last that it wrote.
    pub(super) fn wait_for_answer(&self) -> Outcome {
        let began = Instant::now();
        while !answers(&self.host) {
            if self.home.join(ENDED).exists() || began.elapsed() > START {
                let log = fs::read_to_string(self.home.join(LOG)).unwrap_or_default();
                let last: Vec<&str> = log.lines().rev().take(3).collect();
                return Err(format!("it does not answer: {}", last.into_iter().rev().collect::<Vec<_>>().join("\n")));
            }
            sleep(MOMENT);
        }
        Ok(())
    }
}

impl Drop for Minded {
    fn drop(&mut self) {
        drop(self.minder.stdin.take());
        let _ = self.minder.wait();
    }
}

impl Task {
    fn words(&self) -> Vec<String> {
        let data = self.data.as_ref().map_or_else(|| NONE.to_owned(), |path| path.display().to_string());
        let bridge = self.bridge.clone().unwrap_or_else(|| NONE.to_owned());
        let mut words = vec![self.host.clone(), self.home.display().to_string(), data, bridge];
        words.extend(self.command.iter().cloned());
        words
    }

    fn from_words(words: &[&str]) -> Option<Self> {
        let [host, home, data, bridge, command @ ..] = words else { return None };
        let some = |word: &str| (word != NONE).then(|| word.to_owned());
        Some(Self {
            host: (*host).to_owned(),
            home: home.into(),
            data: some(data).map(PathBuf::from),
            bridge: some(bridge),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
        })
    }

    fn directories(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.home), self.data.as_ref()].into_iter().flatten().map(PathBuf::as_path)
    }
}

/// The minder itself: `cargo xtask minder`, which is nobody's to call but `Minded`'s.
pub(crate) fn run(words: &[&str]) -> Outcome {
    let task = Task::from_words(words).ok_or("a minder is started by `cargo xtask docker` only")?;
    mind(&task, std::io::stdin())
}

/// Keeps a service until the input ends.
fn mind(task: &Task, mut input: impl Read + Send + 'static) -> Outcome {
    let (gone, over) = channel::<()>();
    std::thread::spawn(move || {
        let mut ignored = [0; 64];
        while input.read(&mut ignored).is_ok_and(|count| count > 0) {}
        drop(gone);
    });
    let started = start(task);
    if let Ok(mut child) = started {
        let mut ended = false;
        while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(MOMENT) {
            if !ended && matches!(child.try_wait(), Ok(Some(_))) {
                ended = true;
                let _ = fs::write(task.home.join(ENDED), "");
            }
        }
        if !ended {
            leftovers::remove_containers(&task.host);
            end(&mut child);
        }
    } else {
        let _ = fs::write(task.home.join(ENDED), "");
        while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(MOMENT) {}
    }
    leftovers::kill_processes(&task.home);
    if let Some(bridge) = &task.bridge {
        network::remove_bridge(bridge);
    }
    task.directories().try_for_each(leftovers::remove_directory)
}

fn start(task: &Task) -> std::io::Result<Child> {
    let log = fs::File::create(task.home.join(LOG))?;
    let (program, arguments) = task.command.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
    Command::new(program).args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()
}

fn end(child: &mut Child) {
    let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    let began = Instant::now();
    while began.elapsed() < END {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        sleep(MOMENT);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, command: &[&str]) -> Task {
        let home = env::temp_dir().join(format!("workden-minder-{name}-{}", std::process::id()));
        fs::create_dir_all(home.join("below")).unwrap();
        fs::create_dir_all(home.with_extension("data")).unwrap();
        let data = Some(home.with_extension("data"));
        let host = format!("unix://{}", home.join("nobody.sock").display());
        Task { host, home, data, bridge: None, command: command.iter().map(|word| (*word).to_owned()).collect() }
    }

    #[test]
    fn a_service_ends_with_the_input_of_its_minder_and_nothing_of_it_stays() {
        let task = task("ends", &["sh", "-c", "echo $$ > \"$0\"; exec sleep 60"]);
        let told = task.home.with_extension("pid");
        let task = Task { command: [task.command, vec![told.display().to_string()]].concat(), ..task };
        let (reader, writer) = std::io::pipe().unwrap();
        let words: Vec<String> = task.words();
        let minder = std::thread::spawn(move || {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            mind(&Task::from_words(&words).unwrap(), reader)
        });
        let began = Instant::now();
        while !fs::read_to_string(&told).is_ok_and(|pid| pid.ends_with('\n')) {
            assert!(began.elapsed() < START, "the service does not start");
            sleep(MOMENT);
        }
        let pid = fs::read_to_string(&told).unwrap();
        let process = PathBuf::from(format!("/proc/{}", pid.trim()));
        assert!(process.exists() && !minder.is_finished());
        drop(writer);
        assert_eq!(minder.join().unwrap(), Ok(()));
        assert!(!process.exists());
        task.directories().for_each(|directory| assert!(!directory.exists(), "{}", directory.display()));
        fs::remove_file(told).unwrap();
    }

    #[test]
    fn a_service_that_ends_by_itself_or_never_starts_is_told_at_once() {
        for command in [["false"], ["/no/such/program"]] {
            let task = task("fails", &command);
            let (ended, words) = (task.home.join(ENDED), task.words());
            let (reader, writer) = std::io::pipe().unwrap();
            let minder = std::thread::spawn(move || {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                mind(&Task::from_words(&words).unwrap(), reader)
            });
            let began = Instant::now();
            while !ended.exists() {
                assert!(began.elapsed() < START, "{command:?}");
                sleep(MOMENT);
            }
            drop(writer);
            assert_eq!(minder.join().unwrap(), Ok(()));
            assert!(!task.home.exists());
        }
    }
}
