//! Brings the keeper into a sandbox, starts it, and connects to it.
//!
//! Invariant: the secret goes to the input of the keeper through the service, and to nothing else in the sandbox. A
//! keeper that does not answer is replaced by a new one, in a session of its own.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use tokio::time::{sleep, timeout};
use workden_core::{Error, ErrorKind, VirtualPath};
use workden_wire::{Launch, LaunchTarget, Lifetime, PROTOCOL, PortAccess, RemoteSandbox, challenge};

use super::{
    api::{Failure, Toolbox, jittered},
    install_script,
};
use crate::{container_keepers::ContainerKeepers, token};

/// Where keepers listen: the first of these ports that is free.
const PORTS: [u16; 3] = [27183, 27184, 27185];
/// The start of the name of each keeper's session.
const SESSION: &str = "workden-keeper-";
/// How long a port may take until the keeper there has proven itself and answered.
const CONNECT_TIME: Duration = Duration::from_secs(15);
/// How long a keeper may take from its start to its first answer.
const START_TIME: Duration = Duration::from_secs(60);
/// How long a script in the sandbox may take.
const SCRIPT_TIME: Duration = Duration::from_secs(60);
/// The pause between two attempts to reach a new keeper.
const PAUSE: Duration = Duration::from_millis(50);

/// What a keeper is launched with. It serves every client of the sandbox; what differs between them is in their calls.
#[derive(Clone, Debug)]
pub(super) struct KeeperPlan {
    /// Where commands start.
    pub(super) directory: VirtualPath,
    /// How long it lives without a connection; `None` as long as the sandbox.
    pub(super) lease: Option<Duration>,
}

/// Why there is no keeper.
#[derive(Debug)]
pub(super) enum NoKeeper {
    /// The sandbox cannot run one, and trying again is of no use.
    Impossible(String),
    /// It may work later.
    Failed(Error),
}

impl From<Failure> for NoKeeper {
    /// What the service refuses for good is impossible.
    fn from(failure: Failure) -> Self {
        let is_refusal = failure.is(403) || failure.is(404) || failure.error.kind() == ErrorKind::Unsupported;
        match is_refusal {
            true => Self::Impossible(failure.error.sentence().to_owned()),
            false => Self::Failed(failure.error),
        }
    }
}

