//! `WalkFilter`: the paths that a walk enters and shows, decided before anything is opened.
//!
//! The order is that of ripgrep: filter globs first, then ignore files, then hidden names. The policy's `Visibility`
//! comes last, because nothing may show a path that it hides.

use std::sync::Arc;

use ignore::{
    Match,
    overrides::{Override, OverrideBuilder},
};
use workden_core::{
    CompiledVisibility, Error, ErrorKind, Result, Sight, VirtualPath, Visibility, limits,
    search::{
        GlobRequest, GrepRequest, Hidden, IgnoreFiles, Linked, ListRequest, Skipped, View,
        glob::{check_size, syntax_error},
    },
};

use super::ignore_chain::{IgnoreChain, IgnoreVerdict};

/// The part of a compiled request that selects paths.
#[derive(Debug)]
pub struct WalkFilter {
    filter: Option<Override>,
    hidden: Hidden,
    ignore_files: IgnoreFiles,
    visibility: CompiledVisibility,
    opens_files: bool,
    /// Whether ignored files are counted, as a glob does.
    counts_ignored: bool,
    view: View,
    base: VirtualPath,
}

/// The position of a walk: a directory, as its backend and as the agent see it, and its ignore rules.
#[derive(Clone, Debug)]
pub struct DirectoryContext {
    /// The directory's path in its backend.
    pub local: VirtualPath,
    /// The directory's path as the agent sees it.
    pub seen: VirtualPath,
    ignores: Option<Arc<IgnoreChain>>,
}

/// What the filters of a request say about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filtered {
    Passes,
    Fails,
    /// It fails because of `.gitignore`.
    Ignored,
}

/// The decision of a walk about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The file is searched or shown.
    Admit,
    /// The file is skipped: the request does not want it.
    Skip,
    /// The file is skipped, and counted by a glob: `.gitignore` ignores it.
    Ignored,
    /// The file is skipped and counted: it needs approval.
    NeedsApproval,
    /// The file is skipped and counted: the policy hides it.
    Denied,
}

impl Admission {
    /// Counts a file that is not admitted; returns whether it is admitted.
    #[must_use]
    pub fn counted_in(self, skipped: &mut Skipped) -> bool {
        match self {
            Self::Admit => return true,
            Self::Skip => {}
            Self::Ignored => skipped.ignored_files += 1,
            Self::NeedsApproval => skipped.needs_approval += 1,
            Self::Denied => skipped.denied += 1,
        }
        false
    }
}

impl WalkFilter {
    /// Creates the filter for listing `at`.
    ///
    /// # Errors
    ///
    /// Returns `InvalidPattern` if a pattern does not parse.
    pub fn for_list(request: &ListRequest, at: &VirtualPath) -> Result<Self> {
        Self::new(&[], Hidden::Include, IgnoreFiles::Disregard, &request.visibility, false, &request.view, at)
    }

    /// Creates the filter for a glob below `at`.
    ///
    /// # Errors
    ///
    /// Returns `InvalidPattern` if a pattern does not parse.
    pub fn for_glob(request: &GlobRequest, at: &VirtualPath) -> Result<Self> {
        let filter =
            Self::new(&[], request.hidden, request.ignore_files, &request.visibility, false, &request.view, at)?;
        Ok(Self { counts_ignored: true, ..filter })
    }

    /// Creates the filter for a grep below `at`.
    ///
    /// # Errors
    ///
    /// Returns `InvalidPattern` if a pattern does not parse.
    pub fn for_grep(request: &GrepRequest, at: &VirtualPath) -> Result<Self> {
        Self::new(&request.filter, request.hidden, request.ignore_files, &request.visibility, true, &request.view, at)
    }

    fn new(
        filter: &[String],
        hidden: Hidden,
        ignore_files: IgnoreFiles,
        visibility: &Visibility,
        opens_files: bool,
        view: &View,
        at: &VirtualPath,
    ) -> Result<Self> {
        let filter = compile_filter(filter)?;
        let visibility = visibility.compile()?;
        let base = view.base.clone().unwrap_or_else(|| view.seen(at));
        Ok(Self {
            filter,
            hidden,
            ignore_files,
            visibility,
            opens_files,
            counts_ignored: false,
            view: view.clone(),
            base,
        })
    }

