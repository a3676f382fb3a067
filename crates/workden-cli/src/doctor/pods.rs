//! Checks a cluster. A signal meanwhile leaves no pod behind.

use workden::sandboxes::kubernetes::KubernetesSandbox;

use super::{DoctorArguments, Probed, probed};
use crate::{
    command_options::CommandOptions,
    failure::{Failure, request},
};

pub(super) fn probe(arguments: &DoctorArguments) -> Result<Probed, Failure> {
    let pod = KubernetesSandbox::builder();
    let pod = arguments.cluster.unchecked_pod(pod, &arguments.container, None, &CommandOptions::default());
    let pod = pod.map_err(request)?;
    probed("checking the cluster", |end| async move { pod.probe_until(end).await })
}
