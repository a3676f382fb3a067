//! Launches the keeper of a running pod over one program in it: brings the keeper in, if the pod does not have it, and
//! sends its token.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use tokio::io::AsyncWriteExt;
use workden_core::{Error, ErrorKind, Result};
use workden_wire::{Launch, LaunchTarget, Lifetime, PROTOCOL, PodAccess, TokenHash, launch as send_launch};

use super::{
    access::Access,
    channel_stream::ChannelStream,
    cluster::Cluster,
    errors,
    exec_stream::{self, line},
    plan,
};
use crate::container_keepers::{ContainerKeepers, KeeperFile};

/// What a keeper is launched with.
#[derive(Clone, Debug)]
pub(super) struct LaunchPlan {
    /// Where commands start.
    pub(super) directory: String,
    /// Variables of commands, besides those of the container.
    pub(super) variables: BTreeMap<String, String>,
    /// How long the keeper lives without a connection.
    pub(super) lease: Duration,
    pub(super) keeper: KeeperSource,
}

/// How the keeper comes into a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeeperSource {
    /// A shell waits for it, and becomes it.
    Streamed,
    /// An init container has brought it, and it runs.
    InPod,
}

/// Launches the keeper of a pod. A keeper that was launched before reports a conflict.
pub(super) async fn launch(
    cluster: &Cluster,
    keepers: &ContainerKeepers,
    name: &str,
    plan: &LaunchPlan,
    access: &Access,
) -> Result<()> {
    let pods = cluster.pods().await?;
    let mut stream = match plan.keeper {
        KeeperSource::InPod => exec_stream::run(&pods, name, &plan::relay_words()).await?,
        KeeperSource::Streamed => install(&pods, keepers, name).await?,
    };
    let told = Launch {
        protocol: PROTOCOL,
        target: LaunchTarget::Container {
            directory: plan.directory.clone().into(),
            environment: plan.variables.clone(),
        },
        lifetime: Lifetime::Pod(PodAccess {
            ttl: plan.lease,
            port: plan::PORT,
            token_sha256: TokenHash::of(&access.token).to_string(),
            certificate: access.certificate.clone(),
            key: access.key.clone(),
        }),
    };
    match send_launch(&mut stream, &told).await {
        Ok(()) => Ok(()),
        // An answer of the keeper needs no explanation.
        Err(error) if error.kind() != ErrorKind::Gone => Err(error),
        Err(error) => Err(with_complaint(error, &stream.complaint().await)),
    }
}

/// Streams the keeper into a pod, and connects to it.
async fn install(pods: &Api<Pod>, keepers: &ContainerKeepers, name: &str) -> Result<ChannelStream> {
    let keepers = keepers.read_all().await?;
    let mut stream = exec_stream::run(pods, name, &plan::installation_words(&keepers)).await?;
    match send_keeper(&mut stream, &keepers).await {
        Ok(()) => Ok(stream),
        Err(why) => {
            let sentence = format!("cannot install a keeper in the pod `{name}`: {why}");
            Err(with_complaint(Error::new(ErrorKind::Unsupported, sentence), &stream.complaint().await))
        }
    }
}

/// Sends the keeper for the machine that the program in the pod names.
async fn send_keeper(stream: &mut ChannelStream, keepers: &[KeeperFile]) -> std::result::Result<(), String> {
    let broken = |error: std::io::Error| error.kind().to_string();
    let machine = line(stream).await.map_err(broken)?;
    let keeper = keepers.iter().find(|keeper| keeper.machine() == machine);
    let keeper = keeper.ok_or_else(|| format!("no keeper for the machine `{}`", errors::shown(&machine)))?;
    stream.write_all(&keeper.content).await.map_err(broken)?;
    stream.flush().await.map_err(broken)?;
    match line(stream).await.map_err(broken)?.as_str() {
        "installed" => Ok(()),
        other => Err(format!("unexpected answer `{}`", errors::shown(other))),
    }
}

fn with_complaint(error: Error, said: &str) -> Error {
    if said.is_empty() {
        return error;
    }
    let told = Error::new(error.kind(), format!("{}: {said}", error.sentence()));
    match error.hint_text() {
        Some(hint) => told.hint(hint.to_owned()),
        None => told,
    }
}
