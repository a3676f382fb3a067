//! `EntryInfo`: what clients see of a file or directory.
//!
//! Modes are those that files of the sandbox usually have: the service's file calls do not know them.

use super::metadata::{self, Metadata};
use serde::Serialize;
use workden::{Backend, BackendExt, Result, VirtualPath, Workspace};
use workden_core::{Entry, EntryKind, Link, Symlink, Timestamp};

/// The owner of everything in a sandbox.
const OWNER: &str = "user";

/// A file or directory.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EntryInfo {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    path: String,
    /// A number of 64 bits, which is text in JSON.
    size: String,
    mode: u32,
    permissions: &'static str,
    owner: &'static str,
    group: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_time: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symlink_target: Option<String>,
    is_symlink: bool,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata,
}

impl EntryInfo {
    /// Looks at a path, which may be a link.
    pub(super) async fn at(workspace: &Workspace, path: &VirtualPath) -> Result<Self> {
        let files = workspace.files();
        let place = files.resolve(path, Symlink::NoFollow).await?;
        let target = files.resolve(path, Symlink::Follow).await?;
        let mut entry = files.stat(&target).await?;
        if entry.is_file() {
            // A file that may not be read is described without its metadata.
            entry.attributes = files.attributes(&target, metadata::PREFIX).await.ok().map(Box::new);
        }
        Ok(Self::of(path, &entry, (place.real != target.real).then(|| target.real.to_string())))
    }

    /// Describes an entry of a listing; of a link, also where it leads.
    pub(super) async fn listed(workspace: &Workspace, entry: &Entry) -> Self {
        let target = match entry.link {
            Link::Direct => None,
            // A link that leads nowhere must not hide the other entries.
            Link::Symbolic => Some(match workspace.files().resolve(&entry.path, Symlink::Follow).await {
                Ok(target) if entry.kind != EntryKind::BrokenLink => target.real.to_string(),
                Ok(_) | Err(_) => String::new(),
            }),
        };
        Self::of(&entry.path, entry, target)
    }

    fn of(path: &VirtualPath, entry: &Entry, symlink_target: Option<String>) -> Self {
        let (kind, mode, permissions) = match entry.kind {
            EntryKind::Directory => ("FILE_TYPE_DIRECTORY", 0o755, "drwxr-xr-x"),
            EntryKind::BrokenLink => ("FILE_TYPE_SYMLINK", 0o777, "Lrwxrwxrwx"),
            EntryKind::File | EntryKind::Special => ("FILE_TYPE_FILE", 0o644, "-rw-r--r--"),
        };
        Self {
            name: name(path),
            kind,
            path: path.to_string(),
            size: entry.size.unwrap_or(0).to_string(),
            mode,
            permissions,
            owner: OWNER,
            group: OWNER,
            modified_time: entry.modified,
            is_symlink: symlink_target.is_some(),
            symlink_target,
            metadata: entry.attributes.as_deref().map(metadata::shown).unwrap_or_default(),
        }
    }
}

/// Returns the last component; `/` for the root.
pub(super) fn name(path: &VirtualPath) -> String {
    path.name().unwrap_or("/").to_owned()
}
