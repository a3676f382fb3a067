//! The kept sessions of this user: where they are, what one is made of, and whoever makes its sandbox.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use workden_core::{Error, ErrorKind, Result, VirtualPath, parse_size, sandbox::Mount, sandbox::MountAccess};
use workden_sandboxes::{
    HostEnvironment, KeeperProgram, LinuxSandbox, LinuxSessions,
    docker::{Daemon, DockerSandbox, DockerSessions},
    sessions::{KeptRecord, KeptSession, KeptSessions, SandboxFactory, SessionId},
};

use super::SessionKind;
use crate::containers::{ContainerArguments, Installed, Net, keepers};

/// How long a session lives while nobody is connected to it, unless somebody says otherwise.
pub(crate) const IDLE: Duration = Duration::from_secs(3600);
/// How long a session, or a daemon, has to answer when it is only looked at.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
const WORKSPACE: &str = "/workspace";

/// The sessions of this user.
pub(crate) struct Kept {
    pub(super) sessions: KeptSessions,
    pub(super) host: HostEnvironment,
}

/// Whoever finds the sandbox of a session.
pub(super) struct Finders {
    pub(super) all: Vec<Box<dyn SandboxFactory>>,
    /// Why nobody can say whether there is a container of it.
    pub(super) missing: Option<Error>,
}

/// What somebody says of a session; what they do not say is as it is, or as usual.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) container: ContainerArguments,
    pub(crate) root: Option<PathBuf>,
    pub(crate) net: Option<Net>,
    pub(crate) memory: Option<u64>,
    pub(crate) cpus: Option<f64>,
    pub(crate) pids: Option<u64>,
    pub(crate) idle: Option<Duration>,
}

impl Kept {
    pub(crate) fn of_user() -> Result<Self> {
        let host = HostEnvironment::from_process();
        let state = match (host.variable("XDG_STATE_HOME"), host.variable("HOME")) {
            (Some(state), _) if Path::new(state).is_absolute() => Path::new(state).join("workden"),
            (_, Some(home)) if Path::new(home).is_absolute() => Path::new(home).join(".local/state/workden"),
            _ => {
                return Err(Error::new(ErrorKind::NotFound, "there is no place to keep sessions in")
                    .hint("set HOME, or XDG_STATE_HOME, to a directory of yours"));
            }
        };
        Ok(Self { sessions: KeptSessions::at(state), host })
    }

    /// What a session is, or is to be: what it was made of where it is there, with what is wanted of it checked
    /// when it is opened.
    pub(crate) fn record(&self, id: &SessionId, kind: SessionKind, wanted: &Wanted) -> Result<KeptRecord> {
        let there = self.sessions.record(id)?;
        let options = self.options(wanted)?;
        if kind == SessionKind::Linux {
            wanted.container.refuse()?;
        }
        let installed = match (&there, kind) {
            (None, SessionKind::Docker) => Some(wanted.container.chosen()?),
            _ => None,
        };
        let (workspace, directory) = match (&there, &wanted.root) {
            (Some(there), _) => (there.workspace.clone(), there.directory.clone()),
            (None, named) => {
                let workspace = match named {
                    Some(named) => self.directory(named)?,
                    None => self.sessions.workspace(id)?,
                };
                let directory = installed.as_ref().map_or(WORKSPACE, Installed::directory);
                (workspace, VirtualPath::parse(directory)?)
            }
        };
        let idle = wanted.idle.or(there.as_ref().map(|there| there.idle)).unwrap_or(IDLE);
        let masked = there.map(|there| there.masked).unwrap_or_default();
        Ok(KeptRecord { kind: kind.name().to_owned(), options, workspace, directory, masked, idle })
    }

