//! Listing, glob and grep, spoiled.

use std::{sync::Arc, time::Duration};

use workden_core::{
    Backend, BackendExt, ErrorKind, Removal, Resolved, Result, SteppingClock, VirtualPath, Visibility, directory_entry,
    search::{
        Context, Detail, GlobKinds, GlobRequest, Globbed, GrepRequest, Grepped, Hidden, IgnoreFiles, LetterCase,
        LineMatches, ListRequest, Listing, Skipped, Span, Syntax, View,
    },
};
use workden_files::StateBackend;

use super::{Broken, Spoil};

impl Broken {
    pub(super) async fn spoiled_list(&self, at: &Resolved, mut request: ListRequest) -> Result<Listing> {
        match self.spoil {
            Spoil::ListKeepsEverything => request.keep = usize::MAX,
            Spoil::ListDisregardsRules => request.visibility = Visibility::default(),
            Spoil::ListDisregardsTheView => request.view = View::default(),
            _ => {}
        }
        let mut listing = self.inner.list(at, &request).await?;
        match self.spoil {
            Spoil::ListIsReversed => listing.entries.reverse(),
            Spoil::ListShowsAllLevels => {
                let all = GlobRequest::new("*/**").kinds(GlobKinds::Everything);
                listing.entries.extend(self.inner.glob(at, &all).await?.entries);
            }
            Spoil::ListHidesDotNames => {
                listing.entries.retain(|entry| !entry.path.name().is_some_and(|name| name.starts_with('.')));
            }
            Spoil::ListForgetsSizes => listing.entries.iter_mut().for_each(|entry| entry.size = None),
            Spoil::ListShowsSomethingOfItsOwn if at.real.is_root() => {
                listing.entries.insert(0, directory_entry(VirtualPath::root().child_unchecked("lost+found")));
            }
            _ => {}
        }
        Ok(listing)
    }

    pub(super) async fn spoiled_glob(&self, at: &Resolved, mut request: GlobRequest) -> Result<Globbed> {
        let root = Resolved::literal(VirtualPath::root());
        let mut start = at;
        match self.spoil {
            Spoil::GlobMatchesAtAnyDepth if !request.pattern.starts_with('/') && !request.pattern.is_empty() => {
                request.pattern.insert_str(0, "**/");
            }
            Spoil::GlobTakesSignsLiterally => {
                let signs = ['{', '}', '[', ']', '?'];
                request.pattern =
                    signs.iter().fold(request.pattern, |pattern, sign| pattern.replace(*sign, &format!("\\{sign}")));
            }
            Spoil::GlobStartsAtTheRoot => start = &root,
            Spoil::GlobSkipsHiddenNames => request.hidden = Hidden::Skip,
            Spoil::GlobShowsDirectories => request.kinds = GlobKinds::Everything,
            Spoil::GlobKeepsEverything => request.keep = usize::MAX,
            Spoil::GlobDisregardsTime => request.deadline = Duration::MAX,
            Spoil::GlobDisregardsRules => request.visibility = Visibility::default(),
            Spoil::GlobDisregardsTheView => request.view = View::default(),
            Spoil::GlobDisregardsIgnoreFiles => request.ignore_files = IgnoreFiles::Disregard,
            _ => {}
        }
        let mut found = match self.inner.glob(start, &request).await {
            Err(error) if error.kind() == ErrorKind::InvalidPattern && self.is(Spoil::GlobTakesAnyPattern) => {
                Globbed::default()
            }
            answer => answer?,
        };
        match self.spoil {
            Spoil::GlobGoesByPath => found.entries.sort_by(|a, b| a.path.cmp(&b.path)),
            Spoil::GlobForgetsSizes => found.entries.iter_mut().for_each(|entry| entry.size = None),
            _ => {}
        }
        Ok(found)
    }

