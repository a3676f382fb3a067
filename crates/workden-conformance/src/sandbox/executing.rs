//! Commands that run to their end: their output, their exit code, and when the call returns.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use workden_core::{
    BackendExt, ErrorKind, Expect,
    sandbox::{Command, Ended, ExecuteRequest, Sandbox},
};

use super::{
    calls::{AT_ONCE, came_to, prints, run, run_program, work_file},
    check::list_sandbox_checks,
};
use crate::{
    Outcome,
    verdict::{ensure, equal, refused},
};

list_sandbox_checks! { executing:
    a_line_prints_and_ends_with_its_exit_code,
    both_streams_come_in_exact_order,
    a_line_runs_in_a_shell,
    standard_input_is_at_its_end,
    argument_vectors_arrive_as_they_are,
    a_vector_without_a_program_is_refused,
    a_program_that_is_not_there_is_127,
    a_program_that_cannot_be_run_is_126,
    a_signal_is_128_and_its_number,
    a_timeout_is_124_with_what_was_printed_until_then,
    a_command_without_a_timeout_takes_as_long_as_it_takes,
    a_call_returns_when_the_command_ends_though_its_output_is_held_open,
    a_command_that_closes_its_output_is_waited_for,
    bytes_that_are_not_text_are_marked,
    a_character_that_comes_in_pieces_is_whole,
    the_duration_is_told,
    many_commands_run_at_once,
}

/// The result has all output and the code of the line's `exit`.
pub async fn a_line_prints_and_ends_with_its_exit_code(sandbox: &dyn Sandbox) -> Outcome {
    for code in [0, 1, 3, 255] {
        let done = run(sandbox, &format!("echo hi; exit {code}")).await?;
        came_to("echo hi; exit", &done, "hi\n", Ended::Exited(code))?;
        equal("the exit code", done.exit_code(), code)?;
        equal("the limits hit", done.limits_hit, Vec::new())?;
    }
    prints(sandbox, "true", "").await?;
    prints(sandbox, "printf 'no newline'", "no newline").await
}

/// Standard output and standard error share one pipe.
pub async fn both_streams_come_in_exact_order(sandbox: &dyn Sandbox) -> Outcome {
    let line = "i=0; while [ $i -lt 300 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done";
    let expected: String = (0..300).map(|number| format!("out {number}\nerr {number}\n")).collect();
    prints(sandbox, line, &expected).await
}

/// A line may use pipes, variables, substitutions and here-documents.
pub async fn a_line_runs_in_a_shell(sandbox: &dyn Sandbox) -> Outcome {
    prints(sandbox, "x=a; echo $x$(echo b) | tr b c && ! false", "ac\n").await?;
    prints(sandbox, "cat <<end\none\ntwo\nend\n", "one\ntwo\n").await
}

/// A command that reads its standard input sees the end of the file immediately.
pub async fn standard_input_is_at_its_end(sandbox: &dyn Sandbox) -> Outcome {
    prints(sandbox, "cat; echo cat: $?; read line; echo read: $?", "cat: 0\nread: 1\n").await?;
    prints(sandbox, "[ -t 0 ] || echo no terminal", "no terminal\n").await
}

/// No shell interprets the arguments.
pub async fn argument_vectors_arrive_as_they_are(sandbox: &dyn Sandbox) -> Outcome {
    let odd = ["a b", "it's", "\"", "$HOME", "$(id)", "`id`", "*", "~", "", "new\nline", "\\", "-n", "a=b", "é", "\t"];
    let words: Vec<&str> = ["printf", "[%s]"].into_iter().chain(odd).collect();
    let expected: String = odd.iter().map(|word| format!("[{word}]")).collect();
    came_to("printf", &run_program(sandbox, &words).await?, &expected, Ended::Exited(0))?;
    let long = "x".repeat(100_000);
    let done = run_program(sandbox, &["sh", "-c", "printf %s ${#1}", "sh", &long]).await?;
    came_to("a long argument", &done, "100000", Ended::Exited(0))
}

/// An empty vector, and a NUL in a command, are `InvalidArgument`.
pub async fn a_vector_without_a_program_is_refused(sandbox: &dyn Sandbox) -> Outcome {
    for command in [
        Command::Program(Vec::new()),
        Command::Program(vec!["echo".into(), "a\0b".into()]),
        Command::Shell("echo a\0b".into()),
    ] {
        let answer = sandbox.execute(&ExecuteRequest::new(command.clone())).await;
        refused(format!("{command:?}"), answer, ErrorKind::InvalidArgument)?;
    }
    Ok(())
}

/// A missing program is 127 by name, by path, and in a shell.
pub async fn a_program_that_is_not_there_is_127(sandbox: &dyn Sandbox) -> Outcome {
    for words in [&["no-such-program-here"][..], &["/no/such/program", "x"], &["./nothing"]] {
        let done = run_program(sandbox, words).await?;
        equal(format!("how {words:?} ended"), done.ended, Ended::Exited(127))?;
    }
    equal("the shell's", run(sandbox, "no-such-program-here").await?.exit_code(), 127)
}

