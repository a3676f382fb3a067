//! The files of a workspace as resources, under its policy: listed in pages, addressed by a template, and read.

mod content_type;
mod uri;

use base64::{Engine, engine::general_purpose::STANDARD};
use content_type::{ContentType, detect};
use rmcp::{
    ErrorData,
    model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};
use serde_json::{Value, json};
use uri::{path_at, uri_of};
use workden::{
    BackendExt, Error, ErrorKind, VirtualPath, Workspace,
    core::{
        Caller, Entry,
        search::{GlobRequest, Hidden, IgnoreFiles},
    },
};

use crate::limits::{RESOURCE_BYTES, RESOURCES, RESOURCES_PER_PAGE};

/// The files of a workspace as resources.
#[derive(Debug)]
pub(crate) struct Resources {
    workspace: Workspace,
}

impl Resources {
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self { workspace }
    }

    /// Returns the template of the URI of any file.
    pub(crate) fn template() -> ResourceTemplate {
        ResourceTemplate::new(format!("{}{{+path}}", uri::PREFIX), "file")
            .with_description("A file of the workspace by its absolute path, percent-encoded.")
    }

    /// Lists a page of the files in the working directory, sorted by path, without hidden and ignored files. Of more
    /// than the listing has room for, the newest are listed.
    pub(crate) async fn list(&self, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
        let after = cursor.map(cursor_path).transpose()?;
        let workspace = self.workspace.on_behalf_of(caller("resources/list", json!({ "cursor": cursor })));
        let directory = workspace.working_directory().await.map_err(as_error_data)?;
        let request = GlobRequest::new("**/*").hidden(Hidden::Skip).ignore_files(IgnoreFiles::Honour).keep(RESOURCES);
        let mut entries = workspace.files().glob_path(&directory, &request).await.map_err(as_error_data)?.entries;
        entries.retain(|entry| after.as_ref().is_none_or(|after| entry.path > *after));
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let more = entries.len() > RESOURCES_PER_PAGE;
        entries.truncate(RESOURCES_PER_PAGE);
        let mut page = ListResourcesResult::with_all_items(
            entries.iter().map(|entry| resource(entry, &directory)).collect::<Vec<_>>(),
        );
        page.next_cursor = entries.last().filter(|_| more).map(|last| uri_of(&last.path));
        Ok(page)
    }

    /// Reads a file: text as text, everything else as bytes.
    pub(crate) async fn read(&self, uri: &str) -> Result<ReadResourceResult, ErrorData> {
        let path = path_at(uri).map_err(as_error_data)?;
        let workspace = self.workspace.on_behalf_of(caller("resources/read", json!({ "uri": uri })));
        let files = workspace.files();
        let size = files.entry(&path).await.map_err(as_error_data)?.size.unwrap_or(0);
        if size > RESOURCE_BYTES {
            return Err(as_error_data(too_large(&path, size)));
        }
        let bytes = files.read_bytes(&path).await.map_err(as_error_data)?;
        let contents = match detect(&bytes) {
            ContentType::Text(text) => ResourceContents::text(text, uri).with_mime_type("text/plain"),
            ContentType::Bytes(media_type) => {
                ResourceContents::blob(STANDARD.encode(&bytes), uri).with_mime_type(media_type)
            }
        };
        Ok(ReadResourceResult::new(vec![contents]))
    }
}

fn resource(entry: &Entry, directory: &VirtualPath) -> Resource {
    let name =
        entry.path.strip_prefix(directory).map_or_else(|| entry.path.to_string(), |below| below.relative().to_owned());
    let resource = Resource::new(uri_of(&entry.path), name);
    match entry.size {
        Some(size) => resource.with_size(size),
        None => resource,
    }
}

fn caller(method: &str, arguments: Value) -> Caller {
    Caller { tool: method.to_owned(), arguments }
}

fn cursor_path(cursor: &str) -> Result<VirtualPath, ErrorData> {
    path_at(cursor).map_err(|_| ErrorData::invalid_params("invalid cursor", None))
}

fn too_large(path: &VirtualPath, size: u64) -> Error {
    let text = format!("cannot read `{path}` as a resource: it has {size} bytes, and the limit is {RESOURCE_BYTES}");
    Error::new(ErrorKind::TooLarge, text).hint("read a part of it with the tool `read_file`")
}

/// Converts an error to one of the protocol.
fn as_error_data(error: Error) -> ErrorData {
    let data = json!({ "kind": error.kind() });
    match error.kind() {
        ErrorKind::NotFound => ErrorData::resource_not_found(error.to_string(), Some(data)),
        _ => ErrorData::invalid_params(error.to_string(), Some(data)),
    }
}
