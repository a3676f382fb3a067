//! Labels and annotations, which identify the pods of workden to every process.

use std::collections::BTreeMap;

/// The tool that manages an object; on every object of workden.
pub(super) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of that label.
pub(super) const WORKDEN: &str = "workden";
/// What commands can reach, as the NetworkPolicy selects it.
pub(super) const NETWORK: &str = "workden.dev/network";

/// The owner of the session that a pod belongs to.
pub(super) const OWNER: &str = "workden.dev/owner";
/// A hash of the owner and the session that a pod belongs to.
pub(super) const SESSION: &str = "workden.dev/session";
/// The session that a pod belongs to, as an annotation: an id may have characters that a label may not.
pub(super) const SESSION_ID: &str = "workden.dev/session-id";
/// The hash of a pod's options, as an annotation: with other options it is another pod.
pub(super) const MADE_OF: &str = "workden.dev/made-of";
/// Whether the keeper of a shared pod was launched, as an annotation.
pub(super) const LAUNCHED: &str = "workden.dev/launched";
/// Whether workden has suspended the sandbox of a claim, as an annotation.
pub(super) const SUSPENDED: &str = "workden.dev/suspended";

/// Where the record of a pod's session is. Pods without this label belong to processes that keep their own records.
pub(super) const RECORD: &str = "workden.dev/record";
/// The value of that label for a record in the cluster.
pub(super) const LEASE: &str = "lease";
/// A pod without a session, and whether its keeper runs.
pub(super) const SPARE: &str = "workden.dev/spare";
/// The value of that label while the pod starts.
pub(super) const MAKING: &str = "making";
/// The value of that label once the pod can be claimed.
pub(super) const READY: &str = "ready";

/// Returns the label of every object of workden.
pub(super) fn ours() -> BTreeMap<String, String> {
    BTreeMap::from([(MANAGED_BY.to_owned(), WORKDEN.to_owned())])
}