impl From<Error> for NoKeeper {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Connects to the keeper that runs in a sandbox.
pub(super) async fn reach(toolbox: &Toolbox, id: &str) -> Result<RemoteSandbox, NoKeeper> {
    let mut why = None;
    for port in PORTS {
        match timeout(CONNECT_TIME, reach_at(toolbox, id, port)).await {
            Ok(Ok(remote)) => return Ok(remote),
            Ok(Err(impossible @ NoKeeper::Impossible(_))) => return Err(impossible),
            Ok(Err(NoKeeper::Failed(error))) => {
                tracing::debug!(id, port, %error, "keeper not reached");
                why.get_or_insert(error);
            }
            Err(_) => {
                let sentence = format!("no answer at port {port} within {} s", CONNECT_TIME.as_secs());
                why.get_or_insert(Error::new(ErrorKind::Unreachable, sentence));
            }
        }
    }
    Err(NoKeeper::Failed(why.unwrap_or_else(|| Error::new(ErrorKind::Unreachable, "the keeper has no port"))))
}

async fn reach_at(toolbox: &Toolbox, id: &str, port: u16) -> Result<RemoteSandbox, NoKeeper> {
    let link = toolbox.api.preview(id, port).await?;
    let mut stream = toolbox.api.open_port(&link).await?;
    challenge(&mut stream, &toolbox.api.key().secret_of(id), &port.to_string()).await?;
    Ok(RemoteSandbox::connect(stream, None).await?)
}

/// Starts a new keeper in a sandbox, in the place of any other, and connects to it.
pub(super) async fn launch(
    toolbox: &Toolbox,
    id: &str,
    keepers: &ContainerKeepers,
    plan: &KeeperPlan,
) -> Result<RemoteSandbox, NoKeeper> {
    let program = install(toolbox, keepers, &plan.directory).await?;
    for old in toolbox.sessions().await?.iter().filter(|session| session.session_id.starts_with(SESSION)) {
        toolbox.delete_session(&old.session_id).await?;
    }
    let session = format!("{SESSION}{}", token::random_digits(8)?);
    toolbox.create_session(&session).await?;
    let started = start(toolbox, id, &session, &program, plan).await;
    if started.is_err() {
        // The error is why it did not start.
        let _ = toolbox.delete_session(&session).await;
    }
    started
}

/// Puts the keeper into the sandbox, unless it is there, and returns its path.
async fn install(toolbox: &Toolbox, keepers: &ContainerKeepers, directory: &VirtualPath) -> Result<String, NoKeeper> {
    let keepers = keepers.read_all().await.map_err(|error| NoKeeper::Impossible(error.sentence().to_owned()))?;
    let script = install_script::look(&keepers, directory.as_str());
    let found = install_script::Found::parse(&run(toolbox, &script).await?).map_err(NoKeeper::Impossible)?;
    if let Some(there) = found.keeper {
        return Ok(there);
    }
    let keeper = keepers.iter().find(|keeper| keeper.machine() == found.machine);
    let keeper = keeper.ok_or_else(|| {
        NoKeeper::Impossible(format!("there is no keeper for the machine `{}`", toolbox.api.shown(&found.machine)))
    })?;
    let mut why = "no directory can be written".to_owned();
    for place in &found.places {
        let (at, part) =
            (format!("{place}/keeper-{}", keeper.hash), format!("{place}/part-{}", token::random_digits(8)?));
        toolbox.upload(&part, &keeper.content).await?;
        let said = run(toolbox, &install_script::install(&part, &at, &keeper.hash)).await?;
        match install_script::outcome(&said) {
            Ok(()) => return Ok(at),
            Err(said) => why = toolbox.api.shown(&said),
        }
    }
    Err(NoKeeper::Impossible(format!("the keeper cannot be installed: {why}")))
}

/// Runs a script in the sandbox, and returns what it prints.
async fn run(toolbox: &Toolbox, script: &str) -> Result<String, NoKeeper> {
    match toolbox.execute(script, None, SCRIPT_TIME).await? {
        Some((_, said)) => Ok(said),
        None => Err(NoKeeper::Failed(Error::new(
            ErrorKind::TimedOut,
            format!("installing the keeper timed out after {} s", SCRIPT_TIME.as_secs()),
        ))),
    }
}

async fn start(
    toolbox: &Toolbox,
    id: &str,
    session: &str,
    program: &str,
    plan: &KeeperPlan,
) -> Result<RemoteSandbox, NoKeeper> {
    let ports = PORTS.map(|port| format!(" --port {port}")).concat();
    let command = toolbox.start_command(session, &format!("{} serve{ports}", install_script::quoted(program))).await?;
    let secret = toolbox.api.key().secret_of(id).to_digits();
    let exited = async || exited(toolbox, session, &command, &secret).await;
    let launch = Launch {
        protocol: PROTOCOL,
        target: LaunchTarget::Container { directory: plan.directory.as_str().into(), environment: BTreeMap::new() },
        lifetime: Lifetime::Port(PortAccess { ttl: plan.lease, secret: secret.clone() }),
    };
    let line = serde_json::to_string(&launch)
        .map_err(|error| Error::new(ErrorKind::InvalidArgument, format!("invalid options of the sandbox: {error}")))?;
    let began = Instant::now();
    // The input of a command exists a moment after its start.
    while let Err(failure) = toolbox.send_secret(session, &command, &format!("{line}\n")).await {
        if let Some(why) = exited().await? {
            return Err(NoKeeper::Impossible(why));
        }
        if began.elapsed() >= START_TIME || matches!(failure.error.kind(), ErrorKind::PermissionDenied) {
            return Err(failure.into());
        }
        sleep(jittered(PAUSE)).await;
    }
    loop {
        let why = match reach(toolbox, id).await {
            Ok(remote) => return Ok(remote),
            Err(impossible @ NoKeeper::Impossible(_)) => return Err(impossible),
            Err(NoKeeper::Failed(why)) => why,
        };
        if let Some(why) = exited().await? {
            return Err(NoKeeper::Impossible(why));
        }
        if began.elapsed() >= START_TIME {
            // Until then an older keeper or another server may have answered at the first port.
            return Err(match why.kind() {
                ErrorKind::Unsupported => NoKeeper::Impossible(why.sentence().to_owned()),
                _ => NoKeeper::Failed(why),
            });
        }
        sleep(jittered(PAUSE)).await;
    }
}

/// Returns why the keeper has exited; `None` while it runs.
async fn exited(toolbox: &Toolbox, session: &str, command: &str, secret: &str) -> Result<Option<String>, Failure> {
    let Some(code) = toolbox.exit_code(session, command).await? else { return Ok(None) };
    // The daemon may have put the input into the log.
    let said = toolbox.logs(session, command).await.unwrap_or_default().replace(secret, "[secret]");
    Ok(Some(format!("the keeper exited with code {code}: {}", toolbox.api.shown(&said))))
}
