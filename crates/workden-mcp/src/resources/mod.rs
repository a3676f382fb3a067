//! The files of a workspace as resources, under its policy: a listing in pages, a template for the
//! rest, and reading.

mod address;

use address::{address, path_at};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes_of::{Kind, kind};
use rmcp::{
    ErrorData,
    model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};
use serde_json::json;
use workden::{
    BackendExt, Error, ErrorKind, VirtualPath, Workspace,
    core::{
        Caller, Entry,
        search::{GlobRequest, Hidden, IgnoreFiles},
    },
};

use crate::limits::{LISTED, PAGE, RESOURCE_BYTES};

mod bytes_of;

/// The files of a workspace as resources.
#[derive(Debug)]
pub(crate) struct Resources {
    workspace: Workspace,
}

impl Resources {
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self { workspace }
    }

    /// How any file is addressed.
    pub(crate) fn template() -> ResourceTemplate {
        ResourceTemplate::new(format!("{}{{+path}}", address::START), "file").with_description(
            "A file of the workspace by its path, from the root on; names are percent-encoded where they must be.",
        )
    }

    /// A page of what is in the working directory, in the order of paths: neither hidden nor ignored
    /// files, and of very many the newest.
    pub(crate) async fn list(&self, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
        let after = cursor.map(cursor_path).transpose()?;
        let workspace = self.workspace.on_behalf_of(caller("resources/list", &json!({ "cursor": cursor })));
        let directory = workspace.working_directory().await.map_err(told)?;
        let request = GlobRequest {
            hidden: Hidden::Skip,
            ignore_files: IgnoreFiles::Honour,
            keep: LISTED,
            ..GlobRequest::new("**/*")
        };
        let mut entries = workspace.files().glob_path(&directory, &request).await.map_err(told)?.entries;
        entries.retain(|entry| after.as_ref().is_none_or(|after| entry.path > *after));
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let more = entries.len() > PAGE;
        entries.truncate(PAGE);
        let mut page = ListResourcesResult::with_all_items(
            entries.iter().map(|entry| resource(entry, &directory)).collect::<Vec<_>>(),
        );
        page.next_cursor = entries.last().filter(|_| more).map(|last| address(&last.path));
        Ok(page)
    }

    /// The content of a file: text as text, everything else as bytes.
    pub(crate) async fn read(&self, uri: &str) -> Result<ReadResourceResult, ErrorData> {
        let path = path_at(uri).map_err(told)?;
        let workspace = self.workspace.on_behalf_of(caller("resources/read", &json!({ "uri": uri })));
        let files = workspace.files();
        let size = files.entry(&path).await.map_err(told)?.size.unwrap_or(0);
        if size > RESOURCE_BYTES {
            return Err(told(too_large(&path, size)));
        }
        let bytes = files.read_bytes(&path).await.map_err(told)?;
        let contents = match kind(&bytes) {
            Kind::Text(text) => ResourceContents::text(text, uri).with_mime_type("text/plain"),
            Kind::Bytes(media_type) => ResourceContents::blob(STANDARD.encode(&bytes), uri).with_mime_type(media_type),
        };
        Ok(ReadResourceResult::new(vec![contents]))
    }
}

fn resource(entry: &Entry, directory: &VirtualPath) -> Resource {
    let name =
        entry.path.strip_prefix(directory).map_or_else(|| entry.path.to_string(), |below| below.relative().to_owned());
    let resource = Resource::new(address(&entry.path), name);
    match entry.size {
        Some(size) => resource.with_size(size),
        None => resource,
    }
}

fn caller(method: &str, arguments: &serde_json::Value) -> Caller {
    Caller { tool: method.to_owned(), arguments: arguments.clone() }
}

fn cursor_path(cursor: &str) -> Result<VirtualPath, ErrorData> {
    path_at(cursor).map_err(|_| ErrorData::invalid_params("this cursor is none of ours", None))
}

fn too_large(path: &VirtualPath, size: u64) -> Error {
    let sentence =
        format!("cannot read `{path}` as a resource: it has {size} bytes, and {RESOURCE_BYTES} are the most");
    Error::new(ErrorKind::TooLarge, sentence).hint("read a part of it with the tool `read_file`")
}

/// An error in the words of the protocol.
fn told(error: Error) -> ErrorData {
    let data = json!({ "kind": error.kind() });
    match error.kind() {
        ErrorKind::NotFound => ErrorData::resource_not_found(error.to_string(), Some(data)),
        _ => ErrorData::invalid_params(error.to_string(), Some(data)),
    }
}
