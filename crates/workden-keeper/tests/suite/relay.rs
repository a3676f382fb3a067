//! The relay alone: bytes there and back, in one thread, to the end of both.

use std::{
    io::{Read, Write},
    os::unix::{
        fs::MetadataExt,
        net::{UnixListener, UnixStream},
    },
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::common::PATIENCE;

/// A relay between pipes and a socket.
struct Relay {
    process: Child,
    input: ChildStdin,
    output: ChildStdout,
    keeper: UnixStream,
}

fn started() -> Relay {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let mut process = Command::new(env!("CARGO_BIN_EXE_workden-keeper"))
        .args(["connect", "--socket", socket.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (keeper, _) = listener.accept().unwrap();
    keeper.set_read_timeout(Some(PATIENCE)).unwrap();
    let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
    Relay { process, input, output, keeper }
}

fn ended(process: &mut Child) -> bool {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(status) = process.try_wait().unwrap() {
            return status.success();
        }
        thread::sleep(Duration::from_millis(5));
    }
    let _ = process.kill();
    false
}

/// Bytes of which no two pieces are the same.
fn bytes(seed: u32) -> Vec<u8> {
    (0..2 * 1024 * 1024 + seed).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

/// Returns the CPU time of a process, in hundredths of a second.
fn computed(process: &Child) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

#[test]
fn much_goes_both_ways_at_once_and_an_answer_follows_the_end_of_the_input() {
    let Relay { mut process, mut input, mut output, keeper } = started();
    let (there, mut back) = (bytes(1), bytes(2));
    let (mut went, mut came) = (Vec::new(), Vec::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            input.write_all(&there).unwrap();
            drop(input);
        });
        scope.spawn(|| output.read_to_end(&mut came).unwrap());
        let answering = scope.spawn(|| (&keeper).write_all(&back).unwrap());
        (&keeper).read_to_end(&mut went).unwrap();
        answering.join().unwrap();
        (&keeper).write_all(b"the last word").unwrap();
        keeper.shutdown(std::net::Shutdown::Both).unwrap();
    });
    back.extend_from_slice(b"the last word");
    assert!(went == there, "{} bytes went", went.len());
    assert!(came == back, "{} bytes came", came.len());
    assert!(ended(&mut process));
}

#[test]
fn it_is_one_thread_that_no_process_looks_into_and_that_waits_without_computing() {
    let Relay { mut process, mut input, mut output, mut keeper } = started();
    input.write_all(b"x").unwrap();
    keeper.read_exact(&mut [0]).unwrap();
    let of_process = format!("/proc/{}", process.id());
    assert_eq!(std::fs::read_dir(format!("{of_process}/task")).unwrap().count(), 1);
    // A process that is not dumpable belongs to root.
    let own = rustix::process::geteuid();
    assert!(own.is_root() || std::fs::metadata(format!("{of_process}/stat")).unwrap().uid() != own.as_raw());

    // The end of the input is passed on, and the way back fills up: the output is not read.
    drop(input);
    assert_eq!(keeper.read(&mut [0]).unwrap(), 0);
    keeper.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    while keeper.write(&[7; 4096]).is_ok() {}
    let before = computed(&process);
    thread::sleep(Duration::from_millis(500));
    assert!(computed(&process) - before < 10, "it computes while it waits");
    drop(keeper);
    let before = computed(&process);
    thread::sleep(Duration::from_millis(500));
    assert!(computed(&process) - before < 10, "it computes while it waits");
    output.read_to_end(&mut Vec::new()).unwrap();
    assert!(ended(&mut process));
}

#[test]
fn it_ends_when_its_client_or_the_keeper_is_gone() {
    let Relay { mut process, input, output, keeper } = started();
    drop(output);
    assert!(ended(&mut process), "the output is closed");
    drop((input, keeper));
    let Relay { mut process, input, output, keeper } = started();
    drop(keeper);
    assert!(ended(&mut process), "the keeper is gone");
    drop((input, output));
}
