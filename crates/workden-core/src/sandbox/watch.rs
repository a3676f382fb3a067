//! Watching files: a request, and the events that answer it.

use std::pin::Pin;

use serde::{Deserialize, Serialize};

use crate::{Result, VirtualPath, Visibility, setters::setters};

/// A request to watch a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WatchRequest {
    /// The limits on what may be listed: nothing is told of other names.
    #[serde(default)]
    pub visibility: Visibility,
    /// Whether the directories below are watched as well.
    #[serde(default)]
    pub depth: WatchDepth,
}

/// How much of a directory is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchDepth {
    /// The entries of the directory.
    #[default]
    Entries,
    /// Everything below it, including directories that are made later.
    Tree,
}

impl WatchRequest {
    setters! {
        /// Sets the limits on what may be listed.
        visibility: Visibility,
        /// Sets whether the directories below are watched as well.
        depth: WatchDepth,
    }
}

/// The events of a watched directory. Dropping this ends the watch.
pub type FileEvents = Pin<Box<dyn futures_core::Stream<Item = Result<FileEvent>> + Send>>;

/// An event of a watched directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum FileEvent {
    /// An entry changed.
    Changed {
        /// The path of the entry.
        path: VirtualPath,
        /// What happened to it.
        change: FileChange,
        /// Whether the entry is a directory.
        #[serde(default)]
        is_directory: bool,
    },
    /// Events were lost, because more happened than was read. A reader looks at the directory again.
    Missed,
}

/// What happened to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// It was made, or moved to this name.
    Created,
    /// Its content changed.
    Written,
    /// It was removed.
    Removed,
    /// It was moved away from this name; the new name, if it is watched, is `Created`.
    Renamed,
    /// Its permissions, its owner or its times changed.
    Attributes,
}