    pub(super) async fn spoiled_grep(&self, at: &Resolved, mut request: GrepRequest) -> Result<Grepped> {
        let is_file = self.inner.stat(at).await.is_ok_and(|entry| entry.is_file());
        let root = Resolved::literal(VirtualPath::root());
        let mut start = at;
        match self.spoil {
            Spoil::GrepTakesLiteralsForExpressions => request.pattern.syntax = Syntax::Regex,
            Spoil::GrepDisregardsCase => request.pattern.case = LetterCase::Insensitive,
            Spoil::GrepDisregardsContext => request.context = Context::default(),
            Spoil::GrepStaysWithinLines => request.pattern.span = Span::Line,
            Spoil::GrepDisregardsMaxCount => request.max_count = None,
            Spoil::GrepShowsWholeLines => request.line_bytes = usize::MAX,
            Spoil::GrepSearchesHiddenFiles => request.hidden = Hidden::Include,
            Spoil::GrepDisregardsFilters => request.filter.clear(),
            Spoil::GrepKeepsEverything => request.keep = usize::MAX,
            Spoil::GrepAlwaysShowsLines => request.detail = Detail::Lines,
            Spoil::GrepDisregardsTheCeiling => request.ceiling = u64::MAX,
            Spoil::GrepDisregardsTime => request.deadline = Duration::MAX,
            Spoil::GrepDisregardsRules => request.visibility = Visibility::default(),
            Spoil::GrepKnowsNoNamedFileInRules if is_file => request.visibility = Visibility::default(),
            Spoil::GrepDisregardsTheView => request.view = View::default(),
            Spoil::GrepDisregardsIgnoreFiles => request.ignore_files = IgnoreFiles::Disregard,
            Spoil::GrepStartsAtTheRoot => start = &root,
            Spoil::GrepTreatsNamedFilesLikeOthers if is_file => {
                let parent = Resolved::literal(at.real.parent().unwrap_or_else(VirtualPath::root));
                let mut found = self.inner.grep(&parent, &request).await?;
                found.files.retain(|file| file.path == at.real);
                return Ok(found);
            }
            Spoil::GrepIgnoresOutsideRepositories | Spoil::GrepIgnoresOnlyFromTheStart => {
                return self.with_other_repositories(at).await?.grep(at, &request).await;
            }
            _ => {}
        }
        let mut found = match self.inner.grep(start, &request).await {
            Err(error) if error.kind() == ErrorKind::InvalidPattern && self.is(Spoil::GrepTakesAnyPattern) => {
                Grepped::default()
            }
            answer => answer?,
        };
        match self.spoil {
            Spoil::GrepCountsLinesFromZero => {
                for file in &mut found.files {
                    let mut from_zero = LineMatches::default();
                    for mut line in &file.lines {
                        line.number -= 1;
                        from_zero.push(line);
                    }
                    file.lines = from_zero;
                }
            }
            Spoil::GrepGivesUpOnLongLines => {
                found.files.retain(|file| file.lines.iter().all(|line| line.text.len() as u64 + line.left_out < 10_000))
            }
            Spoil::GrepGivesUpOnEncodings => {
                found.files.retain(|file| file.lines.iter().all(|line| !line.text.contains('\u{FFFD}')));
            }
            Spoil::GrepIsUnordered => found.files.reverse(),
            Spoil::GrepForgetsWhatItSkipped => found.skipped = Skipped::default(),
            _ => {}
        }
        Ok(found)
    }

    /// The same files with a repository too many at the root, or with none above the start.
    async fn with_other_repositories(&self, at: &Resolved) -> Result<StateBackend> {
        let files = StateBackend::from_document(&self.inner.to_document(), Arc::new(SteppingClock::default()))?;
        let git = VirtualPath::root().child_unchecked(".git");
        if self.is(Spoil::GrepIgnoresOutsideRepositories) {
            files.make_dir_path(&git).await.or_else(|error| match error.kind() {
                ErrorKind::AlreadyExists => Ok(()),
                _ => Err(error),
            })?;
        } else if !at.real.is_root() {
            let _ = files.remove_path(&git, Removal::Tree).await;
        }
        Ok(files)
    }
}
