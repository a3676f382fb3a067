//! Options of pods: their cluster and namespace, and what only pods have.
//!
//! Invariant: an option that a pod does not support is an error, and is never ignored.

use std::path::{Path, PathBuf};

use clap::Args;
use workden::{ClusterSpec, Error, ErrorKind, Result};
#[cfg(feature = "kubernetes")]
use workden::{HostEnvironment, sandboxes::kubernetes::KubernetesSandboxBuilder};

#[cfg(feature = "kubernetes")]
use crate::command_options::CommandOptions;
use crate::{
    command_options::Named,
    containers::{ContainerArguments, Net},
};

/// The options that only `--sandbox kubernetes` has.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ClusterArguments {
    /// The context of the kubeconfig [default: the current one]. The kubeconfig is that of KUBECONFIG, or
    /// ~/.kube/config; in a pod, the cluster of the pod.
    #[arg(long, value_name = "NAME", help_heading = "Kubernetes")]
    context: Option<String>,
    /// The namespace of the pod [default: that of the context].
    #[arg(long, value_name = "NAME", help_heading = "Kubernetes")]
    namespace: Option<String>,
    /// The runtime class of the pod, such as that of gVisor or Kata.
    #[arg(long, value_name = "NAME", help_heading = "Kubernetes")]
    runtime_class: Option<String>,
    /// An existing volume claim for the files in /workspace, which outlives the pod [default: an empty directory that
    /// ends with the pod].
    #[arg(long, value_name = "NAME", help_heading = "Kubernetes")]
    claim: Option<String>,
    /// An image with the keeper of workden, which an init container copies. Images without `sh` need it [default: the
    /// keeper is streamed into the pod].
    #[arg(long, value_name = "IMAGE", help_heading = "Kubernetes")]
    keeper_image: Option<String>,
    /// The service account of the pod. Its token is not mounted [default: that of the namespace].
    #[arg(long, value_name = "NAME", help_heading = "Kubernetes")]
    service_account: Option<String>,
    /// A Pod in YAML or JSON, merged over the default one. Commands run in its container `workden`.
    #[arg(long, value_name = "FILE", help_heading = "Kubernetes")]
    pod_template: Option<PathBuf>,
}

impl ClusterArguments {
    /// Returns the options for the library.
    pub(crate) fn spec(&self) -> ClusterSpec {
        let mut spec = ClusterSpec::default();
        spec.context.clone_from(&self.context);
        spec.namespace.clone_from(&self.namespace);
        spec.runtime_class.clone_from(&self.runtime_class);
        spec.claim.clone_from(&self.claim);
        spec.keeper_image.clone_from(&self.keeper_image);
        spec.service_account.clone_from(&self.service_account);
        spec.pod_template.clone_from(&self.pod_template);
        spec
    }

    /// Rejects all of them, for sandboxes that are not pods.
    pub(crate) fn refuse(&self) -> Result<()> {
        match self.spec().named().first() {
            None => Ok(()),
            Some((name, _)) => Err(unsupported(format!("`{name}` requires `--sandbox kubernetes`"))
                .hint("add `--sandbox kubernetes`, or leave it out")),
        }
    }

    /// Returns the options as words of a command line; `whole` makes a path absolute.
    pub(crate) fn words(&self, whole: impl Fn(&Path) -> String) -> Vec<String> {
        let mut spec = self.spec();
        spec.pod_template = spec.pod_template.map(|file| whole(&file).into());
        spec.named().into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
    }

    /// Checks that a new pod has an image.
    pub(crate) fn check_image(&self, container: &ContainerArguments) -> Result<()> {
        match (&container.image, &container.runtime, &self.pod_template) {
            (Some(_), Some(_), _) => container.chosen().map(drop),
            // The template may have one.
            (None, None, None) => Err(unsupported("`--sandbox kubernetes` needs an `--image`".to_owned())
                .hint("like `--image debian:12`: any image with `sh` that the cluster can pull")),
            _ => Ok(()),
        }
    }
}

/// Rejects a network that pods do not have, and these options.
pub(crate) fn refuse_in_pod(net: Option<&Net>, named: &[Named]) -> Result<()> {
    if let Some((name, _)) = named.iter().find(|(_, is_named)| *is_named) {
        let sentence =
            format!("`{name}` is not supported with `--sandbox kubernetes`: a pod has its own files and programs");
        return Err(unsupported(sentence).hint(
            "leave it out: the pod starts with an empty /workspace; `workden sessions files ID put FILE PATH` copies \
             files into a session, and `--claim` keeps them",
        ));
    }
    net.map(Net::in_cluster).transpose().map(drop)
}

