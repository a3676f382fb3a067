//! Writing, editing and attributes: limits on the new content, and approvals of exactly one change.
//!
//! Invariant: an approved change is applied only to the version that the approver was shown, or only if the file is
//! still missing; anything else is a conflict.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_core::Stream;

use super::{
    Access, Guarded, Op, TargetState,
    conflict::changed_meanwhile,
    describing::NewContent,
    excerpt,
    judging::{Depth, Look},
    preview,
    trace::Trace,
};
use crate::{
    Attributes, Backend, BackendExt, ByteRange, Changed, Content, ContentStream, Entry, Error, ErrorKind, Expect,
    Refusal, Resolved, Result, Version, VirtualPath, Written, limits,
    text::{Change, splice},
};

impl<B: Backend> Guarded<B> {
    pub(super) async fn write_guarded(
        &self,
        trace: &mut Trace<'_>,
        at: &Resolved,
        content: Content,
        expect: Expect,
    ) -> Result<Written> {
        let op = Op::Write(at);
        if self.is_open() {
            trace.allowed();
            return self.inner.write(at, content, expect).await;
        }
        let mut findings = self.examine(op, Depth::One, Look::AsResolved).await?;
        if let Expect::Version(_) = expect {
            // A write over a version discloses whether the file has that content, so it must pass as a read, too.
            findings = findings.and(self.examine(Op::Read(at), Depth::One, Look::AsResolved).await?);
        }
        let content = match (content, self.most_bytes(at, Access::Write)) {
            (Content::Whole(bytes), most) => {
                Refusal::check_size(&at.typed, bytes.len() as u64, most.unwrap_or(u64::MAX))?;
                Content::Whole(bytes)
            }
            (Content::Stream(stream), Some(most)) => {
                Content::Stream(Box::pin(Limited { stream, most, seen: 0, path: at.typed.clone() }))
            }
            (content @ Content::Stream(_), None) => content,
        };
        if findings.ask.is_none() || self.roles.approver.is_none() {
            self.settle(trace, op, Depth::One, findings, NewContent::None, None).await?;
            return self.inner.write(at, content, expect).await;
        }
        let before = self.before_writing(at, expect).await?;
        let (after, new) = match &content {
            Content::Whole(bytes) => (Some(bytes.clone()), NewContent::Bytes(bytes.len())),
            Content::Stream(_) => (None, NewContent::Pieces),
        };
        let preview = match (&before, after) {
            (CurrentContent::Nothing, Some(after)) => preview::diff(&at.real, b"", &after),
            (CurrentContent::File { content, .. }, Some(after)) => preview::diff(&at.real, content, &after),
            (CurrentContent::Huge(entry), Some(after)) => excerpt::instead_of(entry.size, &after),
            (_, None) => excerpt::pieces(),
        };
        findings.replaced = Some(match &before {
            CurrentContent::Nothing => TargetState::Nothing,
            CurrentContent::File { version, .. } => TargetState::Content(*version),
            CurrentContent::Huge(entry) => TargetState::Entry(entry.clone(), None),
        });
        self.settle(trace, op, Depth::One, findings, new, Some(preview)).await?;
        let expect = match before {
            CurrentContent::Nothing => Expect::Absent,
            CurrentContent::File { version, .. } => Expect::Version(version),
            CurrentContent::Huge(entry) => match self.inner.stat(at).await {
                Ok(now) if now == entry => expect,
                _ => return Err(changed_meanwhile(op)),
            },
        };
        self.inner.write(at, content, expect).await
    }

    /// Reads the current content for the approval of a write; returns an error if it is not as expected.
    async fn before_writing(&self, at: &Resolved, expect: Expect) -> Result<CurrentContent> {
        let entry = match (self.inner.stat(at).await, expect) {
            (Err(error), Expect::Anything | Expect::Absent) if error.kind() == ErrorKind::NotFound => {
                return Ok(CurrentContent::Nothing);
            }
            (Err(error), _) if error.kind() == ErrorKind::NotFound => return Err(Error::not_found("write", &at.typed)),
            (Err(error), _) => return Err(error),
            (Ok(_), Expect::Absent) => return Err(Error::already_exists("write", &at.typed)),
            (Ok(entry), _) => entry,
        };
        match self.inner.read(at, ByteRange::Whole { most: limits::EDIT_BYTES }).await {
            Ok(slice) => {
                let version = Version::of(&slice.bytes);
                match expect {
                    Expect::Version(expected) if expected != version => Err(Error::conflict("write", &at.typed)),
                    _ => Ok(CurrentContent::File { version, content: slice.bytes }),
                }
            }
            Err(error) if error.kind() == ErrorKind::TooLarge => Ok(CurrentContent::Huge(entry)),
            Err(error) => Err(error),
        }
    }

