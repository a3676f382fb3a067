//! The environment of commands: the sandbox's variables and those of the request.

use workden_core::sandbox::{Command, Ended, ExecuteRequest, JobRequest, Sandbox, SpawnRequest};

use super::{
    calls::{came_to, everything, outcome, prints, run},
    check::list_sandbox_checks,
};
use crate::{
    Outcome,
    verdict::{ensure, equal},
};

list_sandbox_checks! { environments:
    programs_are_found,
    a_request_adds_to_the_environment,
    a_request_replaces_what_is_there,
    values_arrive_as_they_are,
    nothing_of_one_command_is_left_for_the_next,
}

/// The environment has a `PATH`.
pub async fn programs_are_found(sandbox: &dyn Sandbox) -> Outcome {
    let path = run(sandbox, "printf %s \"$PATH\"; command -v cat >/dev/null").await?;
    equal("how it ended", path.ended, Ended::Exited(0))?;
    ensure(path.output.text().contains('/'), format!("PATH is {:?}", path.output.text()))
}

/// A request's variables apply to commands, jobs and processes.
pub async fn a_request_adds_to_the_environment(sandbox: &dyn Sandbox) -> Outcome {
    let line = "echo \"$ADDED\"; cat /dev/null";
    let environment = [("ADDED", "by the request")];
    let request = ExecuteRequest::shell(line).environment(environment);
    came_to(line, &sandbox.execute(&request).await?, "by the request\n", Ended::Exited(0))?;
    let job = JobRequest::shell(line).environment(environment);
    let job = sandbox.start_job(&job).await?;
    equal("a job", outcome(sandbox, &job.id).await?, ("by the request\n".to_owned(), Ended::Exited(0)))?;
    let spawn = SpawnRequest::piped(Command::Shell(line.into())).environment(environment);
    let (printed, _) = everything(&mut sandbox.spawn(&spawn).await?).await?;
    equal("a process", printed.output(), "by the request\n")
}

/// A request's variable overrides the sandbox's variable.
pub async fn a_request_replaces_what_is_there(sandbox: &dyn Sandbox) -> Outcome {
    let request = ExecuteRequest::shell("echo $PATH").environment([("PATH", "/nowhere")]);
    came_to("echo $PATH", &sandbox.execute(&request).await?, "/nowhere\n", Ended::Exited(0))
}

/// Values may contain any text.
pub async fn values_arrive_as_they_are(sandbox: &dyn Sandbox) -> Outcome {
    for value in ["", "a b", "it's \"quoted\"", "$HOME `id`", "a=b=c", "new\nline\n", "é€", "\\"] {
        let line = "printf '[%s]' \"$VALUE\"; [ \"${VALUE+set}\" = set ]";
        let request = ExecuteRequest::shell(line).environment([("VALUE", value)]);
        came_to(line, &sandbox.execute(&request).await?, &format!("[{value}]"), Ended::Exited(0))?;
    }
    Ok(())
}

/// Variables, the working directory, the umask and resource limits do not carry over.
pub async fn nothing_of_one_command_is_left_for_the_next(sandbox: &dyn Sandbox) -> Outcome {
    let state = "pwd; umask; echo \"${LEFT-nothing}\"; ulimit -n";
    let before = run(sandbox, state).await?.output.text();
    let request =
        ExecuteRequest::shell("export LEFT=too; umask 077; cd /; ulimit -n 10; true").environment([("LEFT", "behind")]);
    came_to("a line that changes its state", &sandbox.execute(&request).await?, "", Ended::Exited(0))?;
    prints(sandbox, state, &before).await
}
