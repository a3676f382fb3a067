//! The sandbox as a place to work: the shell of commands, package managers without a network, and git.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;
use workden_core::{
    Sandbox,
    sandbox::{ExecuteRequest, Executed, Hint, JobRead, JobRequest, Network},
};
use workden_sandboxes::{HostEnvironment, HostSandbox, KeeperProgram, LinuxSandbox, LinuxSandboxBuilder};

use crate::{processes::PATIENCE, project::Project};

/// What a package manager may take that does not try again.
const AT_ONCE: Duration = Duration::from_secs(5);
/// How often it is tried on a busy machine.
const TRIES: usize = 8;

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
    for (sandbox, words) in [("linux", "in a shell, bash, and wait"), ("host", "in a shell, bash, and wait")] {
        let listed = project.workden(&["tool", "--sandbox", sandbox, "--json"]).printed();
        let tools: Value = serde_json::from_str(&listed).unwrap();
        let all = tools.to_string();
        assert!(all.contains(words), "{sandbox}: {all}");
    }
}

/// Asserts that a line fails at once, with words of its reason and the hint.
async fn fails_at_once(sandbox: &dyn Sandbox, line: &str, reason: &str) {
    let mut took = Vec::new();
    for _ in 0..TRIES {
        let began = Instant::now();
        let done = executed(sandbox, line).await;
        took.push(began.elapsed());
        let text = done.text_with_hints();
        assert_ne!(done.exit_code(), 0, "{line}: {text}");
        assert!(text.contains(reason), "{line}: {text}");
        assert_eq!(done.hints, [Hint::NoNetwork], "{line}: {text}");
        assert!(text.ends_with("with `--net host`\n"), "{line}: {text}");
        if took.last().is_some_and(|took| *took < AT_ONCE) {
            return;
        }
    }
    panic!("{line} took {took:?}");
}

#[tokio::test]
async fn package_managers_fail_at_once_without_a_network() {
    let sandbox = linux().environment_of(HostEnvironment::from_process()).toolchain("rust").start().await.unwrap();
    said(&sandbox, "/usr/bin/python3 -m venv v && mkdir n c c/src && touch c/src/lib.rs").await;
    let package = r#"{"name": "x", "version": "1.0.0", "dependencies": {"left-pad": "1"}}"#;
    said(&sandbox, &format!("echo '{package}' > n/package.json")).await;
    let manifest = "[package]\nname = \"x\"\n[dependencies]\nserde = \"1\"\n";
    said(&sandbox, &format!("printf '{}' > c/Cargo.toml", manifest.replace('\n', "\\n"))).await;
    for (line, reason) in [
        ("v/bin/pip install no-such-package", "Temporary failure in name resolution"),
        ("cd n && npm install", "EAI_AGAIN"),
        ("cd c && cargo fetch", "you're using offline mode"),
        ("git clone https://github.com/rust-lang/log", "Could not resolve host"),
        ("curl -sS https://example.com", "Could not resolve host"),
    ] {
        fails_at_once(&sandbox, line, reason).await;
    }
    // What does not fail has no hint, and neither has another failure.
    assert_eq!(executed(&sandbox, "echo Could not resolve host").await.hints, []);
    assert_eq!(executed(&sandbox, "echo failed; false").await.hints, []);
}

#[tokio::test]
async fn variables_of_the_user_are_stronger_and_a_network_needs_none() {
    let names = "PIP_RETRIES UV_OFFLINE CARGO_NET_OFFLINE npm_config_fetch_retries";
    let line = format!("for name in {names}; do echo ${{!name-unset}}; done");
    let sandbox = linux().env("PIP_RETRIES", "7").env("UV_OFFLINE", "0").start().await.unwrap();
    assert_eq!(said(&sandbox, &line).await, "7\n0\ntrue\n0\n");
    let sandbox = linux().network(Network::Host).start().await.unwrap();
    assert_eq!(said(&sandbox, &line).await, "unset\n".repeat(4));
    assert_eq!(executed(&sandbox, "echo Could not resolve host; false").await.hints, []);
}

#[test]
fn every_face_shows_the_hint() {
    let project = Project::new();
    let line = "curl -sS https://example.com";
    let arguments = serde_json::json!({ "command": line }).to_string();
    let ran = project.workden(&["tool", "execute", &arguments, "--yes"]);
    assert!(ran.out.contains("\nhint: this sandbox has no network; "), "{ran:?}");
    let json = project.run(&["--json", "--", "sh", "-c", line]).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    let run = project.run(&["--", "sh", "-c", line]);
    assert!(run.err.contains("\nhint: this sandbox has no network; "), "{run:?}");
    assert!(json["hints"][0].as_str().unwrap().starts_with("this sandbox has no network"), "{json}");
}