#[cfg(feature = "kubernetes")]
impl ClusterArguments {
    /// Sets the options of a pod, and checks them.
    pub(crate) fn pod(
        &self,
        pod: KubernetesSandboxBuilder,
        container: &ContainerArguments,
        net: Option<&Net>,
        options: &CommandOptions,
    ) -> Result<KubernetesSandboxBuilder> {
        let pod = self.unchecked_pod(pod, container, net, options)?;
        pod.check()?;
        Ok(pod)
    }

    /// Sets the options of a pod that may lack an image.
    pub(crate) fn unchecked_pod(
        &self,
        pod: KubernetesSandboxBuilder,
        container: &ContainerArguments,
        net: Option<&Net>,
        options: &CommandOptions,
    ) -> Result<KubernetesSandboxBuilder> {
        let host = HostEnvironment::from_process();
        let mut pod = self.spec().set(pod.environment_of(host.clone()), &host)?;
        if let Some(image) = &container.image {
            pod = pod.image(image);
        }
        if let Some(runtime) = &container.runtime {
            pod = pod.runtime(&workden::runtime_named(runtime)?)?;
        }
        if let Some(net) = net {
            pod = pod.network(net.in_cluster()?);
        }
        Ok(pod.with(|changed| options.set(changed)))
    }
}

/// Says that this program has no code for pods.
#[cfg(not(feature = "kubernetes"))]
pub(crate) fn without_feature() -> Error {
    unsupported("this program was built without the feature `kubernetes`".to_owned())
        .hint("install it with `cargo install workden-cli --features kubernetes`")
}

fn unsupported(sentence: String) -> Error {
    Error::new(ErrorKind::Unsupported, sentence)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        cluster: ClusterArguments,
    }

    const WORDS: [&str; 14] = [
        "--context",
        "prod",
        "--namespace",
        "agents",
        "--runtime-class",
        "gvisor",
        "--claim",
        "data",
        "--keeper-image",
        "registry/keeper:1",
        "--service-account",
        "agent",
        "--pod-template",
        "pod.yaml",
    ];

    fn typed(words: &[&str]) -> ClusterArguments {
        Typed::parse_from(["x"].iter().chain(words)).cluster
    }

    #[test]
    fn words_are_those_that_were_typed() {
        assert_eq!(typed(&WORDS).words(|path| path.display().to_string()), WORDS);
        let whole = typed(&WORDS).words(|path| format!("/here/{}", path.display()));
        assert_eq!(whole.last().map(String::as_str), Some("/here/pod.yaml"));
    }

    #[test]
    fn each_option_requires_a_pod() {
        assert!(typed(&[]).refuse().is_ok());
        for option in WORDS.chunks(2) {
            let error = typed(option).refuse().unwrap_err();
            assert_eq!(error.sentence(), format!("`{}` requires `--sandbox kubernetes`", option[0]));
        }
    }

    #[test]
    fn a_pod_has_an_image_and_not_the_files_of_this_machine() {
        let container = |image: Option<&str>, runtime: Option<&str>| ContainerArguments {
            image: image.map(str::to_owned),
            runtime: runtime.map(str::to_owned),
        };
        assert!(typed(&[]).check_image(&container(Some("x"), None)).is_ok());
        assert!(typed(&["--pod-template", "x"]).check_image(&container(None, None)).is_ok());
        assert!(typed(&[]).check_image(&container(None, None)).unwrap_err().sentence().ends_with("an `--image`"));
        assert!(typed(&[]).check_image(&container(Some("x"), Some("python-web"))).is_err());
        assert!(refuse_in_pod(Some(&Net::None), &[("--root", false)]).is_ok());
        let refused = refuse_in_pod(None, &[("--level", false), ("--root", true)]).unwrap_err();
        assert!(refused.sentence().starts_with("`--root` is not supported with `--sandbox kubernetes`"), "{refused}");
        let refused = refuse_in_pod(Some(&Net::Host), &[]).unwrap_err();
        assert!(refused.hint_text().unwrap_or_default().contains("`--net cluster`"), "{refused}");
    }
}
