//! The working directory of commands: the sandbox's directory, or the directory in the request.

use workden_core::{
    BackendExt, ErrorKind, Expect,
    sandbox::{Command, Ended, ExecuteRequest, JobRequest, Sandbox, SpawnRequest},
};

use super::{
    calls::{came_to, everything, outcome, printed, prints, work_file},
    check::list_sandbox_checks,
};
use crate::{
    Outcome,
    verdict::{equal, refused},
};

list_sandbox_checks! { directories:
    commands_start_in_the_directory_of_the_sandbox,
    commands_start_in_the_directory_that_is_named,
    a_directory_that_is_none_is_refused,
}

/// File calls find a command's relative files below that directory.
pub async fn commands_start_in_the_directory_of_the_sandbox(sandbox: &dyn Sandbox) -> Outcome {
    prints(sandbox, "echo made here > here.txt", "").await?;
    let content = sandbox.read_bytes(&work_file(sandbox, "here.txt").await?).await?;
    equal("what a command made", content, "made here\n")?;
    let pwd = printed(sandbox, "pwd").await?;
    equal("the directory of the shell and of the system", printed(sandbox, "pwd -P").await?, pwd)
}

/// A request's directory applies to commands, jobs and processes.
pub async fn commands_start_in_the_directory_that_is_named(sandbox: &dyn Sandbox) -> Outcome {
    let named = work_file(sandbox, "a b").await?.child("deeper")?;
    sandbox.write_path(&named.child("file")?, "found\n".into(), Expect::Anything).await?;
    let line = "cat file";
    let request = ExecuteRequest::shell(line).directory(named.clone());
    came_to(line, &sandbox.execute(&request).await?, "found\n", Ended::Exited(0))?;
    let request = ExecuteRequest::program(["cat", "file"]).directory(named.clone());
    came_to(line, &sandbox.execute(&request).await?, "found\n", Ended::Exited(0))?;
    let job = JobRequest::shell(line).directory(named.clone());
    let job = sandbox.start_job(&job).await?;
    equal("a job", outcome(sandbox, &job.id).await?, ("found\n".to_owned(), Ended::Exited(0)))?;
    let spawn = SpawnRequest::piped(Command::Shell(line.into())).directory(named);
    equal("a process", everything(&mut sandbox.spawn(&spawn).await?).await?.0.output(), "found\n")
}

/// A missing directory is `NotFound` and a file is `NotDirectory`.
pub async fn a_directory_that_is_none_is_refused(sandbox: &dyn Sandbox) -> Outcome {
    let file = work_file(sandbox, "file").await?;
    sandbox.write_path(&file, "x".into(), Expect::Anything).await?;
    let missing = work_file(sandbox, "missing").await?;
    for (directory, kind) in [(missing, ErrorKind::NotFound), (file, ErrorKind::NotDirectory)] {
        let directory = Some(directory);
        let request = ExecuteRequest::shell("true").directory(directory.clone());
        refused("a command there", sandbox.execute(&request).await, kind)?;
        let job = JobRequest::shell("true").directory(directory.clone());
        refused("a job there", sandbox.start_job(&job).await, kind)?;
        let spawn = SpawnRequest::piped(Command::Shell("true".into())).directory(directory);
        refused("a process there", sandbox.spawn(&spawn).await, kind)?;
    }
    Ok(())
}
