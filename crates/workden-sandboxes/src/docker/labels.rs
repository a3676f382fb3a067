//! Labels, which identify the containers, volumes and images of workden to every process.
//!
//! The token of a keeper is among them. A process that can read labels controls the container; commands inside cannot
//! read them.

use std::collections::HashMap;

/// On every container, volume and image of workden.
pub(crate) const OURS: &str = "workden";
/// The token of the keeper in a container.
pub(crate) const TOKEN: &str = "workden.token";
/// The hash of the keeper in a volume; also on the container that fills one.
pub(crate) const KEEPER: &str = "workden.keeper";
/// The owner of the session that a container belongs to.
pub(crate) const OWNER: &str = "workden.owner";
/// The session that a container was created for.
pub(crate) const SESSION: &str = "workden.session";
/// The requested isolation that a container lacks, as a sentence.
pub(crate) const LACKING: &str = "workden.lacking";

/// The hash of a session's container options: with other options it is another container.
pub(crate) const MADE_OF: &str = "workden.made-of";
/// The name of the runtime of an image.
pub(crate) const RUNTIME: &str = "workden.runtime";
/// The hash of the runtime of an image.
pub(crate) const HASH: &str = "workden.hash";

/// Returns the label `workden` with these.
pub(crate) fn of<const N: usize>(more: [(&str, String); N]) -> HashMap<String, String> {
    let ours = [(OURS, "1".to_owned())].into_iter();
    ours.chain(more).map(|(name, value)| (name.to_owned(), value)).collect()
}
