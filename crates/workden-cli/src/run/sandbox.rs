//! Starts the sandbox that the options name, and rejects options that a kind does not support.

use std::{collections::BTreeMap, path::PathBuf};

#[cfg(feature = "daytona")]
use workden::sandboxes::daytona::DaytonaSandbox;
#[cfg(feature = "kubernetes")]
use workden::sandboxes::kubernetes::KubernetesSandbox;
use workden::{
    Error, ErrorKind, HostEnvironment, KeptSandbox, Level, Network, PackagesInUse, Result, Sandbox, SandboxOptions,
    Session, SessionId, SessionKind, SessionSpec,
    core::sandbox::{Mount, Strength},
    sandboxes::{
        HostSandbox, LinuxSandbox,
        docker::{DockerSandbox, DockerSandboxBuilder},
        service::{ServiceSandbox, ServiceSandboxBuilder},
    },
};

use super::{
    Ending, Machine, Running, Shown,
    arguments::{Kind, LevelArgument, LimitsHeld, RunArguments},
};
#[cfg(any(feature = "daytona", feature = "kubernetes"))]
use crate::spinner::Spinner;
use crate::{
    cluster::refuse_in_pod,
    command_options::Named,
    containers::{Installed, Net},
    packages::{mention_setup, tell as mention},
    signals::ToldToEnd,
    typed,
    user_sessions::user_sessions,
};

/// The sandbox that a command runs in.
pub(super) enum RunSandbox {
    Linux(LinuxSandbox, Option<PackagesInUse>),
    Host(HostSandbox),
    Docker(DockerSandbox),
    #[cfg(feature = "kubernetes")]
    Kubernetes(KubernetesSandbox),
    #[cfg(feature = "daytona")]
    Daytona(DaytonaSandbox),
    /// A session, which keeps running.
    Session(Session),
    /// A session of a service, which keeps running if it has a name.
    Remote(ServiceSandbox),
}

impl RunSandbox {
    pub(super) async fn start(arguments: &RunArguments, told: &mut ToldToEnd) -> std::result::Result<Self, Ending> {
        if let Some(builder) = remote(arguments) {
            let sandbox = builder.build().map_err(Ending::Refused)?;
            return started(sandbox, async |sandbox| sandbox.start().await, told).await.map(Self::Remote);
        }
        if let Some(id) = &arguments.session {
            return session(arguments, id, told).await.map(Self::Session);
        }
        let host = HostEnvironment::from_process();
        match arguments.sandbox {
            Kind::Linux => {
                let kept = linux(arguments, host).map_err(Ending::Refused)?;
                let started = kept.builder.start().await.map_err(Ending::Refused)?;
                Ok(Self::Linux(started, kept.used))
            }
            Kind::Host => {
                let builder = on_host(arguments, host).map_err(Ending::Refused)?;
                builder.start().await.map(Self::Host).map_err(Ending::Refused)
            }
            Kind::Docker => in_container(arguments, host, told).await.map(Self::Docker),
            #[cfg(feature = "kubernetes")]
            Kind::Kubernetes => in_pod(arguments, told).await.map(Self::Kubernetes),
            #[cfg(not(feature = "kubernetes"))]
            Kind::Kubernetes => Err(Ending::Refused(crate::cluster::without_feature())),
            #[cfg(feature = "daytona")]
            Kind::Daytona => at_daytona(arguments, told).await.map(Self::Daytona),
            #[cfg(not(feature = "daytona"))]
            Kind::Daytona => Err(Ending::Refused(crate::hosted::without_feature())),
        }
    }

    pub(super) fn sandbox(&self) -> &dyn Sandbox {
        match self {
            Self::Linux(sandbox, _) => sandbox,
            Self::Host(sandbox) => sandbox,
            Self::Docker(sandbox) => sandbox,
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(sandbox) => sandbox,
            #[cfg(feature = "daytona")]
            Self::Daytona(sandbox) => sandbox,
            Self::Session(session) => &**session,
            Self::Remote(sandbox) => sandbox,
        }
    }

