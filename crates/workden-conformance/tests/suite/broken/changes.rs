//! Everything that makes, writes, moves and removes files, spoiled.

use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use workden_core::{
    Backend, BackendExt, ByteRange, Content, Error, ErrorKind, Expect, IfExists, Removal, Replaced, Resolved, Result,
    Version, VirtualPath, Written,
    search::{GlobKinds, GlobRequest, ListRequest},
};

use super::{Broken, Spoil, pause};

impl Broken {
    pub(super) async fn content_of(&self, at: &Resolved) -> Option<Bytes> {
        self.inner.read(at, ByteRange::whole()).await.ok().map(|slice| slice.bytes)
    }

    async fn has_parent(&self, at: &Resolved) -> bool {
        match at.real.parent() {
            Some(parent) => self.is_there(&parent).await,
            None => true,
        }
    }

    /// All of a content, or what comes of it under this spoil.
    async fn gather(&self, at: &Resolved, content: Content) -> Result<Bytes> {
        let mut stream = match content {
            Content::Whole(bytes) => return Ok(bytes),
            Content::Stream(stream) => stream,
        };
        let mut gathered = BytesMut::new();
        while let Some(piece) = stream.next().await {
            match piece {
                Ok(piece) => gathered.extend_from_slice(&piece),
                Err(error) if self.is(Spoil::WriteKeepsHalfAStream) => {
                    self.inner.write(at, gathered.freeze().into(), Expect::Anything).await?;
                    return Err(error);
                }
                Err(error) => return Err(error),
            }
            if self.is(Spoil::WriteTakesTheFirstPiece) && !gathered.is_empty() {
                break;
            }
        }
        Ok(gathered.freeze())
    }

