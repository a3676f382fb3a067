//! The files of a sandbox at the other end of a byte stream.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use axum::body::Body;
use futures_util::TryStreamExt;
use http::Method;
use workden_core::{
    Attributes, Backend, ByteRange, Changed, Content, ContentStream, Entry, Error, Expect, FileIdentity, HostFiles,
    IfExists, Opened, Removal, Resolved, Result, Slice, Symlink, VirtualPath, Written,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow},
};

use super::{
    RemoteSandbox,
    connection::{answer, whole, within},
};
use crate::{
    calls::{
        ChangeFile, Copy, Glob, Grep, Identify, List, MakeDir, NamesOf, Origins, OtherNames, Read, ReadAnswer,
        ReadAttributes, ReadText, Remove, Rename, Resolve, SetAttributes, Stat, Write,
    },
    header::{ANSWER, from_header},
};

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for RemoteSandbox {
    async fn resolve(&self, path: &VirtualPath, symlink: Symlink) -> Result<Resolved> {
        self.connection.call(&Resolve::new(path, &symlink)).await.map(Into::into)
    }

    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        self.connection.call(&Stat::new(at)).await
    }

    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        self.connection.call(&List::new(at, request)).await
    }

    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        let (ByteRange::Whole { most } | ByteRange::Part { length: most, .. }) = range;
        let read = async {
            let response = self.connection.post(&Read::new(at, &range)).await?;
            let said: ReadAnswer = from_header(response.headers(), ANSWER)?;
            let bytes = whole(response.into_body(), usize::try_from(most).unwrap_or(usize::MAX)).await?;
            Ok(Slice::new(bytes, said.size).modified(said.modified))
        };
        within::<Read<'_>, _>(read).await
    }

    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        self.connection.call(&ReadText::new(at, &window)).await
    }

    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        let call = Write::new(at, &expect);
        match content {
            Content::Whole(bytes) => {
                let sent = self.connection.with_body(Method::PUT, &call, Body::from(bytes));
                within::<Write<'_>, _>(async { answer::<Write<'_>>(sent.await?).await }).await
            }
            Content::Stream(pieces) => {
                let (body, failure) = body_of(pieces);
                let written = match self.connection.with_body(Method::PUT, &call, body).await {
                    Ok(response) => answer::<Write<'_>>(response).await,
                    Err(error) => Err(error),
                };
                failure.instead_of(written)
            }
        }
    }

    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        self.connection.call(&ChangeFile::new(at, change, &expect, &most)).await
    }

    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        self.connection.call(&MakeDir::new(at)).await
    }

    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        self.connection.call(&Remove::new(at, &what)).await
    }

    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
        self.connection.call(&Rename::new(from, to, &if_exists)).await
    }

    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        self.connection.call(&Copy::new(from, to, &if_exists)).await
    }

    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        self.connection.call(&Glob::new(at, request)).await
    }

    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        self.connection.call(&Grep::new(at, request)).await
    }

    fn host_files(&self) -> Option<&dyn HostFiles> {
        Some(self)
    }
}

#[async_trait]
impl HostFiles for RemoteSandbox {
    async fn open_file(&self, at: &Resolved, most: u64) -> Result<Opened> {
        self.read(at, ByteRange::Whole { most }).await.map(|slice| Opened::Content(slice.bytes))
    }

    async fn read_attributes(&self, at: &Resolved, prefix: &str) -> Result<Attributes> {
        self.connection.call(&ReadAttributes::new(at, &prefix.to_owned())).await
    }

    async fn write_attributes(&self, at: &Resolved, attributes: &Attributes) -> Result<()> {
        self.connection.call(&SetAttributes::new(at, attributes)).await
    }

    async fn find_other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
        self.connection.call(&OtherNames::new(files)).await
    }

    async fn find_identity(&self, at: &Resolved) -> Result<Option<FileIdentity>> {
        self.connection.call(&Identify::new(at)).await
    }

    async fn find_origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
        self.connection.call(&Origins::new()).await
    }

    async fn find_names(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
        self.connection.call(&NamesOf::new(files)).await
    }
}

/// Turns content into a body. An error in the content aborts the call, and the caller gets that error.
pub(super) fn body_of(pieces: ContentStream) -> (Body, Failure) {
    let failure = Failure::default();
    let noted = failure.clone();
    let pieces = pieces.inspect_err(move |error| {
        noted.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| error.clone());
    });
    // The body has no known length, even if the stream is empty, so it must be sent as a stream.
    (Body::from_stream(pieces), failure)
}

/// The error that ended the content, if one did.
#[derive(Clone, Default)]
pub(super) struct Failure(Arc<Mutex<Option<Error>>>);

impl Failure {
    pub(super) fn instead_of<T>(self, outcome: Result<T>) -> Result<T> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => outcome,
        }
    }
}