/// Runs git on the host.
fn git(directory: &Path, words: &[&str]) -> String {
    let ran = Command::new("git").args(words).current_dir(directory).output().unwrap();
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// The environment of a user with this configuration of git.
fn user(home: &Project, config: &str) -> HostEnvironment {
    std::fs::write(home.at(".gitconfig"), config).unwrap();
    let variables = [("HOME".to_owned(), home.path().display().to_string())].into();
    HostEnvironment { variables, directory: home.path().to_owned() }
}

const ADA: &str = "[user]\n\tname = Ada \\\"L\\\" B\n\temail = ada@example.com\n";
const AUTHOR: &str = "git commit -q --allow-empty -m x && git log -1 --format='%an <%ae> %cn <%ce>'";

#[tokio::test]
async fn commits_are_those_of_the_user_unless_something_nearer_says_otherwise() {
    let (project, home) = (Project::new(), Project::new());
    git(project.path(), &["init", "-q"]);
    let sandbox = linux().environment_of(user(&home, ADA)).root(project.path()).start().await.unwrap();
    let ada = "Ada \"L\" B <ada@example.com>";
    assert_eq!(said(&sandbox, AUTHOR).await, format!("{ada} {ada}\n"));
    let bot = "Bot <bot@example.com>";
    for set in [
        "export GIT_AUTHOR_NAME=Bot GIT_AUTHOR_EMAIL=bot@example.com GIT_COMMITTER_NAME=Bot GIT_COMMITTER_EMAIL=bot@example.com",
        "git() { command git -c user.name=Bot -c user.email=bot@example.com \"$@\"; }",
        "export HOME=/tmp/h; mkdir -p $HOME; git config --global user.name Bot; git config --global user.email bot@example.com",
    ] {
        assert_eq!(said(&sandbox, &format!("{set}; {AUTHOR}")).await, format!("{bot} {bot}\n"), "{set}");
    }
    // The identity of a repository, which its user chose, is stronger than that of the user.
    let work = Project::new();
    git(work.path(), &["init", "-q"]);
    git(work.path(), &["config", "user.email", "ada@work.example"]);
    let sandbox = linux().environment_of(user(&home, ADA)).root(work.path()).start().await.unwrap();
    assert!(said(&sandbox, AUTHOR).await.starts_with("Ada \"L\" B <ada@work.example> "));
    // A new repository in memory.
    let sandbox = linux().environment_of(user(&home, ADA)).start().await.unwrap();
    assert_eq!(said(&sandbox, &format!("git init -q && {AUTHOR}")).await, format!("{ada} {ada}\n"));
    // A user without an identity has none inside.
    let sandbox = linux().environment_of(user(&home, "")).start().await.unwrap();
    let done = executed(&sandbox, &format!("git init -q && {AUTHOR}")).await;
    assert!(done.exit_code() != 0 && done.output.text().contains("tell me who you are"), "{}", done.output.text());
}

#[test]
fn one_command_in_a_repository_commits_as_the_user() {
    let (project, home) = (Project::new(), Project::new());
    std::fs::write(home.at(".gitconfig"), ADA).unwrap();
    git(project.path(), &["init", "-q"]);
    let mut run = project.run_command(&["--", "sh", "-c", AUTHOR]);
    let output = run.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME").output().unwrap();
    let ran = crate::project::Ran::of(output);
    assert_eq!(ran.printed(), "Ada \"L\" B <ada@example.com> Ada \"L\" B <ada@example.com>\n");
}

#[tokio::test]
async fn the_configuration_of_a_repository_is_read_only_and_a_hint_says_what_to_do() {
    let project = Project::new();
    git(project.path(), &["init", "-q"]);
    let sandbox = linux().root(project.path()).start().await.unwrap();
    for line in ["git config user.name Bot", "git remote add origin https://example.com/x.git"] {
        let done = executed(&sandbox, line).await;
        assert_ne!(done.exit_code(), 0, "{line}");
        assert_eq!(done.hints, [Hint::GitConfig], "{line}: {}", done.output.text());
    }
    let done = executed(&sandbox, "cp /bin/true .git/hooks/pre-commit").await;
    assert_eq!(done.hints, [Hint::GitHooks], "{}", done.output.text());
    // What the hint says works, also for a remote.
    said(&sandbox, "git config --global remote.origin.url https://example.com/x.git").await;
    assert_eq!(
        said(&sandbox, "git remote -v | head -1 | cut -f1; git -c user.name=Bot config user.name").await,
        "origin\nBot\n"
    );
}
