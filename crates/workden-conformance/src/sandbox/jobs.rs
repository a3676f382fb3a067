//! Background jobs: they outlive the call that starts them, are listed, and can be killed. And commands that a call
//! waits for, which are seen and killed in the same way while they run.

use std::time::Instant;

use futures_util::future::try_join;
use workden_core::{
    ErrorKind,
    sandbox::{Command, Ended, Job, JobId, JobRead, JobRequest, JobState, Killed, Sandbox},
};

use super::{
    calls::{AT_ONCE, job, outcome, pause, prints, run, until, within},
    check::list_sandbox_checks,
};
use crate::{
    Failure, Outcome,
    verdict::{ensure, equal, refused},
};

list_sandbox_checks! { jobs:
    a_job_outlives_the_call,
    a_job_ends_as_a_command_does,
    an_argument_vector_runs_as_it_is,
    the_input_of_a_job_is_at_its_end,
    jobs_are_listed_oldest_first,
    a_killed_job_is_over,
    what_a_finished_job_left_behind_is_killed_with_it,
    a_job_that_was_never_started_is_not_found,
    running_jobs_are_counted,
    a_running_command_is_seen_and_killed,
}

/// The call that starts a job returns immediately.
pub async fn a_job_outlives_the_call(sandbox: &dyn Sandbox) -> Outcome {
    let started = Instant::now();
    let begun = job(sandbox, "echo $$ > pid; echo begun; sleep 600; echo over").await?;
    ensure(started.elapsed() < AT_ONCE, format!("starting it took {:?}", started.elapsed()))?;
    equal("its state", begun.state, JobState::Running)?;
    equal("its line", begun.line.as_str(), "echo $$ > pid; echo begun; sleep 600; echo over")?;
    until(sandbox, "[ -s pid ]", AT_ONCE).await?;
    prints(sandbox, "kill -0 $(cat pid) && cat pid", &format!("{}\n", begun.pid)).await?;
    let read = JobRead::from(0).wait(AT_ONCE);
    let read = sandbox.read_job(&begun.id, &read).await?;
    equal("what it printed", read.text.as_str(), "begun\n")?;
    equal("what it is now", (read.job.state, read.job.printed), (JobState::Running, 6))
}

/// A job ends with an exit code or a signal; a missing program is 127.
pub async fn a_job_ends_as_a_command_does(sandbox: &dyn Sandbox) -> Outcome {
    for (line, output, ended) in [
        ("echo out; echo err >&2; exit 3", "out\nerr\n", Ended::Exited(3)),
        ("echo x; kill -KILL $$", "x\n", Ended::Signalled(9)),
        ("true", "", Ended::Exited(0)),
    ] {
        let started = job(sandbox, line).await?;
        equal(line, outcome(sandbox, &started.id).await?, (output.to_owned(), ended))?;
    }
    let request = JobRequest::new(Command::Program(vec!["no-such-program-here".into()]));
    equal("a missing program", outcome(sandbox, &sandbox.start_job(&request).await?.id).await?.1, Ended::Exited(127))
}

/// The job's line is quoted as a person would type it.
pub async fn an_argument_vector_runs_as_it_is(sandbox: &dyn Sandbox) -> Outcome {
    let words = ["printf", "%s\\n", "a b", "$HOME"].map(str::to_owned).to_vec();
    let request = JobRequest::new(Command::Program(words));
    let started = sandbox.start_job(&request).await?;
    equal("its line", started.line.as_str(), r"printf '%s\n' 'a b' '$HOME'")?;
    equal("its output", outcome(sandbox, &started.id).await?.0, "a b\n$HOME\n")
}

/// A job that reads its standard input sees the end of the file immediately.
pub async fn the_input_of_a_job_is_at_its_end(sandbox: &dyn Sandbox) -> Outcome {
    let started = job(sandbox, "cat; echo $?").await?;
    equal("its output", outcome(sandbox, &started.id).await?.0, "0\n")
}

/// Ended jobs are listed, too.
pub async fn jobs_are_listed_oldest_first(sandbox: &dyn Sandbox) -> Outcome {
    equal("the jobs of a new sandbox", sandbox.jobs().await?, Vec::new())?;
    let first = job(sandbox, "exit 4").await?.id;
    let second = job(sandbox, "sleep 600").await?.id;
    let third = job(sandbox, "sleep 600").await?.id;
    outcome(sandbox, &first).await?;
    prints(sandbox, "echo a command is no job", "a command is no job\n").await?;
    let listed: Vec<_> = sandbox.jobs().await?.into_iter().map(|job| (job.id, job.state)).collect();
    let running = JobState::Running;
    equal("the jobs", listed, [(first, JobState::Ended(Ended::Exited(4))), (second, running), (third, running)])
}

