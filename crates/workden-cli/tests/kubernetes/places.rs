//! Pods of the prepared cluster.

use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use tempfile::NamedTempFile;
use workden_sandboxes::{
    ContainerKeepers,
    kubernetes::{Cluster, KubernetesSandbox, KubernetesSandboxBuilder},
};

/// An image with only busybox.
pub(crate) const BUSYBOX: &str = "workden-test/busybox:1";
/// Debian with Python.
pub(crate) const PYTHON: &str = "workden-test/python:1";

/// An image of the keeper itself.
pub(crate) const KEEPER: &str = "workden-test/keeper:1";

/// How long a pod may take on a slow machine. A test about a limit sets its own.
pub(crate) const SLOW: Duration = Duration::from_secs(240);

/// Returns the file that names the prepared cluster.
pub(crate) fn kubeconfig() -> PathBuf {
    let prepared = std::env::var_os("WORKDEN_TEST_KUBECONFIG");
    let run = "run `cargo xtask kubernetes -- cargo test -p workden-cli --test kubernetes`";
    PathBuf::from(prepared.unwrap_or_else(|| panic!("no cluster is prepared: {run}")))
}

/// Returns the prepared cluster.
pub(crate) fn cluster() -> Cluster {
    Cluster::kubeconfig(kubeconfig())
}

/// Returns the builder of a pod with this image.
pub(crate) fn pod(image: &str) -> KubernetesSandboxBuilder {
    builder().image(image)
}

/// Returns the builder of a pod that lacks an image.
pub(crate) fn builder() -> KubernetesSandboxBuilder {
    let keeper = PathBuf::from(std::env::var_os("WORKDEN_KEEPER").unwrap());
    let builder = KubernetesSandbox::builder().cluster(cluster()).keepers(ContainerKeepers::at(keeper));
    builder.start_timeout(SLOW).scheduling_timeout(SLOW)
}

pub(crate) fn kubectl_program() -> String {
    std::env::var("WORKDEN_TEST_KUBECTL").unwrap_or_else(|_| "kubectl".to_owned())
}

/// Returns what `kubectl` prints, with the same cluster.
pub(crate) fn kubectl(words: &[&str]) -> String {
    let output = Command::new(kubectl_program()).arg("--kubeconfig").arg(kubeconfig()).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(output.status.success(), "kubectl {words:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Applies objects to the cluster.
pub(crate) fn apply(objects: &str) {
    let mut kubectl = Command::new(kubectl_program())
        .arg("--kubeconfig")
        .arg(kubeconfig())
        .args(["apply", "--server-side", "--filename", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    kubectl.stdin.take().unwrap().write_all(objects.as_bytes()).unwrap();
    assert!(kubectl.wait().unwrap().success(), "cannot apply {objects}");
}

/// Returns the objects of a directory of `deploy/kubernetes`, with these words replaced.
pub(crate) fn rendered(directory: &str, replaced: &[(&str, &str)]) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/kubernetes/");
    let mut objects = kubectl(&["kustomize", &format!("{root}{directory}")]);
    for (before, after) in replaced {
        assert!(objects.contains(before), "`{before}` not found in `{directory}`");
        objects = objects.replace(before, after);
    }
    objects
}

/// Returns a kubeconfig of the prepared cluster with these credentials.
pub(crate) fn with_token(token: &str) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::copy(kubeconfig(), &file).unwrap();
    let named = file.path().to_str().unwrap();
    kubectl(&["--kubeconfig", named, "config", "set-credentials", "limited", "--token", token]);
    kubectl(&["--kubeconfig", named, "config", "set-context", "--current", "--user", "limited"]);
    file
}

/// A namespace of one test. It is deleted with everything in it when this value is dropped.
pub(crate) struct Namespace(pub(crate) String);

impl Namespace {
    /// Creates a namespace from a directory of `deploy/kubernetes`, with these words replaced.
    pub(crate) fn of(directory: &str, test: &str, replaced: &[(&str, &str)]) -> Self {
        let namespace = Self::named(test);
        let of_sandboxes = [("workden-sandboxes", namespace.0.as_str())];
        apply(&rendered(directory, &[&of_sandboxes, replaced].concat()));
        namespace
    }

    /// Returns the namespace of a test, which the test creates.
    pub(crate) fn named(test: &str) -> Self {
        Self(format!("workden-{test}-{}", std::process::id()))
    }

    pub(crate) fn cluster(&self) -> Cluster {
        cluster().namespace(&self.0)
    }

    /// Returns what `kubectl` prints, in this namespace.
    pub(crate) fn kubectl(&self, words: &[&str]) -> String {
        let mut all = vec!["--namespace", &self.0];
        all.extend(words);
        kubectl(&all)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        kubectl(&["delete", "namespace", &self.0, "--wait=false", "--ignore-not-found"]);
    }
}
