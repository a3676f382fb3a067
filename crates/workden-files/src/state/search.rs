//! Listing, glob and grep over the in-memory tree: the shared engine, and a walk of this tree.

use workden_core::{
    Clock, Completeness, Deadline, Error, Result, VirtualPath, names,
    search::{
        FileMatches, GlobKinds, GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing, PathPattern, Skipped,
    },
};

use super::tree::{File, Node, Tree};
use crate::search::{
    Admission, DirectoryContext, FileSearch, LineSearch, LineWorker, TopEntries, TopMatches, WalkFilter,
};

/// How many files are searched between two reads of the clock.
const FILES_PER_LOOK: u32 = 64;

pub(super) fn list(tree: &Tree, at: &VirtualPath, request: &ListRequest) -> Result<Listing> {
    if let Node::File(_) = tree.find("list", at)? {
        return Err(Error::not_directory("list", at));
    }
    let screen = WalkFilter::for_list(request, at)?;
    let context = screen.enter(None, at.clone(), None, false);
    let shown = tree.children(at).filter(|(path, node)| {
        let is_dir = matches!(node, Node::Directory { .. });
        screen.admits(&context, name(path), is_dir) == Admission::Admit
    });
    Ok(Listing::of(shown.map(|(path, node)| node.entry(path.clone())).collect(), request.keep))
}

pub(super) fn glob(tree: &Tree, clock: &dyn Clock, at: &VirtualPath, request: &GlobRequest) -> Result<Globbed> {
    let screen = WalkFilter::for_glob(request, at)?;
    let pattern = PathPattern::new(&request.pattern, screen.base())?;
    if let Node::File(_) = tree.find("search", at)? {
        return Err(Error::not_directory("search", at));
    }
    let mut kept = TopEntries::new(request.keep);
    let may_match = |seen: &VirtualPath| screen.admits_named(seen) == Admission::Admit && pattern.may_match_below(seen);
    let mut walk = Walk::new(tree, &screen, Deadline::new(clock, request.deadline));
    let Some(start) = screen.start_of(at, pattern.start()) else { return Ok(Globbed::default()) };
    walk.ignored_may_match = Some(&may_match);
    walk.run(&start, &mut |context, path, node, walk_skipped| {
        let seen = context.seen.child_unchecked(name(path));
        let is_dir = matches!(node, Node::Directory { .. });
        let wanted = !is_dir || request.kinds == GlobKinds::Everything;
        if wanted && pattern.is_match(&seen) && screen.admits(context, name(path), is_dir).counted_in(walk_skipped) {
            kept.extend([node.entry(path.clone())]);
        }
        Step { enter: is_dir && pattern.may_match_below(&seen), stop: false }
    });
    Ok(kept.finish(walk.skipped, walk.completeness))
}

pub(super) fn grep(tree: &Tree, clock: &dyn Clock, at: &VirtualPath, request: &GrepRequest) -> Result<Grepped> {
    let screen = WalkFilter::for_grep(request, at)?;
    let mut worker = LineSearch::new(request)?.worker();
    let mut kept = TopMatches::new(request.keep);
    let mut searched = 0;
    let mut walk = Walk::new(tree, &screen, Deadline::new(clock, request.deadline));
    if let Node::File(file) = tree.find("search", at)? {
        let parent = at.parent().unwrap_or_else(VirtualPath::root);
        let context = screen.enter(None, parent, None, false);
        let seen = context.seen.child_unchecked(name(at));
        if screen.admits_named(&seen).counted_in(&mut walk.skipped) {
            searched += search_file(&mut worker, &screen, &context, at, file, &mut kept, &mut walk.skipped);
        }
        if kept.matches() >= request.ceiling {
            walk.completeness = Completeness::StoppedAtCeiling;
        }
    } else {
        walk.run(at, &mut |context, path, node, skipped| {
            if let Node::File(file) = node
                && screen.admits(context, name(path), false).counted_in(skipped)
            {
                searched += search_file(&mut worker, &screen, context, path, file, &mut kept, skipped);
            }
            Step { enter: true, stop: kept.matches() >= request.ceiling }
        });
    }
    kept.count_searched(searched, walk.skipped, walk.completeness);
    Ok(kept.finish())
}

/// Searches one file; returns the number of searched files, which is zero for a skipped file.
fn search_file(
    worker: &mut LineWorker,
    screen: &WalkFilter,
    context: &DirectoryContext,
    path: &VirtualPath,
    file: &File,
    kept: &mut TopMatches,
    skipped: &mut Skipped,
) -> u64 {
    if !screen.admits_size(context, name(path), file.content.len() as u64).counted_in(skipped) {
        return 0;
    }
    match worker.search_bytes(&file.content) {
        FileSearch::Matched { count, lines } => {
            kept.push(FileMatches::new(path.clone(), count).lines(lines));
            1
        }
        FileSearch::Unmatched => 1,
        other => {
            other.count_in(skipped);
            0
        }
    }
}