    /// Returns the start of the search, as the agent sees it.
    #[must_use]
    pub fn base(&self) -> &VirtualPath {
        &self.base
    }

    /// Returns the path at which a walk of `at` must start to find everything below `wanted`, a path as the agent sees
    /// it; `None` if `wanted` is not in `at`.
    #[must_use]
    pub fn start_of(&self, at: &VirtualPath, wanted: &VirtualPath) -> Option<VirtualPath> {
        let seen = self.view.seen(at);
        if seen.is_within(wanted) {
            return Some(at.clone());
        }
        if wanted.is_within(&seen) { self.view.local(wanted) } else { None }
    }

    /// Whether the walk has to read `.gitignore` files.
    #[must_use]
    pub fn reads_ignore_files(&self) -> bool {
        self.ignore_files == IgnoreFiles::Honour
    }

    /// Returns the context of a directory, from the context of its parent (`None` at the start).
    #[must_use]
    pub fn enter(
        &self,
        above: Option<&DirectoryContext>,
        local: VirtualPath,
        gitignore: Option<&[u8]>,
        has_git: bool,
    ) -> DirectoryContext {
        let above = above.and_then(|above| above.ignores.as_ref());
        let ignores = match self.ignore_files {
            IgnoreFiles::Honour => IgnoreChain::enter(above, &local, gitignore, has_git),
            IgnoreFiles::Disregard => None,
        };
        DirectoryContext { seen: self.view.seen(&local), local, ignores }
    }

    /// Whether the walk enters the directory `name`.
    #[must_use]
    pub fn enters(&self, context: &DirectoryContext, name: &str) -> bool {
        let hidden = self.hidden == Hidden::Skip && name.starts_with('.');
        if self.filter.is_none() && context.ignores.is_none() && self.view.shadowed.is_empty() {
            return !hidden;
        }
        let seen = context.seen.child_unchecked(name);
        !self.is_shadowed(&seen) && self.filtered(context, name, &seen, true) == Filtered::Passes
    }

    /// Whether the walk does not enter the directory `name` because `.gitignore` ignores it.
    #[must_use]
    pub fn ignores(&self, context: &DirectoryContext, name: &str) -> bool {
        let seen = || context.seen.child_unchecked(name);
        context.ignores.is_some() && self.filtered(context, name, &seen(), true) == Filtered::Ignored
    }

    /// Decides about the file `name` (or, for a listing, any entry).
    #[must_use]
    pub fn admits(&self, context: &DirectoryContext, name: &str, is_dir: bool) -> Admission {
        let plain = self.filter.is_none() && context.ignores.is_none() && self.view.shadowed.is_empty();
        if plain && self.hidden == Hidden::Skip && name.starts_with('.') {
            return Admission::Skip;
        }
        if plain && self.visibility.shows_everything() {
            return Admission::Admit;
        }
        let seen = context.seen.child_unchecked(name);
        // A path that leads to a mount is a directory, whatever a backend stores there.
        let covered = self.is_shadowed(&seen) || (!is_dir && self.leads_to_shadowed(&seen));
        match self.filtered(context, name, &seen, is_dir) {
            _ if covered => Admission::Skip,
            Filtered::Passes => self.admits_named(&seen),
            Filtered::Fails => Admission::Skip,
            // A file that the policy hides is not even counted as ignored.
            Filtered::Ignored => match self.admits_named(&seen) {
                Admission::Admit if self.counts_ignored => Admission::Ignored,
                _ => Admission::Skip,
            },
        }
    }

    /// Decides about a file that the request names: only the policy can exclude it.
    #[must_use]
    pub fn admits_named(&self, seen: &VirtualPath) -> Admission {
        self.everywhere(seen, |seen| match self.opens_files {
            true => self.visibility.to_list(seen).max(self.visibility.to_read(seen)),
            false => self.visibility.to_list(seen),
        })
        .into()
    }

    /// Whether any rules apply.
    #[must_use]
    pub fn has_rules(&self) -> bool {
        !self.visibility.shows_everything()
    }

    /// Returns how to treat files with several names.
    #[must_use]
    pub fn linked(&self) -> &Linked {
        &self.view.linked
    }