    /// Ends the sandbox and everything that runs in it. A session keeps running.
    pub(super) async fn close(self) {
        match self {
            Self::Linux(sandbox, _used) => sandbox.close().await,
            Self::Host(sandbox) => sandbox.close().await,
            Self::Session(session) => drop(session),
            Self::Remote(sandbox) => {
                // A session that the service does not delete now ends when it has been idle.
                let _ = sandbox.stop().await;
            }
            Self::Docker(sandbox) => {
                // If the daemon does not stop the container now, it ends when its lease expires.
                let _ = sandbox.stop().await;
            }
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(sandbox) => {
                // A pod that the cluster does not delete now ends when its lease expires.
                let _ = sandbox.stop().await;
            }
            #[cfg(feature = "daytona")]
            Self::Daytona(sandbox) => {
                // One that Daytona does not delete now is deleted when it has been idle.
                let _ = sandbox.stop().await;
            }
        }
    }
}

/// Returns the builder of a Linux sandbox, with the packages of the project.
pub(super) fn linux(arguments: &RunArguments, host: HostEnvironment) -> Result<KeptSandbox> {
    let (root, network) = (root(arguments, &host)?, arguments.net.as_ref().map(Net::without_daemon).transpose()?);
    let packages = arguments.path.packages(&arguments.options, &host);
    let builder = LinuxSandbox::builder().environment_of(host).root(&root);
    let builder = builder.level(arguments.level.map(Level::from).unwrap_or_default());
    let builder = arguments.options.toolchains_by_name().fold(builder, |builder, name| builder.toolchain(name));
    let builder = builder.with(|options| {
        options.network = network;
        shared(arguments, options);
    });
    let kept = packages.keep(packages.place(builder, &root)?, &root);
    // A home that cannot be written at all, as in a container, is no news.
    if let Some(problem) = kept.problem.as_ref().filter(|problem| problem.kind() != ErrorKind::Io) {
        mention(&format!("packages are not kept: {}", problem.sentence()));
    }
    mention_setup(&packages, &root, None);
    Ok(kept)
}

fn on_host(arguments: &RunArguments, host: HostEnvironment) -> Result<workden::sandboxes::HostSandboxBuilder> {
    let root = root(arguments, &host)?;
    Ok(HostSandbox::builder().environment_of(host).root(root).with(|options| shared(arguments, options)))
}

/// Returns the builder of a container.
fn container(arguments: &RunArguments, host: HostEnvironment, installed: &Installed) -> Result<DockerSandboxBuilder> {
    for mount in &arguments.mount {
        if !host.directory.join(&mount.source).exists() {
            let typed = mount.source.display();
            return Err(Error::new(ErrorKind::NotFound, format!("mount source `{typed}` not found")));
        }
    }
    let root = root(arguments, &host)?;
    let builder = installed.in_container(DockerSandbox::builder()).environment_of(host).root(root);
    let builder = builder.with(|options| shared(arguments, options));
    Ok(match &arguments.net {
        Some(net) => builder.network_name(net.to_string()),
        None => builder,
    })
}

/// Sets the options that every kind of sandbox has.
fn shared(arguments: &RunArguments, options: &mut SandboxOptions) {
    arguments.options.set(options);
    if arguments.limits == LimitsHeld::BestEffort {
        options.strength = Strength::BestEffort;
    }
    let mount = |mount: &typed::MountArgument| Mount {
        source: mount.source.clone(),
        at: mount.at.clone(),
        access: mount.access,
    };
    options.mounts.extend(arguments.mount.iter().map(mount));
}

/// Opens the session, or creates it.
async fn session(
    arguments: &RunArguments,
    id: &SessionId,
    told: &mut ToldToEnd,
) -> std::result::Result<Session, Ending> {
    let opened = async {
        let sessions = user_sessions()?;
        let mut spec = SessionSpec::default();
        spec.kind = match arguments.sandbox {
            Kind::Docker => SessionKind::Docker,
            Kind::Kubernetes => SessionKind::Kubernetes,
            Kind::Daytona => SessionKind::Daytona,
            Kind::Linux | Kind::Host => SessionKind::Linux,
        };
        spec.cluster = arguments.cluster.spec();
        spec.daytona = arguments.daytona.spec();
        spec.image.clone_from(&arguments.container.image);
        spec.runtime.clone_from(&arguments.container.runtime);
        spec.root.clone_from(&arguments.root);
        spec.network = arguments.net.as_ref().map(ToString::to_string);
        // Not its variables: they are those of this command, and not of the session.
        arguments.options.set_session(&mut spec);
        let record = sessions.planned(id, &spec)?;
        sessions.open(id, record).await
    };
    tokio::select! {
        opened = opened => opened.map_err(Ending::Refused),
        (_, number) = told.next() => Err(Ending::Told(number)),
    }
}

