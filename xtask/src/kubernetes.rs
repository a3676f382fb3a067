//! `cargo xtask kubernetes`: runs a command with a real cluster and the images that tests use.
//!
//! The cluster is that of `WORKDEN_TEST_KUBECONFIG`, or one that the scripts in `cluster/` start on this machine and
//! remove afterwards. Nothing comes from an image registry.

use std::{
    env, fs,
    path::{Path, absolute},
    process::Command,
};

use crate::{Outcome, docker, keeper, needs, python, workspace};

/// The variable with the kubeconfig of a cluster for tests.
const KUBECONFIG: &str = "WORKDEN_TEST_KUBECONFIG";
/// The directory of the scripts.
const SCRIPTS: &str = "cluster";

/// A cluster for tests. One that was started here ends when this value is dropped.
pub(crate) struct Cluster {
    /// The variables by which tests find it.
    pub(crate) environment: Vec<(&'static str, String)>,
    is_ours: bool,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.is_ours
            && let Err(error) = workspace::succeed(&mut script("down"))
        {
            eprintln!("=== the cluster is still there: {error}");
        }
    }
}

/// Runs a command with a cluster.
pub(crate) fn run(command: &[&str]) -> Outcome {
    let Some((program, arguments)) = command.split_first() else {
        return Err("which command? `cargo xtask kubernetes -- COMMAND`".to_owned());
    };
    let cluster = prepare(keeper::Form::Short)?;
    let environment = cluster.environment.iter().map(|(name, value)| (name, value));
    workspace::succeed(workspace::command(program).args(arguments).envs(environment))
}

/// Runs the tests that need a cluster.
pub(crate) fn test() -> Outcome {
    // By itself this step has what the earlier ones install: the images are made of Debian's packages.
    for needs in [needs::TOOLCHAIN, needs::NEEDS, needs::DOCKER, needs::KUBERNETES, needs::CLUSTER] {
        needs::provide(needs)?;
    }
    let cluster = prepare(keeper::Form::Short)?;
    // One at a time per processor: the cluster itself, which starts a pod for each, is what keeps them busy.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let environment = [&*cluster.environment, &[("RUST_TEST_THREADS", threads.to_string())]].concat();
    workspace::linted_cargo(&["test", "--workspace", "--test", "kubernetes"], &environment)?;
    python::some(&["-m", "kubernetes"], &cluster.environment)
}

/// Builds the programs of a cluster, unless one is given or they are built.
pub(crate) fn build() -> Outcome {
    match named() {
        Some(_) => Ok(()),
        None => {
            needs::provide(needs::CLUSTER)?;
            ["build", "gvisor"].into_iter().try_for_each(|name| workspace::succeed(&mut script(name)))
        }
    }
}

fn named() -> Option<String> {
    env::var(KUBECONFIG).ok().filter(|named| !named.is_empty())
}

/// Builds the keeper, starts a cluster and imports the images.
pub(crate) fn prepare(form: keeper::Form) -> Outcome<Cluster> {
    let keeper = absolute(keeper::build(form)?).map_err(|error| format!("cannot find the keeper: {error}"))?;
    let named = named();
    let is_ours = named.is_none();
    let kubeconfig = match named {
        Some(named) => named,
        None => {
            println!("=== Kubernetes: starting a cluster");
            answer(&mut script("up"))?
        }
    };
    let mut environment = vec![(KUBECONFIG, kubeconfig), ("WORKDEN_KEEPER", keeper.display().to_string())];
    if is_ours {
        environment.push(("WORKDEN_TEST_KUBECTL", format!("{}/kubectl", answer(&mut script("build"))?)));
    }
    // From here on a failure ends the cluster.
    let cluster = Cluster { environment, is_ours };
    if is_ours {
        for (name, tar) in docker::image_tars()? {
            let name = name.replace(":latest", ":1");
            println!("=== {name} into the cluster");
            workspace::succeed(script("image").arg(name).arg(tar).args(["--", "/bin/sh"]))?;
        }
        println!("=== the keeper into the cluster");
        workspace::succeed(&mut image_of_keeper(&keeper)?)?;
        println!("=== agent-sandbox into the cluster");
        workspace::succeed(&mut script("agent-sandbox"))?;
    }
    Ok(cluster)
}

/// Returns the command that imports an image whose only program is the keeper.
fn image_of_keeper(keeper: &Path) -> Outcome<Command> {
    // The program has the name that the image's command says.
    let program = keeper.with_file_name("keeper");
    fs::copy(keeper, &program).map_err(|error| format!("cannot copy {}: {error}", keeper.display()))?;
    let mut import = script("image");
    import.arg("workden-test/keeper:1").arg(program).args(["--entrypoint", "/keeper"]);
    Ok(import)
}

fn script(name: &str) -> Command {
    Command::new(workspace::root().join(SCRIPTS).join(name))
}

fn answer(command: &mut Command) -> Outcome<String> {
    let program = command.get_program().display().to_string();
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program} failed ({})", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
