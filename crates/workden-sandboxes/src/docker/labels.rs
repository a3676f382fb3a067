//! Labels: how what is ours is told from what is not, and found again by another process.
//!
//! The token of a keeper is among them. Whoever can read labels can do anything in a container; what runs inside
//! of it cannot.

use std::collections::HashMap;

/// On everything that is ours: containers, volumes, images.
pub(crate) const OURS: &str = "workden";
/// The token of the keeper in a container.
pub(crate) const TOKEN: &str = "workden.token";
/// The keeper in a volume, by the hash of its program; also on what fills one.
pub(crate) const KEEPER: &str = "workden.keeper";
/// Whose sessions a container belongs to.
pub(crate) const OWNER: &str = "workden.owner";
/// The session that a container was made for.
pub(crate) const SESSION: &str = "workden.session";
/// What of all that was asked for a container does not have, as a sentence.
pub(crate) const LACKING: &str = "workden.lacking";

/// What the container of a session was made of, as a hash: asked for as something else, it is not the same one.
pub(crate) const MADE_OF: &str = "workden.made-of";
/// Whose image it is: the name of a runtime.
pub(crate) const RUNTIME: &str = "workden.runtime";
/// What is in an image: the hash of its runtime.
pub(crate) const HASH: &str = "workden.hash";

/// Ours, with these besides.
pub(crate) fn of<const N: usize>(more: [(&str, String); N]) -> HashMap<String, String> {
    let ours = [(OURS, "1".to_owned())].into_iter();
    ours.chain(more).map(|(name, value)| (name.to_owned(), value)).collect()
}