    /// Replaces attributes. They are no content: no limit on sizes applies.
    pub(super) async fn set_attributes_guarded(
        &self,
        trace: &mut Trace<'_>,
        at: &Resolved,
        attributes: &Attributes,
    ) -> Result<()> {
        let op = Op::Write(at);
        if self.is_open() {
            trace.allowed();
            return self.inner.set_attributes(at, attributes).await;
        }
        let mut findings = self.examine(op, Depth::One, Look::AsResolved).await?;
        if findings.ask.is_none() || self.roles.approver.is_none() {
            self.settle(trace, op, Depth::One, findings, NewContent::None, None).await?;
            return self.inner.set_attributes(at, attributes).await;
        }
        let before = self.inner.stat(at).await?;
        findings.replaced = Some(TargetState::Entry(before.clone(), None));
        let (new, preview) = (NewContent::Attributes(attributes.len()), preview::attributes(attributes));
        self.settle(trace, op, Depth::One, findings, new, Some(preview)).await?;
        match self.inner.stat(at).await {
            Ok(now) if now == before => {}
            _ => return Err(changed_meanwhile(op)),
        }
        self.inner.set_attributes(at, attributes).await
    }

    pub(super) async fn change_guarded(
        &self,
        trace: &mut Trace<'_>,
        at: &Resolved,
        change: &Change,
        expect: Expect,
        most: u64,
    ) -> Result<Changed> {
        let op = Op::Change(at);
        if self.is_open() {
            trace.allowed();
            return self.inner.change(at, change, expect, most).await;
        }
        let mut findings = self.examine(op, Depth::One, Look::AsResolved).await?;
        let ceilings = [Access::Read, Access::Write].map(|access| self.most_bytes(at, access));
        let most = ceilings.into_iter().flatten().fold(most, u64::min);
        if findings.ask.is_none() || self.roles.approver.is_none() {
            self.settle(trace, op, Depth::One, findings, NewContent::Change(change), None).await?;
            return self.inner.change(at, change, expect, most).await;
        }
        let before = self.inner.read(at, ByteRange::Whole { most: limits::EDIT_BYTES }).await?.bytes;
        let version = Version::of(&before);
        match expect {
            Expect::Absent => return Err(Error::already_exists("edit", &at.typed)),
            Expect::Version(expected) if expected != version => return Err(Error::conflict("edit", &at.typed)),
            Expect::Anything | Expect::Version(_) => {}
        }
        let planned = change.plan(&at.real, &before).map_err(|error| error.told_as(&at.real, &at.typed))?;
        let after = splice::apply_splices(&before, &planned.splices)?;
        Refusal::check_size(&at.typed, after.len() as u64, most)?;
        let preview = preview::diff(&at.real, &before, &after);
        findings.replaced = Some(TargetState::Content(version));
        self.settle(trace, op, Depth::One, findings, NewContent::Change(change), Some(preview)).await?;
        self.inner.change(at, change, Expect::Version(version), most).await
    }
}

/// The content that a write in need of approval would replace.
enum CurrentContent {
    Nothing,
    File {
        version: Version,
        content: Bytes,
    },
    /// A file too large to compare, identified by its size and time.
    Huge(Entry),
}

/// A content stream that ends with a refusal as soon as it is too large, so that nothing is written.
struct Limited {
    stream: ContentStream,
    most: u64,
    seen: u64,
    path: VirtualPath,
}

impl Stream for Limited {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.seen > self.most {
            return Poll::Ready(None);
        }
        let polled = self.stream.as_mut().poll_next(context);
        if let Poll::Ready(Some(Ok(piece))) = &polled {
            self.seen = self.seen.saturating_add(piece.len() as u64);
            if let Err(refused) = Refusal::check_size(&self.path, self.seen, self.most) {
                return Poll::Ready(Some(Err(refused)));
            }
        }
        polled
    }
}