    /// What is there of a session.
    pub(crate) fn known(&self, id: &SessionId) -> Result<KeptRecord> {
        self.sessions.record(id)?.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("there is no session `{id}`")).hint(format!(
                "`workden sessions open {id}` makes it, and `workden sessions list` shows which there are"
            ))
        })
    }

    /// Opens a session, with an image first where it needs one. It goes on when this is dropped.
    pub(crate) async fn open(&self, id: &SessionId, wanted: KeptRecord) -> Result<KeptSession> {
        let there = self.sessions.record(id)?;
        if let Some(there) = &there
            && there.kind != wanted.kind
        {
            there.fits(id, &wanted)?;
        }
        // One that has ended is made again as it was.
        let options = there.as_ref().map_or_else(|| wanted.options.clone(), |there| there.options.clone());
        let made_of = KeptRecord { options, ..wanted.clone() };
        let installed = installed(&made_of)?;
        if let (Some(installed), None) = (&installed, &there) {
            installed.provide(&self.host).await?;
        }
        let factory = self.maker(&made_of, installed.as_ref())?;
        self.sessions.open(id, wanted, factory.as_ref()).await
    }

    /// The files that commands of a session are shown.
    pub(crate) fn shown(record: &KeptRecord) -> Vec<Mount> {
        vec![Mount { source: record.workspace.clone(), at: record.directory.clone(), access: MountAccess::ReadWrite }]
    }

    /// Whoever finds and ends sandboxes of this kind.
    pub(super) fn finder(&self, kind: &str) -> Result<Box<dyn SandboxFactory>> {
        match kind {
            "docker" => {
                let template = DockerSandbox::builder(Daemon::of_environment(&self.host)?, "");
                let template = template.keepers(keepers(&self.host));
                Ok(Box::new(DockerSessions::new(template, &self.sessions.owner()?)?))
            }
            _ => Ok(Box::new(LinuxSessions::new(LinuxSandbox::builder(), self.sessions.leases()))),
        }
    }

    /// Whoever finds and ends the sandbox of this session: where no record says of which kind it is, of all kinds.
    pub(super) async fn finders(&self, id: &SessionId) -> Result<Finders> {
        let record = self.sessions.record(id);
        if let Ok(Some(record)) = &record
            && [SessionKind::Linux, SessionKind::Docker].iter().any(|kind| kind.name() == record.kind)
        {
            return Ok(Finders { all: vec![self.finder(&record.kind)?], missing: None });
        }
        let mut finders = Finders { all: vec![self.finder(SessionKind::Linux.name())?], missing: None };
        let docker = async {
            let docker = self.finder(SessionKind::Docker.name())?;
            docker.find().await.map(|_| docker)
        };
        let silent = |_| Err(Error::new(ErrorKind::Unreachable, "the Docker daemon does not answer"));
        match tokio::time::timeout(PATIENCE, docker).await.unwrap_or_else(silent) {
            Ok(docker) => finders.all.push(docker),
            Err(error) if error.kind() == ErrorKind::Unreachable => finders.missing = record.is_err().then_some(error),
            Err(error) => return Err(error),
        }
        Ok(finders)
    }

    /// Whoever makes the sandbox of this session.
    fn maker(&self, record: &KeptRecord, installed: Option<&Installed>) -> Result<Box<dyn SandboxFactory>> {
        let said = |name: &str| record.options.get(name).map(String::as_str);
        let memory = said("--memory").map(parse_size).transpose()?;
        let cpus = said("--cpus").and_then(|text| text.parse::<f64>().ok());
        let pids = said("--pids").and_then(|text| text.parse::<u64>().ok());
        let net = said("--net").map(Net::parse).transpose();
        let net = net.map_err(|why| Error::new(ErrorKind::InvalidArgument, why))?.unwrap_or(Net::None);
        if let Some(installed) = installed {
            let mut plan = installed.container(&self.host)?.network(net.to_string()).mask(record.masked.clone());
            plan = memory.into_iter().fold(plan, |plan, bytes| plan.memory(bytes));
            plan = cpus.into_iter().fold(plan, |plan, cpus| plan.cpus(cpus));
            plan = pids.into_iter().fold(plan, |plan, most| plan.processes(most));
            return Ok(Box::new(DockerSessions::new(plan, &self.sessions.owner()?)?));
        }
        let mut plan = LinuxSandbox::builder().keeper(KeeperProgram::this_program());
        plan = plan.environment_of(self.host.clone()).network(net.without_daemon()?).mask(record.masked.clone());
        plan = memory.into_iter().fold(plan, |plan, bytes| plan.memory(bytes));
        plan = cpus.into_iter().fold(plan, |plan, cpus| plan.cpus(cpus));
        plan = pids.into_iter().fold(plan, |plan, most| plan.processes(most));
        Ok(Box::new(LinuxSessions::new(plan, self.sessions.leases())))
    }

    /// What was said, by name.
    fn options(&self, wanted: &Wanted) -> Result<BTreeMap<String, String>> {
        let runtime = wanted.container.runtime.as_ref().map(|typed| {
            let is_file = Path::new(typed).extension().is_some_and(|ending| ending == "toml");
            if is_file { self.host.directory.join(typed).display().to_string() } else { typed.clone() }
        });
        let root = wanted.root.as_deref().map(|root| self.directory(root)).transpose()?;
        let named = [
            ("--image", wanted.container.image.clone()),
            ("--runtime", runtime),
            ("--root", root.map(|root| root.display().to_string())),
            ("--net", wanted.net.as_ref().map(ToString::to_string)),
            ("--memory", wanted.memory.map(|bytes| bytes.to_string())),
            ("--cpus", wanted.cpus.map(|cpus| cpus.to_string())),
            ("--pids", wanted.pids.map(|most| most.to_string())),
        ];
        Ok(named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
    }

    /// A directory that somebody named, where it really is.
    fn directory(&self, typed: &Path) -> Result<PathBuf> {
        let there = self.host.directory.join(typed).canonicalize().ok().filter(|path| path.is_dir());
        let shown = typed.display();
        there.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("there is no directory `{shown}` to work in")))
    }
}

/// What the container of a session has installed; nothing where it is none.
fn installed(record: &KeptRecord) -> Result<Option<Installed>> {
    if record.kind != SessionKind::Docker.name() {
        return Ok(None);
    }
    let said = |name: &str| record.options.get(name).cloned();
    ContainerArguments { image: said("--image"), runtime: said("--runtime") }.chosen().map(Some)
}
