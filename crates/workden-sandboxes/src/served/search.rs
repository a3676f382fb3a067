//! Listing and searching. The server finds candidates; the rules of the request decide which of them are read and
//! shown, and the search engine of all backends searches them.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::time::timeout;
use workden_core::{
    Backend, Completeness, Entry, Error, ErrorKind, Resolved, Result, VirtualPath, limits,
    sandbox::Ended,
    search::{
        GlobKinds, GlobRequest, Globbed, GrepRequest, Grepped, LetterCase, ListRequest, Listing, Pattern, Skipped,
        Syntax,
    },
};
use workden_files::{
    StateBackend, SystemClock,
    toolkit::{Admission, TopEntries, WalkFilter},
};

use super::{FILES_TIME, FileService, RanLine, commands::quoted};

/// The most files that one search reads.
const CANDIDATES: usize = 2_000;
/// The most bytes of these files together.
const CANDIDATE_BYTES: usize = 128 * 1024 * 1024;
/// Files that are read at the same time.
const AT_ONCE: usize = 8;

pub(super) async fn list(service: &impl FileService, at: &VirtualPath, request: &ListRequest) -> Result<Listing> {
    let found = service.rows(at).await?;
    // An empty list also stands for a file, and for nothing at all.
    if found.is_empty() && !service.entry("list", at).await?.is_dir() {
        return Err(Error::not_directory("list", at));
    }
    let screen = WalkFilter::for_list(request, at)?;
    let context = screen.enter(None, at.clone(), None, false);
    let is_shown = |entry: &Entry| {
        screen.admits(&context, entry.path.name().unwrap_or_default(), entry.is_dir()) == Admission::Admit
    };
    Ok(Listing::of(found.into_iter().filter(is_shown).collect(), request.keep))
}

pub(super) async fn glob(service: &impl FileService, at: &VirtualPath, request: &GlobRequest) -> Result<Globbed> {
    let screen = WalkFilter::for_glob(request, at)?;
    let most = request.deadline.min(limits::SEARCH_TIME);
    let found = timeout(most, service.find(at, &request.pattern)).await.unwrap_or_else(|_| Err(late(most)))?;
    let (mut kept, mut skipped) = (TopEntries::new(request.keep), Skipped::default());
    let is_wanted = |entry: &Entry| !entry.is_dir() || request.kinds == GlobKinds::Everything;
    let found = found.into_iter().filter(is_wanted);
    let shown = found.filter(|entry| is_shown(&screen, at, &entry.path, entry.is_dir(), &mut skipped));
    kept.extend(shown.collect::<Vec<_>>());
    Ok(kept.finish(skipped, Completeness::Complete))
}

pub(super) async fn grep(service: &impl FileService, at: &VirtualPath, request: &GrepRequest) -> Result<Grepped> {
    let screen = WalkFilter::for_grep(request, at)?;
    // Rejects an invalid pattern before the server sees it.
    let nothing = StateBackend::of_files([], [at.clone()], Arc::new(SystemClock));
    nothing.grep(&Resolved::literal(at.clone()), request).await?;
    let mut files = candidates(service, at, &request.pattern).await?;
    let mut skipped = Skipped::default();
    files.retain(|file| file == at || is_shown(&screen, at, file, false, &mut skipped));
    if files.len() > CANDIDATES {
        let sentence = format!("cannot search `{at}`: {} files may match, {CANDIDATES} at most", files.len());
        return Err(Error::new(ErrorKind::TooLarge, sentence).hint("search in a smaller directory, or use a command"));
    }
    let contents = stream::iter(files).map(async |file| match service.content("search", &file).await {
        Ok(content) => Ok(Some((file, content))),
        // It is gone by now, or is not text.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotText) => Ok(None),
        Err(error) => Err(error),
    });
    let mut contents = contents.buffered(AT_ONCE);
    let (mut read, mut bytes) = (Vec::<(VirtualPath, Bytes)>::new(), 0);
    while let Some(next) = contents.try_next().await? {
        bytes += next.as_ref().map_or(0, |(_, content)| content.len());
        if bytes > CANDIDATE_BYTES {
            let sentence = format!("cannot search `{at}`: more than {CANDIDATE_BYTES} bytes may match");
            return Err(Error::new(ErrorKind::TooLarge, sentence).hint("search in a smaller directory"));
        }
        read.extend(next);
    }
    let is_file = read.iter().any(|(file, _)| file == at);
    let directories = (!is_file).then(|| at.clone());
    let copied = StateBackend::of_files(read, directories, Arc::new(SystemClock));
    copied.grep(&Resolved::literal(at.clone()), request).await
}