    /// Returns the strictest sight of a path under all of its names in the mounts.
    fn everywhere(&self, seen: &VirtualPath, sight: impl Fn(&VirtualPath) -> Sight) -> Sight {
        let own = sight(seen);
        let Some(local) = (!self.view.aliases.is_empty()).then(|| self.view.local(seen)).flatten() else {
            return own;
        };
        let aliases = self.view.aliases.iter();
        let elsewhere = aliases.filter_map(|alias| Some(local.strip_prefix(&alias.local)?.below(&alias.seen)));
        elsewhere.map(|path| sight(&path)).max().map_or(own, |strictest| strictest.max(own))
    }

    /// Whether a link may be described by its target: a link must disclose neither hidden targets nor those that
    /// another mount covers. `target` is a path in the backend.
    #[must_use]
    pub fn shows_target(&self, target: &VirtualPath) -> bool {
        if self.visibility.shows_everything() && self.view.shadowed.is_empty() {
            return true;
        }
        let seen = self.view.seen(target);
        let sight = self.everywhere(&seen, |seen| self.visibility.to_list(seen));
        !self.is_shadowed(&seen) && sight == Sight::Shown
    }

    /// Decides about a file of this size.
    #[must_use]
    pub fn admits_size(&self, context: &DirectoryContext, name: &str, size: u64) -> Admission {
        if self.visibility.shows_everything() {
            return Admission::Admit;
        }
        let seen = context.seen.child_unchecked(name);
        self.everywhere(&seen, |seen| self.visibility.size_to_read(seen, size)).into()
    }

    fn is_shadowed(&self, seen: &VirtualPath) -> bool {
        self.view.shadowed.iter().any(|mount| seen.is_within(mount))
    }

    fn leads_to_shadowed(&self, seen: &VirtualPath) -> bool {
        self.view.shadowed.iter().any(|mount| mount.is_within(seen))
    }

    fn filtered(&self, context: &DirectoryContext, name: &str, seen: &VirtualPath, is_dir: bool) -> Filtered {
        let passes = |passes| if passes { Filtered::Passes } else { Filtered::Fails };
        if let Some(filter) = &self.filter {
            let relative = seen.strip_prefix(&self.base).unwrap_or_else(|| seen.clone());
            match filter.matched(relative.relative(), is_dir) {
                Match::Whitelist(_) => return Filtered::Passes,
                Match::Ignore(_) => return Filtered::Fails,
                Match::None => {}
            }
        }
        let verdict = context.ignores.as_ref().and_then(|chain| {
            let local = context.local.child_unchecked(name);
            chain.verdict(local.as_str(), is_dir)
        });
        match verdict {
            // A glob shows hidden files, but what git stores for itself is no file of the project.
            _ if self.counts_ignored && context.ignores.is_some() && name == ".git" => Filtered::Fails,
            Some(IgnoreVerdict::Ignore) => Filtered::Ignored,
            Some(IgnoreVerdict::Keep) => Filtered::Passes,
            None => passes(self.hidden == Hidden::Include || !name.starts_with('.')),
        }
    }
}

impl From<Sight> for Admission {
    fn from(sight: Sight) -> Self {
        match sight {
            Sight::Shown => Self::Admit,
            Sight::Asks => Self::NeedsApproval,
            Sight::Hidden => Self::Denied,
        }
    }
}

fn compile_filter(globs: &[String]) -> Result<Option<Override>> {
    if globs.is_empty() {
        return Ok(None);
    }
    let refused = |glob: &str, why: &str| {
        let shown: String = glob.chars().take(200).flat_map(char::escape_debug).collect();
        let why: String = why.chars().take(500).collect();
        Error::new(ErrorKind::InvalidPattern, format!("invalid filter glob `{shown}`: {why}"))
            .hint("like `*.rs` (any directory), `/src/*.rs` (from the start of the search), `*.{c,h}`, `!*.min.js` (not these)")
    };
    if globs.len() > limits::FILTER_GLOBS {
        return Err(refused(
            &globs[0],
            &format!("{} were given, and {} is the most", globs.len(), limits::FILTER_GLOBS),
        ));
    }
    let mut builder = OverrideBuilder::new("");
    for glob in globs {
        // The engine recurses into braces, so their depth is checked first.
        check_size(glob).map_err(|why| refused(glob, &why))?;
        if glob.is_empty() || glob == "!" {
            return Err(refused(glob, "it is empty"));
        }
        builder.add(glob).map_err(|error| refused(glob, &in_our_words(glob)).with_source(error))?;
    }
    builder
        .build()
        .map(Some)
        .map_err(|error| refused(&globs.join(" "), "together they are too large to compile").with_source(error))
}

