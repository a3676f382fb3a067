//! The sandbox as a place to work: the shell of commands.

use serde_json::Value;
use workden_core::{
    Sandbox,
    sandbox::{ExecuteRequest, Executed, JobRead, JobRequest},
};
use workden_sandboxes::{HostSandbox, KeeperProgram, LinuxSandbox, LinuxSandboxBuilder};

use crate::{processes::PATIENCE, project::Project};

fn keeper() -> KeeperProgram {
    KeeperProgram::at(env!("CARGO_BIN_EXE_workden"))
}

fn linux() -> LinuxSandboxBuilder {
    LinuxSandbox::builder().keeper(keeper())
}

async fn executed(sandbox: &dyn Sandbox, line: &str) -> Executed {
    sandbox.execute(&ExecuteRequest::shell(line)).await.unwrap()
}

async fn said(sandbox: &dyn Sandbox, line: &str) -> String {
    let done = executed(sandbox, line).await;
    assert_eq!(done.exit_code(), 0, "{line}: {}", done.output.text());
    done.output.text()
}

#[tokio::test]
async fn lines_run_in_bash_where_it_is() {
    let project = Project::new();
    let host = HostSandbox::builder().root(project.path()).keeper(keeper());
    let sandboxes: [Box<dyn Sandbox>; 2] =
        [Box::new(linux().start().await.unwrap()), Box::new(host.start().await.unwrap())];
    for sandbox in &sandboxes {
        let sandbox = sandbox.as_ref();
        for (line, output) in [
            ("[[ abc == a* ]] && echo yes", "yes\n"),
            ("all=(a b c); echo ${all[1]} {1..3}", "b 1 2 3\n"),
            ("cat <<< here; cat <(echo there)", "here\nthere\n"),
            ("printf 'X=1\\n' > f; source ./f; echo $X; rm f", "1\n"),
            ("echo $0 ${#BASH_VERSION} | cut -c1-4; echo $-", "bash\nhpBc\n"),
        ] {
            let ran = executed(sandbox, line).await.output.text();
            // Options of bash may grow; job control and history are not among them.
            let ran = if line.contains("$-") { ran.replace("hBcp", "hpBc").replace("hBpc", "hpBc") } else { ran };
            assert_eq!(ran, output, "{line}");
        }
        for (line, code) in [
            ("set -o pipefail; false | true", 1),
            ("exit 7", 7),
            ("kill -9 $$", 137),
            ("kill -TERM $$", 143),
            ("no-such-program", 127),
            ("/etc/passwd", 126),
            ("if then", 2),
        ] {
            assert_eq!(executed(sandbox, line).await.exit_code(), code, "{line}");
        }
    }
}

#[tokio::test]
async fn nothing_configures_the_shell() {
    let project = Project::new();
    let evil = "echo evil\n";
    for name in [".bashrc", ".bash_profile", ".profile", "env"] {
        std::fs::write(project.at(name), evil).unwrap();
    }
    let sandbox = linux()
        .root(project.path())
        .env("HOME", "/workspace")
        .env("BASH_ENV", "/workspace/env")
        .env("ENV", "/workspace/env")
        .env("BASH_FUNC_true%%", "() { echo evil; }")
        .env("SHELLOPTS", "xtrace")
        .env("SSH_CLIENT", "192.0.2.1 1 22")
        .start()
        .await
        .unwrap();
    assert_eq!(said(&sandbox, "true; echo $SHLVL").await, "1\n");
    // A program still gets the variables of the user.
    assert_eq!(said(&sandbox, "env | grep -c '^BASH_ENV='").await, "1\n");
    let job = sandbox.start_job(&JobRequest::shell("true; echo done")).await.unwrap();
    let output = sandbox.read_job(&job.id, &JobRead::from(0).wait(PATIENCE)).await.unwrap();
    assert_eq!(output.text, "done\n");
}

#[test]
fn tools_say_which_shell_it_is() {
    let project = Project::new();
    for (sandbox, words) in [("linux", "in bash and wait"), ("host", "in bash and wait")] {
        let listed = project.workden(&["tool", "--sandbox", sandbox, "--json"]).printed();
        let tools: Value = serde_json::from_str(&listed).unwrap();
        let all = tools.to_string();
        assert!(all.contains(words), "{sandbox}: {all}");
    }
}