/// Returns the session of a service, if the options name one.
fn remote(arguments: &RunArguments) -> Option<ServiceSandboxBuilder> {
    let (session, net) = (arguments.session.as_ref(), arguments.net.as_ref());
    arguments.remote.session(session, &arguments.container, net, &arguments.options)
}

/// Starts a container.
async fn in_container(
    arguments: &RunArguments,
    host: HostEnvironment,
    told: &mut ToldToEnd,
) -> std::result::Result<DockerSandbox, Ending> {
    let installed = arguments.container.chosen().map_err(Ending::Refused)?;
    let builder = container(arguments, host, &installed).map_err(Ending::Refused)?;
    let sandbox = builder.build().map_err(Ending::Refused)?;
    started(sandbox, async |sandbox| sandbox.start().await, told).await
}

/// Starts a sandbox. A signal meanwhile leaves nothing of it behind.
async fn started<S: Sandbox>(
    sandbox: S,
    start: impl AsyncFnOnce(&S) -> Result<()>,
    told: &mut ToldToEnd,
) -> std::result::Result<S, Ending> {
    let ending = tokio::select! {
        started = start(&sandbox) => match started {
            Ok(()) => return Ok(sandbox),
            Err(error) => Ending::Refused(error),
        },
        (_, number) = told.next() => Ending::Told(number),
    };
    let _ = sandbox.stop().await;
    Err(ending)
}

/// Starts a pod.
#[cfg(feature = "kubernetes")]
async fn in_pod(arguments: &RunArguments, told: &mut ToldToEnd) -> std::result::Result<KubernetesSandbox, Ending> {
    let (container, net) = (&arguments.container, arguments.net.as_ref());
    let pod = arguments.cluster.pod(KubernetesSandbox::builder(), container, net, &arguments.options);
    let sandbox = pod.and_then(workden::sandboxes::kubernetes::KubernetesSandboxBuilder::build);
    let _spinner = Spinner::show("starting a pod".to_owned());
    started(sandbox.map_err(Ending::Refused)?, async |sandbox| sandbox.start().await, told).await
}

/// Starts a sandbox at Daytona.
#[cfg(feature = "daytona")]
async fn at_daytona(arguments: &RunArguments, told: &mut ToldToEnd) -> std::result::Result<DaytonaSandbox, Ending> {
    let (container, net) = (&arguments.container, arguments.net.as_ref());
    let sandbox = arguments.daytona.sandbox(container, net, &arguments.options);
    let sandbox = sandbox.and_then(workden::sandboxes::daytona::DaytonaSandboxBuilder::build);
    let _spinner = Spinner::show("starting a sandbox at Daytona".to_owned());
    started(sandbox.map_err(Ending::Refused)?, async |sandbox| sandbox.start().await, told).await
}

/// Returns the directory to work in. The error shows the path, because the user typed it.
fn root(arguments: &RunArguments, host: &HostEnvironment) -> Result<PathBuf> {
    let root = arguments.root.as_ref().map_or_else(|| host.directory.clone(), |root| host.directory.join(root));
    if root.is_dir() {
        return Ok(root);
    }
    let typed = arguments.root.as_deref().unwrap_or(&root).display();
    Err(Error::new(ErrorKind::NotFound, format!("directory `{typed}` not found")))
}

impl RunArguments {
    /// Returns how the command is shown.
    pub(super) fn shown(&self) -> Shown {
        Shown::asked(self.json, self.isolation, self.terminal)
    }

    /// Returns the command, and how it is shown.
    pub(super) fn running(&self) -> Running {
        // A session has its own environment, to which these variables are added; other sandboxes have them already.
        let environment = match self.session {
            Some(_) => typed::with_values(&self.options.environment.env, &HostEnvironment::from_process()),
            None => BTreeMap::new(),
        };
        Running { command: self.command.clone(), environment, timeout: self.time.timeout, shown: self.shown() }
    }