/// Returns the files that may match: those in which `grep` finds the pattern, or all text files for a pattern that
/// `grep` reads in another way.
async fn candidates(service: &impl FileService, at: &VirtualPath, pattern: &Pattern) -> Result<Vec<VirtualPath>> {
    let case = if pattern.case == LetterCase::Sensitive { "" } else { "i" };
    let (syntax, text) = match pattern.syntax {
        Syntax::Literal if !pattern.text.contains('\n') => ("F", pattern.text.as_str()),
        Syntax::Regex if is_common(&pattern.text) => ("E", pattern.text.as_str()),
        Syntax::Literal | Syntax::Regex => ("F", ""),
    };
    let RanLine { output, ended, is_cut } =
        service.run(&search_line(&format!("{case}{syntax}"), text, at), FILES_TIME).await?;
    if is_cut {
        return Err(Error::new(ErrorKind::TooLarge, format!("cannot search `{at}`: too many files match"))
            .hint("search in a smaller directory, or use a command"));
    }
    if ended == Ended::TimedOut {
        return Err(late(FILES_TIME));
    }
    if ended == Ended::Exited(127) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("cannot search `{at}`: the image has no `grep` or no `find`"),
        ));
    }
    if output.is_empty() {
        // `grep` says the same of a directory without a match and of one that does not exist.
        service.entry("search", at).await?;
    }
    Ok(output.lines().filter_map(|line| VirtualPath::parse(line).ok()).filter(|file| file.is_within(at)).collect())
}

/// Says that a search was not finished.
pub(super) fn late(most: Duration) -> Error {
    Error::new(ErrorKind::TimedOut, format!("search timed out after {} s", most.as_secs()))
        .hint("search in a smaller directory")
}

/// Returns the line that lists the files with this text. Only regular files: a link leads elsewhere, and a FIFO would
/// block. A file whose path has the end of a line would be listed as two.
fn search_line(options: &str, text: &str, at: &VirtualPath) -> String {
    // Directories of the system, whose files have no end.
    let pruned = if at.is_root() { "\\( -path /proc -o -path /sys -o -path /dev \\) -prune -o " } else { "" };
    let (text, at) = (quoted(text), quoted(at.as_str()));
    format!(
        "command -v find >/dev/null && command -v grep >/dev/null || exit 127\n\
         find -H {at} {pruned}-type f ! -path '*\n*' -exec grep -sIl{options} -e {text} -- {{}} + 2>/dev/null"
    )
}

/// Whether a regular expression means the same to `grep -E`: no classes of letters, no groups with options.
fn is_common(regex: &str) -> bool {
    regex.chars().all(|letter| letter.is_ascii_alphanumeric() || " _-/,;:=<>'\"#@!%&~`".contains(letter))
}

/// Whether a result may be shown: the rules of the request hold for it and for the directories that lead to it.
fn is_shown(screen: &WalkFilter, at: &VirtualPath, path: &VirtualPath, is_dir: bool, skipped: &mut Skipped) -> bool {
    let Some(parent) = path.parent().filter(|parent| parent.is_within(at)) else { return false };
    let context = screen.enter(None, parent, None, false);
    screen.admits(&context, path.name().unwrap_or_default(), is_dir).counted_in(skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_the_tree_are_candidates() {
        let tree = tempfile::tempdir().unwrap();
        let at = tree.path().join("it's");
        std::fs::create_dir_all(at.join("sub")).unwrap();
        std::fs::create_dir_all(at.join("odd\n/etc")).unwrap();
        for name in ["a", "sub/b c", "odd\n/etc/passwd"] {
            std::fs::write(at.join(name), "needle\n").unwrap();
        }
        std::fs::write(tree.path().join("secret"), "needle\n").unwrap();
        std::os::unix::fs::symlink(tree.path().join("secret"), at.join("link")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at.join("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let line = search_line("F", "needle", &VirtualPath::parse(at.to_str().unwrap()).unwrap());
        let done = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
        let said = String::from_utf8(done.stdout).unwrap();
        let mut found: Vec<&str> = said.lines().collect();
        found.sort_unstable();
        assert_eq!(found, [at.join("a").to_str().unwrap(), at.join("sub/b c").to_str().unwrap()]);
    }

    #[test]
    fn only_plain_expressions_are_left_to_grep() {
        for (regex, is) in [("import os", true), ("x = 4", true), (r"\d+", false), ("(?i)a", false), ("a+", false)] {
            assert_eq!(is_common(regex), is, "{regex}");
        }
    }
}
