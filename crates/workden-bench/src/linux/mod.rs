//! `bench linux`: the cost of a Linux sandbox beside bubblewrap with the same namespaces and the
//! host's own shell, interleaved in one run.

mod one_shot;

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use workden_core::{
    BackendExt, Expect, Sandbox, VirtualPath,
    sandbox::{ExecuteRequest, Shell},
};
use workden_sandboxes::{KeeperProgram, LinuxSandbox};

use crate::{
    Failure,
    lines::{Line, Target},
    memory,
    options::Options,
    samples::Samples,
};

/// The default number of rounds.
pub(crate) const ROUNDS: usize = 41;

/// Runs everything and prints the table.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let (program, keeper) = (options.program()?.to_owned(), options.keeper()?.to_owned());
    let bench = Bench { program, keeper, rounds: options.rounds };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut lines = one_shot::measure(&bench.program, bench.rounds)?.to_vec();
    runtime.block_on(async {
        lines.push(bench.execute().await?);
        lines.push(bench.first_output().await?);
        lines.push(bench.hundred().await?);
        lines.extend(bench.files().await?);
        lines.extend(bench.memory().await?);
        Ok::<(), Failure>(())
    })?;
    options.conclude("", &lines, &[])
}

struct Bench {
    program: PathBuf,
    keeper: PathBuf,
    rounds: usize,
}

impl Bench {
    /// Measures a command in a running sandbox beside the host's shell.
    async fn execute(&self) -> Result<Line, Failure> {
        let sandbox = self.sandbox().await?;
        let request = ExecuteRequest::shell("true");
        let (mut ours, mut peer) = (Samples::default(), Samples::default());
        for _ in 0..self.rounds * 5 {
            ours.take_async(async { Ok(sandbox.execute(&request).await?) }).await?;
            let (shell, file) = shell();
            peer.take(|| ended(Command::new(file).args(shell.options()).arg("true")))?;
        }
        sandbox.stop().await?;
        Ok(Line::beside(
            "`execute(\"true\")`",
            "same shell, `true`",
            &ours,
            &peer,
            Target::Over(Duration::from_millis(1)),
        ))
    }

    /// Measures the time to the first output beside one call of bubblewrap.
    async fn first_output(&self) -> Result<Line, Failure> {
        let work = directory()?;
        let (mut ours, mut peer) = (Samples::default(), Samples::default());
        for _ in 0..self.rounds {
            let began = Instant::now();
            let sandbox = self.sandbox().await?;
            let executed = sandbox.execute(&ExecuteRequest::shell("echo hi")).await?;
            ours.add(began.elapsed());
            check(executed.output.head == "hi\n", "the first output")?;
            sandbox.stop().await?;
            peer.take(|| {
                let (shell, file) = shell();
                let mut shell_inside = bubblewrap(&work);
                let output =
                    shell_inside.arg(file).args(shell.options()).arg("echo hi").stdout(Stdio::piped()).output()?;
                check(output.stdout == b"hi\n", "bubblewrap's output")
            })?;
        }
        std::fs::remove_dir_all(&work)?;
        Ok(Line::beside("create to first output", "bwrap", &ours, &peer, Target::Ratio(1.5)))
    }

    /// Creates a hundred at once and uses each.
    async fn hundred(&self) -> Result<Line, Failure> {
        let mut samples = Samples::default();
        for _ in 0..3 {
            let began = Instant::now();
            let all = futures_util::future::try_join_all((0..100).map(|number| async move {
                let sandbox = self.sandbox().await?;
                let executed = sandbox.execute(&ExecuteRequest::shell(format!("echo {number}"))).await?;
                check(executed.output.head == format!("{number}\n"), "the output of one of a hundred")?;
                Ok::<_, Failure>(sandbox)
            }))
            .await?;
            samples.add(began.elapsed());
            futures_util::future::try_join_all(all.iter().map(Sandbox::stop)).await?;
        }
        Ok(Line::alone("100 created at once, all used", &samples, Target::Within(Duration::from_secs(2))))
    }

    /// Measures file calls through the keeper.
    async fn files(&self) -> Result<Vec<Line>, Failure> {
        let sandbox = self.sandbox().await?;
        let mut lines = Vec::new();
        for (size, name, most, rounds) in [
            (4 << 10, "4 KiB", Duration::from_micros(300), self.rounds * 20),
            (8 << 20, "8 MiB", Duration::from_millis(15), self.rounds),
        ] {
            let path = VirtualPath::parse(&format!("/workspace/{size}"))?;
            let content = bytes::Bytes::from(vec![b'x'; size]);
            let (mut writes, mut reads) = (Samples::default(), Samples::default());
            for _ in 0..rounds {
                let content = content.clone();
                writes.take_async(async { Ok(sandbox.write_path(&path, content, Expect::Anything).await?) }).await?;
                let read = reads.take_async(async { Ok(sandbox.read_bytes(&path).await?) }).await?;
                check(read.len() == size, "what was read")?;
            }
            lines.push(Line::alone(&format!("{name} write through the keeper"), &writes, Target::Within(most)));
            lines.push(Line::alone(&format!("{name} read through the keeper"), &reads, Target::Within(most)));
        }
        sandbox.stop().await?;
        Ok(lines)
    }

    /// Measures the memory of idle sandboxes.
    async fn memory(&self) -> Result<Vec<Line>, Failure> {
        let mut sandboxes = Vec::new();
        for _ in 0..20 {
            let sandbox = self.sandbox().await?;
            sandbox.execute(&ExecuteRequest::shell("true")).await?;
            sandboxes.push(sandbox);
        }
        tokio::time::sleep(Duration::from_secs(12)).await;
        let held = memory::of_descendants(std::process::id())? / sandboxes.len() as u64;
        for sandbox in &sandboxes {
            sandbox.stop().await?;
        }
        Ok(vec![
            Line::bytes("idle: anonymous memory", held.anonymous, 1_500_000),
            Line::bytes("idle: proportional memory", held.proportional, 3_000_000),
        ])
    }

    async fn sandbox(&self) -> Result<LinuxSandbox, Failure> {
        Ok(LinuxSandbox::builder().keeper(KeeperProgram::at(&self.keeper)).start().await?)
    }
}

/// Returns the shell of sandboxes that show the programs of this machine, so that peers start the same.
fn shell() -> (Shell, &'static str) {
    Shell::find(|file| Path::new(file).exists())
}

fn directory() -> Result<PathBuf, Failure> {
    let path = std::env::temp_dir().join(format!("workden-bench-linux-{}", std::process::id()));
    std::fs::create_dir_all(&path)?;
    Ok(path)
}

/// Bubblewrap with the namespaces and mounts of a sandbox.
fn bubblewrap(work: &Path) -> Command {
    let mut command = Command::new("bwrap");
    command.args([
        "--unshare-all",
        "--die-with-parent",
        "--ro-bind",
        "/usr",
        "/usr",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
    ]);
    for (target, link) in [("usr/bin", "/bin"), ("usr/lib", "/lib"), ("usr/lib64", "/lib64"), ("usr/sbin", "/sbin")] {
        command.args(["--symlink", target, link]);
    }
    command.args(["--tmpfs", "/tmp", "--bind"]).arg(work).args(["/workspace", "--chdir", "/workspace"]);
    command
}

fn ended(command: &mut Command) -> Result<(), Failure> {
    // No pipe or terminal, whose reader would affect the time.
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    check(status.success(), "a command")
}

fn check(fine: bool, what: &str) -> Result<(), Failure> {
    if fine { Ok(()) } else { Err(format!("unexpected result: {what}").into()) }
}