    /// Returns the isolation that this machine itself must provide.
    pub(super) fn machine(&self) -> Machine {
        match (self.sandbox, self.level) {
            _ if self.remote.is_named() => Machine::NotAsked,
            (Kind::Linux, Some(LevelArgument::Landlock)) => Machine::WithoutNamespaces,
            (Kind::Linux, _) => Machine::Namespaces,
            (Kind::Host | Kind::Docker | Kind::Kubernetes | Kind::Daytona, _) => Machine::NotAsked,
        }
    }
}

/// Rejects unsupported combinations of options.
pub(super) fn check(arguments: &RunArguments) -> Result<()> {
    if arguments.remote.is_named() {
        arguments.cluster.refuse()?;
        arguments.daytona.refuse()?;
        return arguments.remote.check(&arguments.container, &not_remote(arguments));
    }
    if arguments.sandbox == Kind::Daytona {
        arguments.cluster.refuse()?;
        return arguments.daytona.check(&arguments.container, &of_this_machine(arguments));
    }
    arguments.daytona.refuse()?;
    if arguments.session.is_some() {
        // These are fixed when a session is opened.
        let named = [
            ("--sandbox host", arguments.sandbox == Kind::Host),
            ("--level", arguments.level.is_some()),
            ("--mount", !arguments.mount.is_empty()),
            ("--limits", arguments.limits != LimitsHeld::Required),
            arguments.path.named(),
        ];
        refuse(&named, "`--session`")?;
        return match arguments.sandbox {
            Kind::Kubernetes => refuse_in_pod(arguments.net.as_ref(), &of_this_machine(arguments)),
            Kind::Docker => arguments.cluster.refuse(),
            Kind::Linux | Kind::Host | Kind::Daytona => {
                arguments.container.refuse().and_then(|()| arguments.cluster.refuse())
            }
        };
    }
    if arguments.sandbox == Kind::Kubernetes {
        refuse_in_pod(arguments.net.as_ref(), &of_this_machine(arguments))?;
        return arguments.cluster.check_image(&arguments.container);
    }
    arguments.cluster.refuse()?;
    if arguments.sandbox == Kind::Docker {
        arguments.container.chosen()?;
        refuse(&[("--level", arguments.level.is_some())], "`--sandbox docker`, whose walls the daemon makes")?;
        refuse(&[arguments.path.named()], "`--sandbox docker`, whose work directory the runtime sets")?;
        let toolchain = [arguments.options.toolchains()];
        return refuse(&toolchain, "`--sandbox docker`, which has what its image has installed");
    }
    arguments.container.refuse()?;
    let network = arguments.net.as_ref().map(Net::without_daemon).transpose()?;
    if arguments.sandbox != Kind::Host {
        return Ok(());
    }
    let named = [
        ("--level", arguments.level.is_some()),
        arguments.path.named(),
        ("--net none", network == Some(Network::None)),
        ("--mount", !arguments.mount.is_empty()),
        arguments.options.toolchains(),
    ];
    let limits =
        arguments.options.limits().map(|(name, is_named)| (name, is_named && arguments.limits == LimitsHeld::Required));
    refuse(&[&named[..], &limits].concat(), "`--sandbox host`, which runs commands without isolation")
}

/// Returns the options about the files, programs and limits of this machine, which sandboxes elsewhere do not have.
fn of_this_machine(arguments: &RunArguments) -> [Named; 6] {
    [
        ("--root", arguments.root.is_some()),
        ("--mount", !arguments.mount.is_empty()),
        arguments.path.named(),
        arguments.options.toolchains(),
        ("--pids", arguments.options.pids.is_some()),
        ("--level", arguments.level.is_some()),
    ]
}

/// Returns the options that a session of a service does not have.
fn not_remote(arguments: &RunArguments) -> [Named; 6] {
    [
        ("--root", arguments.root.is_some()),
        ("--mount", !arguments.mount.is_empty()),
        arguments.path.named(),
        arguments.options.toolchains(),
        ("--level", arguments.level.is_some()),
        ("--limits", arguments.limits != LimitsHeld::Required),
    ]
}

fn refuse(named: &[(&str, bool)], with: &str) -> Result<()> {
    match named.iter().find(|(_, is_named)| *is_named) {
        None => Ok(()),
        Some((name, _)) => {
            let sentence = format!("`{name}` is not supported with {with}");
            Err(Error::new(ErrorKind::Unsupported, sentence).hint("leave one of them out"))
        }
    }
}
