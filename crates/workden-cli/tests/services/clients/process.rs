//! Processes with a deadline, which end with the test.

use std::{
    io::{Read, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::processes::ended;

/// A process and its group, which end when it is dropped.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Starts a command with the streams that it names.
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.process_group(0).spawn().unwrap())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let group = Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap();
        let _ = kill_process_group(group, signal);
    }

    /// Waits until the process exits.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        ended(&mut self.0).code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.0.wait();
    }
}

/// The exit code and output of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a command to its end, with `input` as its input.
pub(crate) fn run(command: &mut Command, input: &str) -> Ran {
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Process::start(streams);
    let out = in_background(process.0.stdout.take().unwrap());
    let err = in_background(process.0.stderr.take().unwrap());
    // A command that exits before reading its input has printed why.
    let _ = process.0.stdin.take().unwrap().write_all(input.as_bytes());
    let code = process.wait();
    // Another process may still hold a pipe: do not wait for it.
    process.signal(Signal::KILL);
    Ran { code, out: out.join().unwrap(), err: err.join().unwrap() }
}

fn in_background(mut stream: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
