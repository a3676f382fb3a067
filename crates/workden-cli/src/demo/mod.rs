//! `workden demo`: a scripted agent works in a new directory and sandbox, with the tools of a model.
//!
//! The demo prints the real answers of the tools and checks them: against the script, and against the directory as the
//! host sees it.

mod script;
mod transcript;

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum};
use script::{Comes, FILES, Needs, SECRET, Scene, Step};
use tempfile::TempDir;
use transcript::Transcript;
use workden::Preset;

use crate::{
    failure::{Failure, expect_same},
    signals::ToldToEnd,
    workspace::{SandboxChoice, ToolWorkspace, WorkspaceArguments},
};

pub(crate) const AFTER_HELP: &str = "\
Exit codes:
  0  every answer was as expected
  1  an answer was not, the sandbox cannot start, or the output could not be written
  2  invalid command line
  128+N  ended by signal N

Environment:
  NO_COLOR        no colours, even on a terminal
  CLICOLOR_FORCE  colours, even without a terminal
  TMPDIR          where the demo creates its directory";

/// Arguments of `workden demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Where the agent's commands run.
    #[arg(long, value_enum, default_value_t = DemoSandbox::Linux)]
    sandbox: DemoSandbox,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DemoSandbox {
    /// Isolated.
    Linux,
    /// On this machine as you; scenes that need isolation are left out.
    Host,
}

/// Plays every scene.
pub(crate) fn run(arguments: &DemoArguments) -> Result<ExitCode, Failure> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(Failure::Machine)?;
    runtime.block_on(async {
        let stage = Stage::set(arguments.sandbox).await?;
        let mut told = ToldToEnd::listen().map_err(Failure::Machine)?;
        let outcome = tokio::select! {
            outcome = play(&stage, arguments.sandbox) => outcome,
            (_, number) = told.next() => Ok(ExitCode::from(u8::try_from(128 + number).unwrap_or(u8::MAX))),
        };
        stage.clear().await?;
        outcome
    })
}

/// A directory with files, and its tools.
struct Stage {
    directory: TempDir,
    root: PathBuf,
    opened: ToolWorkspace,
}

impl Stage {
    async fn set(sandbox: DemoSandbox) -> Result<Self, Failure> {
        let directory = tempfile::Builder::new().prefix("workden-demo-").tempdir().map_err(Failure::NoStage)?;
        let root = directory.path().join("project");
        fs::create_dir(&root).map_err(Failure::Machine)?;
        for (name, content) in FILES {
            fs::write(root.join(name), content).map_err(Failure::Machine)?;
        }
        let sandbox = match sandbox {
            DemoSandbox::Linux => SandboxChoice::Linux,
            DemoSandbox::Host => SandboxChoice::Host,
        };
        let opened = WorkspaceArguments::in_directory(root.clone(), sandbox, Preset::Permissive).open(None).await?;
        Ok(Self { directory, root, opened })
    }

    /// Ends the sandbox and removes the directory.
    async fn clear(self) -> Result<(), Failure> {
        self.opened.close().await;
        self.directory.close().map_err(Failure::Machine)
    }

    fn on_the_host(&self, name: &str) -> Result<String, Failure> {
        fs::read_to_string(self.root.join(name)).map_err(Failure::Machine)
    }
}

async fn play(stage: &Stage, sandbox: DemoSandbox) -> Result<ExitCode, Failure> {
    let mut out = anstream::stdout().lock();
    let transcript = &mut Transcript::new(&mut out);
    let began = Instant::now();
    if let Err(error) = stage.opened.workspace.start().await {
        let choice = "`workden demo --sandbox host` runs the demo on this machine, without any isolation";
        return Err(Failure::Request(format!(
            "cannot start the sandbox of the agent: {}\nhint: {choice}",
            error.sentence()
        )));
    }
    transcript.say(
        "A scripted agent works in a new directory and sandbox. No model is asked, no key is needed, nothing\n\
         leaves this machine; the tools and their answers are those that a model would get.",
    )?;
    let mut calls = 0;
    for scene in script::scenes() {
        if scene.needs == Needs::Walls && sandbox == DemoSandbox::Host {
            transcript.say("\n(Left out: attempts to get out. On the host there is no wall to stop them.)")?;
            continue;
        }
        calls += play_scene(stage, &scene, transcript).await?;
    }
    check(stage)?;
    let took = shown(began.elapsed());
    transcript.say(format_args!(
        "\nAll {calls} calls came out as they should, in {took}. The sandbox has ended, its directory is removed.\n\n\
         Next:  workden tool                           the tools, by hand\n\
         \x20      workden mcp --print-config claude      the same tools for your own agent\n\
         \x20      workden run -- sh -c 'whoami; ls /'    any command in a new sandbox"
    ))?;
    out.flush().map_err(Failure::Output)?;
    Ok(ExitCode::SUCCESS)
}

async fn play_scene(stage: &Stage, scene: &Scene, transcript: &mut Transcript<'_>) -> Result<u32, Failure> {
    transcript.scene(scene.heading)?;
    let mut calls = 0;
    for Step { thought, tool, arguments, comes } in &scene.steps {
        transcript.call(thought, tool, arguments)?;
        let outcome = stage.opened.tools.call(tool, arguments.clone()).await;
        transcript.answer(&outcome)?;
        let text = outcome.as_ref().map_or_else(|failure| &failure.text, |answer| &answer.text);
        let is_as_expected = match (&outcome, comes) {
            (Ok(_), Comes::Answer(part)) => text.contains(part),
            (Err(failure), Comes::Refusal(kind, part)) => failure.kind == *kind && text.contains(part),
            _ => false,
        };
        if !is_as_expected {
            return Err(Failure::Surprise(format!("`{tool}` did not come to {comes:?}")));
        }
        if text.contains(SECRET) {
            return Err(Failure::Surprise(format!("`{tool}` shows a secret")));
        }
        calls += 1;
    }
    Ok(calls)
}

/// Checks that the host sees the agent's changes, and no others.
fn check(stage: &Stage) -> Result<(), Failure> {
    let numbers = stage.on_the_host("numbers.txt")?;
    expect_same("the numbers on the host", numbers.as_str(), "0,1,1,2,3,5,8,13,21,34,\n")?;
    expect_same("the secret on the host", stage.on_the_host(".env")?.as_str(), FILES[1].1)
}

fn shown(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
