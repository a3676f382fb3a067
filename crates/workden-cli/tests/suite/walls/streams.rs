//! The streams of a command: it cannot write to a pipe that it was given for reading, nor read from one that it was
//! given for writing, even if the same user created the pipe.

use std::{fs, io::Read, path::Path, process::Stdio, time::Duration};

use crate::{
    processes::{ended, eventually},
    walls::host::{Host, Runner},
};

/// Returns what a shell prints that runs this script as the user who starts the sandbox; `$RUN` is `workden run` up to
/// the command, and `$WORK` the workspace. The shell creates the pipes, so they belong to that user.
fn printed(runner: Runner, script: &str) -> (Host, String) {
    let host = Host::start(&runner);
    let run = host.run(&[]);
    // The first words set the outer limits, which apply to the whole shell.
    let words = run.get_args().map(|word| format!("'{}'", word.display())).collect::<Vec<_>>();
    let program = words.iter().position(|word| word.ends_with("/workden'")).unwrap();
    let script = script.replace("$RUN", &words[program..].join(" "));
    let script = script.replace("$WORK", &host.workspace().display().to_string());
    let output = runner.command(16 << 30, Path::new("sh")).args(["-c", &script]).output().unwrap();
    (host, String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_command_cannot_write_into_the_pipe_that_it_reads_from() {
    let script = "(echo given; until test -e $WORK/tried; do sleep 0.05; done) | (\
        $RUN sh -c 'read line; (echo injected > /proc/self/fd/0) 2>/dev/null; touch tried; echo got $line' 2>&1 | cat; \
        cat)";
    for runner in [Runner::root(), Runner::ordinary_user()] {
        let (_host, printed) = printed(runner, script);
        assert_eq!(printed, "got given\n", "{runner:?}");
    }
}

#[test]
fn a_command_cannot_read_from_the_pipe_that_it_prints_to() {
    let script = "(echo mine; $RUN sh -c 'timeout 1 cat < /proc/self/fd/1 > stolen' </dev/null 2>/dev/null; echo end; \
                  touch $WORK/tried) | (until test -e $WORK/tried; do sleep 0.05; done; cat)";
    for runner in [Runner::root(), Runner::ordinary_user()] {
        let (host, printed) = printed(runner, script);
        assert_eq!(printed, "mine\nend\n", "{runner:?}");
        assert_eq!(fs::read_to_string(host.workspace().join("stolen")).unwrap_or_default(), "", "{runner:?}");
    }
}

#[test]
fn what_a_command_does_to_its_streams_ends_with_it() {
    // The late line arrives while the second `cat` waits for it.
    let script = "(until test -e $WORK/ended; do sleep 0.05; done; sleep 0.5; echo late) | (\
        $RUN perl -MFcntl -e 'fcntl($_, F_SETFL, O_NONBLOCK) for *STDIN, *STDOUT' | cat; touch $WORK/ended; cat 2>&1)";
    for runner in [Runner::root(), Runner::ordinary_user()] {
        let (_host, printed) = printed(runner, script);
        assert_eq!(printed, "late\n", "{runner:?}");
    }
}

/// Output that a command printed before its end is delivered, however slow its reader is: only the command itself can
/// time out.
#[test]
fn a_slow_reader_is_no_reason_to_time_out() {
    let host = Host::start(&Runner::root());
    let printed = host.workspace().join("printed");
    // A busy machine may need longer for the command itself.
    for seconds in [1, 10, 100] {
        let mut run = host.run(&["--timeout", &seconds.to_string()]);
        let script = "head -c 100000 /dev/zero; touch printed";
        let mut run = run.args(["sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        eventually("the command neither prints nor ends", || printed.exists() || run.try_wait().unwrap().is_some());
        if printed.exists() {
            std::thread::sleep(Duration::from_secs(seconds + 1));
            let mut output = Vec::new();
            run.stdout.take().unwrap().read_to_end(&mut output).unwrap();
            assert_eq!((output.len(), ended(&mut run).code()), (100_000, Some(0)));
            return;
        }
    }
    panic!("the command waits for its reader");
}

/// The kernel does not splice into a file that is open for appending.
#[test]
fn output_is_appended_to_a_file() {
    let host = Host::start(&Runner::root());
    let file = host.workspace().join("appended");
    fs::write(&file, "before\n").unwrap();
    let appended = fs::File::options().append(true).open(&file).unwrap();
    assert!(host.run(&[]).args(["echo", "after"]).stdout(appended).status().unwrap().success());
    assert_eq!(fs::read_to_string(&file).unwrap(), "before\nafter\n");
}