    pub(super) async fn spoiled_write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        if self.is(Spoil::WriteShutsOthersOut) && self.is_waiting.swap(true, Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Busy, format!("another writer is at work, not on `{}`", at.real)));
        }
        let content = self.gather(at, content).await?;
        self.is_waiting.store(false, Ordering::Relaxed);
        if self.is(Spoil::Nothing) {
            pause().await;
        }
        let before = self.content_of(at).await;
        let (content, expect) = match self.spoil {
            Spoil::WriteDisregardsExpectations => (content, Expect::Anything),
            Spoil::WriteAddsANewline if !content.ends_with(b"\n") => ([&content[..], b"\n"].concat().into(), expect),
            Spoil::WriteConvertsLineEndings => {
                (content.iter().copied().filter(|byte| *byte != b'\r').collect(), expect)
            }
            Spoil::WriteAppends => ([&before.unwrap_or_default()[..], &content[..]].concat().into(), expect),
            Spoil::WriteMakesNoDirectories if !self.has_parent(at).await => {
                return Err(Error::not_found("write", &at.real));
            }
            Spoil::WriteMakesWhatItExpects if before.is_none() => (content, Expect::Anything),
            Spoil::WriteChecksThenWrites => {
                // The check is right, and too early.
                match (expect, before) {
                    (Expect::Absent, Some(_)) => return Err(Error::already_exists("write", &at.real)),
                    (Expect::Version(version), Some(before)) if Version::of(&before) != version => {
                        return Err(Error::conflict("write", &at.real));
                    }
                    (Expect::Version(_), None) => return Err(Error::not_found("write", &at.real)),
                    _ => {}
                }
                pause().await;
                (content, Expect::Anything)
            }
            Spoil::WriteIsTorn => {
                let half = content.slice(..content.len() / 2);
                self.inner.write(at, half.into(), expect).await?;
                pause().await;
                (content, Expect::Anything)
            }
            _ => (content, expect),
        };
        let written = self.inner.write(at, content.clone().into(), expect).await;
        if written.is_err() && self.is(Spoil::WriteLeavesATemporaryFile) {
            self.leave_something_behind().await?;
        }
        let mut written = written?;
        match self.spoil {
            Spoil::WriteSaysNothingWasThere => written.replaced = Replaced::Nothing,
            Spoil::WriteInventsVersions => written.version = Version::of(at.real.as_str().as_bytes()),
            _ => {}
        }
        self.write_what_is_tied(at, &content).await?;
        Ok(written)
    }

    pub(super) async fn leave_something_behind(&self) -> Result<()> {
        let left = VirtualPath::root().child_unchecked("left-behind");
        self.inner.write_path(&left, Bytes::new(), Expect::Anything).await.map(drop)
    }

    async fn write_what_is_tied(&self, at: &Resolved, content: &Bytes) -> Result<()> {
        let tied = self.tied.lock().unwrap().clone();
        for (_, copy) in tied.iter().filter(|(original, _)| *original == at.real) {
            self.inner.write_path(copy, content.clone(), Expect::Anything).await?;
        }
        Ok(())
    }

    pub(super) async fn spoiled_make_dir(&self, at: &Resolved) -> Result<()> {
        match self.spoil {
            Spoil::MakeDirMakesOnlyTheLast if !self.has_parent(at).await => Err(Error::not_found("make", &at.real)),
            Spoil::MakeDirTwiceFails if self.is_there(&at.real).await => Err(Error::already_exists("make", &at.real)),
            _ => self.inner.make_dir(at).await,
        }
    }

    pub(super) async fn spoiled_remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        let what = if self.is(Spoil::RemoveTakesTrees) { Removal::Tree } else { what };
        match self.spoil {
            Spoil::RemoveDoesNothing if !at.real.is_root() && what == Removal::Tree => {
                self.inner.stat(at).await?;
                return Ok(());
            }
            Spoil::RemoveEmptiesTheRoot if at.real.is_root() => {
                for child in self.inner.list(at, &ListRequest::default()).await?.entries {
                    self.inner.remove_path(&child.path, Removal::Tree).await?;
                }
            }
            _ => {}
        }
        self.inner.remove(at, what).await?;
        let Some(parent) = at.real.parent() else { return Ok(()) };
        match self.spoil {
            Spoil::RemoveTakesEmptyParents => _ = self.inner.remove_path(&parent, Removal::One).await,
            Spoil::RemoveTakesSimilarNames => {
                let siblings = self.inner.list_path(&parent, &ListRequest::default()).await?.entries;
                for similar in siblings.iter().filter(|entry| entry.path.as_str().starts_with(at.real.as_str())) {
                    self.inner.remove_path(&similar.path, Removal::Tree).await?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) async fn spoiled_rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
        let content = self.content_of(from).await;
        let target = self.inner.stat(to).await;
        match self.spoil {
            Spoil::RenameToItselfRemoves if from.real == to.real => {
                return self.inner.remove(from, Removal::Tree).await;
            }
            Spoil::RenameIntoItselfLoses if from.real != to.real && to.real.is_within(&from.real) => {
                let refusal = self.inner.rename(from, to, if_exists).await;
                let _ = self.inner.remove(from, Removal::Tree).await;
                return refusal;
            }
            Spoil::RenameReplacesDirectories if target.is_ok_and(|target| target.is_dir()) && !to.real.is_root() => {
                self.inner.remove(to, Removal::Tree).await?;
            }
            Spoil::RenameLosesEmptyDirectories => {
                let below = GlobRequest::new("**").kinds(GlobKinds::Everything);
                let below = self.inner.glob(from, &below).await.map(|found| found.entries).unwrap_or_default();
                for directory in below.iter().filter(|entry| entry.is_dir()) {
                    let _ = self.inner.remove_path(&directory.path, Removal::One).await;
                }
            }
            _ => {}
        }
        let if_exists = if self.is(Spoil::RenameAlwaysReplaces) { IfExists::Replace } else { if_exists };
        self.inner.rename(from, to, if_exists).await?;
        if let Some(content) = content.filter(|_| self.is(Spoil::RenameLeavesTheOld)) {
            self.inner.write(from, content.into(), Expect::Anything).await?;
        }
        Ok(())
    }

    pub(super) async fn spoiled_copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        let if_exists = if self.is(Spoil::CopyAlwaysReplaces) { IfExists::Replace } else { if_exists };
        let mut written = self.inner.copy(from, to, if_exists).await?;
        match self.spoil {
            Spoil::CopyRemovesTheOriginal if from.real != to.real => self.inner.remove(from, Removal::One).await?,
            Spoil::CopyOntoItselfEmpties if from.real == to.real => {
                self.inner.write(to, Bytes::new().into(), Expect::Anything).await?;
            }
            Spoil::CopySaysNothingWasThere => written.replaced = Replaced::Nothing,
            Spoil::CopyStaysTied => self.tied.lock().unwrap().push((from.real.clone(), to.real.clone())),
            _ => {}
        }
        Ok(written)
    }
}
