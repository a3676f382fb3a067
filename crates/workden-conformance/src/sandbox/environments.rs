//! The environment of commands: the sandbox's own, and what a request adds to it.

use std::collections::BTreeMap;

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

fn with(name: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(name.to_owned(), value.to_owned())])
}

/// There is a `PATH`.
pub async fn programs_are_found(sandbox: &dyn Sandbox) -> Outcome {
    let path = run(sandbox, "printf %s \"$PATH\"; command -v cat >/dev/null").await?;
    equal("how it ended", path.ended, Ended::Exited(0))?;
    ensure(path.output.text().contains('/'), format!("PATH is {:?}", path.output.text()))
}

/// To that of every kind of command.
pub async fn a_request_adds_to_the_environment(sandbox: &dyn Sandbox) -> Outcome {
    let line = "echo \"$ADDED\"; cat /dev/null";
    let environment = with("ADDED", "by the request");
    let request = ExecuteRequest { environment: environment.clone(), ..ExecuteRequest::shell(line) };
    came_to(line, &sandbox.execute(&request).await?, "by the request\n", Ended::Exited(0))?;
    let job = JobRequest { environment: environment.clone(), ..JobRequest::shell(line) };
    let job = sandbox.start_job(&job).await?;
    equal("a job", outcome(sandbox, &job.id).await?, ("by the request\n".to_owned(), Ended::Exited(0)))?;
    let spawn = SpawnRequest { environment, ..SpawnRequest::piped(Command::Shell(line.into())) };
    let (printed, _) = everything(&mut sandbox.spawn(&spawn).await?).await?;
    equal("a process", printed.output(), "by the request\n")
}

/// Its own variable instead of the sandbox's.
pub async fn a_request_replaces_what_is_there(sandbox: &dyn Sandbox) -> Outcome {
    let request = ExecuteRequest { environment: with("PATH", "/nowhere"), ..ExecuteRequest::shell("echo $PATH") };
    came_to("echo $PATH", &sandbox.execute(&request).await?, "/nowhere\n", Ended::Exited(0))
}

/// Whatever is in them.
pub async fn values_arrive_as_they_are(sandbox: &dyn Sandbox) -> Outcome {
    for value in ["", "a b", "it's \"quoted\"", "$HOME `id`", "a=b=c", "new\nline\n", "é€", "\\"] {
        let line = "printf '[%s]' \"$VALUE\"; [ \"${VALUE+set}\" = set ]";
        let request = ExecuteRequest { environment: with("VALUE", value), ..ExecuteRequest::shell(line) };
        came_to(line, &sandbox.execute(&request).await?, &format!("[{value}]"), Ended::Exited(0))?;
    }
    Ok(())
}

/// Neither variables nor directories nor masks.
pub async fn nothing_of_one_command_is_left_for_the_next(sandbox: &dyn Sandbox) -> Outcome {
    let state = "pwd; umask; echo \"${LEFT-nothing}\"; ulimit -n";
    let before = run(sandbox, state).await?.output.text();
    let request = ExecuteRequest {
        environment: with("LEFT", "behind"),
        ..ExecuteRequest::shell("export LEFT=too; umask 077; cd /; ulimit -n 10; true")
    };
    came_to("a line that changes its state", &sandbox.execute(&request).await?, "", Ended::Exited(0))?;
    prints(sandbox, state, &before).await
}