/// Returns why a glob does not parse: the engine's own message repeats the whole glob.
fn in_our_words(glob: &str) -> String {
    let without_not = glob.strip_prefix('!').unwrap_or(glob);
    syntax_error(without_not).unwrap_or_else(|| "a `[`, `{` or `\\` in it has no end".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use workden_core::{Layer, Rule, RuleCase, Rules};

    fn request(filter: &[&str]) -> GrepRequest {
        GrepRequest::regex("x").filter(filter.iter().copied())
    }

    fn admitted(request: &GrepRequest, directory: &str, name: &str) -> Admission {
        let at = VirtualPath::root();
        let screen = WalkFilter::for_grep(request, &at).unwrap();
        let context = screen.enter(None, VirtualPath::parse(directory).unwrap(), None, false);
        screen.admits(&context, name, false)
    }

    #[test]
    fn filters_match_as_ripgrep_does() {
        use Admission::{Admit, Skip};
        for (filter, directory, name, expected) in [
            (&["*.py"][..], "/", "a.py", Admit),
            (&["*.py"], "/deep/er", "a.py", Admit),
            (&["*.py"], "/", "a.rs", Skip),
            (&["*.{py,rs}"], "/", "a.rs", Admit),
            (&["/src/*.py"], "/src", "a.py", Admit),
            (&["/src/*.py"], "/lib/src", "a.py", Skip),
            (&["!*.py"], "/", "a.py", Skip),
            (&["!*.py"], "/", "a.rs", Admit),
            (&["*.py", "!test_*"], "/", "test_a.py", Skip),
            (&[".*"], "/", ".hidden", Admit),
            (&[], "/", ".hidden", Skip),
        ] {
            assert_eq!(admitted(&request(filter), directory, name), expected, "{filter:?} on {directory} {name}");
        }
    }

    #[test]
    fn a_bad_filter_is_an_error() {
        for (bad, why) in [
            ("", "it is empty"),
            ("!", "it is empty"),
            ("[z-a]", "`z-a`"),
            ("{a", "`{` is never closed"),
            ("!{a", "`{` is never closed"),
            ("a}", "`}` closes nothing"),
            ("[a", "`[` is never closed"),
        ] {
            let error = WalkFilter::for_grep(&request(&[bad]), &VirtualPath::root()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidPattern, "{bad:?}");
            assert!(error.sentence().starts_with(&format!("invalid filter glob `{bad}`: ")), "{error}");
            assert!(error.sentence().contains(why) && error.sentence().len() < 100, "{error}");
        }
    }

    #[test]
    fn nothing_takes_back_in_what_the_policy_hides() {
        let hide =
            Rule { pattern: "**/.env".into(), except: Vec::new(), sight: Sight::Hidden, case: RuleCase::Insensitive };
        let read = Rules { rules: vec![hide], otherwise: Sight::Shown };
        let visibility = Visibility { layers: vec![Layer { read, ..Layer::open() }] };
        let request = request(&[".env"]).visibility(visibility);
        assert_eq!(admitted(&request, "/", ".env"), Admission::Denied);
        assert_eq!(admitted(&request, "/mnt", ".env"), Admission::Denied);
    }

    #[test]
    fn rules_and_filters_see_the_paths_of_the_agent() {
        let view = View::default()
            .prefix(VirtualPath::parse("/data").unwrap())
            .base(VirtualPath::root())
            .shadowed(["/data/other", "/data/way.md/to"].map(|mount| VirtualPath::parse(mount).unwrap()).into());
        let request = request(&["/data/*.md"]).view(view);
        let screen = WalkFilter::for_grep(&request, &VirtualPath::root()).unwrap();
        let context = screen.enter(None, VirtualPath::root(), None, false);
        assert_eq!(screen.admits(&context, "a.md", false), Admission::Admit);
        assert!(screen.enters(&context, "some"));
        assert!(!screen.enters(&context, "other"), "another mount is there");
        assert_eq!(screen.admits(&context, "way.md", false), Admission::Skip, "what leads to a mount is no file");
        assert!(screen.enters(&context, "way.md"));
    }
}