/// The output of a killed job can still be read.
pub async fn a_killed_job_is_over(sandbox: &dyn Sandbox) -> Outcome {
    let begun = job(sandbox, "echo begun; exec sleep 600").await?;
    let read = JobRead::from(0).wait(AT_ONCE);
    equal("its output", sandbox.read_job(&begun.id, &read).await?.text, "begun\n")?;
    equal("the kill", sandbox.kill_job(&begun.id).await?, Killed::Stopped)?;
    equal("its end", outcome(sandbox, &begun.id).await?, ("begun\n".to_owned(), Ended::Signalled(15)))?;
    equal("a second kill", sandbox.kill_job(&begun.id).await?, Killed::AlreadyOver)?;
    let finished = job(sandbox, "true").await?;
    outcome(sandbox, &finished.id).await?;
    equal("the kill of one that has ended", sandbox.kill_job(&finished.id).await?, Killed::AlreadyOver)
}

/// Background processes of a finished job run until the job is killed.
pub async fn what_a_finished_job_left_behind_is_killed_with_it(sandbox: &dyn Sandbox) -> Outcome {
    let begun = job(sandbox, "sleep 600 & echo $! > left; echo over").await?;
    equal("its end", outcome(sandbox, &begun.id).await?, ("over\n".to_owned(), Ended::Exited(0)))?;
    prints(sandbox, "kill -0 $(cat left) && echo lives", "lives\n").await?;
    equal("the kill", sandbox.kill_job(&begun.id).await?, Killed::Stopped)?;
    equal("what is left", sandbox.execute(&gone("left")).await?.exit_code(), 1)?;
    equal("a second kill", sandbox.kill_job(&begun.id).await?, Killed::AlreadyOver)
}

fn gone(file: &str) -> workden_core::sandbox::ExecuteRequest {
    workden_core::sandbox::ExecuteRequest::shell(format!("kill -0 $(cat {file}) 2>/dev/null"))
}

/// Reading and killing an unknown job are `NotFound`.
pub async fn a_job_that_was_never_started_is_not_found(sandbox: &dyn Sandbox) -> Outcome {
    for id in ["bg_999", "", "../log", "log 1"] {
        let id = JobId::from(id);
        refused("reading", sandbox.read_job(&id, &JobRead::from(0)).await, ErrorKind::NotFound)?;
        refused("killing", sandbox.kill_job(&id).await, ErrorKind::NotFound)?;
    }
    Ok(())
}

/// The usage of the sandbox counts running jobs.
pub async fn running_jobs_are_counted(sandbox: &dyn Sandbox) -> Outcome {
    equal("none", sandbox.usage().await?.jobs, 0)?;
    let begun = job(sandbox, "sleep 600").await?;
    job(sandbox, "sleep 600").await?;
    equal("two", sandbox.usage().await?.jobs, 2)?;
    sandbox.kill_job(&begun.id).await?;
    equal("one", sandbox.usage().await?.jobs, 1)
}

/// While a call waits for a command, the command is listed, what it has printed is read, and it is killed.
pub async fn a_running_command_is_seen_and_killed(sandbox: &dyn Sandbox) -> Outcome {
    let watched = async {
        let seen = within("the list of the command", AT_ONCE, running(sandbox)).await??;
        equal("its line", seen.line.as_str(), "echo begun; exec sleep 600")?;
        equal("its state", seen.state, JobState::Running)?;
        let read = JobRead::from(0).wait(AT_ONCE);
        equal("its output so far", sandbox.read_job(&seen.id, &read).await?.text.as_str(), "begun\n")?;
        equal("the kill", sandbox.kill_job(&seen.id).await?, Killed::Stopped)?;
        Ok::<_, Failure>(seen.id)
    };
    let (done, id) = try_join(run(sandbox, "echo begun; exec sleep 600"), watched).await?;
    equal("what its caller gets", (done.output.text(), done.ended), ("begun\n".to_owned(), Ended::Signalled(15)))?;
    equal("the commands afterwards", sandbox.usage().await?.commands, Vec::new())?;
    refused("reading it afterwards", sandbox.read_job(&id, &JobRead::from(0)).await, ErrorKind::NotFound)?;
    equal("the jobs", sandbox.jobs().await?, Vec::new())
}

/// Returns the command that runs, as soon as one does.
async fn running(sandbox: &dyn Sandbox) -> Result<Job, Failure> {
    loop {
        if let Some(job) = sandbox.usage().await?.commands.into_iter().next() {
            return Ok(job);
        }
        pause(10).await;
    }
}