/// A directory and a text file cannot be run.
pub async fn a_program_that_cannot_be_run_is_126(sandbox: &dyn Sandbox) -> Outcome {
    let file = work_file(sandbox, "plain.txt").await?;
    sandbox.write_path(&file, "just text\n".into(), Expect::Anything).await?;
    sandbox.make_dir_path(&work_file(sandbox, "directory").await?).await?;
    for word in ["./plain.txt", "./directory"] {
        equal(format!("how `{word}` ended"), run_program(sandbox, &[word]).await?.ended, Ended::Exited(126))?;
        equal(format!("how `{word}` ended in a shell"), run(sandbox, word).await?.exit_code(), 126)?;
    }
    Ok(())
}

/// The signal counts if it ended the command itself, not a child.
pub async fn a_signal_is_128_and_its_number(sandbox: &dyn Sandbox) -> Outcome {
    for (name, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11), ("HUP", 1)] {
        let done = run(sandbox, &format!("echo before; kill -{name} $$; sleep 5")).await?;
        came_to(name, &done, "before\n", Ended::Signalled(number))?;
        equal(name, done.exit_code(), 128 + number)?;
    }
    equal("the code of a child", run(sandbox, "sh -c 'kill -TERM $$'; exit $?").await?.ended, Ended::Exited(143))
}

/// The call returns soon after the timeout.
pub async fn a_timeout_is_124_with_what_was_printed_until_then(sandbox: &dyn Sandbox) -> Outcome {
    let started = Instant::now();
    let request = ExecuteRequest::shell("echo before; sleep 600; echo after").timeout(Duration::from_secs(2));
    let done = sandbox.execute(&request).await?;
    came_to("a line that sleeps", &done, "before\n", Ended::TimedOut)?;
    equal("the exit code", done.exit_code(), 124)?;
    let took = started.elapsed();
    ensure(took >= Duration::from_secs(2), format!("it was stopped after {took:?}"))?;
    ensure(took < AT_ONCE, format!("it took {took:?} to stop it"))?;
    let request = ExecuteRequest::shell("echo quick").timeout(AT_ONCE);
    came_to("a quick line", &sandbox.execute(&request).await?, "quick\n", Ended::Exited(0))
}

/// Without a timeout, the time of a command is unlimited.
pub async fn a_command_without_a_timeout_takes_as_long_as_it_takes(sandbox: &dyn Sandbox) -> Outcome {
    let request = ExecuteRequest::shell("sleep 1; echo done").timeout(None);
    came_to("a line without a timeout", &sandbox.execute(&request).await?, "done\n", Ended::Exited(0))
}

/// The call for `sleep 600 & echo hi` returns immediately, and `sleep` keeps running.
pub async fn a_call_returns_when_the_command_ends_though_its_output_is_held_open(sandbox: &dyn Sandbox) -> Outcome {
    let started = Instant::now();
    let done = run(sandbox, "sleep 600 & echo $! > sleeper; echo hi").await?;
    came_to("sleep 600 & echo hi", &done, "hi\n", Ended::Exited(0))?;
    let done = run(sandbox, "(sleep 600; echo late) & exit 4").await?;
    came_to("(sleep 600; echo late) & exit 4", &done, "", Ended::Exited(4))?;
    let took = started.elapsed();
    ensure(took < AT_ONCE, format!("it took {took:?}"))?;
    prints(sandbox, "kill -0 $(cat sleeper) && echo alive", "alive\n").await
}

/// A command may close its output before it ends.
pub async fn a_command_that_closes_its_output_is_waited_for(sandbox: &dyn Sandbox) -> Outcome {
    let line = "echo first; exec >/dev/null 2>&1; sleep 0.5; exit 7";
    came_to(line, &run(sandbox, line).await?, "first\n", Ended::Exited(7))
}

/// Invalid bytes become U+FFFD; the other bytes stay.
pub async fn bytes_that_are_not_text_are_marked(sandbox: &dyn Sandbox) -> Outcome {
    prints(sandbox, r"printf 'a\377b\0c\n'", "a\u{fffd}b\0c\n").await
}

/// A character whose bytes arrive one at a time is decoded as one character.
pub async fn a_character_that_comes_in_pieces_is_whole(sandbox: &dyn Sandbox) -> Outcome {
    prints(sandbox, r"printf '\303'; sleep 0.2; printf '\251\n'", "é\n").await
}

/// The result has the duration of the command.
pub async fn the_duration_is_told(sandbox: &dyn Sandbox) -> Outcome {
    let duration = run(sandbox, "sleep 0.3").await?.duration;
    let plausible = Duration::from_millis(290)..AT_ONCE;
    ensure(plausible.contains(&duration), format!("`sleep 0.3` is said to have taken {duration:?}"))
}

/// Each command has its own output.
pub async fn many_commands_run_at_once(sandbox: &dyn Sandbox) -> Outcome {
    let started = Instant::now();
    let lines: Vec<String> = (0..32).map(|number| format!("sleep 3; echo {number}; exit {number}")).collect();
    let all = join_all(lines.iter().map(|line| run(sandbox, line))).await;
    for (number, done) in all.into_iter().enumerate() {
        let code = i32::try_from(number).unwrap_or(-1);
        came_to("one of many", &done?, &format!("{number}\n"), Ended::Exited(code))?;
    }
    let took = started.elapsed();
    ensure(took < AT_ONCE, format!("32 sleeps of three seconds at once took {took:?}"))
}