fn name(path: &VirtualPath) -> &str {
    path.name().unwrap_or("")
}

struct Step {
    enter: bool,
    stop: bool,
}

/// A walk of a subtree in the order of its paths, under the ignore rules of the screen.
struct Walk<'a> {
    tree: &'a Tree,
    screen: &'a WalkFilter,
    deadline: Deadline<'a>,
    until_look: u32,
    skipped: Skipped,
    completeness: Completeness,
    /// Whether something in an ignored directory may be wanted, for a search that counts such directories.
    ignored_may_match: Option<&'a dyn Fn(&VirtualPath) -> bool>,
}

impl<'a> Walk<'a> {
    fn new(tree: &'a Tree, screen: &'a WalkFilter, deadline: Deadline<'a>) -> Self {
        Self {
            tree,
            screen,
            deadline,
            until_look: 0,
            skipped: Skipped::default(),
            completeness: Completeness::Complete,
            ignored_may_match: None,
        }
    }

    fn run(
        &mut self,
        at: &VirtualPath,
        visit: &mut dyn FnMut(&DirectoryContext, &'a VirtualPath, &'a Node, &mut Skipped) -> Step,
    ) {
        // The rules of the directories above apply below, too.
        let mut context = None;
        let mut above: Vec<VirtualPath> = std::iter::successors(at.parent(), VirtualPath::parent).collect();
        above.reverse();
        for directory in above {
            context = Some(self.enter(context.as_ref(), directory));
        }
        let mut open = vec![self.enter(context.as_ref(), at.clone())];
        while let Some(context) = open.pop() {
            let mut below = Vec::new();
            for (path, node) in self.tree.children(&context.local) {
                if self.is_late() {
                    return;
                }
                if names::is_temporary(name(path).as_bytes()) {
                    continue;
                }
                let is_dir = matches!(node, Node::Directory { .. });
                let enters = is_dir && self.screen.enters(&context, name(path));
                if is_dir && !enters {
                    let seen = context.seen.child_unchecked(name(path));
                    let may_match = self.ignored_may_match.is_some_and(|may_match| may_match(&seen));
                    if may_match && self.screen.ignores(&context, name(path)) {
                        self.skipped.ignored_directories += 1;
                    }
                    continue;
                }
                let step = visit(&context, path, node, &mut self.skipped);
                if step.stop {
                    self.completeness = Completeness::StoppedAtCeiling;
                    return;
                }
                if enters && step.enter {
                    below.push(self.enter(Some(&context), path.clone()));
                }
            }
            open.extend(below.into_iter().rev());
        }
    }

    fn is_late(&mut self) -> bool {
        if self.until_look > 0 {
            self.until_look -= 1;
            return false;
        }
        self.until_look = FILES_PER_LOOK;
        if self.deadline.is_past() {
            self.completeness = Completeness::StoppedAtDeadline;
            return true;
        }
        false
    }

    fn enter(&self, above: Option<&DirectoryContext>, directory: VirtualPath) -> DirectoryContext {
        let rules = directory.child_unchecked(".gitignore");
        let gitignore = match self.screen.reads_ignore_files().then(|| self.tree.get(&rules)).flatten() {
            Some(Node::File(file)) => Some(&file.content[..]),
            Some(Node::Directory { .. }) | None => None,
        };
        let has_git = self.screen.reads_ignore_files() && self.tree.get(&directory.child_unchecked(".git")).is_some();
        self.screen.enter(above, directory, gitignore, has_git)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_executor::block_on;

    use crate::StateBackend;
    use workden_core::{
        BackendExt, Completeness, Expect, Layer, SteppingClock, VirtualPath, Visibility, search::GrepRequest,
    };

    fn searched(request: &GrepRequest, start: &str) -> workden_core::search::Grepped {
        let files = StateBackend::new(Arc::new(SteppingClock::default()));
        for (typed, content) in [("/binary", "a\0"), ("/large", "a\na\na\na\n"), ("/small", "a\n")] {
            let path = VirtualPath::parse(typed).unwrap();
            block_on(files.write_path(&path, content.into(), Expect::Absent)).unwrap();
        }
        block_on(files.grep_path(&VirtualPath::parse(start).unwrap(), request)).unwrap()
    }

    #[test]
    fn what_is_passed_over_is_not_counted_as_searched() {
        let visibility = Visibility { layers: vec![Layer { max_bytes: Some(4), ..Layer::open() }] };
        let found = searched(&GrepRequest::regex("a").visibility(visibility), "/");
        assert_eq!((found.files_searched, found.skipped.binary, found.skipped.denied), (1, 1, 1));
    }

    #[test]
    fn a_named_file_stops_at_the_ceiling_as_a_directory_does() {
        for start in ["/", "/large"] {
            let found = searched(&GrepRequest::regex("a").ceiling(2), start);
            assert_eq!((found.matches, found.completeness), (2, Completeness::StoppedAtCeiling), "{start}");
        }
    }
}
