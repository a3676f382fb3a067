//! `ClusterSpec`: which cluster and namespace a pod is in, and the options that only pods have, under their
//! command-line names.

use std::path::PathBuf;

#[cfg(feature = "kubernetes")]
use workden_core::{Error, ErrorKind, Result, sandbox::Network};
#[cfg(feature = "kubernetes")]
use workden_sandboxes::{
    HostEnvironment,
    kubernetes::{Cluster, KubernetesSandboxBuilder, WorkspaceVolume},
};
use workden_sessions::SessionRecord;

const CONTEXT: &str = "--context";
const NAMESPACE: &str = "--namespace";
const RUNTIME_CLASS: &str = "--runtime-class";
const CLAIM: &str = "--claim";
const KEEPER_IMAGE: &str = "--keeper-image";
const SERVICE_ACCOUNT: &str = "--service-account";
const POD_TEMPLATE: &str = "--pod-template";

/// The cluster of a pod, and the options that only pods have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterSpec {
    /// The context of the kubeconfig; by default the current one.
    pub context: Option<String>,
    /// The namespace; by default that of the context.
    pub namespace: Option<String>,
    /// The runtime class, such as that of gVisor or Kata.
    pub runtime_class: Option<String>,
    /// An existing claim for the work directory, instead of an empty directory that ends with the pod.
    pub claim: Option<String>,
    /// An image whose entry point is the keeper, instead of streaming the keeper in.
    pub keeper_image: Option<String>,
    /// The service account of the pod.
    pub service_account: Option<String>,
    /// A file with the YAML or JSON of a Pod that is merged over the default one.
    pub pod_template: Option<PathBuf>,
}

impl ClusterSpec {
    /// Returns the spec in the record of a session.
    #[must_use]
    pub fn of(record: &SessionRecord) -> Self {
        let said = |name: &str| record.options.get(name).cloned();
        Self {
            context: said(CONTEXT),
            namespace: said(NAMESPACE),
            runtime_class: said(RUNTIME_CLASS),
            claim: said(CLAIM),
            keeper_image: said(KEEPER_IMAGE),
            service_account: said(SERVICE_ACCOUNT),
            pod_template: said(POD_TEMPLATE).map(PathBuf::from),
        }
    }

    /// Returns the values that are set, by the names of their options.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, String)> {
        let template = self.pod_template.as_ref().map(|file| file.display().to_string());
        let all = [
            (CONTEXT, self.context.clone()),
            (NAMESPACE, self.namespace.clone()),
            (RUNTIME_CLASS, self.runtime_class.clone()),
            (CLAIM, self.claim.clone()),
            (KEEPER_IMAGE, self.keeper_image.clone()),
            (SERVICE_ACCOUNT, self.service_account.clone()),
            (POD_TEMPLATE, template),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

#[cfg(feature = "kubernetes")]
impl ClusterSpec {
    /// Returns the cluster and the namespace.
    #[must_use]
    pub fn cluster(&self, host: &HostEnvironment) -> Cluster {
        let mut cluster = Cluster::of_environment(host);
        if let Some(context) = &self.context {
            cluster = cluster.context(context);
        }
        match &self.namespace {
            Some(namespace) => cluster.namespace(namespace),
            None => cluster,
        }
    }

    /// Sets the options of a pod.
    ///
    /// # Errors
    ///
    /// When the pod template cannot be read, or is invalid.
    pub fn set(&self, mut pod: KubernetesSandboxBuilder, host: &HostEnvironment) -> Result<KubernetesSandboxBuilder> {
        pod = pod.cluster(self.cluster(host));
        if let Some(name) = &self.runtime_class {
            pod = pod.runtime_class(name);
        }
        if let Some(name) = &self.claim {
            pod = pod.workspace(WorkspaceVolume::Claim(name.clone()));
        }
        if let Some(image) = &self.keeper_image {
            pod = pod.keeper_image(image);
        }
        if let Some(name) = &self.service_account {
            pod = pod.service_account(name);
        }
        let Some(file) = &self.pod_template else { return Ok(pod) };
        let shown = file.display();
        let text = std::fs::read_to_string(host.directory.join(file)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::new(ErrorKind::NotFound, format!("pod template `{shown}` not found"))
            }
            kind => Error::new(ErrorKind::InvalidArgument, format!("cannot read the pod template `{shown}`: {kind}")),
        })?;
        pod.pod_template_text(&text)
    }

    /// Returns the spec with the context and the namespace that are selected now, so that a later command uses the
    /// same ones whatever is selected then.
    ///
    /// # Errors
    ///
    /// When the kubeconfig cannot be read.
    pub(super) fn pinned(&self, host: &HostEnvironment) -> Result<Self> {
        let (context, namespace) = self.cluster(host).selected()?;
        Ok(Self { context, namespace: Some(namespace), ..self.clone() })
    }
}

/// Returns the network of a pod by its name.
#[cfg(feature = "kubernetes")]
pub(super) fn network(name: &str) -> Result<Network> {
    match name {
        "none" => Ok(Network::None),
        "cluster" => Ok(Network::Host),
        other => {
            let sentence = format!("`--net {other}` is not supported with `--sandbox kubernetes`");
            Err(Error::new(ErrorKind::Unsupported, sentence)
                .hint("use `--net none`, or `--net cluster` for the network of the cluster"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_what_was_named() {
        let mut record = SessionRecord::new(PathBuf::new(), std::time::Duration::ZERO).unwrap();
        let spec = ClusterSpec {
            context: Some("prod".to_owned()),
            claim: Some("data".to_owned()),
            pod_template: Some("/srv/pod.yaml".into()),
            ..ClusterSpec::default()
        };
        record.options.extend(spec.named().into_iter().map(|(name, value)| (name.to_owned(), value)));
        assert_eq!(record.options.len(), 3);
        assert_eq!(ClusterSpec::of(&record), spec);
    }
}
